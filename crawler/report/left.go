package report

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/storage"
)

// mostAdaptive bounds what a slow site gets as a pause.
const mostAdaptive = time.Minute

// readQueue notes what is queued, and how long that takes at least.
func (r *reporter) readQueue() error {
	if r.state == nil {
		return nil
	}
	left := top[Left]{most: mostBars, order: func(a, b Left) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(b.Queued, a.Queued), cmp.Compare(a.Site, b.Site))
	}}
	var sites []frontier.SiteState // that have something left
	err := r.state.Sites(func(st frontier.SiteState) error {
		r.Again += int64(st.Again)
		if next := st.NextAgain; !next.IsZero() && (r.NextAgain.IsZero() || next.Before(r.NextAgain)) {
			r.NextAgain = next.UTC()
		}
		if st.Queued > 0 {
			sites = append(sites, st)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i := range sites {
		held := r.account.Held(&sites[i])
		left.add(r.leftOf(&sites[i], &held))
		if err := r.queueOf(sites[i].Site, held.Standing); err != nil {
			return err
		}
	}
	r.Left = left.table()
	return nil
}

// leftOf is how long what is queued at a site takes, if all is asked for as soon as may be.
func (r *reporter) leftOf(st *frontier.SiteState, held *crawler.Listed) Left {
	l := Left{Site: st.Site, Queued: int64(st.Queued), Standing: held.Standing, Reason: held.Reason}
	if held.Standing != crawler.StandsQueued && held.Standing != crawler.StandsWaiting {
		return l
	}
	s := r.site(st.Site)
	own := cmp.Or(r.delay, frontier.DefaultDelay)
	if st.Clocks.Public {
		own = max(own, frontier.PublicFloor)
	}
	pause := max(own, st.Clocks.Gap, min(2*st.Clocks.LastTTFB, mostAdaptive))
	each := pause.Seconds() + s.ttfb.quantile(0.5)
	l.Seconds = max(0, st.Clocks.Due.Sub(r.Now).Seconds()) + each*float64(st.Queued)
	return l
}

// queueOf notes each URL that is queued at a site.
func (r *reporter) queueOf(site frontier.Site, standing crawler.Standing) error {
	for e, err := range r.state.Queued(site) {
		if err != nil {
			return err
		}
		if e.Again() {
			continue // it stands as it ended last
		}
		of := standing
		if of == crawler.StandsQueued && e.Due.After(r.Now) {
			of = crawler.StandsWaiting
		}
		if err := r.note(e.URL.String(), kindQueued, append(append([]byte(of), 0), e.Via...)); err != nil {
			return err
		}
	}
	return nil
}

// finish makes the tables.
func (r *reporter) finish() error {
	r.siteTables()
	r.Outcomes = []Outcome{}
	for _, s := range crawler.Standings() {
		if n := r.stands[s]; n > 0 {
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
	if r.Left.Rows == nil {
		r.Left.Rows = []Left{}
	}
	if r.Series.Points == nil {
		r.Series.Points = []Point{}
	}
	return nil
}

// readPages finds the titles of what stands in the tables, and where redirects lead.
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
	places := map[string]*string{}
	for i := range r.Redirect.Rows {
		places[r.Redirect.Rows[i].URL] = &r.Redirect.Rows[i].To
	}
	_, err := storage.ReadPages(r.dir, func(p *storage.PageRecord) error {
		for _, title := range titles[p.URL] {
			*title = clip(p.Title, mostTitle)
		}
		if to := places[p.URL]; to != nil {
			*to = p.Location
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// mostTitle is how many characters of a title are told.
const mostTitle = 120

// clip is the beginning of a text.
func clip(s string, most int) string {
	n := 0
	for i := range s {
		if n++; n > most {
			return s[:i] + "…"
		}
	}
	return s
}
