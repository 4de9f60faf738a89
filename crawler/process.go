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
)

// Of how many runs a crawl keeps what worked on them, and of how many builds.
const (
	mostProcesses = 1000
	mostBuilds    = 20
)

// A Process is one that worked on a crawl: a run. As JSON its fields are never renamed.
type Process struct {
	Began time.Time `json:"began"`
	Ended time.Time `json:"ended,omitzero"` // zero: it was killed, failed, or still runs
	End   End       `json:"end,omitempty"`  // how, where Ended is not zero

	Zone   string `json:"zone"`       // of the machine's clock, as it calls it
	Offset int    `json:"utc_offset"` // of that zone when the run began, seconds east of UTC

	// What the machine's clock goes by, and whether something keeps it right, when the run
	// began: empty and nil where the system does not say.
	Clock        string `json:"clock,omitempty"`        // as tsc, of Linux
	Synchronised *bool  `json:"synchronised,omitempty"` // by NTP or the like, as adjtimex says

	Build string `json:"build"` // digest of the Build, see Processes
}

// A Build is what a program was built of, as far as it was told. As JSON its fields are
// never renamed.
type Build struct {
	Program  string   `json:"program"` // permesso, with its version
	Main     string   `json:"main,omitempty"`
	Version  string   `json:"version,omitempty"` // of the main module
	Revision string   `json:"revision,omitempty"`
	Time     string   `json:"revision_time,omitempty"`
	Modified bool     `json:"modified"` // beyond the revision
	Go       string   `json:"go"`
	OS       string   `json:"os"`
	Arch     string   `json:"arch"`
	Modules  []Module `json:"modules"` // that are linked
}

// A Module is a part of a program.
type Module struct {
	Path    string `json:"path"`
	Version string `json:"version"`
	Sum     string `json:"sum,omitempty"` // as in go.sum
}

// ThisBuild is what this program was built of.
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

// Digest tells builds apart: SHA-256 of its JSON.
func (b Build) Digest() (string, error) {
	text, err := json.Marshal(b)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}

// withProcess adds what is known of this process to what the run before has kept. All of
// it is one value: a begin that waits for several commits would be slower.
func (a *asked) withProcess(old *asked, last *keptStatus) error {
	b := ThisBuild()
	digest, err := b.Digest()
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

// ended are the processes with the end of the last one, where that has kept it.
func (a *asked) ended(last *keptStatus) []Process {
	all := slices.Clone(a.Processes)
	if n := len(all); n > 0 && last.End != "" && last.Of.Equal(all[n-1].Began) {
		all[n-1].Ended, all[n-1].End = last.Time.UTC(), last.End
	}
	return all
}

// Processes are those that worked on a crawl, the oldest first: the last thousand; before
// is how many there were before them. Those of versions that kept nothing of themselves
// are missing. builds are what they were built of, by Process.Build, but for those that
// more than nineteen others have followed.
func Processes(from Values) (all []Process, builds map[string]Build, before int, err error) {
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
