package provenance

import (
	"cmp"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/account"
)

// An Absence is a line of absences.jsonl. It is about a URL that was queued in the crawl and
// has no stored answer. The names of its fields never change.
type Absence struct {
	URL    string         `json:"url"`
	Fate   frontier.Code  `json:"fate"`
	Reason string         `json:"reason,omitempty"`
	Status int            `json:"status,omitempty"` // status of the last answer; 0: there was none
	Time   time.Time      `json:"time,omitzero"`    // when the crawl finished with the URL; zero: it is still queued
	Clock  frontier.Clock `json:"clock,omitempty"`  // if the URL is queued, the clock for which it waits
	Until  time.Time      `json:"until,omitzero"`
	Robots time.Time      `json:"robots,omitzero"` // when the robots.txt that decided about the URL was fetched
	Via    string         `json:"via,omitempty"`
	Hops   string         `json:"hops,omitempty"`
	Depth  int            `json:"depth"`
	Tag    string         `json:"tag,omitempty"`
	WARC   string         `json:"warc,omitempty"` // name of the WARC file with the last answer; empty: the answer is not archived
	Offset int64          `json:"offset,omitempty"`
}

// A Refusal is a line of absences.jsonl, after all Absences. It counts the URLs of one site
// that pages link to and that were never queued for one reason. The names of its fields never
// change.
type Refusal struct {
	Refused  string        `json:"refused"`        // why the URLs were not queued
	Site     frontier.Site `json:"site,omitempty"` // empty: all sites that have no line of their own
	URLs     int64         `json:"urls"`           // number of distinct URLs
	Examples []string      `json:"examples"`       // some of the URLs that are counted
}

// The bounds of the memory for refused links.
const (
	mostRefusals = 10_000 // number of pairs of a site and a reason
	mostExamples = 3
)

// writeAbsences writes a line for each URL without an answer, and then the lines for refused
// links.
func (w *writer) writeAbsences(out io.Writer) error {
	a := &w.Absences
	for site, err := range w.state.Names() {
		if err != nil {
			return err
		}
		for l, err := range w.account.List(site) {
			if err != nil {
				return err
			}
			if err := w.entered(out, &l); err != nil {
				return err
			}
		}
		if err := w.quit(); err != nil {
			return err
		}
	}
	if err := w.writeRefused(out); !errors.Is(err, account.ErrNoLinks) {
		a.Source = SourceLinks
		return err
	}
	s, err := crawler.ReadStatus(w.dir)
	if err != nil || s.State != crawler.StateEnded {
		return err
	}
	a.Source = SourceLastRun
	for reason, n := range s.Run.SkippedLinks {
		a.SkippedLinks[reason.String()] += int64(n)
	}
	return nil
}

// entered counts a URL that was queued in the crawl, and writes a line if it has no stored
// answer.
func (w *writer) entered(out io.Writer, l *account.Listed) error {
	w.Absences.Entered++
	w.Absences.Fates[l.Code]++
	if l.Hops == "" {
		if err := w.seeds.add(l.URL.String(), l.Tag); err != nil {
			return err
		}
	}
	if l.Code == frontier.Fetched {
		return nil
	}
	w.Absences.URLs++
	if !l.Purged.IsZero() {
		w.purged(l.Purged.UTC())
	}
	f := &l.Fate
	return line(out, Absence{
		URL: l.URL.String(), Fate: l.Code, Reason: l.Reason, Status: f.Status, Time: f.Time.UTC(), Clock: l.Clock, Until: l.Until.UTC(),
		Robots: f.Rules.UTC(), Via: l.Via, Hops: l.Hops, Depth: l.Depth, Tag: l.Tag, WARC: f.Answer.File, Offset: f.Answer.Offset,
	})
}

// purged counts a URL whose stored answers were removed by purge.Purge at the given time.
func (w *writer) purged(at time.Time) {
	if w.Purge == nil {
		w.Purge = &Purge{}
	}
	w.Purge.URLs++
	if at.After(w.Purge.Last) {
		w.Purge.Last = at
	}
}

// A refusalKey is a site and a reason. Refused links are counted for each refusalKey.
type refusalKey struct {
	site   frontier.Site
	reason string
}

// writeRefused counts the refused links, and writes a line for each site and reason. It returns
// account.ErrNoLinks if the crawl has no links.jsonl.
func (w *writer) writeRefused(out io.Writer) error {
	all := map[refusalKey]*Refusal{}
	for l, err := range w.account.Refused() {
		if err = cmp.Or(err, w.quit()); err != nil {
			return err
		}
		key := refusalKey{l.To.Site(), l.Code.String()}
		if all[key] == nil && len(all) >= mostRefusals {
			key.site = ""
		}
		r := all[key]
		if r == nil {
			key.site = frontier.Site(strings.Clone(string(key.site))) // copy the name, because otherwise the whole URL would stay in memory
			r = &Refusal{Refused: key.reason, Site: key.site}
			all[key] = r
		}
		r.URLs++
		w.Absences.Refused[key.reason]++
		if len(r.Examples) < mostExamples {
			r.Examples = append(r.Examples, l.To.String())
		}
	}
	keys := slices.SortedFunc(maps.Keys(all), func(a, b refusalKey) int {
		return cmp.Or(cmp.Compare(a.site, b.site), cmp.Compare(a.reason, b.reason))
	})
	for _, key := range keys {
		if err := line(out, all[key]); err != nil {
			return err
		}
	}
	return nil
}
