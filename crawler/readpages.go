package crawler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/crawler/extract"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/kept"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/robots"
)

// ReadPages iterates over the pages that the crawl in dir has stored, in the order in which they
// were fetched, with their bodies. The bodies come from the archive, or from pages.jsonl
// (OutputBodies) if the crawl has no archive. Each page is like the page that a Handler gets,
// except that its Verdict is not known, and that URLs that are followed on it are not queued.
// Without an archive its Header has only the type and the location. Page.Signals returns the
// statements that the crawl has recorded.
//
// Redirects, sitemaps, and images and scripts of pages are pages, too: see Page.Location, and the
// methods Page, Sitemap and Requisite of Page.Entry. A page that was fetched several times, for
// example because of a kill, is yielded several times. Pages whose owner refuses the purpose of the
// crawl are included, although a Handler does not get them.
//
// If the server answered 304 (not modified), the body is that of the earlier answer, even if that
// is in the archive of an earlier crawl. A page has no Body if only its header was requested, if
// its owner refuses the purpose of the crawl, if it was purged, if it was fetched over FTP, or if
// the crawl keeps no bodies.
//
// While the loop runs, no process can run the crawl. If a body cannot be read, the pair has the
// page without Body, and the error; the loop may go on. After any other error, the page is nil and
// the iteration ends. This error is a *storage.InUseError if a process runs the crawl,
// fs.ErrNotExist if there is no crawl or it writes no pages, the error of ctx, or an error about
// damaged lines of pages.jsonl, which comes after all other pages. ReadPages needs memory for one
// page, and for one long line of pages.jsonl.
func ReadPages(ctx context.Context, dir string) iter.Seq2[*Page, error] {
	return func(yield func(*Page, error) bool) {
		if err := readPages(ctx, dir, yield); err != nil && !errors.Is(err, errLeft) {
			yield(nil, err)
		}
	}
}

// errLeft says that the body of a loop over ReadPages has left the loop.
var errLeft = errors.New("the loop was left")

func readPages(ctx context.Context, dir string, yield func(*Page, error) bool) (err error) {
	if ctx == nil {
		return errNoContext
	}
	r, err := store.OpenReader(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	who, _, err := kept.Asked(r)
	if err != nil {
		return err
	}
	past := store.PastOf(dir)
	invalid := 0
	for rec, err := range store.ReadBodies(ctx, dir) {
		var damaged *store.DamagedError
		if err != nil && !errors.As(err, &damaged) {
			return err
		}
		var u frontier.URL
		if err == nil {
			u, err = frontier.ParseURL(rec.URL)
		}
		if err != nil {
			invalid++
			continue
		}
		if page, err := storedPage(past, u, rec, who.Token); !yield(page, err) {
			return errLeft
		}
	}
	if invalid > 0 {
		return fmt.Errorf("%s: %d lines are damaged: crawl repair puts them aside", filepath.Join(dir, store.PagesFile), invalid)
	}
	return nil
}

// storedPage returns the page of rec, a line of pages.jsonl with the URL u. If its body cannot be
// read, it returns the page without a body, and an error.
func storedPage(past *store.Past, u frontier.URL, rec *store.PageRecord, token string) (*Page, error) {
	x := &fetch.Exchange{
		URL: u, Started: rec.Time, Via: rec.Via, Status: rec.Status, Truncated: rec.Truncated, Head: rec.Method == http.MethodHead,
		Header: http.Header{},
	}
	if rec.Location != "" {
		x.Header.Set("Location", rec.Location)
	}
	switch {
	case len(rec.Body) > 0:
		x.Body = rec.Body
		x.Header.Set("Content-Type", rec.Type+"; charset=utf-8") // pages.jsonl has texts in UTF-8
	default:
		x.Body = rec.Base64
		x.Header.Set("Content-Type", rec.Type)
	}
	err := readAnswer(past, rec, x)
	e := frontier.Entry{URL: u, Via: rec.Via, Hops: rec.Hops, Tag: rec.Tag, Depth: rec.Depth, Head: x.Head}
	page := NewPage(e, x, token)
	page.refused, page.change = rec.Refused, ChangeClass(rec.Change)
	page.signals, page.signalled = storedSignals(rec), true
	if err != nil {
		return page, fmt.Errorf("%s: the body cannot be read: %w", rec.URL, err)
	}
	return page, nil
}

// storedSignals returns the statements about use that a line of pages.jsonl records.
func storedSignals(rec *store.PageRecord) robots.Signals {
	s := robots.Signals{Licenses: rec.License, Policies: rec.TDMPolicy}
	for _, u := range rec.Usage {
		one := robots.Statement{Use: robots.Use(u.Use), Granted: u.Granted}
		text := u.By
		if rest, ok := strings.CutPrefix(text, "line "); ok {
			number, after, _ := strings.Cut(rest, ": ")
			if n, err := strconv.Atoi(number); err == nil {
				one.Line, text = n, after
			}
		} else if rest, ok := strings.CutPrefix(text, "meta "); ok {
			one.Meta, text = true, rest
		}
		one.Field, one.Value, _ = strings.Cut(text, ": ")
		s.Statements = append(s.Statements, one)
	}
	return s
}

// readAnswer sets the header and the body of x to those of the archived answer of rec. If there is
// no such answer, it changes nothing.
func readAnswer(past *store.Past, rec *store.PageRecord, x *fetch.Exchange) error {
	c, err := past.Answer(rec)
	if err != nil || c == nil {
		return err
	}
	x.Header = c.Header
	if rec.Size == 0 || rec.Refused != "" {
		return nil
	}
	resp, err := c.Open()
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	plain, err := fetch.Decode(strings.Join(resp.Header["Content-Encoding"], ","), resp.Body)
	if err != nil {
		return err
	}
	defer plain.Close()
	body, err := io.ReadAll(io.LimitReader(plain, rec.Size))
	if err == nil && rec.Digest != "" && digestOf(body) != rec.Digest {
		err = fmt.Errorf("its digest is not %s: crawl verify names the damaged record", rec.Digest)
	}
	if err == nil {
		x.Body = body
	}
	return err
}

// NewPage returns the Page that a visit would make of x, the answer to a request for e. Use it to
// test a Handler (see crawltest.Page), or to pass an archived answer to a Handler. It uses the
// fields Status, Header, Body and Truncated of x. token is the product token by which robots
// directives may name the crawler. NewPage fetches nothing, and the verdict of robots.txt is not
// known. URLs that the Handler follows are not queued: Followed returns them.
func NewPage(e frontier.Entry, x *fetch.Exchange, token string) *Page {
	return newPage(new(Page), e, &fetch.Result{Page: x}, extract.Options{Token: token})
}

// ArchiveWriter returns a function that rebuilds lines of pages.jsonl and links.jsonl from archived
// answers of a crawl. The function uses the settings of the last run of the crawl, which
// ArchiveWriter reads from the state. The result fits store.RepairOptions.Writer.
func ArchiveWriter(from store.Values) (store.Writer, error) {
	o, _, ok, err := readStored(from)
	if err != nil || !ok {
		return nil, err
	}
	f, err := fetch.New(fetch.Options{Policy: o.policy(), UserAgent: o.Identity.UserAgent(), Bodies: fetch.Bodies{MaxSize: o.MaxSize}})
	if err != nil {
		return nil, err
	}
	w := &archiveWriter{opts: o, fetcher: f}
	if w.opts.Output == nil {
		w.opts.Output = usualOutputs
	}
	return w.lines, nil
}

// An archiveWriter makes pages from archived answers, with the options of the crawl.
type archiveWriter struct {
	opts    Options
	fetcher *fetch.Fetcher
}

// lines returns the lines of an archived answer for pages.jsonl and links.jsonl. It may return two
// versions of the line in pages.jsonl, if the archive does not say which one the crawl has written.
func (w *archiveWriter) lines(a *store.Answered) ([]*store.PageRecord, []store.LinkRecord, error) {
	x := &fetch.Exchange{Status: a.Status, Header: a.Header, Head: a.Head, Started: a.Date, Truncated: a.Truncated}
	if x.Trouble() != frontier.NoTrouble || a.Capture.Truncated && a.Truncated == "" {
		// No page: the URL was requested again, or the cause of the cut body is unknown.
		return nil, nil, nil
	}
	u, err := frontier.ParseURL(a.URL)
	if err != nil {
		return nil, nil, err
	}
	e := archivedEntry(u, a.Fields)
	if strings.HasSuffix(e.Hops, string(frontier.HopPrerequisite)) {
		return nil, nil, nil // the answer is a robots.txt, which is not a page
	}
	r := &store.PageRecord{}
	for _, f := range a.Fields {
		switch f.Name {
		case "robotsFetched":
			if r.Robots, err = time.Parse(time.RFC3339Nano, f.Value); err != nil {
				return nil, nil, err
			}
		case "robotsRule":
			r.Rule = f.Value
		case "usage":
			if u, ok := store.ParseUsage(f.Value); ok {
				r.Usage = append(r.Usage, u)
			}
		case "license":
			r.License = append(r.License, f.Value)
		case "tdmPolicy":
			r.TDMPolicy = append(r.TDMPolicy, f.Value)
		case "change":
			r.Change = f.Value
		case store.FieldTextDigest:
			r.TextDigest = f.Value
		}
	}
	if !x.Head {
		resp, err := a.Open()
		if err != nil {
			return nil, nil, err
		}
		defer resp.Body.Close()
		if x.Body, err = w.fetcher.Decode(resp); err != nil && len(x.Body) == 0 {
			return nil, nil, err
		}
	}
	p := newPage(new(Page), e, &fetch.Result{Page: x}, w.opts.reading())
	page := func() *store.PageRecord {
		is := p.record(nil, w.opts.writes(OutputBodies))
		is.Robots, is.Rule, is.Usage, is.License, is.TDMPolicy = r.Robots, r.Rule, r.Usage, r.License, r.TDMPolicy
		is.Change, is.TextDigest = r.Change, r.TextDigest
		return is
	}
	pages := []*store.PageRecord{page()}
	if r.TextDigest != "" && p.charset == "" && p.Type == "text/plain" {
		// Text sets charset. The line has the charset if the crawl computed the digest. If the
		// crawl copied the digest from an earlier answer, the line has no charset.
		p.Text()
		pages = append(pages, page())
	}
	return pages, p.linkRecords(), nil
}
