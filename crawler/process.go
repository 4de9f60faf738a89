package crawler

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/storage"
)

// The largest numbers of processes and builds that a crawl records.
const (
	mostProcesses = 1000
	mostBuilds    = 20
)

// A Process is the process of one run of a crawl. As JSON its fields are never renamed.
type Process struct {
	Began time.Time `json:"began"`
	Ended time.Time `json:"ended,omitzero"` // zero: the process was killed, failed, or still runs
	End   End       `json:"end,omitempty"`  // why the run ended; set only if Ended is not zero

	Zone   string `json:"zone"`       // time zone of the machine's clock, as the system names it
	Offset int    `json:"utc_offset"` // offset of the time zone when the run began, in seconds east of UTC

	// The hardware that the machine's clock is read from, and whether the clock was
	// synchronised when the run began: empty and nil if the system does not say.
	Clock        string `json:"clock,omitempty"`        // name of a Linux clocksource, such as tsc
	Synchronised *bool  `json:"synchronised,omitempty"` // by NTP or a similar service, as adjtimex(2) says

	Build string `json:"build"` // result of Build.Digest for the Build of the program; the key of that Build in the map that Processes returns
}

// A Build describes how a program was built, as far as it is known. As JSON its fields are
// never renamed.
type Build struct {
	Program  string   `json:"program"` // permesso, with its version
	Main     string   `json:"main,omitempty"`
	Version  string   `json:"version,omitempty"` // version of the main module
	Revision string   `json:"revision,omitempty"`
	Time     string   `json:"revision_time,omitempty"`
	Modified bool     `json:"modified"` // the source differs from the revision
	Go       string   `json:"go"`
	OS       string   `json:"os"`
	Arch     string   `json:"arch"`
	Modules  []Module `json:"modules"` // modules that are linked into the program
}

// A Module is a module that a program was built from.
type Module struct {
	Path    string `json:"path"`
	Version string `json:"version"`
	Sum     string `json:"sum,omitempty"` // checksum, as in go.sum
}

// ThisBuild returns the Build of this program.
func ThisBuild() Build {
	b := Build{Program: "permesso/" + Version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, Modules: []Module{}}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Main, b.Version = info.Main.Path, info.Main.Version
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		b.Modules = append(b.Modules, Module{m.Path, m.Version, m.Sum})
	}
	slices.SortFunc(b.Modules, func(a, b Module) int { return strings.Compare(a.Path, b.Path) })
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// digest returns the SHA-256 of the build in JSON. It identifies the build.
func (b Build) digest() (string, error) {
	text, err := json.Marshal(b)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}

// withProcess sets a.Processes to the processes of earlier runs, which old has, and this
// process. It sets a.Builds to the builds of these processes. The parameter last is the stored
// status of the last run. All processes are stored as one value, because several values would
// need several commits to the storage.
func (a *asked) withProcess(old *asked, last *keptStatus) error {
	b := ThisBuild()
	digest, err := b.digest()
	if err != nil {
		return err
	}
	a.Processes, a.Forgotten = old.ended(last), old.Forgotten
	p := Process{Began: a.Began, Build: digest}
	p.Zone, p.Offset = time.Now().Zone()
	p.Clock, p.Synchronised = machineClock()
	a.Processes = append(a.Processes, p)
	if n := len(a.Processes) - mostProcesses; n > 0 {
		a.Processes, a.Forgotten = slices.Delete(a.Processes, 0, n), a.Forgotten+n
	}
	a.Builds = map[string]Build{digest: b}
	for _, p := range slices.Backward(a.Processes) {
		if was, known := old.Builds[p.Build]; known && len(a.Builds) < mostBuilds {
			a.Builds[p.Build] = was
		}
	}
	return nil
}

// ended returns the processes of a. The newest process gets its time and reason of ending from
// the parameter last, the stored status, if it is the status of the run of that process.
func (a *asked) ended(last *keptStatus) []Process {
	all := slices.Clone(a.Processes)
	if n := len(all); n > 0 && last.End != "" && last.Of.Equal(all[n-1].Began) {
		all[n-1].Ended, all[n-1].End = last.Time.UTC(), last.End
	}
	return all
}

// Processes returns the last thousand processes that worked on a crawl, the oldest first. The
// result before is the number of older processes. Runs of old versions of this package, which
// did not record processes, are not counted in it. builds has the builds of the processes, by
// Process.Build. Only the last twenty builds are kept.
func Processes(from storage.Values) (all []Process, builds map[string]Build, before int, err error) {
	var was asked
	var last keptStatus
	if _, err := from.Get(keyAsked, &was); err != nil {
		return nil, nil, 0, err
	}
	if _, err := from.Get(keyStatus, &last); err != nil {
		return nil, nil, 0, err
	}
	return was.ended(&last), was.Builds, was.Forgotten, nil
}
