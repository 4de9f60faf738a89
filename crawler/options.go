package crawler

import (
	"crypto/x509"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"time"

	"github.com/permesso-crawler/permesso/crawler/extract"
	"github.com/permesso-crawler/permesso/crawler/revisit"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/setting"
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

// policy returns the robots.Policy of the crawl: how robots.txt is read, and for which tokens.
func (o *Options) policy() robots.Policy {
	return robots.Policy{Dialect: o.Dialect, Token: o.Identity.Token, Aliases: o.Aliases, AllowForbidden: o.AllowForbidden}
}

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

// A Start describes the beginning of a run.
type Start struct {
	Resumed  bool     // an earlier run had begun the crawl
	Changes  []Change // settings that differ from those of the last run
	Rescan   bool     // this run continues a rescan of the archive (Options.Rescan), which an earlier run began and did not end
	Requeued int      // number of URLs that are queued again: an earlier run with a narrower scope had dropped them from the queue
	Orders   []Order  // calls of Slow and Exclude in earlier runs that still apply
	Carried  int      // in the first run of a crawl, the number of sites whose robots.txt was copied from Options.Previous
}

// A Change is a setting whose value differs from that in the last run. Was and Is are the old
// and the new value.
type Change struct {
	Setting, Was, Is string
	Way              setting.Way    // "tighter", "wider" or "other"
	Effect           setting.Effect // how the changed setting takes effect, in words
}

// String returns the setting with its old and its new value.
func (c Change) String() string { return fmt.Sprintf("%s: %s -> %s", c.Setting, c.Was, c.Is) }

// A Link is a link that is about to be queued, as passed to Options.Links.
type Link struct {
	extract.Link // the link as the page has it, but its URL is already the result of Options.Rewrite

	// Rank orders the queue of a site: URLs with a lower rank are fetched first, those with
	// equal ranks in the order in which they were found. The default is the depth, up to 255,
	// so that URLs near a seed come first. To fetch the best first, set Rank to 255 minus a
	// score; to fetch the deepest first, set it to 255 minus the depth. Requisites (images,
	// scripts and other resources that a page includes) always have frontier.RequisiteRank,
	// because they are fetched with their page. The rank never makes requests to a site more
	// frequent.
	Rank uint8

	// Tag is the tag of the target page; the default is that of the page with the link. See
	// Tags. A link with a tag of more than 64 KiB is not queued.
	Tag string

	// Head requests the page with HEAD (RFC 9110, section 9.3.2), to learn whether it exists.
	// The handler gets the page without a body. The page has at most one link, the target of a
	// redirect, which is also requested with HEAD. If the server refuses the method (405 or
	// 501), the next request to the site repeats the request with GET. FTP has no HEAD: over
	// FTP the file is retrieved. Robots.txt, pauses and limits apply as for any page. A URL is
	// requested once, in the way that the first link to it says: a later link without Head has
	// no effect. So never set Head on a link to a page whose links the crawl should follow.
	Head bool
}

// A Skip is a URL that is not fetched. Code says why, and Detail says more: the rule and line
// of robots.txt, the error of the last try, the pattern of a trap, the name of the callback
// that refused the URL, the statement of the owner, or the reason that was given to
// Crawler.Exclude. For a URL that waits, Detail is the name of the clock that makes it wait.
// Some values of Code are for URLs that are still queued: such a URL stays in the queue, and
// the next run continues with it.
type Skip struct {
	URL    frontier.URL
	Via    string // the URL of the page on which URL was found
	Code   frontier.Code
	Detail string
	Until  time.Time // with frontier.Waiting: when the URL may be requested
}

// A Visited is the result of a visit, as passed to Options.OnVisit, for metrics and
// monitoring.
type Visited struct {
	Entry    frontier.Entry // the entry that was visited
	Fate     frontier.Fate  // how the entry ended; frontier.Undecided if its URL will be requested later, for instance after the robots.txt of the site
	Requests []Request      // in order, including those for robots.txt; if robots.txt forbids the URL, there is none for the URL itself
}

// A Request is one request and its result.
type Request struct {
	URL     frontier.URL
	Robots  bool  // the request was for a file that is needed before a page may be requested: robots.txt or tdmrep.json
	Status  int   // HTTP status; 0 if there was no answer
	Bytes   int64 // bytes of the body as it came over the wire
	Started time.Time
	TTFB    time.Duration // time to the first byte of the answer; 0 if there was no answer
	Took    time.Duration // time to the end of the answer
	Err     error         // why there was no answer, or an incomplete one: a *fetch.Error
}

// SiteOptions are the settings of one site: see Options.Site. The zero value means that the
// site has no settings of its own.
//
// Settings that allow more requests than for other sites need a Reason. These are
// AllowForbidden, and a budget (MaxPages, MaxBytes or MaxTime) that is larger than the one in
// Options, or unlimited. No setting makes the pause of a site shorter, and only AllowForbidden
// allows requests that are forbidden otherwise.
type SiteOptions struct {
	Delay time.Duration // least pause, from the end of a response; it has no effect if it is shorter than the pause that applies already

	MaxPages int           // pages of the site, instead of MaxHostPages; 0: the same as MaxHostPages, -1: no limit
	MaxBytes int64         // bytes of the answers of the site, instead of MaxHostBytes; 0: the same as MaxHostBytes, -1: no limit
	MaxTime  time.Duration // total time of requests to the site, instead of MaxHostTime; 0: the same as MaxHostTime, -1: no limit

	// Scope decides which pages of the site belong to the crawl, among those in Options.Scope;
	// nil: all. Seeds and requisites (images, scripts ...) are fetched even outside of it, as
	// with Options.Scope. The crawl never calls the method Admit of this scope. So the program
	// must call Admit itself for a scope that needs roots, such as SamePrefix.
	Scope   Scope
	Exclude bool // the site gets no request, not even for robots.txt; Reason is written to the log

	AllowForbidden bool // if robots.txt has the status 401, 402, 403 or 451, all requests to the site are allowed, as RFC 9309 says

	// Header has header fields of requests to the site, which are added to those of Wire.Header
	// or replace them. The fields that Wire.Header refuses are refused here, too, except
	// Authorization and Cookie: with a Reason, the site gets them, for instance to crawl your
	// own site before it is public. Their values are in no file and no log of the crawl.
	Header http.Header

	Reason string // why the site has settings of its own: written to the Logger and to crawl.log
}

// Sitemaps decides how sitemaps (sitemaps.org) are used. It applies to the sitemaps that the
// robots.txt of a site in scope names, on any host. It also applies to sitemaps that a sitemap
// index names, if they are on the host of the index. Sitemaps are requested like pages: the
// robots.txt and the pauses of their site apply. They are archived, but do not count as pages
// for limits, and are not passed to the handler. The URLs that they list are treated as links,
// so the scope applies to them. A seed that is a sitemap counts as a page, is passed to the
// handler, and is also read as a sitemap.
type Sitemaps string

// The values of Options.Sitemaps.
const (
	SitemapsAlso Sitemaps = ""     // sitemaps are read, and links of pages are followed
	SitemapsOnly Sitemaps = "only" // sitemaps are read; links of pages are not followed, but redirects and requisites (images, scripts ...) are
	SitemapsNone Sitemaps = "none" // sitemaps are not requested, and the URLs in a seed that is a sitemap are not followed
)

var (
	outputNames  = []Output{OutputWARC, OutputPages, OutputBodies, OutputLinks}
	usualOutputs = []Output{OutputWARC, OutputPages}
)

const noOutput = "none"
