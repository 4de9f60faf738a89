package report

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/account"
	"github.com/permesso-crawler/permesso/internal/store"
)

// readQueue reads how many URLs are queued for each site, and computes the least time in which
// they can be requested.
func (r *reporter) readQueue() error {
	if r.state == nil {
		return nil
	}
	for st, err := range r.state.Sites() {
		if err == nil {
			err = r.readSite(&st)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readSite reads the queue of one site.
func (r *reporter) readSite(st *frontier.SiteState) error {
	r.Again += int64(st.Again)
	if st.Left() == 0 {
		return nil
	}
	held, err := r.account.Held(st)
	if next := st.NextAgain; !next.IsZero() && !stopped(held.Code) && (r.NextAgain.IsZero() || next.Before(r.NextAgain)) {
		r.NextAgain = next.UTC()
	}
	if st.Queued == 0 {
		return err
	}
	delay, err2 := r.account.Delay(st.Site)
	return errors.Join(err, err2, r.noteLeft(r.leftOf(st, &held, delay)), r.queueOf(st.Site, held.Code))
}

// A waiting is the queue of a site. The time that the queue takes depends on how fast the site
// answers. So it is computed later, when the log lines of the site have been read.
type waiting struct {
	Left
	Due   float64 // seconds until the next request to the site may begin
	Pause float64 // least number of seconds between two requests to the site
}

// noteLeft stores the queue of a site for eachSite. If none of the queued URLs will be
// requested, it adds the queue to the table at once.
func (r *reporter) noteLeft(w *waiting) error {
	if !w.asked() {
		r.left.add(w.Left)
		return nil
	}
	value, err := json.Marshal(w)
	if err != nil {
		return err
	}
	return r.noteSite(w.Site, siteLeft, value)
}

// stopped reports whether a site with this code gets no request any more.
func stopped(c frontier.Code) bool {
	return c == frontier.Excluded || c == frontier.SiteDead || c == frontier.RobotsUnreachable
}

// asked reports whether the queued URLs will ever be requested.
func (w *waiting) asked() bool {
	return w.Fate == frontier.Queued || w.Fate == frontier.Waiting
}

// leftOf returns the queue of a site. delay is the least time between two requests to the
// site.
func (r *reporter) leftOf(st *frontier.SiteState, held *account.Listed, delay time.Duration) *waiting {
	w := &waiting{Left: Left{Site: st.Site, Queued: int64(st.Queued), Fate: held.Code, Reason: held.Reason}}
	if !w.asked() {
		return w
	}
	pause, _ := st.Clocks.Steady(delay)
	w.Pause = pause.Seconds()
	w.Due = max(0, st.Clocks.Due.Sub(r.Now).Seconds())
	return w
}

// after returns the queue with the least time that it takes, if the site needs answer seconds
// for each request.
func (w *waiting) after(answer float64) Left {
	l := w.Left
	l.Seconds = w.Due + (w.Pause+answer)*float64(w.Queued)
	return l
}

// queueOf stores a record for each queued URL of a site.
func (r *reporter) queueOf(site frontier.Site, fate frontier.Code) error {
	for e, err := range r.state.Queued(site) {
		if err != nil {
			return err
		}
		if e.Again() {
			continue // skip a URL that waits to be fetched again, because its last line in the log counts
		}
		of := fate
		if of == frontier.Queued && e.Due.After(r.Now) {
			of = frontier.Waiting
		}
		if err := r.note(e.URL.String(), kindQueued, "", append([]byte{byte(of)}, e.Via...)); err != nil {
			return err
		}
	}
	return nil
}

// finish makes the tables of the report.
func (r *reporter) finish() error {
	r.SiteRows, r.Rules, r.Troubles, r.Left = r.rows.table(), r.rules.table(), r.troubles.table(), r.left.table()
	r.Outcomes = []Outcome{}
	for _, s := range frontier.Fates() {
		if n := r.fates[s]; n > 0 {
			r.Outcomes = append(r.Outcomes, Outcome{s, n})
		}
	}
	r.Status, r.Failures = r.status.counts(), r.stages.counts()
	r.Types = []Type{}
	for _, name := range slices.Sorted(maps.Keys(r.types)) {
		r.Types = append(r.Types, *r.types[name])
	}
	slices.SortStableFunc(r.Types, func(a, b Type) int { return cmp.Compare(b.Bytes, a.Bytes) })
	r.Series, r.Delays, r.Rates = r.time.series(), r.delayRows(), r.rateRows()
	r.Report.Errors, r.Redirect, r.Linked = r.broken.table(), r.redirect.table(), r.linked.table()
	r.Slowest, r.Largest, r.Same = r.slowest.table(), r.largest.table(), r.same.table()
	if r.Series.Points == nil {
		r.Series.Points = []Point{}
	}
	return nil
}

// readPages adds the titles of pages and the targets of redirects to the rows of the tables.
func (r *reporter) readPages() error {
	titles := map[string][]*string{}
	want := func(url string, title *string) { titles[url] = append(titles[url], title) }
	for i := range r.Report.Errors.Rows {
		want(r.Report.Errors.Rows[i].URL, &r.Report.Errors.Rows[i].Title)
	}
	for i := range r.Linked.Rows {
		want(r.Linked.Rows[i].URL, &r.Linked.Rows[i].Title)
	}
	for _, rows := range [][]Request{r.Slowest.Rows, r.Largest.Rows} {
		for i := range rows {
			want(rows[i].URL, &rows[i].Title)
		}
	}
	for i := range r.Same.Rows {
		want(r.Same.Rows[i].URLs[0], &r.Same.Rows[i].Title)
	}
	if near := r.Report.Near; near != nil {
		for i := range near.Groups.Rows {
			want(near.Groups.Rows[i].URLs[0], &near.Groups.Rows[i].Title)
		}
	}
	places := map[string]*string{}
	for i := range r.Redirect.Rows {
		places[r.Redirect.Rows[i].URL] = &r.Redirect.Rows[i].To
	}
	for _, dir := range r.dirs {
		err := eachRecord(store.ReadPages(r.ctx, dir), func(p *store.PageRecord) error {
			for _, title := range titles[p.URL] {
				*title = clip(p.Title, mostTitle)
			}
			if to := places[p.URL]; to != nil {
				*to = p.Location
			}
			return nil
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// eachRecord calls f for each record that can be read. It stops at the first error of f.
func eachRecord[T any](all iter.Seq2[*T, error], f func(*T) error) error {
	for record, err := range all {
		var damaged *store.DamagedError
		if errors.As(err, &damaged) {
			continue
		}
		if err == nil {
			err = f(record)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// mostTitle is the largest number of characters of a title in a report.
const mostTitle = 120

// clip shortens a text to the given number of characters. It adds an ellipsis if it leaves
// something out.
func clip(s string, most int) string {
	n := 0
	for i := range s {
		if n++; n > most {
			return s[:i] + "…"
		}
	}
	return s
}
