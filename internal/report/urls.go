package report

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/internal/store"
)

// The kinds of records about a URL, in the order in which they are sorted.
const (
	kindLine   = 'a' // a line of the log
	kindPage   = 'b' // the URL is the URL of a robots.txt, which was fetched at the time in the record
	kindQueued = 'c' // the URL is queued; the record has its fate, and the page that led to it
	kindLink   = 'd' // a page links to the URL, according to links.jsonl
)

// note stores a record about a URL. The records are sorted by URL, kind and page. Only records of
// kindLink have a page.
func (r *reporter) note(url string, kind byte, page string, value []byte) error {
	if strings.IndexByte(url, 0) >= 0 {
		return nil // ignore a URL with a NUL byte, because such a URL was never requested
	}
	return r.urls.Add(append(append([]byte(url), 0, kind), page...), value)
}

func binaryTime(t time.Time) []byte {
	return binary.BigEndian.AppendUint64(nil, uint64(t.UnixMilli()))
}

func timeOf(b []byte) time.Time {
	return time.UnixMilli(int64(binary.BigEndian.Uint64(b))).UTC()
}

// The ways in which a page refers to a URL.
const (
	byLink  = 'L' // a link that readers can follow
	byOther = 'O' // an embedded resource, or an entry of a sitemap
)

// readLinks stores a record for each link in links.jsonl. If a page was fetched more than once,
// its links may be there more than once. Their records have the same keys, so takeLink counts
// them once.
func (r *reporter) readLinks() error {
	for _, dir := range r.dirs {
		switch err := r.linksOf(dir); {
		case err == nil:
			r.HasLinks = true
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	return nil
}

// linksOf stores the links in the links.jsonl of the crawl or of the node in dir.
func (r *reporter) linksOf(dir string) error {
	from, seen := "", map[string]byte{}
	return eachRecord(store.ReadLinks(r.ctx, dir), func(l *store.LinkRecord) error {
		if l.From != from {
			from = l.From
			clear(seen)
		}
		to, _, _ := strings.Cut(l.To, "#")
		how := byte(byOther)
		switch l.Hop {
		case string(frontier.HopRedirect):
			return nil
		case string(frontier.HopLink):
			how = byLink
		}
		if seen[to] == byLink || seen[to] == how {
			return nil
		}
		seen[to] = how
		return r.note(to, kindLink, l.From, []byte{how})
	})
}

// urlRecords has all records about one URL.
type urlRecords struct {
	url    string
	first  *crawllog.Line // the first line of the log about the URL; nil: the log has no such line
	last   *crawllog.Line
	tries  int64 // number of requests
	robots time.Time
	queued frontier.Code // fate of the URL in the queue; empty: it is not queued
	via    string        // page that led to the URL, if it is queued
	linked int64         // number of pages that link to the URL or embed it
	from   []string      // some of the pages that link to the URL or embed it
	links  int64         // number of pages with a link to the URL that readers can follow

	linker  string // page of the last record of kindLink
	follows bool   // the page linker is already counted in links
}

// eachURL reads the stored records of all URLs, one URL after the other, and fills the tables
// of URLs.
func (r *reporter) eachURL() error {
	var t *urlRecords
	err := r.urls.Each(func(key, value []byte) error {
		url, rest, _ := bytes.Cut(key, []byte{0})
		if t == nil || t.url != string(url) {
			if err := r.url(t); err != nil {
				return err
			}
			t = &urlRecords{url: string(url)}
		}
		if rest[0] == kindLink {
			t.takeLink(rest[1:], value[0])
			return nil
		}
		return t.take(rest[0], value)
	})
	return errors.Join(err, r.url(t))
}

func (t *urlRecords) take(kind byte, value []byte) error {
	switch kind {
	case kindLine:
		l, err := crawllog.Parse(string(value))
		if err != nil {
			return err
		}
		if t.last = l; t.first == nil {
			t.first = l
		}
		if !l.Start.IsZero() {
			t.tries++
		}
	case kindPage:
		if at := timeOf(value); t.robots.IsZero() || at.Before(t.robots) {
			t.robots = at
		}
	case kindQueued:
		t.queued, t.via = frontier.Code(value[0]), string(value[1:])
	}
	return nil
}

// takeLink counts a page that refers to the URL of t. from is the URL of the page, and how says
// whether readers can follow the link; if so, the page also counts in t.links. All records of a
// page come one after the other, so each page counts once.
func (t *urlRecords) takeLink(from []byte, how byte) {
	if t.linked == 0 || t.linker != string(from) {
		t.linker, t.follows = string(from), false
		if t.linked++; len(t.from) < mostExample {
			t.from = append(t.from, t.linker)
		}
	}
	if how == byLink && !t.follows {
		t.follows = true
		t.links++
	}
}

// url adds a URL with all its records to the report. It does nothing if t is nil.
func (r *reporter) url(t *urlRecords) error {
	if t == nil {
		return nil
	}
	fate := t.fate()
	if t.links > 0 {
		r.linked.add(Linked{URL: t.url, Pages: t.links, Fate: fate})
	}
	if fate != frontier.Undecided {
		r.URLs++
		r.fates[fate]++
	}
	if t.last != nil {
		if err := r.ended(t, fate); err != nil {
			return err
		}
	}
	return r.finds(t)
}

// fate returns the fate of a URL: the fate in the queue or, if the URL is not queued, the fate
// in its last line.
func (t *urlRecords) fate() frontier.Code {
	if t.queued != frontier.Undecided || t.last == nil {
		return t.queued
	}
	_, failed := t.last.Annotation("error")
	_, refused := t.last.Annotation("refused")
	switch status := t.last.Status; {
	case status == crawllog.RobotsDisallowed:
		return frontier.RobotsDisallowed
	case status == crawllog.UseRefused || refused:
		return frontier.UseRefused
	case status == crawllog.OptedOut:
		return frontier.OptedOut
	case status == crawllog.OutOfScope:
		return frontier.ScopeNarrowed
	case failed || status <= 0 || mayPass(status):
		return frontier.Failed
	}
	return frontier.Fetched
}

// ended adds a URL to the tables, with its last line.
func (r *reporter) ended(t *urlRecords, fate frontier.Code) error {
	l := t.last
	stage, _ := l.Annotation("error")
	if t.queued == frontier.Undecided {
		r.time.at(l.Time).Ended++
	}
	if classOf(l.Status, stage) != "" && fate != frontier.RobotsDisallowed && refusal(l.Status) == 0 {
		r.broken.add(Failure{URL: t.url, Status: l.Status, Error: stage, Tries: t.tries, Via: l.Via, Linked: t.linked, From: t.from})
	}
	if l.Status/100 == 3 && l.Status != 304 {
		r.redirect.add(Redirect{URL: t.url, Status: l.Status, Linked: t.linked})
	}
	if fate == frontier.Fetched && hasBody(l) && (frontier.Entry{Hops: l.Hops}).Page() {
		return r.bodies.Add([]byte(l.Digest), fmt.Appendf(nil, "%d %s", max(0, l.Size), t.url))
	}
	return nil
}

// digestOfNothing is the digest of an empty body.
const digestOfNothing = "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"

// hasBody reports whether the line l is about a page with a body, which other pages may have in
// common. A page with a 304 answer has the body of the archived page.
func hasBody(l *crawllog.Line) bool {
	if _, kept := l.Annotation("kept"); kept {
		return l.Digest != "" && l.Digest != digestOfNothing
	}
	return l.Status/100 == 2 && l.Size > 0 && l.Digest != ""
}

// The kinds of records about a page that led to URLs.
const (
	foundAt = 'a' // the page was fetched at the time in the record
	foundBy = 'b' // the page led to a URL, which was first requested at the time in the record
)

// finds stores two records for eachFound: when the URL was fetched, and which page led to it.
func (r *reporter) finds(t *urlRecords) error {
	var errs []error
	var seen time.Time // when the URL was first requested
	via := t.via
	if t.first != nil {
		seen, via = t.first.Time, t.first.Via
		if t.last.Status > 0 {
			errs = append(errs, r.found.Add(append([]byte(t.url), 0, foundAt), binaryTime(t.last.Time)))
		}
	}
	if !t.robots.IsZero() {
		errs = append(errs, r.found.Add(append([]byte(t.url), 0, foundAt), binaryTime(t.robots)))
	}
	if t.last == nil && t.queued == frontier.Undecided {
		return errors.Join(errs...)
	}
	if via == "" { // the URL is a seed, which is known from the beginning of its run
		r.time.at(r.begin(seen)).Found++
		return errors.Join(errs...)
	}
	return errors.Join(append(errs, r.found.Add(append([]byte(via), 0, foundBy), binaryTime(cmp.Or(seen, r.Last))))...)
}

// begin returns when the run began that was active at a time. For the zero time it returns the
// beginning of the first run.
func (r *reporter) begin(at time.Time) time.Time {
	i, exact := slices.BinarySearchFunc(r.begins, at, time.Time.Compare)
	if !exact {
		i--
	}
	if len(r.begins) == 0 {
		return r.First
	}
	return r.begins[max(0, i)]
}

// eachFound counts in the series when each URL was found: when the page that led to it was
// fetched, or when the URL was first requested if that was earlier.
func (r *reporter) eachFound() error {
	page, there := "", time.Time{}
	return r.found.Each(func(key, value []byte) error {
		url, kind, at := key[:len(key)-2], key[len(key)-1], timeOf(value)
		if page != string(url) {
			page, there = string(url), time.Time{}
		}
		switch {
		case kind == foundAt && (there.IsZero() || at.Before(there)):
			there = at
		case kind == foundBy && !there.IsZero() && there.Before(at):
			r.time.at(there).Found++
		case kind == foundBy:
			r.time.at(at).Found++
		}
		return nil
	})
}

// eachBody fills the table of bodies that several pages have in common.
func (r *reporter) eachBody() error {
	var d *Duplicate
	end := func() {
		if d != nil && d.Pages > 1 {
			r.same.add(*d)
			r.Repeated += d.Pages - 1
		}
	}
	err := r.bodies.Each(func(key, value []byte) error {
		if d == nil || d.Digest != string(key) {
			end()
			d = &Duplicate{Digest: string(key)}
		}
		length, url, _ := strings.Cut(string(value), " ")
		size, err := strconv.ParseInt(length, 10, 64)
		if err != nil {
			return err
		}
		d.Bytes = max(d.Bytes, size)
		if d.Pages++; len(d.URLs) < mostExample {
			d.URLs = append(d.URLs, url)
		}
		return nil
	})
	end()
	return err
}
