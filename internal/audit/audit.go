package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/internal/gauge"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/robots"
)

// Options are the settings of an audit. The zero value is valid. If one of the functions
// returns an error, the audit stops and returns that error.
type Options struct {
	Temp      string                 // directory for temporary files, which take about 1,300 bytes per request; "": the system's directory
	Violation func(*Violation) error // called for each violation, sorted by host and then by the time of the request
	Site      string                 // a host name; Request and Copy are called only for this host
	Request   func(Request) error    // called for each request to Site, in order
	Copy      func(Copy) error       // called for each stored robots.txt of Site, after all requests
	Server    *ServerLog             // access log of a server that was crawled, which is compared with crawl.log; nil: none
	Gauge     *gauge.Gauge           // counts what Dir reads of the log; nil: nothing is counted
	Quit      func() error           // called from time to time while Dir reads the log; an error that it returns ends the audit; nil: not called

	mark  func(kind byte, name string, t trace) error // for Together: called for each request to a host or an address that other crawls may share; nil: not called
	order func(temp string) order                     // makes the sorter of the requests; nil: crawllog.NewOrder
}

// An order sorts lines by their keys. It is a *crawllog.Order; tests replace it by one that
// fails.
type order interface {
	Add(key, line []byte) error
	Each(f func(key, line []byte) error) error
	Close() error
}

func (o *Options) newOrder() order {
	if o.order != nil {
		return o.order(o.Temp)
	}
	return crawllog.NewOrder(o.Temp)
}

// A Crawl is the evidence that Dir finds in a directory.
type Crawl struct {
	Name       string                                                 // name of the log, for errors
	Log        func() (io.ReadCloser, error)                          // opens the log; called twice, because the log is read twice
	Robots     func(frontier.Site) iter.Seq2[*robots.Snapshot, error] // returns all stored copies of a site, in the order of their times
	Identity   crawler.Identity                                       // name and contact of the crawler
	Settings   map[string]string                                      // settings of the last run, by the keys of kept.LastRun
	UserAgents []string                                               // the different User-Agents in the WARC files
	Killed     bool                                                   // the last run was killed, or ended because the disk was full
	Committed  time.Time                                              // time of the last commit, if Killed is set

	// The next fields come from the state of the crawl and describe the log. Zero values are
	// not checked.
	Written int64                                            // length of the log at the last commit, in bytes
	Sum     uint32                                           // CRC-32C of the first Written bytes of the log
	Sites   iter.Seq2[frontier.Site, error]                  // all sites of the crawl
	Entries func(frontier.Site) iter.Seq2[store.Kept, error] // entries of a site; not nil if Sites is not nil
}

// Audit checks each request in the log of a crawl. It returns a *LineError if a line of the log
// cannot be read, a *store.DamagedError if the log has impossible settings, the error of a
// function in o, or an error of reading the evidence or of using temporary files. A damaged
// file is an error, and not a violation.
func (c Crawl) Audit(o Options) (*Report, error) {
	a := &auditor{
		Crawl: c, Options: o, margins: map[frontier.Clock]*Margin{}, copiesSum: sha256.New(), chains: map[frontier.Site]int{},
		report: &Report{Log: filepath.Base(c.Name), Checks: Codes(), Margins: []Margin{}, Unproven: []Unproven{}, Violations: []Violation{}, Remarks: []string{}},
	}
	if err := a.readRuns(); err != nil {
		return nil, err
	}
	a.order = o.newOrder()
	err := a.mark()
	if err == nil {
		err = a.server()
	}
	if err == nil {
		err = a.sort()
	}
	if err == nil {
		err = a.visits()
	}
	if err == nil {
		err = a.judge()
	}
	if err == nil {
		err = a.identity()
	}
	if err := errors.Join(err, a.order.Close()); err != nil {
		return nil, err
	}
	a.finish()
	return a.report, nil
}

// An auditor audits one crawl. It is not safe for concurrent use.
type auditor struct {
	Crawl
	Options
	runs      *runsOf
	order     order
	report    *Report
	margins   map[frontier.Clock]*Margin
	copiesSum hash.Hash
	chains    map[frontier.Site]int // for each site, how many requests for its robots.txt in a row were answered with a redirect
	carried   int64                 // number of copies of robots.txt that were taken from an earlier crawl
	served    map[string]bool       // hosts that occur in the log of the server
}

func (a *auditor) readRuns() error {
	log, err := a.Log()
	if err != nil {
		return err
	}
	defer log.Close()
	if a.runs, err = readRuns(a.Name, log, a.Written); err != nil {
		return err
	}
	if last := &a.runs.all[len(a.runs.all)-1]; a.Killed {
		last.killed, last.committed = true, a.Committed
	}
	if err := a.runs.settle(a.Identity, a.Settings); err != nil {
		return &store.DamagedError{Path: a.Name, Err: err}
	}
	return nil
}

// sort adds each request to three groups: those of its host, its address and its domain. The
// requests of a group are sorted by their start, because the log has them in the order of their
// end.
func (a *auditor) sort() error {
	log, err := a.Log()
	if err != nil {
		return err
	}
	defer log.Close()
	run, first := 0, true
	n, err := crawllog.Texts(log, func(n int64, text []byte, torn bool) error {
		if torn {
			return nil
		}
		l, err := crawllog.Parse(string(text))
		if err != nil {
			return err
		}
		if _, begins := l.Annotation("begin"); begins && l.URL == crawllog.RunURL {
			if !first {
				run++
			}
		}
		first = false
		if l.Status == crawllog.RobotsDisallowed {
			a.report.Refused++
		}
		r, err := requestOf(n, run, l)
		if err != nil || r == nil {
			return err
		}
		if err := a.follow(r); err != nil {
			return err
		}
		if err := a.consistent(r); err != nil {
			return err
		}
		return a.add(r, text)
	})
	return lineError(a.Name, n, err)
}

// Kinds of groups of requests, in the order of sorting.
const (
	byAddress = 'a'
	byDomain  = 'd'
	byHost    = 'h'
	byTarget  = 't'
	byURL     = 'u'
)

// Kinds of records in a group: lines of the log, and then records of the state.
const (
	ofLog   = 'l'
	ofState = 's'
)

// appendKey appends the first part of a sort key: the kind and name of a group, and the kind
// of the record.
func appendKey(key []byte, kind byte, name string, of byte) []byte {
	return append(append(append(append(key, kind), name...), 0), of)
}

// add adds a request to its groups.
func (a *auditor) add(r *request, text []byte) error {
	var key []byte
	put := func(kind byte, name string) error {
		key = appendKey(key[:0], kind, name, ofLog)
		key = binary.BigEndian.AppendUint32(key, uint32(r.run))
		key = binary.BigEndian.AppendUint64(key, uint64(r.start.UnixMicro())^1<<63)
		key = binary.BigEndian.AppendUint64(key, uint64(r.line))
		return a.order.Add(key, text)
	}
	var errs []error
	errs = append(errs, put(byHost, r.site.Host()))
	if r.robots && r.via.Host() != r.site.Host() {
		errs = append(errs, put(byHost, r.via.Host()))
	}
	if a.served != nil {
		errs = append(errs, a.beside(r))
	}
	if !r.robots && a.Sites != nil {
		errs = append(errs, a.order.Add(appendKey(nil, byURL, r.url.String(), ofLog), nil))
	}
	if r.public && r.addr.IsValid() {
		errs = append(errs, put(byAddress, r.addr.String()))
	}
	if a.runs.all[r.run].domain > 0 {
		errs = append(errs, put(byDomain, r.site.Domain()))
	}
	return errors.Join(errs...)
}

// judge checks all requests, group by group.
func (a *auditor) judge() error {
	var group []byte // the kind and the name that begin the keys of the group
	var h *host
	var c *common
	var u *known
	var p *pairing
	end := func() error {
		switch {
		case h != nil:
			return a.endHost(h)
		case p != nil:
			return a.unpaired(p, time.Time{})
		}
		return nil
	}
	err := a.order.Each(func(key, text []byte) error {
		of, rest, _ := bytes.Cut(key, []byte{0})
		if !bytes.Equal(of, group) {
			if err := end(); err != nil {
				return err
			}
			group, h, c, u, p = bytes.Clone(of), nil, nil, nil, nil
			switch name := string(of[1:]); of[0] {
			case byHost:
				h = a.newHost(name)
			case byAddress:
				c = &common{clock: frontier.IPClock}
			case byDomain:
				c = &common{clock: frontier.DomainClock}
			case byURL:
				u = &known{url: name}
			case byTarget:
				p = &pairing{url: name}
			}
		}
		switch {
		case u != nil:
			return a.visited(u, rest, text)
		case p != nil:
			return a.pair(p, rest, text)
		case rest[0] == ofState:
			a.siteOf(h, frontier.Site(text))
			return nil
		}
		run, line := int(binary.BigEndian.Uint32(rest[1:])), int64(binary.BigEndian.Uint64(rest[13:]))
		l, err := crawllog.Parse(string(text))
		if err != nil {
			return err
		}
		r, err := requestOf(line, run, l)
		switch {
		case err != nil:
			return err
		case c != nil:
			return a.shared(c, r)
		}
		a.arrived(h, r)
		if r.site.Host() != h.name { // skip a request that was made for a site of another host, such as a redirect of its robots.txt
			return nil
		}
		return a.request(h, r)
	})
	return errors.Join(err, end())
}

// follow counts the redirects of a robots.txt, including those to other sites. It does not
// count redirects of a tdmrep.json or of a license document.
func (a *auditor) follow(r *request) error {
	if !r.robots || r.use {
		return nil
	}
	if r.site == r.via && r.url.Target() == rulesTarget {
		delete(a.chains, r.via) // this request begins a new chain of redirects
	}
	if !redirected(r) {
		delete(a.chains, r.via)
		return nil
	}
	a.chains[r.via]++
	n := a.chains[r.via]
	a.report.Redirected = max(a.report.Redirected, n)
	a.checked(Redirects)
	if n != frontier.MaxRedirects+2 { // report a chain only once, when it exceeds the limit
		return nil
	}
	return a.violation(&Violation{
		Code: Redirects, Lines: []int64{r.line}, URL: r.url.String(), Time: r.start,
		Text: fmt.Sprintf("is redirect %d in a row of the robots.txt of %s", n, r.via), Rule: "RFC 9309, section 2.3.1.2",
	})
}

// identity compares the User-Agents in the WARC files with the identity of the crawl.
func (a *auditor) identity() error {
	want := a.Identity.UserAgent()
	for _, is := range a.UserAgents {
		a.checked(Identity)
		if sender(is) == sender(want) {
			continue
		}
		err := a.violation(&Violation{Code: Identity, Text: fmt.Sprintf("requests were sent as %q", clip(is)), Rule: fmt.Sprintf("the crawl is that of %q", want)})
		if err != nil {
			return err
		}
	}
	return nil
}

// sender returns a User-Agent without the version of the program.
func sender(agent string) string {
	name, _, _ := strings.Cut(agent, " permesso/")
	return name
}

// finish sets the fields of the report that need all requests.
func (a *auditor) finish() {
	r := a.report
	r.LogBytes, r.LogSHA256, r.LogLines = a.runs.bytes, a.runs.digest, a.runs.lines
	r.Runs, r.Token, r.Contact, r.UserAgents = len(a.runs.all), a.Identity.Token, a.Identity.Contact, a.UserAgents
	r.First, r.Last = r.First.UTC(), r.Last.UTC()
	r.CopiesSHA256 = hex.EncodeToString(a.copiesSum.Sum(nil))
	for _, run := range a.runs.all {
		if run.killed {
			r.Killed++
		}
	}
	for _, clock := range slices.Sorted(maps.Keys(a.margins)) {
		r.Margins = append(r.Margins, *a.margins[clock])
	}
	if a.runs.lost > 0 {
		r.Remarks = append(r.Remarks, fmt.Sprintf("%d bytes of the log were removed or cut since they were written: it proves nothing of them", a.runs.lost))
	}
	if a.runs.torn {
		r.Remarks = append(r.Remarks, "the last line of the log has no end, as a kill leaves it: it proves nothing")
	}
	if r.Killed > 0 {
		r.Remarks = append(r.Remarks, fmt.Sprintf("%d of %d runs did not end by themselves: requests that were under way then have no line", r.Killed, r.Runs))
	}
	old := 0
	for i, run := range a.runs.all {
		if !run.records {
			old++
		}
		if i > 0 && a.runs.back(i) {
			r.Remarks = append(r.Remarks, fmt.Sprintf("the clock of the machine was set back before run %d: times of the earlier clock are not compared with it", i+1))
		}
	}
	if old > 0 && r.Requests > 0 {
		r.Remarks = append(r.Remarks, fmt.Sprintf("%d of %d runs are of an earlier program: which robots.txt came, by its digest, and the Retry-After of pages are not recorded", old, r.Runs))
	}
	if a.carried > 0 {
		r.Remarks = append(r.Remarks, fmt.Sprintf("%d copies of robots.txt were fetched by the crawl before: its log has their lines", a.carried))
	}
	if a.runs.all[0].begun.IsZero() && a.runs.lines > 0 {
		r.Remarks = append(r.Remarks, "the beginning of the log is missing")
	}
	if len(a.UserAgents) == 0 {
		r.Remarks = append(r.Remarks, "no WARC file says under which name requests were sent")
	}
}
