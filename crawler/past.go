package crawler

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/crawler/extract"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
)

// A recollection holds the records of earlier visits of a URL, in this crawl or in the previous
// crawl. The zero value means that nothing was looked up.
type recollection struct {
	lookedUp bool // the URL was looked up
	// The earlier visits in this crawl; nil if it has not fetched the URL before.
	visits *frontier.Visits
	// Directory of the crawl that capture belongs to; empty if that crawl has no directory.
	dir string
	// The archived answer of this crawl, or, if visits is nil, of the previous crawl; nil if it
	// does not exist or cannot be read.
	capture       *store.Capture
	err           error // the error of reading capture
	unconditional bool  // request the page without a condition
}

// recall looks up the records of earlier visits of the URL of e. It looks in this crawl if the
// crawl has fetched the URL before, and otherwise in the previous crawl. For a HEAD request, and
// over FTP, it looks up no archived answer.
func (j *job) recall(db *store.DB, e frontier.Entry) (r recollection) {
	m := j.pastPages
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
	r.lookedUp = true
	m.mu.Lock()
	defer m.mu.Unlock()
	r.unconditional = m.plain[e.URL.String()]
	return r
}

// lastAnswer returns the place in the archive of the last answer for a URL. If the last visit
// failed, it returns the place of the last record with a body.
func lastAnswer(v *frontier.Visits) frontier.Place {
	if v.Last.Code != frontier.Fetched {
		return v.Body
	}
	return v.Last.Answer
}

// usable reports whether the capture, which is the archived answer, can be compared with a new
// answer, and can replace the body of a 304.
func (r *recollection) usable() bool {
	return r.capture != nil && r.capture.Status == http.StatusOK && !r.capture.Truncated
}

// validators returns the fields of a conditional request, or the zero value if the page is
// requested without a condition.
func (r *recollection) validators() (v fetch.Validators) {
	if r.usable() && !r.unconditional {
		v.ETag, v.LastModified = r.capture.Header.Get("ETag"), r.capture.Header.Get("Last-Modified")
		if fromFuture(r.capture) {
			v.LastModified = ""
		}
	}
	return v
}

// fromFuture reports whether the Last-Modified of an archived answer is later than its Date. If it
// has no Date, the time of the request is used. With such a time a conditional request would miss
// changes between the answer and that time (RFC 9110, section 8.8.2.1).
func fromFuture(c *store.Capture) bool {
	modified, err := http.ParseTime(c.Header.Get("Last-Modified"))
	if err != nil {
		return false
	}
	sent, err := http.ParseTime(c.Header.Get("Date"))
	if err != nil {
		sent = c.Date
	}
	// One second later, because times in a header have no fractions of a second.
	return modified.After(sent.Add(time.Second))
}

// stored returns the archived answer that x refers to, if x is a 304 to a conditional request.
// Otherwise it returns nil. If again is true, the archived answer cannot be used, and the page must
// be requested once more without a condition. An error ends the crawl.
func (j *job) stored(ctx context.Context, r *recollection, x *fetch.Exchange) (answer *fetch.Exchange, again bool, err error) {
	if x.Status != http.StatusNotModified || !r.usable() || r.unconditional || !x.Conditional() {
		return nil, false, nil
	}
	if !sameCopy(r.capture.Header, x.Header) {
		return nil, true, nil
	}
	resp, err := r.capture.Open()
	if err == nil {
		defer resp.Body.Close()
		resp.Header = store.UpdatedHeader(resp.Header, x.Header)
		answer, err = j.fetcher.Stored(ctx, x, resp)
		if err != nil && !errors.Is(err, fetch.ErrStored) {
			return nil, false, err
		}
	}
	if err != nil {
		j.countUnread(r, err)
		return nil, true, nil
	}
	return answer, false, nil
}

// sameCopy reports whether a 304 may be about the archived answer. The parameter kept is the header
// of the archived answer, and by that of the 304. sameCopy returns false only if both have a strong
// ETag and these ETags differ (RFC 9111, section 4.3.4).
func sameCopy(kept, by http.Header) bool {
	a, b := kept.Get("ETag"), by.Get("ETag")
	return a == b || !strings.HasPrefix(a, `"`) || !strings.HasPrefix(b, `"`)
}

// setUnconditional sets whether the next request for the page at u is sent without a condition. To
// a request without a condition the server answers with the body.
func (j *job) setUnconditional(u frontier.URL, plainly bool) {
	m := j.pastPages
	m.mu.Lock()
	defer m.mu.Unlock()
	if plainly {
		m.plain[u.String()] = true
	} else {
		delete(m.plain, u.String())
	}
}

// countUnread counts an archived answer that could not be read because of err. It logs the first
// one.
func (j *job) countUnread(r *recollection, err error) {
	j.counts.add(func(n *Counts) { n.Unread++ })
	m := j.pastPages
	m.mu.Lock()
	said := m.logged
	m.logged = true
	m.mu.Unlock()
	of := "what the crawl before has of a page"
	if r.visits != nil {
		of = "what this crawl has archived of a page"
	}
	if !said {
		j.opts.Logger.Warn(of+" cannot be read: such pages are requested as if they were new; the figures count them",
			"dir", r.dir, "error", err)
	}
}

// classify sets the class of change of p, its difference from the earlier version. It leaves the
// class empty if the difference is not known.
func (j *job) classify(ctx context.Context, p *Page, r *recollection) {
	if !r.lookedUp || p.Status/100 != 2 || p.Exchange.Head || p.refused != "" {
		return
	}
	if r.err != nil {
		j.countUnread(r, r.err)
	}
	switch {
	case p.kept != nil:
		p.change = ChangeNotModified
	case r.capture == nil && r.visits != nil:
		p.change = changeSince(r.visits, p)
	case r.err != nil:
	case r.capture == nil || r.capture.Status/100 != 2:
		p.change = ChangeNew
	case r.usable() && p.Truncated == "":
		var err error
		if p.change, err = j.compare(ctx, p, r.capture); err != nil && ctx.Err() == nil {
			j.countUnread(r, err)
		}
	}
	if p.change == ChangeNotModified && r.usable() {
		j.takeText(p, r)
	}
}

// takeText copies the text digest of the archived answer to p, whose body has not changed. It does
// so only if the Content-Type has not changed either. If the archive of this crawl will refer to a
// body in the archive of the previous crawl, takeText first checks that this body can be read. If
// it cannot be read, takeText copies nothing; store reports the error.
func (j *job) takeText(p *Page, r *recollection) {
	c := r.capture
	if !p.texts || p.Truncated != "" || !slices.Equal(p.Header["Content-Type"], c.Header["Content-Type"]) {
		return
	}
	if p.kept == nil && r.visits == nil && p.payload == c.Digest && !r.unconditional && j.opts.writes(OutputWARC) && c.Check() != nil {
		return
	}
	p.textDigest = c.TextDigest
}

// changeSince returns the change of p since the last visit, if the body of that visit is not
// archived. Only the digest of that body is known, so a page with other bytes is modified even if
// its text is the same.
func changeSince(v *frontier.Visits, p *Page) ChangeClass {
	switch last := &v.Last; {
	case last.Code != frontier.Fetched && !last.Time.Equal(v.First):
		// Only the last failure is known, and an earlier visit may have fetched the page.
		return ""
	case last.Code != frontier.Fetched:
		return ChangeNew
	case last.Status/100 != 2:
		return ChangeNew
	case last.Digest == p.digest():
		return ChangeNotModified
	}
	return ChangeModified
}

// compare returns the change of p since c, its archived earlier answer. It reads the body of c only
// if digests and headers do not decide the result.
func (j *job) compare(ctx context.Context, p *Page, c *store.Capture) (ChangeClass, error) {
	x := p.Exchange
	if !isUncoded(x) && len(x.Wire) > 0 {
		p.payload = digestOf(x.Wire)
	} else {
		p.payload = p.digest()
	}
	sameCoding := slices.Equal(p.Header["Content-Encoding"], c.Header["Content-Encoding"])
	if p.payload == c.Digest && sameCoding {
		return ChangeNotModified, nil
	}
	if isUncoded(x) && c.Digest != "" && sameCoding && !extract.IsHTML(p.Type) && p.Type != "text/plain" {
		return ChangeModified, nil
	}
	select {
	case j.pastPages.comparing <- struct{}{}:
		defer func() { <-j.pastPages.comparing }()
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

// NotModified reports whether the server answered 304: the page is unchanged since the previous
// crawl (Options.Previous), or, with Options.Revisit, since the previous visit. Body and Status are
// then those of the archived earlier answer. Header is the header of that answer, updated by that
// of the 304 (RFC 9111, section 3.2). Exchange is the current request with its 304.
func (p *Page) NotModified() bool { return p.kept != nil }

// Change returns the change of the page since the previous crawl (Options.Previous). With
// Options.Revisit it returns the change since the previous visit. It returns "" if there is no such
// crawl or visit, or if the change is unknown.
func (p *Page) Change() ChangeClass { return p.change }
