package serve

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/feed"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/follow"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/series"
	"github.com/permesso-crawler/permesso/internal/store"
)

func (s *Server) overview(w http.ResponseWriter, r *http.Request) {
	if len(s.crawls) == 1 && len(s.series) == 0 { // then that is all there is to see
		http.Redirect(w, r, s.crawls[0].Path(), http.StatusSeeOther)
		return
	}
	s.show(w, r, "overview", frame{Title: "Crawls"}, s.overviewFeed())
}

func (s *Server) overviewLive(w http.ResponseWriter, r *http.Request) {
	s.stream(w, r, s.overviewFeed())
}

// A row is a crawl in a table.
type row struct {
	Name, Href, Dir string
	State, Class    string
	Cells           []string // as the heads of the table
	Note            string
}

// rowOf returns the row of a crawl.
func rowOf(name, href string, v *follow.View) row {
	st := stateOf(v, false)
	s := &v.Status
	r := row{Name: name, Href: href, State: st.State, Class: st.Class, Note: strings.Join(st.Warnings, " ")}
	if s.State == "" || s.State == crawler.StateNotBegun {
		return r
	}
	if !v.Running && s.End != "" {
		r.State = string(s.End)
	}
	rate := ""
	if v.Running {
		rate = strconv.FormatFloat(s.Rate.Pages, 'f', 1, 64)
	}
	r.Cells = []string{rate, grouped(s.Crawl.BudgetPages), grouped(s.Crawl.Queued), grouped(say.Sum(s.Run.Errors)), grouped(s.Polite.Early)}
	return r
}

var overviewHead = []string{"pages a second", "budget pages", "in the queue", "failed requests", "early requests"}

// A rows is a table of crawls.
type rows struct {
	Caption string
	Head    []string
	Rows    []row
	Empty   string
}

func (s *Server) overviewFeed() *feed.Feed {
	return s.feedOf("", func(ctx context.Context, publish func(string, []feed.Part)) {
		crawls := map[string]*follow.Crawl{}
		look := func(dir string) *follow.View {
			if crawls[dir] == nil {
				crawls[dir] = &follow.Crawl{Dir: dir}
			}
			return crawls[dir].Status(ctx)
		}
		for ctx.Err() == nil {
			took := time.Duration(0)
			var parts []feed.Part
			if len(s.crawls) > 0 {
				t := rows{Caption: "Crawls", Head: overviewHead}
				for _, p := range s.crawls {
					v := look(p.dir)
					took += v.Took
					t.Rows = append(t.Rows, rowOf(p.name, p.Path(), v))
				}
				parts = append(parts, part("table-crawls", "rows", t))
			}
			if len(s.series) > 0 {
				t := rows{Caption: "Series, by their newest snapshots", Head: overviewHead}
				for _, p := range s.series {
					all, err := series.Series{Dir: p.dir}.Snapshots()
					if err != nil || len(all) == 0 {
						r := row{Name: p.name, Href: p.Path(), Class: "still", State: "no snapshot yet"}
						if err != nil {
							r.Note = err.Error()
						}
						t.Rows = append(t.Rows, r)
						continue
					}
					v := look(all[len(all)-1].Dir)
					took += v.Took
					t.Rows = append(t.Rows, rowOf(p.name, p.Path(), v))
				}
				parts = append(parts, part("table-series", "rows", t))
			}
			if ctx.Err() == nil {
				publish("overview", parts)
			}
			rest(ctx, pauseAfter(took))
		}
	})
}

func (s *Server) seriesPage(w http.ResponseWriter, r *http.Request) {
	p := find(s.series, r.PathValue("series"))
	if p == nil {
		refuse(w, r, http.StatusNotFound, "There is no such series here.")
		return
	}
	s.show(w, r, "series", frame{Title: filepath.Base(p.dir), Above: []link{{"/", "All crawls"}}}, s.seriesFeed(p))
}

func (s *Server) seriesLive(w http.ResponseWriter, r *http.Request) {
	p := find(s.series, r.PathValue("series"))
	if p == nil {
		refuse(w, r, http.StatusNotFound, "There is no such series here.")
		return
	}
	s.stream(w, r, s.seriesFeed(p))
}

// mostSnapshots is the number of snapshots that a page about a series shows.
const mostSnapshots = 100

func (s *Server) seriesFeed(p *place) *feed.Feed {
	return s.feedOf(p.dir, func(ctx context.Context, publish func(string, []feed.Part)) {
		crawls := map[string]*follow.Crawl{}
		for ctx.Err() == nil {
			parts, took := s.seriesParts(ctx, p, crawls)
			if ctx.Err() == nil {
				publish("series", parts)
			}
			rest(ctx, pauseAfter(took))
		}
	})
}

// seriesParts returns the parts of the page about a series, and how long its crawls took to
// answer. crawls has what is known of its snapshots, by directory.
func (s *Server) seriesParts(ctx context.Context, p *place, crawls map[string]*follow.Crawl) (parts []feed.Part, took time.Duration) {
	all, err := series.Series{Dir: p.dir}.Snapshots()
	var warnings []string
	if err != nil {
		warnings = append(warnings, err.Error())
	}
	left := max(0, len(all)-mostSnapshots)
	shown := slices.Clone(all[left:])
	slices.Reverse(shown)
	snapshots := rows{
		Caption: "Snapshots, the newest first", Empty: "There is no snapshot yet.",
		Head: []string{"budget pages", "new pages", "modified", "same text", "not modified", "failed requests", "early requests"},
	}
	if left > 0 {
		snapshots.Caption += ", without " + say.Plural(left, "older one")
	}
	for _, n := range shown {
		name := filepath.Base(n.Dir)
		if crawls[n.Dir] == nil {
			crawls[n.Dir] = &follow.Crawl{Dir: n.Dir}
		}
		v := &follow.View{}
		v.Status.State = "made"
		if begun(n) {
			v = crawls[n.Dir].Status(ctx)
			took += v.Took
		}
		r := rowOf(name, url.PathEscape(name)+"/", v)
		if r.Cells != nil {
			c := v.Status.Run.Changes
			cells := []string{r.Cells[1]}
			for _, class := range []crawler.ChangeClass{crawler.ChangeNew, crawler.ChangeModified, crawler.ChangeSameText, crawler.ChangeNotModified} {
				text := ""
				if c != nil { // there is a snapshot before this one
					text = grouped(c[class])
				}
				cells = append(cells, text)
			}
			r.Cells = append(cells, r.Cells[3:]...)
		}
		if facts, err := n.ReadFacts(); err == nil && facts.Changed != nil {
			r.Note = strings.TrimSpace(r.Note + " The job has changed: " + jobChanges(facts.Changed))
		}
		snapshots.Rows = append(snapshots.Rows, r)
	}
	missed, _, err := series.Series{Dir: p.dir}.Missed()
	if err != nil {
		warnings = append(warnings, err.Error())
	}
	times := timesView{}
	for _, m := range missed {
		times.Missed = append(times.Missed, [2]string{say.Stamp(m.Due), missedBecause(m.Why)})
	}
	if s.options.Due != nil {
		next, more, err := s.options.Due(p.dir, time.Now())
		if err != nil {
			warnings = append(warnings, "When the next run is, is not known: "+err.Error())
		}
		for _, at := range more {
			times.Missed = append(times.Missed, [2]string{say.Stamp(at), "not recorded yet"})
		}
		for _, at := range next {
			times.Next = append(times.Next, say.Stamp(at))
		}
	}
	slices.Reverse(times.Missed)
	times.All = len(times.Missed)
	times.Missed = times.Missed[:min(len(times.Missed), mostSnapshots)]
	return []feed.Part{
		part("state", "state", stateView{Text: say.Plural(len(all), "snapshot"), Warnings: warnings}),
		part("table-snapshots", "rows", snapshots), part("table-times", "times", times),
	}, took
}

// begun reports whether a snapshot is more than a directory.
func begun(n series.Snapshot) bool {
	_, err := os.Lstat(filepath.Join(n.Dir, store.StateFile))
	return !errors.Is(err, fs.ErrNotExist)
}

// A timesView has the next runs of a series, and those that were missed.
type timesView struct {
	Next   []string
	Missed [][2]string // time and reason, the newest first
	All    int         // number of missed runs
}

// missedBecause returns why a run was missed, in words.
func missedBecause(why string) string {
	switch why {
	case series.WhyOff:
		return "no scheduler was running"
	case series.WhyOverlap:
		return "the run before it was still running"
	case series.WhyFailed:
		return "it could not begin"
	}
	return why
}

// jobChanges returns how the job of a series has changed, in words.
func jobChanges(c *series.Changed) string {
	var parts []string
	for _, s := range c.Settings {
		parts = append(parts, s.Setting+": "+s.Was+" → "+s.Is)
	}
	if c.SeedsAdded > 0 {
		parts = append(parts, say.Plural(c.SeedsAdded, "seed")+" added")
	}
	if c.SeedsRemoved > 0 {
		parts = append(parts, say.Plural(c.SeedsRemoved, "seed")+" removed")
	}
	if parts == nil {
		parts = []string{"its file"}
	}
	return strings.Join(parts, "; ") + "."
}
