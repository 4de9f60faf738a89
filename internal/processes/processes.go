// Package processes says which processes have worked on a crawl: when each of them ran, on which
// clock, and how its program was built.
package processes

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/internal/identity"
	"github.com/permesso-crawler/permesso/internal/store"
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
	End   string    `json:"end,omitempty"`  // why the run ended, a crawler.End; set only if Ended is not zero

	Zone   string `json:"zone"`       // time zone of the machine's clock, as the system names it
	Offset int    `json:"utc_offset"` // offset of the time zone when the run began, in seconds east of UTC

	// The hardware that the machine's clock is read from, and whether the clock was
	// synchronised when the run began: empty and nil if the system does not say.
	Clock        string `json:"clock,omitempty"`        // name of a Linux clocksource, such as tsc
	Synchronised *bool  `json:"synchronised,omitempty"` // by NTP or a similar service, as adjtimex(2) says

	Build string `json:"build"` // the key of the Build of the program in History.Builds
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

// This returns the Build of this program.
func This() Build {
	b := Build{Program: "permesso/" + identity.Version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, Modules: []Module{}}
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

// A History has the processes that have worked on a crawl, as a crawl stores it.
type History struct {
	Processes []Process        // the last thousand, the oldest first
	Builds    map[string]Build // the last twenty programs of these processes, by Process.Build
	Forgotten int              // number of older processes; those of versions that recorded none are not counted
}

// An End says when and why a run has ended, as a crawl stores it at the end of the run.
type End struct {
	Of   time.Time `json:"of_run"` // the beginning of the run
	Time time.Time `json:"time"`
	Why  string    `json:"end"` // a crawler.End
}

// Next returns the history with this process, which has begun a run. last is the end of the run
// before. All processes are stored as one value, because several values would need several
// commits to the storage.
func (h *History) Next(began time.Time, last End) (History, error) {
	b := This()
	digest, err := b.digest()
	if err != nil {
		return History{}, err
	}
	next := h.ended(last)
	p := Process{Began: began, Build: digest}
	p.Zone, p.Offset = time.Now().Zone()
	p.Clock, p.Synchronised = machineClock()
	next.Processes = append(next.Processes, p)
	if n := len(next.Processes) - mostProcesses; n > 0 {
		next.Processes, next.Forgotten = slices.Delete(next.Processes, 0, n), next.Forgotten+n
	}
	next.Builds = map[string]Build{digest: b}
	for _, p := range slices.Backward(next.Processes) {
		if was, known := h.Builds[p.Build]; known && len(next.Builds) < mostBuilds {
			next.Builds[p.Build] = was
		}
	}
	return next, nil
}

// ended returns a copy of h in which the newest process has the time and the reason of its end,
// if last is the end of its run.
func (h *History) ended(last End) History {
	all := slices.Clone(h.Processes)
	if n := len(all); n > 0 && last.Why != "" && last.Of.Equal(all[n-1].Began) {
		all[n-1].Ended, all[n-1].End = last.Time.UTC(), last.Why
	}
	return History{all, h.Builds, h.Forgotten}
}

// The keys under which a crawl stores its History and its last End, with other fields.
const (
	HistoryKey = "job"
	EndKey     = "status"
)

// Of returns the history of a crawl.
func Of(from store.Values) (History, error) {
	var h History
	var last End
	if _, err := from.Get(HistoryKey, &h); err != nil {
		return h, err
	}
	if _, err := from.Get(EndKey, &last); err != nil {
		return h, err
	}
	return h.ended(last), nil
}
