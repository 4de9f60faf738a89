package crawler

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/crawllog"
)

// logBegin writes the first line of a run to crawl.log. The line says whether the previous run
// ended properly, and how many bytes of the log are lost.
func (c *Crawler) logBegin() error {
	notes := []string{"begin:clean", crawllog.Records}
	if c.db.Unclean() {
		notes[0] = "begin:unclean"
		if at := c.db.LastCommit(); !at.IsZero() {
			notes = append(notes, "committed:"+micro(at))
		}
	}
	if f, ok := c.db.Cluster().(interface{ ForgottenIn() string }); ok && f.ForgottenIn() != "" {
		c.opts.Logger.Warn("the database has lost its last commits: their URLs are fetched again, and their pages and records are kept", "dir", f.ForgottenIn())
	}
	if lost := c.db.LostLog(); lost > 0 {
		c.opts.Logger.Warn("the log of requests was removed or cut since the last run: it proves nothing of that time", "file", c.db.Log().Name(), "bytes lost", lost)
		notes = append(notes, "lost:"+strconv.FormatInt(lost, 10))
	}
	c.run = time.Now().UTC()
	return c.db.Log().Write(&crawllog.Line{Time: c.run, Size: -1, URL: crawllog.RunURL, Annotations: notes})
}

// logStart writes a line to crawl.log that says how this run differs from the previous run: changed
// settings, URLs that are queued again, and copied robots.txt files. Without differences it writes
// nothing.
func (c *Crawler) logStart(s Start) error {
	var notes []string
	for _, d := range s.Changes {
		notes = append(notes, fmt.Sprintf("changed:%s:%s->%s", d.Setting, d.Was, d.Is))
	}
	if s.Requeued > 0 {
		notes = append(notes, "requeued:"+strconv.Itoa(s.Requeued))
	}
	if s.Carried > 0 {
		notes = append(notes, "carried:"+strconv.Itoa(s.Carried))
	}
	if notes == nil {
		return nil
	}
	return c.db.Log().Write(&crawllog.Line{Time: time.Now(), Size: -1, URL: crawllog.RunURL, Annotations: notes})
}

// logVisit writes one line to crawl.log for each request of a visit. For an entry that ended
// without a request it writes one line. p is the page of the visit, or nil.
func (j *job) logVisit(slot *slot, e frontier.Entry, res *fetch.Result, p *Page) error {
	if slot.db == nil {
		return nil
	}
	var errs []error
	if len(res.Exchanges) > 0 {
		l := exchangeLines.Get().(*exchangeLine)
		defer exchangeLines.Put(l)
		for _, x := range res.Exchanges {
			l.of(slot.number, e, x, res, p)
			if err := slot.db.Log().Write(&l.Line); err != nil {
				errs = append(errs, err)
			}
		}
		l.Line = crawllog.Line{}
	}
	if fate := res.Outcome.Fate; len(res.Exchanges) == 0 && !res.Outcome.Again && fate.Code != frontier.Undecided {
		l := &crawllog.Line{
			Time: time.Now(), Status: fateStatus(fate), Size: -1, URL: e.URL.String(), Hops: e.Hops, Via: e.Via,
			Worker: slot.number, Tag: e.Tag,
		}
		switch fate.Code {
		case frontier.RobotsDisallowed:
			l.Annotations = []string{"rule:" + strconv.Itoa(res.Verdict.Rule.Line), "robots:" + micro(fate.Rules)}
		case frontier.OptedOut:
			l.Annotations = []string{"optout:" + fate.Detail}
		case frontier.UseRefused:
			l.Annotations = []string{"refused:" + fate.Detail, "robots:" + micro(fate.Rules)}
		default:
			l.Annotations = []string{"error:" + fate.Detail}
		}
		errs = append(errs, slot.db.Log().Write(l))
	}
	return errors.Join(errs...)
}

// logGivenUp writes a line to crawl.log for each site that was given up after failures. The line
// represents all URLs that are still queued for the site.
func (c *Crawler) logGivenUp() error {
	if c.db == nil {
		return nil
	}
	var errs []error
	for st := range c.frontier.Sites() {
		if st.Given.Code != frontier.Undecided {
			errs = append(errs, c.db.Log().Write(&crawllog.Line{
				Time: st.Given.Time, Status: fateStatus(st.Given), Size: -1, URL: string(st.Site) + "/",
				Annotations: []string{"error:" + st.Given.Detail, "queued:" + strconv.Itoa(st.Queued)},
			}))
		}
	}
	return errors.Join(errs...)
}

// An exchangeLine is the line of one request in crawl.log, with the buffer for its annotations.
type exchangeLine struct {
	crawllog.Line
	notes notes
}

// exchangeLines is a pool of exchangeLine values, which are reused to save allocations.
var exchangeLines = sync.Pool{New: func() any { return new(exchangeLine) }}

// of fills in the line for x, a request with its answer. x belongs to the visit of e with the
// result res and the page p, which may be nil.
func (l *exchangeLine) of(worker int, e frontier.Entry, x *fetch.Exchange, res *fetch.Result, p *Page) {
	l.Line = crawllog.Line{
		Time: x.Ended, Status: x.Status, Size: -1, URL: x.URL.String(), Hops: e.Hops, Via: e.Via,
		Worker: worker, Start: x.Started, Duration: x.Ended.Sub(x.Started), Tag: e.Tag,
	}
	if x.Robots {
		l.Hops, l.Via = e.Hops+string(frontier.HopPrerequisite), e.URL.String()
	}
	if x.Status != 0 {
		l.Size = x.WireBytes
		l.Type = fetch.ParseMediaType(x.Header["Content-Type"]).Type
	}
	switch {
	case x == res.Page:
		l.Digest = res.Outcome.Fate.Digest
	case x.Robots && x.Status != 0 && x.Err == nil:
		l.Digest = digestOf(x.Body)
	}
	notes := &l.notes
	notes.reset()
	notes.time("start", x.Started)
	if x.Head {
		notes.text("method", http.MethodHead)
	}
	if x.Mining {
		notes.text("for", "use")
	}
	if !x.FirstByte.IsZero() {
		notes.seconds("ttfb", x.FirstByte.Sub(x.Started))
	}
	notes.seconds("took", x.Ended.Sub(x.Started))
	if p := x.Asked; p.By != frontier.NoClock {
		notes.seconds("asked", p.For)
		notes.text("clock", string(p.By))
		if !p.Since.IsZero() {
			notes.time("since", p.Since)
		}
	}
	if until := x.RetryAfter(); !until.IsZero() {
		notes.time("retry-after", until)
	}
	if x.Addr.IsValid() {
		notes.end(x.Addr.AppendTo(notes.begin("ip")))
	}
	if x.Proxy != "" {
		notes.text("proxy", x.Proxy)
	}
	if x.Proto != "" {
		notes.text("proto", x.Proto)
	}
	if x.Err != nil {
		if x.Status == 0 {
			l.Status = stageStatus(x.Err.Stage)
		}
		notes.text("error", string(x.Err.Stage))
	}
	if x.Truncated != "" {
		notes.text("trunc", x.Truncated)
	}
	if !x.Robots && res.Snapshot != nil {
		notes.time("robots", res.Snapshot.Fetched)
	}
	if fate := res.Outcome.Fate; fate.Code == frontier.UseRefused && x == res.Page {
		notes.text("refused", fate.Detail)
	}
	if p != nil && p.kept != nil && x == res.Page {
		notes.text("kept", cmp.Or(fetch.ParseMediaType(p.Header["Content-Type"]).Type, "unknown"))
	}
	l.Annotations = notes.list()
}

// notes builds the annotations of a line of crawl.log, each of the form key:value. All annotations
// of one line share a buffer. Every request has a line, so this saves many allocations.
type notes struct {
	b     []byte
	ends  []int
	texts []string
}

// reset removes all annotations.
func (n *notes) reset() { n.b, n.ends = n.b[:0], n.ends[:0] }

// begin starts an annotation with the given key. The caller appends the value to the returned
// buffer and passes the buffer to end.
func (n *notes) begin(key string) []byte { return append(append(n.b, key...), ':') }

func (n *notes) end(b []byte) { n.b, n.ends = b, append(n.ends, len(b)) }

func (n *notes) text(key, value string) { n.end(append(n.begin(key), value...)) }

func (n *notes) time(key string, t time.Time) {
	n.end(t.UTC().AppendFormat(n.begin(key), crawllog.MicroForm))
}

func (n *notes) seconds(key string, d time.Duration) {
	n.end(strconv.AppendFloat(n.begin(key), d.Seconds(), 'f', 6, 64))
}

// list returns the annotations. The slice is valid until the next call of reset or list.
func (n *notes) list() []string {
	n.texts = n.texts[:0]
	all, start := string(n.b), 0
	for _, end := range n.ends {
		n.texts = append(n.texts, all[start:end])
		start = end
	}
	return n.texts
}

func micro(t time.Time) string { return t.UTC().Format(crawllog.MicroForm) }

func stageStatus(s fetch.Stage) int {
	switch s {
	case fetch.StageDNS, fetch.StageDNSTimeout:
		return crawllog.DNSFailed
	case fetch.StageConnect, fetch.StageConnectTimeout, fetch.StageTLS, fetch.StageTLSTimeout, fetch.StageProxy:
		return crawllog.ConnectFailed
	case fetch.StageReset, fetch.StageStale, fetch.StageCalm, fetch.StageTruncated:
		return crawllog.ConnectionLost
	case fetch.StageAnswerTimeout, fetch.StageBodyTimeout, fetch.StageTotalTimeout:
		return crawllog.TimedOut
	}
	return crawllog.Failed
}

func fateStatus(f frontier.Fate) int {
	switch f.Code {
	case frontier.RobotsDisallowed:
		return crawllog.RobotsDisallowed
	case frontier.RobotsUnreachable:
		return crawllog.RobotsUnreachable
	case frontier.SiteDead:
		return crawllog.ConnectFailed
	case frontier.ScopeNarrowed:
		return crawllog.OutOfScope
	case frontier.UseRefused:
		return crawllog.UseRefused
	case frontier.OptedOut:
		return crawllog.OptedOut
	}
	return crawllog.Failed
}
