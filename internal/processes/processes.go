// Package processes records which processes have worked on a crawl: when each of them ran, with
// which clock, and how its program was built.
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

// A Process is one run of a crawl. The JSON names of its fields never change.
type Process struct {
	Began time.Time `json:"began"`          // time of the first line of the run in crawl.log; of earlier versions: some milliseconds later
	Ended time.Time `json:"ended,omitzero"` // zero: the process was killed, failed, or still runs
	End   string    `json:"end,omitempty"`  // why the run ended, a crawler.End; set only if Ended is not zero

	Zone   string `json:"zone"`       // time zone of the machine's clock, as the system names it
	Offset int    `json:"utc_offset"` // offset of the time zone when the run began, in seconds east of UTC

	// Clock is the hardware from which the time is read, and Synchronised says whether the
	// clock was synchronised when the run began. They are empty and nil if the system does not
	// say.
	Clock        string `json:"clock,omitempty"`        // name of a Linux clocksource, such as tsc
	Synchronised *bool  `json:"synchronised,omitempty"` // whether NTP or a similar service sets the clock, as adjtimex(2) says; nil: not known

	Build string `json:"build"` // the key of the Build of the program in History.Builds
}

// A Build describes how a program was built. Values that are not known are empty. The JSON
// names of its fields never change.
type Build struct {
	Program  string   `json:"program"` // permesso and its version
	Main     string   `json:"main,omitempty"`
	Version  string   `json:"version,omitempty"` // version of the main module
	Revision string   `json:"revision,omitempty"`
	Time     string   `json:"revision_time,omitempty"`
	Modified bool     `json:"modified"` // the source differed from the revision
	Go       string   `json:"go"`
	OS       string   `json:"os"`
	Arch     string   `json:"arch"`
	Modules  []Module `json:"modules"` // modules that are linked into the program, with their versions
}

// A Module is a module that a program was built from.
type Module struct {
	Path    string `json:"path"`
	Version string `json:"version"`
	Sum     string `json:"sum,omitempty"` // checksum of the module, as in go.sum
}

// This returns the Build of the running program.
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

// digest returns the SHA-256 of the JSON form of b, which identifies the build.
func (b Build) digest() (string, error) {
	text, err := json.Marshal(b)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}

// A History has the processes that have worked on a crawl. The crawl stores it.
type History struct {
	Processes []Process        // the last thousand processes, beginning with the oldest
	Builds    map[string]Build // the programs of Processes, at most the last twenty, by Process.Build
	Forgotten int              // number of older processes; processes of versions that recorded none are not counted
}

// An End says when and why a run has ended. A crawl stores it at the end of the run.
type End struct {
	Of   time.Time `json:"of_run"` // when the run began
	Time time.Time `json:"time"`
	Why  string    `json:"end"` // why the run ended, a crawler.End
}

// Next returns h with this process, which has begun a run, added. last is the End of the
// previous run. All processes are stored as one value, because several values would need
// several commits.
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
	next.forget(h.Builds, map[string]Build{digest: b})
	return next, nil
}

// forget removes the oldest processes if there are too many, and sets Builds to the builds of the
// newest ones.
func (h *History) forget(builds ...map[string]Build) {
	if n := len(h.Processes) - mostProcesses; n > 0 {
		h.Processes, h.Forgotten = slices.Delete(h.Processes, 0, n), h.Forgotten+n
	}
	h.Builds = map[string]Build{}
	for _, p := range slices.Backward(h.Processes) {
		for _, some := range builds {
			if b, known := some[p.Build]; known && len(h.Builds) < mostBuilds {
				h.Builds[p.Build] = b
			}
		}
	}
}

// ended returns a copy of h in which the process of the run that last belongs to has the time and
// the reason of its end. It changes nothing if h does not have that process.
func (h *History) ended(last End) History {
	all := slices.Clone(h.Processes)
	for i := range all {
		if last.Why != "" && last.Of.Equal(all[i].Began) {
			all[i].Ended, all[i].End = last.Time.UTC(), last.Why
		}
	}
	return History{all, h.Builds, h.Forgotten}
}

// Merge returns the history of a crawl of several nodes: each process that is in one of the
// histories, in the order in which they began, with those ends that are known. A process that the
// history with the largest Forgotten has forgotten stays forgotten.
func Merge(all []History, ends []End) History {
	var h History
	var builds []map[string]Build
	var oldest time.Time
	for _, one := range all {
		if one.Forgotten > h.Forgotten && len(one.Processes) > 0 {
			h.Forgotten, oldest = one.Forgotten, one.Processes[0].Began
		}
	}
	at := map[int64]int{} // for the start of each process, its index in h.Processes
	for _, one := range all {
		builds = append(builds, one.Builds)
		for _, p := range one.Processes {
			i, known := at[p.Began.UnixNano()]
			switch {
			case p.Began.Before(oldest):
			case !known:
				at[p.Began.UnixNano()] = len(h.Processes)
				h.Processes = append(h.Processes, p)
			case p.End != "":
				h.Processes[i] = p
			}
		}
	}
	for _, e := range ends {
		h = h.ended(e)
	}
	slices.SortStableFunc(h.Processes, func(a, b Process) int { return a.Began.Compare(b.Began) })
	h.forget(builds...)
	return h
}

// The keys in the state under which a crawl stores its History and its last End, together with
// other fields. A crawl that was collected from several nodes has the last End of each of them
// under EndsKey.
const (
	HistoryKey = store.KeyRun
	EndKey     = "status"
	EndsKey    = "ends"
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
