package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/account"
	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/internal/gauge"
	"github.com/permesso-crawler/permesso/internal/store"
)

// Options are the settings of a report. The zero value is valid.
type Options struct {
	Temp string    // directory for temporary files, which take about 800 bytes per request plus the size of links.jsonl; "": the system's directory
	Now  time.Time // the time of the report, which decides which entries still wait; zero: now

	// Since is the directory of an earlier crawl of the same sites, which must not be running.
	// The report then has the changes since that crawl. If Since is empty, the report is
	// compared with the previous crawl (crawler.Options.Previous), if there is one. If the
	// other crawl cannot be read, Dir returns no error, and Report.NotCompared says why there
	// is no comparison.
	Since string

	Near bool // find near-duplicates in the archive, which takes some 3 ms a page; without an archive Dir returns ErrNoArchive

	order func(temp string) order // makes the sorters, in tests; nil: crawllog.NewOrder
}

// An order sorts records on disk. It is a *crawllog.Order; tests replace it by one that fails.
type order interface {
	Add(key, line []byte) error
	Each(f func(key, line []byte) error) error
	Close() error
}

// Dir reports on the crawl in a directory, and changes nothing. While Dir reads, no process can
// run the crawl. If the crawl is running already, the report is made from the log alone. Lines
// of the log that cannot be read are counted, but are not an error. When ctx ends, Dir returns
// its error. Other errors are a *store.DamagedError, a *store.VersionError, a
// *store.PurgeError, ErrNoArchive, an error that wraps store.ErrNoCrawl, or an error of the
// file system.
func Dir(ctx context.Context, dir string, o Options) (r *Report, err error) {
	if _, err := os.Stat(filepath.Join(dir, store.StateFile)); err != nil {
		return nil, fmt.Errorf("%w in %s: %w", store.ErrNoCrawl, dir, err)
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	rep := newReporter(ctx, []string{abs}, o)
	defer func() { err = errors.Join(err, rep.close()) }()
	var inUse *store.InUseError
	switch rep.state, err = store.OpenReader(dir); {
	case errors.As(err, &inUse):
		rep.Running = true
	case err != nil:
		return nil, err
	default:
		defer func() { err = errors.Join(err, rep.state.Close()) }()
	}
	return rep.report()
}

// report makes the report of the crawl, whose state is open if it can be read.
func (r *reporter) report() (*Report, error) {
	for _, dir := range r.dirs {
		for _, name := range []string{store.LogFile, store.LinksFile, store.PagesFile} {
			gauge.Of(r.ctx).Expect(filepath.Join(dir, name))
		}
	}
	for _, step := range []func() error{r.readAsked, r.readLog, r.readQueue, r.eachSite, r.readLinks, r.eachURL, r.eachFound, r.eachBody, r.finish, r.readNear, r.readPages, r.compare} {
		err := r.ctx.Err()
		if err == nil {
			err = step()
		}
		if err != nil {
			return nil, err
		}
	}
	return r.Report, nil
}

// A reporter makes one report. It is not safe for concurrent use.
type reporter struct {
	*Report
	Options
	ctx     context.Context
	dirs    []string         // of the crawl, or of its nodes
	state   *store.Reader    // nil if the crawl is running
	account *account.Account // nil if state is nil

	time   timeline
	begins []time.Time // times at which runs began
	status tally
	stages tally
	types  map[string]*Type
	delays map[delayBin]*closest
	rates  map[int]*histogram
	fates  map[frontier.Code]int64

	sites  order // records about each site, sorted by site; see sites.go
	urls   order // records about each URL, sorted by URL; see urls.go
	found  order // records about pages, sorted by page: when the page was fetched, and to which URLs it led
	bodies order // records about bodies of pages, sorted by digest

	rows     top[SiteRow]
	rules    top[Rules]
	troubles top[Trouble]
	left     top[Left]
	broken   top[Failure]
	redirect top[Redirect]
	linked   top[Linked]
	slowest  top[Request]
	largest  top[Request]
	same     top[Duplicate]
}

func newReporter(ctx context.Context, dirs []string, o Options) *reporter {
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	if o.order == nil {
		o.order = func(temp string) order { return crawllog.NewOrder(temp) }
	}
	return &reporter{
		Report:  &Report{Format: Format, Program: "permesso/" + crawler.Version, Name: filepath.Base(dirs[0]), Other: []Other{}},
		Options: o, ctx: ctx, dirs: dirs,
		status: tally{}, stages: tally{}, types: map[string]*Type{},
		delays: map[delayBin]*closest{}, rates: map[int]*histogram{}, fates: map[frontier.Code]int64{},
		sites: o.order(o.Temp), urls: o.order(o.Temp), found: o.order(o.Temp), bodies: o.order(o.Temp),
		rows: top[SiteRow]{most: mostSites, order: func(a, b SiteRow) int {
			return cmp.Or(cmp.Compare(b.Requests, a.Requests), cmp.Compare(a.Site, b.Site))
		}},
		rules: top[Rules]{most: mostBars, order: func(a, b Rules) int {
			return cmp.Or(cmp.Compare(b.Refused+b.Use+b.OptOut, a.Refused+a.Use+a.OptOut), cmp.Compare(b.Asked, a.Asked), cmp.Compare(a.Site, b.Site))
		}},
		troubles: top[Trouble]{most: mostBars, order: func(a, b Trouble) int { return cmp.Or(cmp.Compare(b.All, a.All), cmp.Compare(a.Site, b.Site)) }},
		left: top[Left]{most: mostBars, order: func(a, b Left) int {
			return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(b.Queued, a.Queued), cmp.Compare(a.Site, b.Site))
		}},
		broken:   top[Failure]{most: mostErrors, order: func(a, b Failure) int { return cmp.Or(cmp.Compare(b.Linked, a.Linked), cmp.Compare(a.URL, b.URL)) }},
		redirect: top[Redirect]{most: mostRows, order: func(a, b Redirect) int { return cmp.Or(cmp.Compare(b.Linked, a.Linked), cmp.Compare(a.URL, b.URL)) }},
		linked:   top[Linked]{most: mostRows, order: func(a, b Linked) int { return cmp.Or(cmp.Compare(b.Pages, a.Pages), cmp.Compare(a.URL, b.URL)) }},
		slowest:  top[Request]{most: mostRows, order: func(a, b Request) int { return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Line, b.Line)) }},
		largest:  top[Request]{most: mostRows, order: func(a, b Request) int { return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Line, b.Line)) }},
		same: top[Duplicate]{most: mostRows, order: func(a, b Duplicate) int {
			return cmp.Or(cmp.Compare(b.Pages, a.Pages), cmp.Compare(a.Digest, b.Digest))
		}},
	}
}

func (r *reporter) close() error {
	return errors.Join(r.sites.Close(), r.urls.Close(), r.found.Close(), r.bodies.Close())
}

// readAsked reads the identity and the settings of the crawl.
func (r *reporter) readAsked() (err error) {
	if r.state == nil {
		return nil
	}
	if r.account, err = account.New(&r.state.Records, r.Now); err != nil {
		return err
	}
	stored, _ := r.account.Stored()
	r.Token, r.Contact = stored.Options.Identity.Token, stored.Options.Identity.Contact
	return nil
}

// readLog reads crawl.log from its first line to its last.
func (r *reporter) readLog() error {
	if len(r.Nodes) > 0 {
		return r.mergeLogs()
	}
	file, err := openLog(r.dirs[0])
	if err != nil {
		return err
	}
	defer file.Close()
	return crawllog.Sift(gauge.Of(r.ctx).Reader(file), r.line, r.other)
}

// other counts a line that cannot be read, and lists it if there is room. n is the number of
// the line.
func (r *reporter) other(n int64, why error) error {
	if r.Others++; len(r.Other) < mostOthers {
		r.Other = append(r.Other, Other{n, strings.TrimPrefix(why.Error(), "crawl.log: ")})
	}
	return nil
}

func (r *reporter) line(n int64, l *crawllog.Line, text []byte) error {
	request, err := l.Request()
	if err != nil {
		return r.other(n, err)
	}
	if l.URL == crawllog.RunURL {
		r.moment(l.Time)
		r.run(l)
		return nil
	}
	u, err := frontier.ParseURL(l.URL)
	if err != nil {
		return r.other(n, err)
	}
	r.moment(l.Time)
	if err := r.noteLine(u.Site(), n, text); err != nil {
		return err
	}
	if wholeSite(l) {
		return nil
	}
	if request == nil {
		r.time.at(l.Time).Refused += refusal(l.Status)
	} else if err := r.request(n, l, request); err != nil {
		return err
	}
	if isRobots(l) {
		return r.note(l.URL, kindPage, "", binaryTime(l.Time))
	}
	return r.note(l.URL, kindLine, "", text)
}

// moment counts a line, and extends the range from First to Last so that it includes the time
// of the line.
func (r *reporter) moment(at time.Time) {
	if r.Lines++; r.First.IsZero() || at.Before(r.First) {
		r.First = at
	}
	if at.After(r.Last) {
		r.Last = at
	}
	r.time.at(at)
}

// run counts a run if l is a line about the beginning of a run.
func (r *reporter) run(l *crawllog.Line) {
	how, begins := l.Annotation("begin")
	if !begins {
		return
	}
	if r.Runs++; how == "unclean" && r.Runs > 1 {
		r.Killed++
	}
	r.begins = append(r.begins, l.Time)
}

// wholeSite reports whether a line is about all queued URLs of a site that was given up.
// readQueue counts these URLs.
func wholeSite(l *crawllog.Line) bool {
	_, whole := l.Annotation("queued")
	return whole
}

// isRobots reports whether a line is about a robots.txt. It also returns true for a tdmrep.json
// and a license document, which are fetched in the same way; crawllog.Request.Use tells them
// from a robots.txt.
func isRobots(l *crawllog.Line) bool {
	return strings.HasSuffix(l.Hops, string(frontier.HopPrerequisite))
}

// request adds the request in line n of the log to the report.
func (r *reporter) request(n int64, l *crawllog.Line, q *crawllog.Request) error {
	r.count(n, l, q)
	if !isRobots(l) || q.Use {
		return nil
	}
	via, err := frontier.ParseURL(l.Via)
	if err != nil {
		return nil
	}
	return r.noteSite(via.Site(), siteRobots, []byte(robotsResult(l, q)))
}

// robotsResult returns the result of a request for a robots.txt, in words.
func robotsResult(l *crawllog.Line, q *crawllog.Request) string {
	return cmp.Or(q.Error, strconv.Itoa(l.Status))
}

// count adds a request to the counts of the report.
func (r *reporter) count(n int64, l *crawllog.Line, q *crawllog.Request) {
	p := r.time.at(l.Time)
	p.Requests++
	r.Requests++
	bytes := max(0, l.Size)
	r.Bytes += bytes
	p.Bytes += bytes
	if l.Status > 0 {
		r.Answers++
		r.answer(n, l, q)
		p.Answers[min(max(l.Status/100, 1), 5)]++
	} else {
		p.Answers[0]++
	}
	if q.Error != "" {
		r.stages.add(q.Error)
	}
	if isPage(l, q) {
		r.Pages++
		p.Pages++
		if q.Kept != "" {
			r.NotModified++
		}
	}
	if isRobots(l) && !q.Use {
		r.RobotsRequests++
	}
}

// answer adds an answer of a server to the counts of the report.
func (r *reporter) answer(n int64, l *crawllog.Line, q *crawllog.Request) {
	r.status.add(strconv.Itoa(l.Status))
	name := cmp.Or(q.Kept, l.Type, "unknown") // a 304 answer has no type, so use the type of the archived page
	if r.types[name] == nil {
		if len(r.types) >= mostNames {
			name = restName
		}
		if r.types[name] == nil {
			r.types[name] = &Type{Name: name}
		}
	}
	r.types[name].Requests++
	r.types[name].Bytes += max(0, l.Size)
	row := Request{URL: l.URL, Line: n, Status: l.Status, Seconds: q.End.Sub(q.Start).Seconds(), Bytes: max(0, l.Size), Type: cmp.Or(q.Kept, l.Type)}
	r.slowest.add(row)
	r.largest.add(row)
}

// isPage reports whether an answer counts as a page. A 304 answer counts if the archive has the
// page.
func isPage(l *crawllog.Line, q *crawllog.Request) bool {
	e := frontier.Entry{Hops: l.Hops}
	return (l.Status/100 == 2 || q.Kept != "") && q.Error == "" && q.Refused == "" && e.Page() && !isRobots(l)
}

// mayPass reports whether a status means an error that may be temporary, so that the crawl
// requests the URL again.
func mayPass(status int) bool {
	return status/100 == 5 || status == 408 || status == 421 || status == 425 || status == 429
}

// refusal returns 1 if status says that the URL was not requested because its owner or the user
// excludes it. Otherwise it returns 0.
func refusal(status int) int64 {
	switch status {
	case crawllog.RobotsDisallowed, crawllog.UseRefused, crawllog.OptedOut, crawllog.OutOfScope:
		return 1
	}
	return 0
}

// Classes returns the names of the kinds of trouble with a site, in the order of reports.
func Classes() []string {
	return []string{"name", "connection", "broken", "time-out", "rest", "5xx", "4xx", "other"}
}

// classOf returns the class of trouble (see Classes) of a request, by the stage that failed or,
// if none failed, by the status of the answer. It returns "" if there was no trouble.
func classOf(status int, stage string) string {
	switch fetch.Stage(stage) {
	case fetch.StageDNS, fetch.StageDNSTimeout, fetch.StageAddress:
		return "name"
	case fetch.StageConnect, fetch.StageConnectTimeout, fetch.StageTLS, fetch.StageTLSTimeout, fetch.StageProxy:
		return "connection"
	case fetch.StageReset, fetch.StageStale, fetch.StageTruncated, fetch.StageProtocol, fetch.StageEncoding, fetch.StageHeaderSize:
		return "broken"
	case fetch.StageAnswerTimeout, fetch.StageBodyTimeout, fetch.StageTotalTimeout:
		return "time-out"
	case fetch.StageCalm, fetch.StageChallenge:
		return "rest"
	}
	switch {
	case stage != "" || status < 0:
		return "other"
	case status == 429 || status == 503:
		return "rest"
	case status/100 == 5:
		return "5xx"
	case status/100 == 4:
		return "4xx"
	}
	return ""
}
