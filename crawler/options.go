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
	"github.com/permesso-crawler/permesso/robots"
	"github.com/permesso-crawler/permesso/storage"
)

// NoDelay asks for no pause between two requests to a site, where a zero
// Options.Delay asks for the default. Sites at public addresses get 200 ms
// all the same. Other negative delays are refused.
const NoDelay = -1

// Options of a crawl. Identity and Seeds are required; the zero value of
// everything else is polite.
type Options struct {
	Identity Identity

	Seeds []string // URLs to start from, each with a tag behind a tab if wanted
	Scope Scope    // which URLs belong to the crawl; nil: SameHost()

	Include, Exclude *regexp.Regexp // of URLs in scope: which are followed; nil: all, none

	// OptOut says why a URL is never asked for, nor any robots.txt for it; "": it may
	// be. It stands before everything else. It must be quick and safe for concurrent
	// use. nil: nothing is left out. OptOutList.Why is one.
	OptOut func(frontier.URL) (why string)

	// Site says what holds for one site alone. It is asked before the site is, in the
	// worker, and for links that lead there, with no lock held: whoever waits for it is
	// one visit, while the other sites go on. It must be safe for concurrent use and
	// should say the same each time: what it says is kept for a while. Settings that are
	// not valid (*OptionError), and a panic, end the crawl, and lose nothing.
	// SitesByHost makes one. nil: all sites are alike.
	Site func(frontier.Site) SiteOptions

	Purpose robots.Purpose // what the crawl is for; a page whose owner refuses that is not asked for, or not kept; empty: not declared

	Depth        int           // links from a seed that are followed; 0: no limit
	Limit        int           // pages of the whole crawl, without what they are shown with: that is fetched all the same; 0: no limit
	MaxBytes     int64         // of answers of the whole crawl, as they come over the wire: what is read when they are spent is cut; 0: no limit
	MaxTime      time.Duration // after which the run is stopped; what takes longer than 10 s to end is then broken off; 0: no limit
	MaxHostPages int           // pages of one site, counted as for Limit; 0: 10000, -1: no limit
	MaxHostBytes int64         // of answers of one site, as for MaxBytes; 0: no limit
	MaxHostTime  time.Duration // that requests to one site may take in all; 0: no limit

	Delay       time.Duration // least pause of a site, from the end of a response; 0: 1 s, NoDelay: none
	IPDelay     time.Duration // between two starts at a public address; 0: 250 ms, NoDelay: none
	DomainDelay time.Duration // least pause of a registrable domain, whose sites are then asked one at a time; 0: none
	Lift        []string      // sites and hosts for which what Crawler.Slow and Exclude ordered in an earlier run does not hold any more; LiftAll: all
	Rate        float64       // requests per second, all sites together; 0: no limit
	Concurrency int           // visits at once; 0: 64
	Patience    time.Duration // the run ends when nothing falls due within it; 0: 2 min, with Revisit frontier.Forever; -1: at once; frontier.Forever: when nothing waits any more

	// Revisit says when a page is fetched again: then the crawl does not end by itself. What
	// has failed, or was refused, is asked for again, too, and so are sitemaps; what is put
	// aside is not. A page counts once for limits. A later run without it fetches what is
	// due by then, and no page again after that. Next is called by visits, several at once;
	// a panic ends the crawl, and loses nothing. nil: each page is fetched once.
	Revisit revisit.Policy

	Dir    string   // where the crawl lives; empty: in memory
	Output []Output // what is written to Dir beside state and log; nil: OutputWARC and OutputPages, empty: nothing

	Rescan     bool     // at the start of a run, queue what the pages in the archive of Dir link to and an earlier run refused; what Page.Follow named does not come back
	Previous   string   // directory of the crawl before this one, which has ended: what its archive has is asked for only if it has changed, and pages are compared; empty: there is none
	TextDigest bool     // keep Page.TextDigest of each page, in pages.jsonl and in the archive
	Requisites bool     // fetch what pages are shown with, too: beyond the scope, up to MaxEmbeds hops from the page
	Sitemaps   Sitemaps // which are read, and whether links count beside them
	Forms      bool     // follow forms that send nothing but a query: the page that answers one which is not filled in
	MaxArchive int64    // bytes of a WARC file, after which the next is begun; 0: 1 GiB

	MaxSize        int64             // bytes of a decoded body, the rest is cut; 0: 16 MiB
	BodyBudget     int64             // bytes that bodies have in memory, all visits together; the others wait in temporary files in Dir; 0: 24 MiB
	Timeout        time.Duration     // of each phase of a request; 0: 30 s
	Dialect        robots.Dialect    // by which text robots.txt is read; the zero value is RFC 9309
	Aliases        []string          // further product tokens of this crawler, such as an old name: their groups of robots.txt count, too, and directives that name them
	AllowForbidden bool              // a robots.txt that answers 401, 402, 403 or 451 permits, as RFC 9309 reads it
	AllowPrivate   bool              // talk to private and loopback addresses, too
	ConnectTo      []fetch.ConnectTo // other servers that stand for hosts
	Network        fetch.Network     // nil: this machine's
	Shared         frontier.Shared   // clocks that crawls have in common, such as a machine.Table; nil: those of all crawls of this process, NoShared: none
	Proxy          fetch.ProxyFunc   // nil: none, whatever the environment says; sites behind one get the delay of public addresses
	Header         http.Header       // further fields of every request; fetch.ParseHeader says which are refused
	Bandwidth      int64             // bytes per second of all bodies together, as they come over the wire; 0: no limit
	RootCAs        *x509.CertPool    // that servers are verified with; nil: the system's
	FollowNoFollow bool              // follow links that are marked nofollow
	FollowTraps    bool              // follow links that have the pattern of a space without an end

	// Same says what URL a URL is the same page as: of all that are the same as one, the
	// first that is found is asked for, as it is written, and judged by robots.txt so. It
	// is for what Rewrite is too bold for, and asked for the same URLs, behind it. It must
	// give the same for the same URL, and that for its own result; what it gives of
	// another site counts for nothing. It must be quick and safe for concurrent use.
	// What a page redirects to is asked for though it is the same, or the page would be lost.
	// In a crawl that goes on it counts for what is found from then on: what was asked for
	// under another rule may be asked for once more.
	Same func(frontier.URL) frontier.URL // such as StripIndex, SortQuery, StripTracking, or several Together; nil: only what is written alike, but for escapes

	// CleanParam has links that differ only in parameters which a Clean-param line of
	// robots.txt names be the same page, too (Yandex's extension). It counts for links
	// within a site: of another one no robots.txt is at hand when a link to it is found.
	CleanParam bool

	// Links is called for each link that is about to be queued, beside seeds and
	// redirects: it may refuse it, give it a rank and a tag, and ask with HEAD. It runs in the visit of
	// the page, one after another for a site, at the same time for several; and in the
	// goroutine of a loop of Pages, for what its body follows, while the site goes on.
	// Rewrite is asked before that, for seeds, redirects, sitemaps and what Follow names, too, and
	// before it is looked up whether the URL is known; the zero URL refuses it. It must
	// give the same for the same URL, and that for its own result. Both must be quick;
	// a panic of one ends the crawl, and loses nothing.
	Links   func(p *Page, l *Link) bool     // nil: all are taken
	Rewrite func(frontier.URL) frontier.URL // such as StripTracking; nil: URLs are asked for as they are written

	OnStart func(Start)        // called once, before the first request: what a run that goes on does otherwise
	OnError func(*Page, error) // called for each error of the handler, beside the Logger; must be safe for concurrent use
	OnVisit func(Visited)      // called for each visit that is over, for metrics; must be quick and safe for concurrent use
	OnSkip  func(Skip)         // called for each URL that is not fetched, at the end for those, too, that are left in the queue and not only for want of time; must be quick and safe for concurrent use
	Logger  *slog.Logger       // nil: slog.Default()

	proxyName string   // of Proxy, where text set it
	again     string   // of Revisit, where text set it
	sameNames []string // of Same, where text set it
	bounds    bounds
}

// bounds are those of what waits in memory, in storage, fetcher and frontier: 0 is
// the usual one.
// They are set in tests, where each must be reached.
type bounds struct {
	storage            storage.Bounds
	syncDelay          time.Duration // as of a slow disk
	readAhead          int           // entries of a site
	hosts, idle, names int           // of the fetcher
	repeated           int           // pages of a rescan
	sites              int           // whose settings are remembered
}

// An Output is a file that a crawl writes.
type Output string

// The outputs.
const (
	OutputWARC   Output = "warc"   // warc/*.warc.gz and index.cdxj
	OutputPages  Output = "jsonl"  // pages.jsonl
	OutputBodies Output = "bodies" // in it, the bodies, too
	OutputLinks  Output = "links"  // links.jsonl
)

// Defaults of Options.
const (
	DefaultHostPages   = 10000
	DefaultConcurrency = 64
	DefaultBodyBudget  = 24 << 20
)

// fill puts the usual number in the place of each that is 0. The error is an *OptionError for
// the first that makes no sense; the others are filled in all the same.
func (o *Options) fill() (err error) {
	for _, s := range o.Settings() {
		if number, ok := s.Value.(interface{ fill() string }); ok {
			if wrong := number.fill(); wrong != "" && err == nil {
				err = &OptionError{Field: s.Field, Reason: wrong}
			}
		}
	}
	return err
}

// check fills in the defaults and finds what is not valid.
func (o *Options) check() error {
	if err := o.Identity.Check(); err != nil {
		return err
	}
	if len(o.Seeds) == 0 {
		return &OptionError{Field: "Seeds", Reason: "is empty: give at least one URL to start from"}
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
			return &OptionError{Field: "Output", Reason: fmt.Sprintf("%q is none of %s", out, join(outputNames, ", "))}
		}
	}
	if s := o.Sitemaps; s != SitemapsAlso && s != SitemapsOnly && s != SitemapsNone {
		return &OptionError{Field: "Sitemaps", Reason: fmt.Sprintf("%q is none of %q, %q and %q", o.Sitemaps, SitemapsAlso, SitemapsOnly, SitemapsNone)}
	}
	if o.Output == nil {
		o.Output = usualOutputs
	}
	if o.Proxy != nil && !o.AllowPrivate {
		// What address a site has is unknown; it counts as public.
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
	// What the caller does with his own afterwards changes nothing here.
	o.Header, o.Aliases, o.Output, o.ConnectTo = o.Header.Clone(), slices.Clone(o.Aliases), slices.Clone(o.Output), slices.Clone(o.ConnectTo)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	o.Logger = slog.New(contained{o.Logger.Handler()})
	return nil
}

// checkDir finds what has no effect without Dir.
func (o *Options) checkDir() error {
	switch {
	case o.Dir != "":
	case len(o.Output) > 0:
		return &OptionError{Field: "Output", Reason: "needs a Dir that it is written to"}
	case len(o.Lift) > 0:
		return &OptionError{Field: "Lift", Reason: "needs the Dir of the crawl in which it was ordered"}
	}
	return nil
}

// checkRobots finds what is not valid in the options about robots.txt.
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

// maxConcurrency is more than a machine has sockets for.
const maxConcurrency = 1 << 16

// checkWire finds what is not valid in the options about how, and how fast, sites are asked.
func (o *Options) checkWire() error {
	if o.Concurrency > maxConcurrency {
		return &OptionError{Field: "Concurrency", Reason: fmt.Sprintf("is more than %d", maxConcurrency)}
	}
	if math.IsNaN(o.Rate) {
		return &OptionError{Field: "Rate", Reason: "is no number"}
	}
	if err := fetch.CheckHeader(o.Header); err != nil {
		return &OptionError{Field: "Header", Reason: err.Error(), Err: err}
	}
	for i, to := range o.ConnectTo {
		if err := to.Check(); err != nil {
			return &OptionError{Field: "ConnectTo", Reason: fmt.Sprintf("at %d: %v", i, err), Err: err}
		}
	}
	return nil
}

// policy is how robots.txt is read, and for whom.
func (o *Options) policy() robots.Policy {
	return robots.Policy{Dialect: o.Dialect, Token: o.Identity.Token, Aliases: o.Aliases, AllowForbidden: o.AllowForbidden}
}

// embeds reports whether anybody wants to know what pages are shown with.
func (o *Options) embeds() bool { return o.Requisites || o.writes(OutputLinks) }

// reading is how pages are read. The text of links costs something, so it is taken at
// once only where each link is shown to somebody; who asks for Page.Links has it then.
func (o *Options) reading() extract.Options {
	_, dates := o.Revisit.(revisit.Believer)
	return extract.Options{Token: o.Identity.Token, Aliases: o.Aliases, Embeds: o.embeds(), Forms: o.Forms, Text: o.Links != nil || o.writes(OutputLinks), Changes: dates}
}

func (o *Options) writes(out Output) bool { return slices.Contains(o.Output, out) }
