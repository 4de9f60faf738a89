package crawler

import (
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
)

// ArchiveWriter returns a function that rebuilds lines of pages.jsonl and links.jsonl from
// answers in the archive of a crawl. The function uses the settings of the last run of the
// crawl, which ArchiveWriter reads from the state. ArchiveWriter can be used as
// store.RepairOptions.Writer.
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

// An archiveWriter makes pages from archived answers.
type archiveWriter struct {
	opts    Options
	fetcher *fetch.Fetcher
}

// lines returns the lines of an answer. It may return two versions of the line in pages.jsonl,
// if the archive does not say which one the crawl has written.
func (w *archiveWriter) lines(a *store.Answered) ([]*store.PageRecord, []store.LinkRecord, error) {
	x := &fetch.Exchange{Status: a.Status, Header: a.Header, Head: a.Head, Started: a.Date, Truncated: a.Truncated}
	if x.Trouble() != frontier.NoTrouble || a.Capture.Truncated && a.Truncated == "" {
		return nil, nil, nil // the URL was requested again, or it is unknown why the body is cut
	}
	u, err := frontier.ParseURL(a.URL)
	if err != nil {
		return nil, nil, err
	}
	e := archivedEntry(u, a.Fields)
	if strings.HasSuffix(e.Hops, string(frontier.HopPrerequisite)) {
		return nil, nil, nil // the answer is a robots.txt
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
		p.Text() // sets charset. If the crawl computed the digest, its line has the charset; if the crawl copied the digest from an earlier answer, its line has none
		pages = append(pages, page())
	}
	return pages, p.edges(), nil
}
