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

// NoDelay as the value of Options.Delay means no pause between two requests to a site; 0 means the
// default pause. Sites at public addresses get a pause of at least 200 ms nevertheless. Other
// negative delays are refused.
const NoDelay = -1

// Options are the settings of a crawl. The Identity is required; the zero value of every other
// option is polite. The groups of options, such as Pace, are embedded: o.Delay is o.Pace.Delay.
// Comments call this field Options.Delay; go doc shows it as Pace.Delay.
type Options struct {
	Identity Identity

	// Seeds are the URLs to start from, each with an optional tag after a tab. They may be empty if
	// the crawl continues an earlier run in Dir, or if Add is called before Run. They may also be
	// empty if the seeds are added during the run; then call Allow with Limits.Open before Run.
	Seeds []string
	Scope Scope  // decides which URLs belong to the crawl; nil: SameHost()
	Dir   string // directory of the crawl; empty: in memory

	// State is a database that holds the state of the crawl instead of Dir, so that several
	// machines can work on one crawl: see package storage/postgres. Each machine has a Dir of its
	// own. If State is nil, the state is in Dir.
	State storage.State

	Follow // which links are followed
	Budget // when the crawl ends
	Pace   // how fast requests are sent
	Robots // how robots.txt is read
	Wire   // how requests are sent
	Keep   // what is written
	Hooks  // functions of the program that are called

	// OptOut returns the reason why a URL must never be requested, or "" if it may be requested.
	// For a URL that it refuses not even robots.txt is requested. OptOut takes precedence over all
	// other options. It must be quick and safe for concurrent use. The method OptOutList.Why is
	// such a function. A nil OptOut refuses no URL.
	OptOut func(frontier.URL) (why string)

	// Site returns the settings of one site. It is called during a visit, before the first request
	// to the site and for links to it. Only that visit waits for the function; no lock is held. The
	// function must be safe for concurrent use. It should return the same settings for a site each
	// time, because its results are cached. If the settings are not valid (*OptionError), or if
	// Site panics, the crawl ends without loss. SitesByHost makes such a function. If Site is nil,
	// all sites have the same settings.
	Site func(frontier.Site) SiteOptions

	// Revisit decides when a page is fetched again. With a policy the crawl does not end by itself.
	// Sitemaps, and URLs that failed or were refused, are requested again, too. URLs that are now
	// out of scope or opted out are not. A page counts once for limits, however often it is
	// fetched. Visits call Revisit.Next, several at the same time. If it panics, the crawl ends
	// without loss. If Revisit is nil, each page is fetched once.
	//
	// A later run without Revisit fetches each page once more whose time to be fetched again has
	// come. After that it fetches no page again.
	//
	// A page is requested with a condition (If-None-Match, If-Modified-Since) if the archive has
	// its last answer, which needs Dir and OutputWARC. Otherwise each visit transfers the whole
	// page. A site that does not answer in several tries is left alone for a day, even if the
	// policy wants an earlier request.
	Revisit revisit.Policy

	proxyName string   // the text for which Setting.Set made Proxy
	again     string   // the text for which Setting.Set made Revisit
	sameNames []string // the names for which Setting.Set made Same
	bounds    bounds
}

// Follow says which links are followed, and which URLs count as equal. With the zero value all
// links in scope are followed, except links that owners ask crawlers not to follow.
type Follow struct {
	// A URL in scope is followed if it matches Include and does not match Exclude; nil: no such
	// condition.
	Include, Exclude *regexp.Regexp

	Depth int // maximum number of links from a seed; 0: no limit
	// Also fetch the images, scripts, style sheets and frames of pages, even out of scope, up to 4
	// steps from the page.
	Requisites bool
	Sitemaps   Sitemaps // whether sitemaps are read, and whether links of pages are followed
	// Also request the URLs of forms that send only a query, with the initial values of the form.
	Forms          bool
	FollowNoFollow bool // follow links that are marked nofollow
	// Follow only redirects, images and scripts (see Requisites), and URLs that the program follows
	// (Page.Follow, FollowTag, FollowLink, FollowAll); ignore links of pages, and sitemaps.
	OnlyFollowed bool
	// Also follow links into endless spaces of URLs, such as a calendar without end.
	FollowTraps bool

	// Same returns one URL to represent a group of equivalent URLs; it gets any URL of the group.
	// Only the first URL that is found of a group is requested. It is requested as it is written,
	// and robots.txt is applied to it in that form. So Same avoids duplicates without changing the
	// URL that is requested. Same is called after Rewrite, for the same URLs. It must return the
	// same result for the same URL each time, and return its own results unchanged. A result on
	// another site is ignored. Same must be quick and safe for concurrent use.
	//
	// The target of a redirect is requested even if it is equivalent to the URL that redirects to
	// it, because otherwise the page would be lost. If a resumed crawl has another Same, it applies
	// only to URLs that are found from then on. So a page that was requested under the old rule may
	// be requested once more.
	//
	// StripIndex, SortQuery and StripTracking are such functions, and Together combines several. If
	// Same is nil, only URLs that differ in escapes are equivalent.
	Same func(frontier.URL) frontier.URL

	// CleanParam makes links equivalent that differ only in parameters which a Clean-param line of
	// robots.txt names (Yandex's extension). It applies only to links within a site, because the
	// robots.txt of another site is not known when a link to that site is found.
	CleanParam bool

	// Links is called for each link that is about to be queued, even if its URL is known already,
	// but not for seeds and redirects. It may set the fields Rank, Tag and Head of l. If it returns
	// false, the link is not queued. Links is called in the goroutine that visits the page: calls
	// for pages of one site do not overlap, but calls for pages of different sites may. For URLs
	// that the body of a loop over Pages follows, Links is called in the goroutine of the loop, and
	// may overlap with another call for the same site. Links is also called for URLs of
	// Page.Follow, and may refuse them; to fetch only these, set OnlyFollowed instead.
	//
	// Rewrite is called for each link before Links, and also for seeds, redirects, sitemaps and
	// URLs of Page.Follow. The crawl uses its result instead of the URL. If the result is the zero
	// URL, the URL is refused. Rewrite must return the same result for the same URL each time, and
	// return its own results unchanged. Links and Rewrite must be quick. A panic in one of them
	// ends the crawl without loss.
	Links   func(p *Page, l *Link) bool     // nil: all links are queued
	Rewrite func(frontier.URL) frontier.URL // for example StripTracking; nil: URLs are requested as they are written
}

// Budget limits the resources that a crawl may use. Images, scripts and other resources of pages do
// not count as pages: they are fetched even after the limit of pages is reached.
type Budget struct {
	Limit int // maximum number of pages in the whole crawl; 0: no limit
	// Maximum number of bytes in all answers of the crawl, counted on the wire; the answer that
	// exceeds it is cut; 0: no limit.
	MaxBytes int64
	// Maximum duration of a run; requests that are still running 10 s later are cancelled; 0: no
	// limit.
	MaxTime      time.Duration
	MaxHostPages int // maximum number of pages of one site; 0: 10000, -1: no limit
	// Maximum number of bytes in the answers of one site, counted like MaxBytes; 0: no limit.
	MaxHostBytes int64
	MaxHostTime  time.Duration // maximum total time of requests to one site; 0: no limit
	// The run ends if no URL may be requested within this time, for example because all sites rest
	// after failures or have a longer Crawl-delay; 0: 2 min, but frontier.Forever with Revisit; -1:
	// the run ends at the first pause of all sites; frontier.Forever: when no URL waits any more.
	Patience time.Duration
}

// Pace limits the speed of a crawl. A site may always require longer pauses.
type Pace struct {
	// Minimum pause between two requests to a site, measured from the end of a response; 0: 1 s,
	// NoDelay: none.
	Delay time.Duration
	// Minimum time between the starts of two requests to one public IP address; 0: 250 ms, NoDelay:
	// none.
	IPDelay time.Duration
	// Minimum pause between two requests to a registrable domain; its sites then get one request at
	// a time; 0: none.
	DomainDelay time.Duration
	Rate        float64 // requests per second to all sites together; 0: no limit
	// Bytes per second of all bodies together, counted on the wire; 0: no limit.
	Bandwidth   int64
	Concurrency int // maximum number of concurrent visits; 0: 64
	// Clocks that several crawls share so that together they keep the pauses of sites, for example
	// a machine.Table; nil: the clocks of this process, NoShared: none.
	Shared frontier.Shared
	// Sites and hosts whose Slow and Exclude orders from earlier runs are revoked; LiftAll revokes
	// all of them.
	Lift []string
}

// Robots says how robots.txt and other statements of owners are read.
type Robots struct {
	Dialect robots.Dialect // the specification by which robots.txt is read; the zero value is RFC 9309
	// Further product tokens of this crawler, such as an old name; groups and directives that name
	// one of them also apply to this crawler.
	Aliases []string
	// Whether a robots.txt with status 401, 402, 403 or 451 allows all requests, as RFC 9309 says;
	// if false, it forbids them.
	AllowForbidden bool
	// The purpose of the crawl; empty: not declared. A page whose owner refuses this purpose is not
	// requested, or its answer is discarded: the Handler does not get it, and its links are not
	// followed.
	Purpose robots.Purpose
}

// Wire says how requests are sent and how much of an answer is read.
type Wire struct {
	MaxSize int64 // maximum number of bytes of a decoded body; the rest is cut; 0: 16 MiB
	// Bytes of memory for the bodies of all visits together; bodies beyond that are in temporary
	// files in Dir; 0: 24 MiB.
	BodyBudget   int64
	Timeout      time.Duration     // maximum time of each phase of a request; 0: 30 s
	AllowPrivate bool              // also connect to private and loopback addresses
	ConnectTo    []fetch.ConnectTo // for some hosts, the addresses to connect to instead of their own
	Network      fetch.Network     // makes the connections; nil: the network of this machine
	// Chooses the proxy of a request; nil: no proxy, and the environment variables are ignored.
	// With a proxy each site has at least the pause of a site at a public address.
	Proxy fetch.ProxyFunc
	// Further header fields of every request; fetch.ParseHeader documents which fields are refused.
	Header http.Header
	// Signs the requests (Web Bot Auth), so that servers can verify the sender; the zero value does
	// not sign.
	Signing fetch.Signing
	// Certificates to verify servers with; nil: the certificates of the system.
	RootCAs *x509.CertPool
}

// Keep says which files are written to Options.Dir, and which earlier results are read.
type Keep struct {
	// The files to write besides the state and crawl.log; nil: OutputWARC and OutputPages, empty:
	// no others.
	Output []Output
	// Size in bytes at which a WARC file is closed and the next is begun; 0: 1 GiB.
	MaxArchive int64
	TextDigest bool // write Page.TextDigest of each page to pages.jsonl and to the archive
	// Directory of the previous crawl, which must have ended; empty: none. Pages in its archive are
	// requested with a condition (If-None-Match, If-Modified-Since), and each page is compared with
	// its earlier version.
	Previous string
	// At the start of the run, read the archived pages in Dir again, and queue the links that an
	// earlier run refused and this run wants; URLs of Page.Follow are not included.
	Rescan bool
}

// Hooks are functions that a running crawl calls. A nil function is not called.
type Hooks struct {
	// Called once, after the crawl is opened and before its seeds are queued. It may call methods of
	// the Crawler. In a resumed crawl, the Start says how this run differs from the previous run.
	OnStart func(Start)
	OnError func(*Page, error) // called for each error of the handler, which is also logged; must be safe for concurrent use
	OnVisit func(Visited)      // called after each visit, for metrics; must be quick and safe for concurrent use
	// Called for each URL that is refused or ends without a page, even if OnVisit is called for it,
	// too. At the end of a run it is called for the URLs that are still queued, except those with
	// the code frontier.Queued. It must be quick and safe for concurrent use.
	OnSkip func(Skip)
	Logger *slog.Logger // nil: slog.Default()

	// MaxBody returns the maximum number of decoded bytes to read from the body of an HTTP answer
	// with a 2xx status: 0 to read only the header. It cannot exceed MaxSize. MaxBody is called
	// with the URL, the status and the header of the answer, before the body is read. It is also
	// called for sitemaps, feeds and style sheets, and links are found only in the part that is
	// read. A page with a longer body is stored, archived and passed to the handler with that part,
	// and Page.Truncated is set. MaxBody must be quick and safe for concurrent use. If it is nil,
	// MaxSize applies.
	MaxBody func(*fetch.Exchange) int64
}

// bounds limit the number of items that the storage, the fetcher and the frontier keep in memory. 0
// means the default. Tests set small bounds in order to reach them.
type bounds struct {
	storage            store.Bounds
	syncDelay          time.Duration // pause that is added to each sync of the state, to simulate a slow disk
	readAhead          int           // number of entries of a site that are read into memory in advance
	hosts, idle, names int           // sizes of three caches of the fetcher
	repeated           int           // number of pages that a rescan remembers (see maxRepeated)
	sites              int           // number of sites whose settings are cached
}

// An Output is a kind of file that a crawl writes, or an optional part of such a file.
type Output string

// The outputs that a crawl can write.
const (
	OutputWARC   Output = "warc"   // warc/*.warc.gz and index.cdxj
	OutputPages  Output = "jsonl"  // pages.jsonl
	OutputBodies Output = "bodies" // pages.jsonl that includes the bodies of the pages
	OutputLinks  Output = "links"  // links.jsonl
)

// Defaults of Options.
const (
	DefaultHostPages   = 10000
	defaultConcurrency = 64
	defaultBodyBudget  = 24 << 20
)

// policy returns the robots.Policy of the crawl: the dialect of robots.txt, and the product tokens
// of this crawler.
func (o *Options) policy() robots.Policy {
	return robots.Policy{Dialect: o.Dialect, Token: o.Identity.Token, Aliases: o.Aliases, AllowForbidden: o.AllowForbidden}
}

// NoShared in Options.Shared keeps the clocks of a crawl separate from those of all other crawls.
// Use it only in tests, because two crawls of one site then send twice as many requests to it.
var NoShared frontier.Shared = noShared{}

// noShared is the type of NoShared: it never makes a crawl wait for another crawl.
type noShared struct{}

func (noShared) Reserve(string, time.Time, time.Time) (taken frontier.Taken, ok bool) {
	return taken, true
}
func (noShared) Renew(string, time.Time)   {}
func (noShared) Release(string, time.Time) {}

// clocks returns the clocks that the crawl shares with other crawls.
func (o *Options) clocks() frontier.Shared { return shared.Of(o.Shared, o.Network) }

// A Start describes the beginning of a run.
type Start struct {
	Resumed bool     // the crawl was begun by an earlier run
	Changes []Change // settings that differ from those of the last run
	// An earlier run began to read the archive again (Options.Rescan) and did not complete this;
	// the run continues it.
	Rescan bool
	// Number of URLs that are queued again; an earlier run with a narrower scope had removed them
	// from the queue.
	Requeued int
	// Orders of Slow and Exclude that were given in earlier runs and still apply.
	Orders []Order
	// Number of sites whose robots.txt was copied from Options.Previous; 0 except in the first run.
	Carried int
}

// A Change is a setting with a value that differs from its value in the last run. Was and Is are
// the old and the new value.
type Change struct {
	Setting, Was, Is string
	Way              setting.Way    // whether the new value is "tighter", "wider" or "other"
	Effect           setting.Effect // when the new value takes effect, in words
}

// String returns the setting with its old and its new value, such as "delay: 1s -> 2s".
func (c Change) String() string { return fmt.Sprintf("%s: %s -> %s", c.Setting, c.Was, c.Is) }

// A Link is a link that is about to be queued. Options.Links gets it.
type Link struct {
	// The link on the page, but with a URL that Options.Rewrite has already changed.
	extract.Link

	// Rank orders the queue of a site: URLs with a lower rank are fetched first, and URLs of equal
	// rank in the order in which they were found. The default is the depth, up to 255, so that URLs
	// near a seed come first. To fetch the best pages first, set Rank to 255 minus a score; to
	// fetch the deepest pages first, set it to 255 minus the depth. Images, scripts and other
	// resources of a page always have frontier.RequisiteRank, because they are fetched with their
	// page. The rank never makes requests to a site more frequent.
	Rank uint8

	// Tag is the tag of the target page. The default is the tag of the page with the link: see
	// Tags. A link with a tag of more than 64 KiB is not queued.
	Tag string

	// Head requests the page with HEAD (RFC 9110, section 9.3.2), for example to check that it
	// exists. The handler gets the page without a body. The page has at most one link, the target
	// of a redirect, which is also requested with HEAD. If the server refuses the method (405 or
	// 501), the next request to the site repeats the request with GET. FTP has no HEAD, so over FTP
	// the file is retrieved. Robots.txt, pauses and limits apply as for any page.
	//
	// A URL is requested once, with the method of the first link to it: a later link without Head
	// has no effect. So do not set Head on a link to a page whose links the crawl should follow.
	Head bool
}

// A Skip is a URL that is not fetched. Code is the reason. Detail says more, depending on Code: the
// rule and line of robots.txt, the error of the last try, the pattern of a trap, the name of the
// callback that refused the URL, the statement of the owner, the reason that was given to
// Crawler.Exclude, or the name of the clock for which the URL waits. Some codes are for URLs that
// are still queued: such a URL stays in the queue, and the next run continues with it.
type Skip struct {
	URL    frontier.URL
	Via    string // the URL of the page on which the skipped URL was found
	Code   frontier.Code
	Detail string
	// For the code frontier.Waiting, the time from which the URL may be requested.
	Until time.Time
}

// A Visited is the result of a visit. Options.OnVisit gets it, for metrics and monitoring.
type Visited struct {
	Entry frontier.Entry // the queued entry that was visited
	// The result for the entry; frontier.Undecided if its URL will be requested later, for instance
	// after the robots.txt of the site.
	Fate frontier.Fate
	// The requests in order, including those for robots.txt; if robots.txt forbids the URL, there
	// is no request for the URL itself.
	Requests []Request
}

// A Request is one request and its result.
type Request struct {
	URL frontier.URL
	// The request was for a file that must be read before pages of the site are requested:
	// robots.txt or tdmrep.json.
	Robots  bool
	Status  int   // HTTP status; 0 if there was no answer
	Bytes   int64 // bytes of the body, counted on the wire
	Started time.Time
	TTFB    time.Duration // time to the first byte of the answer; 0 if there was no answer
	Took    time.Duration // time to the end of the answer
	Err     error         // a *fetch.Error if the answer is missing or incomplete; otherwise nil
}

// SiteOptions are the settings of one site: see Options.Site. The zero value means that the site
// has no settings of its own.
//
// Settings that allow more requests than for other sites need a Reason. These are AllowForbidden,
// and a MaxPages, MaxBytes or MaxTime that is larger than the budget in Options, or unlimited. No
// setting makes the pause of a site shorter, and only AllowForbidden allows requests that are
// otherwise forbidden.
type SiteOptions struct {
	// Minimum pause between two requests, measured from the end of a response; ignored if a longer
	// pause already applies.
	Delay time.Duration

	// Maximum number of pages of the site; 0: MaxHostPages applies, -1: no limit.
	MaxPages int
	// Maximum number of bytes in the answers of the site; 0: MaxHostBytes applies, -1: no limit.
	MaxBytes int64
	// Maximum total time of requests to the site; 0: MaxHostTime applies, -1: no limit.
	MaxTime time.Duration

	// Scope selects the pages of the site that belong to the crawl, among the pages in
	// Options.Scope. If it is nil, all of those belong to it. Seeds, and the images and scripts of
	// pages, are fetched even outside of this scope, as with Options.Scope. The crawl never calls
	// the method Admit of this scope. A scope that needs roots, such as SamePrefix, needs a call of
	// Admit by the program.
	Scope Scope
	// Send no request to the site, not even for robots.txt; Reason is written to the log.
	Exclude bool

	// Allow all requests to the site if its robots.txt has the status 401, 402, 403 or 451, as RFC
	// 9309 says.
	AllowForbidden bool

	// Header has header fields of requests to the site, which are added to those of Wire.Header or
	// replace them. Fields that Wire.Header refuses are refused here, too. The exceptions are
	// Authorization and Cookie, which need a Reason. They are meant, for instance, for a crawl of
	// your own site before it is public. Their values are in no file and no log of the crawl.
	Header http.Header

	// Why the site has settings of its own; written to the Logger and to crawl.log.
	Reason string
}

// Sitemaps decides how sitemaps (sitemaps.org) are used. It applies to the sitemaps that the
// robots.txt of a site in scope names, on any host. It also applies to sitemaps that a sitemap
// index names, if they are on the host of the index. Sitemaps are requested like pages: the
// robots.txt and the pauses of their site apply. They are archived, but do not count as pages for
// limits, and are not passed to the handler. The URLs that they list are treated as links, so the
// scope applies to them. A seed that is a sitemap counts as a page, is passed to the handler, and
// is also read as a sitemap.
type Sitemaps string

// The values of Options.Sitemaps.
const (
	SitemapsAlso Sitemaps = "" // sitemaps are read, and links of pages are followed
	// Sitemaps are read; links of pages are not followed, except redirects and the images and
	// scripts of pages.
	SitemapsOnly Sitemaps = "only"
	// Sitemaps are not requested; if a seed is a sitemap, its URLs are not followed.
	SitemapsNone Sitemaps = "none"
)

var (
	outputNames  = []Output{OutputWARC, OutputPages, OutputBodies, OutputLinks}
	usualOutputs = []Output{OutputWARC, OutputPages}
)

const noOutput = "none"
