package crawler

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/permesso-crawler/permesso/crawler/extract"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/storage"
)

// remembered is what visits know of pages that were fetched before: in the crawl before this
// one, or, where that fetches them again, in this one.
type remembered struct {
	past *storage.Past // the crawl before; nil: none

	// comparing bounds the bodies that are read to be compared: the page is in memory
	// meanwhile, and nobody waits for the room of bodies with one in hand.
	comparing chan struct{}

	mu    sync.Mutex      // guards what follows: each visit of a page looks here
	told  bool            // the log says that a capture cannot be read
	plain map[string]bool // URLs whose copy was of no use: they are asked for without a condition
}

// maxComparing is how many bodies of an archive are compared at once.
const maxComparing = 2

// remember opens the memory, with that of the crawl before if the options name one.
func (o *Options) remember() (*remembered, error) {
	m := &remembered{comparing: make(chan struct{}, maxComparing), plain: map[string]bool{}}
	if o.Previous == "" {
		return m, nil
	}
	past, err := storage.OpenPast(o.Previous)
	if err != nil {
		return nil, err
	}
	if !past.Remembers() {
		o.Logger.Warn("the crawl before has no archive: every page is asked for as if it were new", "dir", o.Previous)
		return m, nil
	}
	m.past = past
	return m, nil
}

// checkPrevious finds what is not valid in the option Previous.
func (o *Options) checkPrevious() error {
	if o.Previous == "" || o.Dir == "" {
		return nil
	}
	previous, err := filepath.Abs(o.Previous)
	dir, err2 := filepath.Abs(o.Dir)
	if err == nil && err2 == nil && previous == dir {
		return &OptionError{Field: "Previous", Reason: "is the directory of this crawl: name that of the one before"}
	}
	return nil
}

// A recollection is what is known of a URL that may have been fetched before. The zero
// value is that of a crawl that has no memory.
type recollection struct {
	asked   bool             // there is a memory, and this is what it has
	visits  *frontier.Visits // of this crawl, which has fetched it before; nil: it has not, and what there is is of the crawl before
	dir     string           // of the crawl that capture is of; empty: it has no directory
	capture *storage.Capture // nil: none, or none that can be read
	err     error            // why it cannot be read
	plain   bool             // the page is to be asked for without a condition
}

// recall looks up an entry in this crawl, or in the one before. Nothing is archived of what
// is asked for with HEAD, or over FTP, that a page could be made of.
func (j *Job) recall(db *storage.DB, e frontier.Entry) (r recollection) {
	m := j.memory
	archived := !e.Head && e.URL.Scheme() != "ftp"
	switch v := e.Visits; {
	case v != nil:
		r.visits = v
		if db != nil {
			r.dir = db.Dir()
			if archived && v.Body != (frontier.Place{}) {
				r.capture, r.err = db.Capture(e.URL, lastAnswer(v), v.Body)
			}
		}
	case !archived || m.past == nil && j.opts.Revisit == nil:
		return r
	case m.past != nil:
		r.dir = m.past.Dir()
		r.capture, r.err = m.past.Capture(e.URL)
	}
	r.asked = true
	m.mu.Lock()
	defer m.mu.Unlock()
	r.plain = m.plain[e.URL.String()]
	return r
}

// lastAnswer is where the last answer is archived that was not the end of tries that
// failed.
func lastAnswer(v *frontier.Visits) frontier.Place {
	if v.Last.Code != frontier.Fetched {
		return v.Body
	}
	return v.Last.Answer
}

// usable reports whether a page can be made of what is remembered, or compared with it.
func (r *recollection) usable() bool {
	return r.capture != nil && r.capture.Status == http.StatusOK && !r.capture.Truncated
}

// validators are those by which the page is asked for.
func (r *recollection) validators() (v fetch.Validators) {
	if r.usable() && !r.plain {
		v.ETag, v.LastModified = r.capture.Header.Get("ETag"), r.capture.Header.Get("Last-Modified")
		if fromFuture(r.capture) {
			v.LastModified = ""
		}
	}
	return v
}

// fromFuture reports whether a page says that it was changed after it was sent, by the
// clock of its server: no change would ever be later (RFC 9110, section 8.8.2.1).
func fromFuture(c *storage.Capture) bool {
	modified, err := http.ParseTime(c.Header.Get("Last-Modified"))
	if err != nil {
		return false
	}
	sent, err := http.ParseTime(c.Header.Get("Date"))
	if err != nil {
		sent = c.Date
	}
	return modified.After(sent.Add(time.Second)) // which a header does not tell
}

// stored is the answer that a 304 stands for; nil where the page is none. again says that
// there was one, and what it stands for cannot be had: the page is to be asked for once
// more, without a condition. The error is one that ends the crawl.
func (j *Job) stored(ctx context.Context, r *recollection, x *fetch.Exchange) (answer *fetch.Exchange, again bool, err error) {
	if x.Status != http.StatusNotModified || !r.usable() || r.plain || !x.Conditional() {
		return nil, false, nil
	}
	if !sameCopy(r.capture.Header, x.Header) {
		return nil, true, nil
	}
	resp, err := r.capture.Open()
	if err == nil {
		defer resp.Body.Close()
		resp.Header = storage.UpdatedHeader(resp.Header, x.Header)
		answer, err = j.fetcher.Stored(ctx, x, resp)
		if err != nil && !errors.Is(err, fetch.ErrStored) {
			return nil, false, err
		}
	}
	if err != nil {
		j.unread(r, err)
		return nil, true, nil
	}
	return answer, false, nil
}

// sameCopy reports whether a 304 speaks of the copy at hand: not where both name strong
// validators that differ (RFC 9111, section 4.3.4).
func sameCopy(kept, by http.Header) bool {
	a, b := kept.Get("ETag"), by.Get("ETag")
	return a == b || !strings.HasPrefix(a, `"`) || !strings.HasPrefix(b, `"`)
}

// askPlainly has a page asked for without a condition the next time, or, once it was, as
// any other.
func (j *Job) askPlainly(u frontier.URL, plainly bool) {
	m := j.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if plainly {
		m.plain[u.String()] = true
	} else {
		delete(m.plain, u.String())
	}
}

// unread counts a capture that cannot be read, and says so, once.
func (j *Job) unread(r *recollection, err error) {
	j.counts.add(func(n *Counts) { n.Unread++ })
	m := j.memory
	m.mu.Lock()
	said := m.told
	m.told = true
	m.mu.Unlock()
	of := "what the crawl before has of a page"
	if r.visits != nil {
		of = "what this crawl has archived of a page"
	}
	if !said {
		j.opts.Logger.Warn(of+" cannot be read: such pages are asked for as if they were new; the figures say how many there are",
			"dir", r.dir, "error", err)
	}
}

// classify says what became of a page since it was fetched before.
func (j *Job) classify(ctx context.Context, p *Page, r *recollection) {
	if !r.asked || p.Status/100 != 2 || p.Exchange.Head || p.refused != "" {
		return
	}
	if r.err != nil {
		j.unread(r, r.err)
	}
	switch {
	case p.kept != nil:
		p.change = ChangeNotModified
	case r.capture == nil && r.visits != nil:
		p.change = since(r.visits, p)
	case r.err != nil:
	case r.capture == nil || r.capture.Status/100 != 2:
		p.change = ChangeNew
	case r.usable() && p.Truncated == "":
		var err error
		if p.change, err = j.compare(ctx, p, r.capture); err != nil && ctx.Err() == nil {
			j.unread(r, err)
		}
	}
	if p.change == ChangeNotModified && r.usable() {
		j.takeText(p, r)
	}
}

// takeText takes over what was noted of the text of a page whose bytes are the same, and are
// read in the same way. What the archive is to repeat of the crawl before is read for it, as
// it has to be anyway: what is wrong with that, store tells.
func (j *Job) takeText(p *Page, r *recollection) {
	c := r.capture
	if !p.texts || p.Truncated != "" || !slices.Equal(p.Header["Content-Type"], c.Header["Content-Type"]) {
		return
	}
	if p.kept == nil && r.visits == nil && p.payload == c.Digest && !r.plain && j.opts.writes(OutputWARC) && c.Check() != nil {
		return
	}
	p.textDigest = c.TextDigest
}

// since compares a page with its last visit, of which no body is kept: with other bytes it
// counts as modified.
func since(v *frontier.Visits, p *Page) ChangeClass {
	switch last := &v.Last; {
	case last.Code != frontier.Fetched && !last.Time.Equal(v.First):
		return "" // it may have been fetched before that
	case last.Code != frontier.Fetched:
		return ChangeNew
	case last.Status/100 != 2:
		return ChangeNew
	case last.Digest == p.digest():
		return ChangeNotModified
	}
	return ChangeModified
}

// compare compares a page with the one before, of which no more is read than is needed.
func (j *Job) compare(ctx context.Context, p *Page, c *storage.Capture) (ChangeClass, error) {
	x := p.Exchange
	if !plain(x) && len(x.Wire) > 0 {
		p.payload = digestOf(x.Wire)
	} else {
		p.payload = p.digest()
	}
	sameCoding := slices.Equal(p.Header["Content-Encoding"], c.Header["Content-Encoding"])
	if p.payload == c.Digest && sameCoding {
		return ChangeNotModified, nil
	}
	if plain(x) && c.Digest != "" && sameCoding && !extract.IsHTML(p.Type) && p.Type != "text/plain" {
		return ChangeModified, nil
	}
	select {
	case j.memory.comparing <- struct{}{}:
		defer func() { <-j.memory.comparing }()
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	resp, err := c.Open()
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := j.fetcher.Decode(resp)
	if err != nil {
		return "", err
	}
	before := Page{Status: c.Status, Header: resp.Header, Body: body, Type: typeOf(resp.Header, body), Exchange: &fetch.Exchange{}}
	switch {
	case bytes.Equal(body, p.Body):
		return ChangeNotModified, nil
	case before.TextDigest() == p.TextDigest():
		return ChangeSameText, nil
	}
	return ChangeModified, nil
}

// NotModified reports whether the server has said, with status 304, that the page is what
// it was in the crawl that Options.Previous names, or, with Options.Revisit, at the visit
// before. Body and all that is read of it are of the archive of that then, Status is that of
// the answer which brought it, and Header is the one of then, brought up to date (RFC 9111,
// section 3.2). Exchange is the request of now, with its 304.
func (p *Page) NotModified() bool { return p.kept != nil }

// Change is what became of the page since the crawl that Options.Previous names, or, with
// Options.Revisit, since the visit before; empty where there is neither, or where it cannot
// be told.
func (p *Page) Change() ChangeClass { return p.change }
