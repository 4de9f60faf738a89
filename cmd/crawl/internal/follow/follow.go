package follow

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/control"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/nodes"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/report"
	"github.com/permesso-crawler/permesso/internal/store"
)

// A Crawl is a crawl to look at. It is not safe for concurrent use.
type Crawl struct {
	Dir     string
	Reports *Reports // nil: no report of an ended crawl is made

	log   *log                                                  // nil unless the crawl runs
	key   string                                                // of the files when ended was read
	ended *View                                                 // of the crawl when it was not running; nil if unknown
	ask   func(context.Context, string) (crawler.Status, error) // in tests; nil: control.Status
}

// A View is what is seen of a crawl.
type View struct {
	Running bool
	Status  crawler.Status
	Recent  *report.Recent // if Running, and unless only the status was wanted
	Report  *report.Report // if not Running; nil while it is made
	Err     error          // why there is no status, or no report
	Took    time.Duration  // the time in which the crawl answered; 0 if it was not asked
}

// errNode is the error of a node that no process runs. The state of its crawl is in a database.
var errNode = errors.New("no process runs this node: crawl status says how far the crawl of all nodes is, and crawl collect makes one crawl of them once they have ended")

// Status looks at the status of the crawl alone.
func (c *Crawl) Status(ctx context.Context) *View {
	key := keyOf(c.Dir)
	if c.ended != nil && c.key == key {
		return c.ended
	}
	c.ended = nil
	begin := time.Now()
	ask := c.ask
	if ask == nil {
		ask = control.Status
	}
	s, err := ask(ctx, c.Dir)
	switch {
	case err == nil:
		s.Dir = c.Dir
		return &View{Running: true, Status: s, Took: time.Since(begin)}
	case !errors.Is(err, control.ErrNobody):
		return &View{Err: err}
	}
	if nodes.Is(c.Dir) {
		return &View{Err: errNode}
	}
	s, err = crawler.ReadStatus(c.Dir)
	s.Dir = c.Dir
	v := &View{Status: s, Err: err}
	var inUse *store.InUseError
	if !errors.As(err, &inUse) { // otherwise a run is just beginning
		c.key, c.ended = key, v
	}
	return v
}

// Look looks at the crawl. Of a crawl that has ended, the first call returns the status alone,
// and the next one also the report, which may take long. ctx ends it.
func (c *Crawl) Look(ctx context.Context) *View {
	known := c.ended
	v := c.Status(ctx)
	if v.Running {
		if c.log == nil {
			c.log = &log{path: filepath.Join(c.Dir, store.LogFile), name: filepath.Base(c.Dir)}
		}
		v.Recent = c.log.read(&v.Status)
		return v
	}
	c.log = nil
	if v != known || v.Err != nil || v.Report != nil || c.Reports == nil || v.Status.State == crawler.StateNotBegun {
		return v
	}
	made := *v
	made.Report, made.Err = c.Reports.Of(ctx, c.Dir)
	if ctx.Err() != nil {
		return v
	}
	if key := keyOf(c.Dir); key == c.key {
		c.ended = &made
	}
	return &made
}

// Pending reports whether the next Look at the crawl makes its report.
func (c *Crawl) Pending(v *View) bool {
	return v == c.ended && !v.Running && v.Err == nil && v.Report == nil && c.Reports != nil && v.Status.State != crawler.StateNotBegun
}

// mostReports is the number of reports that Reports keeps.
const mostReports = 16

// Reports makes reports, one at a time, and keeps the last ones. It is safe for concurrent use.
type Reports struct {
	temp string
	turn chan struct{} // has an element while a report is made, or kept is used
	kept []keptReport  // the last used one comes last
}

type keptReport struct {
	dir, key string
	report   *report.Report
}

// NewReports returns Reports whose temporary files are in temp. An empty temp means the system's
// directory for them.
func NewReports(temp string) *Reports { return &Reports{temp: temp, turn: make(chan struct{}, 1)} }

// Of returns the report of the crawl in dir. It makes the report if the files have changed since
// it was made last. The errors are those of report.Dir.
func (r *Reports) Of(ctx context.Context, dir string) (*report.Report, error) {
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	key := keyOf(dir)
	if i := slices.IndexFunc(r.kept, func(k keptReport) bool { return k.dir == dir }); i >= 0 {
		k := r.kept[i]
		r.kept = slices.Delete(r.kept, i, i+1)
		if k.key == key {
			r.kept = append(r.kept, k)
			return k.report, nil
		}
	}
	made, err := report.Dir(ctx, dir, report.Options{Temp: r.temp})
	if err != nil {
		return nil, err
	}
	r.kept = append(r.kept, keptReport{dir, key, made})
	r.kept = slices.Delete(r.kept, 0, max(0, len(r.kept)-mostReports))
	return made, nil
}

// keyOf returns a text that changes if a run begins in dir, or changes its files.
func keyOf(dir string) string {
	key := ""
	for _, name := range []string{store.StateFile, store.RunFile, store.LogFile, control.Name} {
		info, err := os.Lstat(filepath.Join(dir, name))
		switch {
		case err == nil && name == control.Name && info.Mode().Type() != fs.ModeSocket:
		case err == nil:
			key += fmt.Sprintf("%s %d %d %v\n", name, info.Size(), info.ModTime().UnixNano(), info.Mode())
		}
	}
	return key
}
