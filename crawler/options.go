package crawler

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"regexp"
	"slices"
	"time"

	"github.com/permesso-crawler/permesso/crawler/extract"
	"github.com/permesso-crawler/permesso/crawler/revisit"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/identity"
	"github.com/permesso-crawler/permesso/internal/shared"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/robots"
	"github.com/permesso-crawler/permesso/storage"
)

// NoDelay as the value of Options.Delay means no pause between two requests to a site, while 0
// means the default pause. Sites at public addresses still get a pause of 200 ms. Negative
// delays other than NoDelay are refused.
const NoDelay = -1

// Options of a crawl. The Identity is required; the zero value of every other option is polite.
// The groups of options, such as Pace, are embedded: o.Delay is o.Pace.Delay. Comments call this
// field Options.Delay; go doc shows it as Pace.Delay.
type Options struct {
	Identity Identity

	// Seeds are the URLs to start from, each with an optional tag after a tab. They may be empty
	// for a crawl that goes on in its Dir, or gets its seeds by Add before Run. A crawl that waits
	// for its seeds while it runs needs Limits.Open, which is set by Allow before Run.
	Seeds []string
	Scope Scope  // decides which URLs belong to the crawl; nil: SameHost()
	Dir   string // directory of the crawl; empty: in memory

	// State keeps the state of the crawl in a database instead of Dir, so that several machines can
	// work on one crawl: see package storage/postgres. Each machine has a Dir of its own. If State
	// is nil, the state is in Dir.
	State storage.State

	Follow // which links are followed
	Budget // when the crawl ends
	Pace   // how fast it is
	Robots // how robots.txt is read
	Wire   // how requests are sent
	Keep   // what is written
	Hooks  // what the program is called for

	// OptOut returns why a URL must never be requested, or "" if it may be requested. For a URL
	// that it refuses not even robots.txt is requested. OptOut takes precedence over all other
	// options. It must be quick and safe for concurrent use. OptOutList.Why is such a function.
	// If OptOut is nil, no URL is refused in this way.
	OptOut func(frontier.URL) (why string)

	// Site returns the settings of one site. It is called during a visit, before the first
	// request to the site and for links to it. Only that visit waits for the function, since no
	// lock is held. It must be safe for concurrent use. It should return the same settings for
	// a site each time, because its results are cached. If the settings are not valid
	// (*OptionError), or if Site panics, the crawl ends without loss. SitesByHost makes such a
	// function. If Site is nil, all sites have the same settings.
	Site func(frontier.Site) SiteOptions

	// Revisit decides when a page is fetched again. With a policy the crawl does not end by
	// itself. URLs that failed or were refused are also requested again, and so are sitemaps.
	// URLs that are out of scope now, or opted out, are not requested again. A page counts once
	// for limits, however often it is fetched. A later run without Revisit fetches the pages
	// whose time to be fetched again has come, each once more; after that it fetches no page
	// again. Visits call Revisit.Next, several at the same time. If it panics, the crawl ends
	// without loss. If Revisit is nil, each page is fetched once.
	//
	// A page is requested with a condition (If-None-Match, If-Modified-Since) if the archive has
	// its last answer, which needs Dir and OutputWARC. Otherwise each visit transfers the whole
	// page. A site that does not answer in several tries rests for a day before it is requested
	// again, also if the policy wants it earlier.
	Revisit revisit.Policy

	proxyName string   // the text from which Setting.Set made Proxy
	again     string   // the text from which Setting.Set made Revisit
	sameNames []string // the names from which Setting.Set made Same
	bounds    bounds
}

// Follow says which links are followed, and which URLs count as equal. The zero value
// follows all links in scope that owners do not ask crawlers to ignore.
type Follow struct {
	Include, Exclude *regexp.Regexp // a URL in scope is followed if it matches Include (nil: any URL matches) and does not match Exclude (nil: none matches)

	Depth          int      // maximum number of links from a seed; 0: no limit
	Requisites     bool     // also fetch requisites: the images, scripts, style sheets and frames of pages, even out of scope, up to 4 hops from the page
	Sitemaps       Sitemaps // whether sitemaps are read, and whether links of pages are followed
	Forms          bool     // request the URLs of forms that send only a query, with the values that the forms have before a visitor fills them in
	FollowNoFollow bool     // follow links that are marked nofollow
	OnlyFollowed   bool     // follow neither links of pages nor sitemaps, but only redirects, requisites, and what the program follows (Page.Follow, FollowTag, FollowLink, FollowAll)
	FollowTraps    bool     // follow links whose URLs have the pattern of an endless space, such as a calendar without end

	// Same returns one URL, which represents its argument and all URLs that are equivalent to
	// it. Of equivalent URLs only the first that is found is requested. That URL is requested
	// as it is written, and robots.txt is applied to it in that form. So Same avoids duplicates
	// without changing the URL that is requested. Same is called after Rewrite, for the same
	// URLs. It must return the same result for the same URL each time, and return its own
	// results unchanged. A result on another site is ignored. Same must be quick and safe for
	// concurrent use. The target of a redirect is requested even if it is equivalent to the URL
	// that redirects to it, since otherwise the page would be lost. In a resumed crawl a
	// changed Same applies only to URLs that are found from then on, so a page that was
	// requested under the old rule may be requested once more.
	Same func(frontier.URL) frontier.URL // such as StripIndex, SortQuery, StripTracking, or several Together; nil: only URLs that differ in escapes are equivalent

	// CleanParam makes links equivalent that differ only in parameters which a Clean-param line
	// of robots.txt names (Yandex's extension). It applies only to links within a site, because
	// the robots.txt of another site is not known when a link to that site is found.
	CleanParam bool

	// Links is called for each link that is about to be queued, also if its URL turns out to be
	// known already, except seeds and redirects. It
	// may set the fields Rank, Tag and Head of l. If it returns false, the link is not queued.
	// Links is called in the goroutine that visits the page: calls for pages of one site do not
	// overlap, but calls for pages of different sites may. For URLs that the body of a loop
	// over Pages follows, Links is called in the goroutine of the loop, and may overlap with
	// another call for the same site. Links is also called for URLs of Page.Follow, and may
	// refuse them; to fetch only these, set OnlyFollowed instead.
	//
	// Rewrite is called for each link before Links is, and also for seeds, redirects, sitemaps
	// and URLs of Page.Follow. The crawl uses its result in place of the URL. If the result is
	// the zero URL, the URL is refused. Rewrite must return the same result for the same URL
	// each time, and return its own results unchanged. Links and Rewrite must be quick. A panic
	// in one of them ends the crawl without loss.
	Links   func(p *Page, l *Link) bool     // nil: all links are queued
	Rewrite func(frontier.URL) frontier.URL // such as StripTracking; nil: URLs are requested as they are written
}

// Budget limits what a crawl may use. Requisites (images, scripts and other resources of pages)
// do not count as pages: they are still fetched after the limit of pages is reached.
type Budget struct {
	Limit        int           // maximum number of pages of the whole crawl; 0: no limit
	MaxBytes     int64         // maximum bytes of answers of the whole crawl, as they come over the wire; the answer that exceeds it is cut; 0: no limit
	MaxTime      time.Duration // time after which the run is stopped; requests still running 10 s later are cancelled; 0: no limit
	MaxHostPages int           // maximum number of pages of one site; 0: 10000, -1: no limit
	MaxHostBytes int64         // maximum bytes of answers of one site, as for MaxBytes; 0: no limit
	MaxHostTime  time.Duration // maximum total time of requests to one site; 0: no limit
	Patience     time.Duration // the run ends if no URL may be requested within this time, for example because all sites rest after failures, or have a longer Crawl-delay; 0: 2 min, with Revisit frontier.Forever; -1: at the first pause of all sites; frontier.Forever: when no URL waits any more
}

// Pace says how fast a crawl is. A site may always require longer pauses.
type Pace struct {
	Delay       time.Duration   // least pause of a site, from the end of a response; 0: 1 s, NoDelay: none
	IPDelay     time.Duration   // between the starts of two requests to a public address; 0: 250 ms, NoDelay: none
	DomainDelay time.Duration   // least pause of a registrable domain, whose sites then get one request at a time; 0: none
	Rate        float64         // requests per second, all sites together; 0: no limit
	Bandwidth   int64           // bytes per second of all bodies together, as they come over the wire; 0: no limit
	Concurrency int             // visits at once; 0: 64
	Shared      frontier.Shared // clocks that crawls share to keep the pauses of sites together, such as a machine.Table; nil: the clocks that all crawls of this process share, NoShared: none
	Lift        []string        // sites and hosts for which calls of Crawler.Slow and Crawler.Exclude in earlier runs are revoked; LiftAll: all such calls
}

// Robots says how robots.txt and other statements of owners are read.
type Robots struct {
	Dialect        robots.Dialect // the specification by which robots.txt is read; the zero value is RFC 9309
	Aliases        []string       // further product tokens of this crawler, such as an old name: groups and directives that name one of them also apply to this crawler
	AllowForbidden bool           // if true, a robots.txt with status 401, 402, 403 or 451 permits all requests, as RFC 9309 says; if false, it forbids them
	Purpose        robots.Purpose // the purpose of the crawl; a page whose owner refuses it is not requested, or is not kept: the Handler does not get it, and its links are not followed; empty: not declared
}

// Wire says how requests are sent, and how much of an answer is read.
type Wire struct {
	MaxSize      int64             // bytes of a decoded body; the rest is cut; 0: 16 MiB
	BodyBudget   int64             // bytes of memory for the bodies of all visits together; other bodies are in temporary files in Dir; 0: 24 MiB
	Timeout      time.Duration     // maximum time of each phase of a request; 0: 30 s
	AllowPrivate bool              // connect to private and loopback addresses, too
	ConnectTo    []fetch.ConnectTo // addresses to connect to instead of those of some hosts
	Network      fetch.Network     // makes the connections; nil: the network of this machine
	Proxy        fetch.ProxyFunc   // chooses the proxy of a request; nil: no proxy, whatever the environment variables say. With a proxy each site has at least the pause of a site at a public address
	Header       http.Header       // further fields of every request; fetch.ParseHeader says which fields are refused
	Signing      fetch.Signing     // signs the requests (Web Bot Auth), so that servers can check who sends them; the zero value does not
	RootCAs      *x509.CertPool    // certificates to verify servers with; nil: those of the system
}

// Keep says what is written to Options.Dir, and which earlier results are read.
type Keep struct {
	Output     []Output // what is written besides the state and crawl.log; nil: OutputWARC and OutputPages, empty: nothing
	MaxArchive int64    // bytes of a WARC file after which the next file is begun; 0: 1 GiB
	TextDigest bool     // write Page.TextDigest of each page to pages.jsonl and to the archive
	Previous   string   // directory of the previous crawl, which must have ended; empty: none. Pages in its archive are requested with a condition (If-None-Match, If-Modified-Since), and each page is compared with its earlier version
	Rescan     bool     // at the start of the run, read the pages in the archive of Dir again; and queue those of their links that an earlier run refused and this run wants. URLs of Page.Follow are not included
}

// Hooks are called while a crawl runs. A nil function is not called.
type Hooks struct {
	OnStart func(Start)        // called once, before the first request; for a resumed crawl, the Start says how this run differs from the run before
	OnError func(*Page, error) // called for each error of the handler, which is also logged; must be safe for concurrent use
	OnVisit func(Visited)      // called after each visit, for metrics; must be quick and safe for concurrent use
	OnSkip  func(Skip)         // called for each URL that is refused or ends without a page, also if OnVisit is called for it; at the end of a run also for URLs that are still queued, except those with the code frontier.Queued; must be quick and safe for concurrent use
	Logger  *slog.Logger       // nil: slog.Default()

	// MaxBody returns how many decoded bytes of the body of an HTTP answer with a 2xx status
	// are read, at most MaxSize: 0 if only the header of the page matters. It is called
	// with the URL, the status and the header of the answer, before its body is read. Sitemaps,
	// feeds and style sheets are pages, too: links are found only in what is read. A page with a
	// longer body is stored, archived and passed to the handler with the part that was
	// read, and with Page.Truncated. It must be quick and safe for concurrent use. nil:
	// MaxSize.
	MaxBody func(*fetch.Exchange) int64
}

// bounds limit what the storage, the fetcher and the frontier keep in memory. 0 means the
// default. Tests set small bounds, so that they are reached.
type bounds struct {
	storage            store.Bounds
	syncDelay          time.Duration // simulates a slow disk
	readAhead          int           // number of entries of a site that are read into memory in advance
	hosts, idle, names int           // sizes of the caches of the fetcher
	repeated           int           // number of pages that a rescan remembers (see maxRepeated)
	sites              int           // number of sites whose settings are cached
}

// An Output is a kind of file that a crawl writes, or a part of one.
type Output string

// The outputs.
const (
	OutputWARC   Output = "warc"   // warc/*.warc.gz and index.cdxj
	OutputPages  Output = "jsonl"  // pages.jsonl
	OutputBodies Output = "bodies" // pages.jsonl, with the bodies of the pages
	OutputLinks  Output = "links"  // links.jsonl
)

// Defaults of Options.
const (
	DefaultHostPages   = 10000
	defaultConcurrency = 64
	defaultBodyBudget  = 24 << 20
)

// fill replaces 0 by the default in each numeric option. The error is an *OptionError for the
// first invalid option; all other options are filled nevertheless.
func (o *Options) fill() (err error) {
	for _, s := range o.Settings() {
		if number, ok := s.Value.(interface{ Fill() string }); ok {
			if wrong := number.Fill(); wrong != "" && err == nil {
				err = &OptionError{Field: s.Field, Reason: wrong}
			}
		}
	}
	return err
}

// check fills in the defaults and returns the first invalid option as an *OptionError.
func (o *Options) check() error {
	if err := o.Identity.Check(); err != nil {
		return err
	}
	if o.Revisit != nil && o.Patience == 0 {
		o.Patience = frontier.Forever
	}
	if err := cmp.Or(o.fill(), o.checkLift(), o.checkRobots(), o.checkWire(), o.checkPrevious()); err != nil {
		return err
	}
	if o.Rescan && o.Dir == "" {
		return &OptionError{Field: "Rescan", Reason: "needs the archive in a Dir"}
	}
	for _, out := range o.Output {
		if !slices.Contains(outputNames, out) {
			return &OptionError{Field: "Output", Reason: fmt.Sprintf("%q is not one of %s", out, join(outputNames, ", "))}
		}
	}
	if s := o.Sitemaps; s != SitemapsAlso && s != SitemapsOnly && s != SitemapsNone {
		return &OptionError{Field: "Sitemaps", Reason: fmt.Sprintf("%q is not one of %q, %q and %q", o.Sitemaps, SitemapsAlso, SitemapsOnly, SitemapsNone)}
	}
	if o.Output == nil {
		o.Output = usualOutputs
	}
	if o.Proxy != nil && !o.AllowPrivate {
		// The address of a site is unknown behind a proxy; it counts as public.
		o.Delay = max(o.Delay, frontier.PublicFloor)
	}
	if f, ok := o.Scope.(ScopeFunc); ok && f == nil {
		return &OptionError{Field: "Scope", Reason: "is nil: leave it out for SameHost()"}
	}
	if o.Scope == nil {
		o.Scope = SameHost()
	}
	if err := tried("Scope", func() { o.Scope = cloned(o.Scope) }); err != nil {
		return err
	}
	// Copied, because the caller may change the originals later.
	o.Header, o.Aliases, o.Output, o.ConnectTo = o.Header.Clone(), slices.Clone(o.Aliases), slices.Clone(o.Output), slices.Clone(o.ConnectTo)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	o.Logger = slog.New(contained{o.Logger.Handler()})
	return nil
}

// checkDir reports options that have no effect without Dir.
func (o *Options) checkDir() error {
	switch {
	case o.Dir != "":
	case o.State != nil:
		return &OptionError{Field: "State", Reason: "needs a Dir for the pages and the archive of this node"}
	case len(o.Output) > 0:
		return &OptionError{Field: "Output", Reason: "needs a Dir that it is written to"}
	case len(o.Lift) > 0:
		return &OptionError{Field: "Lift", Reason: "needs the Dir of the crawl in which it was ordered"}
	}
	return nil
}

// checkRobots reports invalid options about robots.txt.
func (o *Options) checkRobots() error {
	if _, err := robots.ParseDialect(o.Dialect.String()); err != nil {
		return &OptionError{Field: "Dialect", Reason: err.Error(), Err: err}
	}
	if err := o.Purpose.Check(); err != nil {
		return &OptionError{Field: "Purpose", Reason: err.Error(), Err: err}
	}
	for _, alias := range o.Aliases {
		if err := o.Dialect.CheckToken(alias); err != nil {
			return &OptionError{Field: "Aliases", Reason: err.Error(), Err: err}
		}
		if who, known := robots.KnownToken(alias); known {
			return &OptionError{Field: "Aliases", Reason: fmt.Sprintf("%q is the name of %s: give former names of this crawler only", alias, who)}
		}
	}
	return nil
}

// maxConcurrency is the largest Options.Concurrency. A machine has fewer sockets than that.
const maxConcurrency = 1 << 16

// checkWire reports invalid options about requests and their rate.
func (o *Options) checkWire() error {
	if o.Concurrency > maxConcurrency {
		return &OptionError{Field: "Concurrency", Reason: fmt.Sprintf("is more than %d", maxConcurrency)}
	}
	if math.IsNaN(o.Rate) {
		return &OptionError{Field: "Rate", Reason: "is no number"}
	}
	if err := fetch.CheckHeader(o.Header, false); err != nil {
		return &OptionError{Field: "Header", Reason: err.Error(), Err: err}
	}
	if s := o.Signing; s.Key != nil || s.Agent != "" {
		if _, err := identity.NewSigner(s.Key, s.Agent); err != nil {
			return &OptionError{Field: "Signing", Reason: err.Error(), Err: err}
		}
	}
	for i, to := range o.ConnectTo {
		if err := to.Check(); err != nil {
			return &OptionError{Field: "ConnectTo", Reason: fmt.Sprintf("at %d: %v", i, err), Err: err}
		}
	}
	return nil
}

// policy returns the robots.Policy of the crawl: how robots.txt is read, and for which tokens.
func (o *Options) policy() robots.Policy {
	return robots.Policy{Dialect: o.Dialect, Token: o.Identity.Token, Aliases: o.Aliases, AllowForbidden: o.AllowForbidden}
}

// embeds reports whether the links of pages to requisites (images, scripts ...) are needed.
func (o *Options) embeds() bool { return o.Requisites || o.writes(OutputLinks) }

// reading returns the options for reading pages. To read the text of links is expensive. So
// this text is read at once only if Options.Links or OutputLinks needs it for each link.
// Otherwise Page.Links reads the text when it is called.
func (o *Options) reading() extract.Options {
	_, dates := o.Revisit.(revisit.Believer)
	return extract.Options{Token: o.Identity.Token, Aliases: o.Aliases, Embeds: o.embeds(), Forms: o.Forms, Text: o.Links != nil || o.writes(OutputLinks), Changes: dates}
}

func (o *Options) writes(out Output) bool { return slices.Contains(o.Output, out) }

// NoShared in Options.Shared keeps the clocks of a crawl apart from those of all other crawls.
// It is for tests only, because two crawls of one site then send twice as many requests to it.
var NoShared frontier.Shared = apart{}

// apart is a Shared that never makes a crawl wait for another.
type apart struct{}

func (apart) Reserve(string, time.Time, time.Time) (taken frontier.Taken, ok bool) {
	return taken, true
}
func (apart) Renew(string, time.Time)   {}
func (apart) Release(string, time.Time) {}

// clocks returns the clocks that the crawl shares with others.
func (o *Options) clocks() frontier.Shared { return shared.Of(o.Shared, o.Network) }
