package crawler

import (
	"cmp"
	"fmt"
	"log/slog"
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/identity"
	"github.com/permesso-crawler/permesso/internal/setting"
	"github.com/permesso-crawler/permesso/robots"
)

// Settings returns the options in o that have a text form. Setting.Set on one of them changes o.
// The settings of a zero Options have the default values.
func (o *Options) Settings() []setting.Setting {
	return []setting.Setting{
		{Name: "scope", Field: "Scope", Group: setting.GroupScope, Larger: setting.Wider, Resume: setting.SortsURLs, Value: scopes(&o.Scope),
			Help: "URLs of the crawl: only the seeds (list), URLs that begin with a seed up to its last slash (prefix), the hosts of the seeds, their registrable domains, or any"},
		{Name: "include", Field: "Include", Group: setting.GroupScope, Larger: setting.Wider, Resume: setting.SortsURLs, Value: pattern{&o.Include},
			Help: "follow only URLs that match this regular expression"},
		{Name: "exclude", Field: "Exclude", Group: setting.GroupScope, Larger: setting.Wider, Resume: setting.SortsURLs, Value: pattern{&o.Exclude},
			Help: "do not follow URLs that match this regular expression"},
		{Name: "depth", Field: "Depth", Group: setting.GroupScope, Unit: "links", Larger: setting.Wider, Resume: setting.SortsURLs, Value: setting.Count(&o.Depth, 0, 0),
			Help: "number of links from a seed to a page, at most (0: no limit)"},
		{Name: "requisites", Field: "Requisites", Group: setting.GroupScope, Larger: setting.Wider, Resume: setting.SortsURLs, Value: either(&o.Requisites, "none", "page"),
			Help: "requisites of pages to fetch, in any scope: none, or page (images, scripts, style sheets and the files that these name)"},
		{Name: "sitemaps", Field: "Sitemaps", Group: setting.GroupScope, Larger: setting.Other, Resume: setting.SortsLink, Value: sitemaps(&o.Sitemaps),
			Help: "sitemaps that robots.txt names: read in addition to the links of pages (also), instead of them (only), or not at all (none)"},
		{Name: "forms", Field: "Forms", Group: setting.GroupScope, Larger: setting.Wider, Resume: setting.SortsLink, Value: yesNo(&o.Forms),
			Help: "follow forms that send only a query, without filling them in"},
		{Name: "nofollow", Field: "FollowNoFollow", Group: setting.GroupScope, Larger: setting.Wider, Resume: setting.SortsLink, Value: either(&o.FollowNoFollow, "obey", "ignore"), CodeOnly: true,
			Help: "whether links that are marked nofollow are followed"},
		{Name: "traps", Field: "FollowTraps", Group: setting.GroupScope, Larger: setting.Wider, Resume: setting.SortsLink, Value: either(&o.FollowTraps, "refuse", "follow"),
			Help: "whether links are followed that seem to lead into an endless number of pages: repeated path segments, calendars, session ids"},
		{Name: "same", Field: "Same", Group: setting.GroupScope, Larger: setting.Other, Resume: setting.SortsLink, Value: sameness{o},
			Help: "treat URLs as one page, and request only the first: index (index.html and the like mean their directory), query-order, tracking (utm_source, session ids and the like)"},
		{Name: "clean-param", Field: "CleanParam", Group: setting.GroupScope, Larger: setting.Other, Resume: setting.SortsLink, Value: yesNo(&o.CleanParam),
			Help: "treat URLs as one page that differ only in parameters named by a Clean-param line of robots.txt"},
		{Name: "rescan", Field: "Rescan", Group: setting.GroupScope, Larger: setting.Wider, Resume: setting.ThisRun, Value: yesNo(&o.Rescan),
			Help: "read the links of the archived pages again, and queue those that were refused and are in scope now"},
		{Name: "purpose", Field: "Purpose", Group: setting.GroupScope, Larger: setting.Other, Resume: setting.FromNowOn, Value: purposes(&o.Purpose),
			Help: "what the crawl is for: a page whose owner refuses this purpose is not requested, or not kept (none: not declared)"},

		{Name: "delay", Field: "Delay", Group: setting.GroupPace, Larger: setting.Tighter, Resume: setting.FromNowOn, Value: setting.Span(&o.Delay, frontier.DefaultDelay, 0),
			Help: "least pause of a site, from the end of a response; no less than 200ms at public addresses"},
		{Name: "ip-delay", Field: "IPDelay", Group: setting.GroupPace, Larger: setting.Tighter, Resume: setting.FromNowOn, Value: setting.Span(&o.IPDelay, 250*time.Millisecond, 0),
			Help: "least time between two starts at a public address (0: none)"},
		{Name: "domain-delay", Field: "DomainDelay", Group: setting.GroupPace, Larger: setting.Tighter, Resume: setting.FromNowOn, Value: setting.Span(&o.DomainDelay, 0, 0),
			Help: "least pause of a registrable domain, whose sites then get one request at a time (0: none)"},
		{Name: "concurrency", Field: "Concurrency", Group: setting.GroupPace, Unit: "visits", Larger: setting.Wider, Resume: setting.FromNowOn, Value: setting.Count(&o.Concurrency, defaultConcurrency, 1),
			Help: "largest number of requests at once, each to another site"},
		{Name: "lift", Field: "Lift", Group: setting.GroupPace, Larger: setting.Other, Resume: setting.ThisRun, Value: hosts{&o.Lift},
			Help: "site or host for which the orders of crawl slow and crawl exclude in earlier runs are revoked, or all; may be repeated"},
		{Name: "rate", Field: "Rate", Group: setting.GroupPace, Unit: "requests/s", Larger: setting.Wider, Resume: setting.FromNowOn, Value: setting.Fraction(&o.Rate, 0, 0),
			Help: "requests per second, all sites together (0: no limit)"},
		{Name: "bandwidth", Field: "Bandwidth", Group: setting.GroupPace, Unit: "bytes/s", Larger: setting.Wider, Resume: setting.FromNowOn, Value: setting.Size(&o.Bandwidth, 0, 0),
			Help: "bytes per second of all sites together, such as 500kB or 2MB (0: no limit)"},

		{Name: "limit", Field: "Limit", Group: setting.GroupEnd, Unit: "pages", Larger: setting.Wider, Resume: setting.FromNowOn, Value: setting.Count(&o.Limit, 0, 0),
			Help: "pages of the whole crawl, not counting requisites (0: no limit)"},
		{Name: "max-bytes", Field: "MaxBytes", Group: setting.GroupEnd, Unit: "bytes", Larger: setting.Wider, Resume: setting.FromNowOn, Value: setting.Size(&o.MaxBytes, 0, 0),
			Help: "bytes of answers of the whole crawl (0: no limit)"},
		{Name: "max-time", Field: "MaxTime", Group: setting.GroupEnd, Larger: setting.Wider, Resume: setting.FromNowOn, Value: setting.Span(&o.MaxTime, 0, 0),
			Help: "stop the run after this time; requests still running 10s later are cancelled (0: no limit)"},
		{Name: "max-host-pages", Field: "MaxHostPages", Group: setting.GroupEnd, Unit: "pages", Larger: setting.Wider, Resume: setting.FromNowOn, Value: setting.Count(&o.MaxHostPages, DefaultHostPages, 0),
			Help: "pages of one site, not counting requisites (0: no limit)"},
		{Name: "max-host-bytes", Field: "MaxHostBytes", Group: setting.GroupEnd, Unit: "bytes", Larger: setting.Wider, Resume: setting.FromNowOn, Value: setting.Size(&o.MaxHostBytes, 0, 0),
			Help: "bytes of answers of one site (0: no limit)"},
		{Name: "max-host-time", Field: "MaxHostTime", Group: setting.GroupEnd, Larger: setting.Wider, Resume: setting.FromNowOn, Value: setting.Span(&o.MaxHostTime, 0, 0),
			Help: "total time of the requests to one site (0: no limit)"},
		{Name: "patience", Field: "Patience", Group: setting.GroupEnd, Larger: setting.Other, Resume: setting.FromNowOn, Value: setting.Wait(&o.Patience, 2*time.Minute),
			Help: "end the run when nothing falls due within this time (0: when nothing is due, forever: when nothing waits)"},
		{Name: "revisit", Field: "Revisit", Group: setting.GroupEnd, Larger: setting.Other, Resume: setting.FromNowOn, Value: policy{o},
			Help: "fetch pages again, and do not end: each after the same time (fixed:7d), sooner if it had changed (adaptive:1h-30d), by how often it changes (rate:7d), and by what servers say (hints:7d)"},

		{Name: "robots-forbidden", Field: "AllowForbidden", Group: setting.GroupRobots, Larger: setting.Wider, Resume: setting.FromNowOn, Value: either(&o.AllowForbidden, "deny", "allow"),
			Help: "what a robots.txt with status 401, 402, 403 or 451 means"},
		{Name: "dialect", Field: "Dialect", Group: setting.GroupRobots, Larger: setting.Other, Resume: setting.FromNowOn, Value: dialects(&o.Dialect),
			Help: "specification by which robots.txt is read"},
		{Name: "alias", Field: "Aliases", Group: setting.GroupRobots, Larger: setting.Other, Resume: setting.FromNowOn, Value: aliases{&o.Aliases},
			Help: "further product token of this crawler, such as an old name, whose groups also apply; may be repeated"},

		{Name: "header", Field: "Header", Group: setting.GroupWire, Larger: setting.Other, Resume: setting.FromNowOn, Value: fields{&o.Header},
			Help: "\"Name: value\" to be sent with every request; may be repeated"},
		{Name: "timeout", Field: "Timeout", Group: setting.GroupWire, Larger: setting.Other, Resume: setting.FromNowOn, Value: setting.Span(&o.Timeout, 30*time.Second, time.Millisecond),
			Help: "longest time of each phase of a request; the whole request may take four times as long"},
		{Name: "max-size", Field: "MaxSize", Group: setting.GroupWire, Unit: "bytes", Larger: setting.Wider, Resume: setting.FromNowOn, Value: setting.Size(&o.MaxSize, fetch.DefaultMaxSize, 1),
			Help: "largest size of a decompressed body; a longer body is cut, and marked as cut"},
		{Name: "body-budget", Field: "BodyBudget", Group: setting.GroupWire, Unit: "bytes", Larger: setting.Other, Resume: setting.FromNowOn, Value: setting.Size(&o.BodyBudget, defaultBodyBudget, 1),
			Help: "memory for the bodies of all requests together; other bodies are in temporary files"},
		{Name: "allow-private", Field: "AllowPrivate", Group: setting.GroupWire, Larger: setting.Wider, Resume: setting.FromNowOn, Value: yesNo(&o.AllowPrivate),
			Help: "also connect to private and loopback addresses"},
		{Name: "connect-to", Field: "ConnectTo", Group: setting.GroupWire, Larger: setting.Other, Resume: setting.FromNowOn, Value: detours{&o.ConnectTo},
			Help: "connect to HOST2:PORT2 for requests to HOST1:PORT1, as in curl; may be repeated"},
		{Name: "proxy", Field: "Proxy", Group: setting.GroupWire, Larger: setting.Other, Resume: setting.FromNowOn, Value: proxy{o},
			Help: "proxy for all sites: http://, https:// or socks5://[USER:PASSWORD@]HOST:PORT; with env, the proxy that HTTP_PROXY, HTTPS_PROXY and NO_PROXY name, which are ignored otherwise"},

		{Name: "output", Field: "Output", Group: setting.GroupOutput, Larger: setting.Other, Resume: setting.FromNowOn, Value: outputs{&o.Output},
			Help: "what to write: warc (WARC files and their index), jsonl (pages.jsonl), bodies (pages.jsonl with the bodies), links (links.jsonl), none"},
		{Name: "previous", Field: "Previous", Group: setting.GroupWire, Larger: setting.Other, Resume: setting.FromNowOn, Value: directory{&o.Previous},
			Help: "directory of the crawl before this one: pages in its archive are fetched only if they have changed, and each page is marked as new, modified, or the same"},
		{Name: "text-digest", Field: "TextDigest", Group: setting.GroupOutput, Larger: setting.Other, Resume: setting.FromNowOn, Value: yesNo(&o.TextDigest),
			Help: "keep a digest of the visible text of each page, which shows whether the text has changed"},
		{Name: "max-archive", Field: "MaxArchive", Group: setting.GroupOutput, Unit: "bytes", Larger: setting.Other, Resume: setting.FromNowOn, Value: setting.Size(&o.MaxArchive, 1<<30, 1), CodeOnly: true,
			Help: "size in bytes at which the next WARC file is begun"},
	}
}

// fill replaces 0 by the default in each numeric option. The error is an *OptionError for the first
// invalid option; the other options are filled in nevertheless.
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

// check fills in the defaults. It returns an *OptionError for the first invalid option.
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
		// A site behind a proxy counts as a site at a public address, because its address is
		// unknown.
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
	o.Logger = slog.New(safeLogHandler{o.Logger.Handler()})
	return nil
}

// checkDir returns an *OptionError for an option that needs Dir if Dir is empty.
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

// checkRobots returns an *OptionError for an invalid option about robots.txt or the use of pages.
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

// maxConcurrency is the maximum of Options.Concurrency. A machine has fewer sockets.
const maxConcurrency = 1 << 16

// checkWire returns an *OptionError for an invalid option about requests or their rate.
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

// checkReach returns an *OptionError if a seed is on the public Internet and the contact of the
// identity cannot be reached from there.
func (o *Options) checkReach(seeds []frontier.Entry) error {
	if o.Network != nil || len(o.ConnectTo) > 0 || !slices.ContainsFunc(seeds, isPublic) {
		return nil
	}
	return o.Identity.checkReach()
}

// isPublic reports whether the host of a seed is a public address or a domain name. Domains that
// are reserved for examples, such as example.org, do not count.
func isPublic(e frontier.Entry) bool { return identity.IsPublic(e.URL.Host()) }

// checkPrevious returns an *OptionError if Options.Previous is the directory of this crawl.
func (o *Options) checkPrevious() error {
	if o.Previous == "" || o.Dir == "" {
		return nil
	}
	previous, err := filepath.Abs(o.Previous)
	dir, err2 := filepath.Abs(o.Dir)
	if err == nil && err2 == nil && previous == dir {
		return &OptionError{Field: "Previous", Reason: "is the directory of this crawl: name that of the one before"}
	}
	return nil
}
