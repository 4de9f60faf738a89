package crawler

import (
	"flag"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
)

// A Setting is an option of a crawl with a name and a text value. Flags, their help, the
// differences between runs and the documentation are made from settings.
//
// It is a flag.Value of flag.FlagSet and of spf13/pflag. Set refuses invalid values; if the
// setting is a list, Set adds to it. String never returns a secret.
type Setting struct {
	Name     string     // as in max-host-pages
	Field    string     // of Options; empty if it has none
	Group    Group      // under which it is listed
	Unit     string     // of a number
	Help     string     // a short description
	Larger   Way        // the meaning of a value that is larger, or later in the list of values
	Resume   Effect     // of a value that differs from the last run
	CodeOnly bool       // only programs can set it
	Value    flag.Value // the field of Options that it is bound to
}

// A Group is a heading under which settings are listed.
type Group string

// The groups, in the order in which they are read.
const (
	GroupScope  Group = "What belongs to the crawl"
	GroupPace   Group = "How fast it is"
	GroupEnd    Group = "When it ends"
	GroupRobots Group = "How robots.txt is read"
	GroupWire   Group = "How sites are asked"
	GroupOutput Group = "What is written"
)

// A Way is the result of comparing two values.
type Way string

// The ways, from the view of sites.
const (
	Tighter Way = "tighter" // fewer requests to sites
	Wider   Way = "wider"   // more requests
	Other   Way = "other"   // neither, or unknown
)

// An Effect says what happens if a setting differs from the last run of the crawl.
type Effect string

// The effects.
const (
	FromNowOn Effect = "applies from now on, also to queued URLs"
	SortsURLs Effect = "queued URLs that are no longer wanted are put aside, and queued again when they are wanted; refused links come back with a rescan"
	SortsLink Effect = "applies to the links of pages from now on; refused links come back with a rescan"
	NeedsNew  Effect = "is refused: a new crawl is needed"
	ThisRun   Effect = "applies to one run only, and is not compared"
)

// Settings returns the options that have a text form. They are bound to o: Setting.Set
// changes o. For the zero Options their values are the defaults.
func (o *Options) Settings() []Setting {
	return []Setting{
		{Name: "scope", Field: "Scope", Group: GroupScope, Larger: Wider, Resume: SortsURLs, Value: scopes(&o.Scope),
			Help: "URLs of the crawl: only the seeds (list), URLs that begin with a seed up to its last slash (prefix), the hosts of the seeds, their registrable domains, or any"},
		{Name: "include", Field: "Include", Group: GroupScope, Larger: Wider, Resume: SortsURLs, Value: pattern{&o.Include},
			Help: "follow only URLs that match this regular expression"},
		{Name: "exclude", Field: "Exclude", Group: GroupScope, Larger: Wider, Resume: SortsURLs, Value: pattern{&o.Exclude},
			Help: "do not follow URLs that match this regular expression"},
		{Name: "depth", Field: "Depth", Group: GroupScope, Unit: "links", Larger: Wider, Resume: SortsURLs, Value: count(&o.Depth, 0, 0),
			Help: "links from a seed that are followed (0: no limit)"},
		{Name: "requisites", Field: "Requisites", Group: GroupScope, Larger: Wider, Resume: SortsURLs, Value: either(&o.Requisites, "none", "page"),
			Help: "requisites of pages to fetch, in any scope: none, or page (images, scripts, style sheets and the files that these name)"},
		{Name: "sitemaps", Field: "Sitemaps", Group: GroupScope, Larger: Other, Resume: SortsLink, Value: sitemaps(&o.Sitemaps),
			Help: "sitemaps that robots.txt names: read in addition to the links of pages (also), instead of them (only), or not at all (none)"},
		{Name: "forms", Field: "Forms", Group: GroupScope, Larger: Wider, Resume: SortsLink, Value: yesNo(&o.Forms),
			Help: "follow forms that send only a query, without filling them in"},
		{Name: "nofollow", Field: "FollowNoFollow", Group: GroupScope, Larger: Wider, Resume: SortsLink, Value: either(&o.FollowNoFollow, "obey", "ignore"), CodeOnly: true,
			Help: "whether links that are marked nofollow are followed"},
		{Name: "traps", Field: "FollowTraps", Group: GroupScope, Larger: Wider, Resume: SortsLink, Value: either(&o.FollowTraps, "refuse", "follow"),
			Help: "whether links with the pattern of an endless space are followed: repeated segments, calendars, session ids"},
		{Name: "same", Field: "Same", Group: GroupScope, Larger: Other, Resume: SortsLink, Value: sameness{o},
			Help: "treat URLs as one page, and request only the first: index (index.html and the like mean their directory), query-order, tracking (utm_source, session ids and the like)"},
		{Name: "clean-param", Field: "CleanParam", Group: GroupScope, Larger: Other, Resume: SortsLink, Value: yesNo(&o.CleanParam),
			Help: "links of a site that differ only in parameters which a Clean-param line of its robots.txt names are one page"},
		{Name: "rescan", Field: "Rescan", Group: GroupScope, Larger: Wider, Resume: ThisRun, Value: yesNo(&o.Rescan),
			Help: "read the links of the archived pages again, and queue those that were refused and are in scope now"},
		{Name: "purpose", Field: "Purpose", Group: GroupScope, Larger: Other, Resume: FromNowOn, Value: purposes(&o.Purpose),
			Help: "what the crawl is for: a page whose owner refuses it is not requested, or not kept (none: not declared)"},

		{Name: "delay", Field: "Delay", Group: GroupPace, Larger: Tighter, Resume: FromNowOn, Value: span(&o.Delay, frontier.DefaultDelay, 0),
			Help: "least pause of a site, from the end of a response; no less than 200ms at public addresses"},
		{Name: "ip-delay", Field: "IPDelay", Group: GroupPace, Larger: Tighter, Resume: FromNowOn, Value: span(&o.IPDelay, 250*time.Millisecond, 0),
			Help: "least time between two starts at a public address (0: none)"},
		{Name: "domain-delay", Field: "DomainDelay", Group: GroupPace, Larger: Tighter, Resume: FromNowOn, Value: span(&o.DomainDelay, 0, 0),
			Help: "least pause of a registrable domain, whose sites then get one request at a time (0: none)"},
		{Name: "concurrency", Field: "Concurrency", Group: GroupPace, Unit: "visits", Larger: Wider, Resume: FromNowOn, Value: count(&o.Concurrency, defaultConcurrency, 1),
			Help: "visits at once, each to another site"},
		{Name: "lift", Field: "Lift", Group: GroupPace, Larger: Other, Resume: ThisRun, Value: hosts{&o.Lift},
			Help: "site or host for which the orders of crawl slow and crawl exclude in earlier runs are revoked, or all; may be repeated"},
		{Name: "rate", Field: "Rate", Group: GroupPace, Unit: "requests/s", Larger: Wider, Resume: FromNowOn, Value: amount[float64]{&o.Rate, 0, 0, fractions},
			Help: "requests per second, all sites together (0: no limit)"},
		{Name: "bandwidth", Field: "Bandwidth", Group: GroupPace, Unit: "bytes/s", Larger: Wider, Resume: FromNowOn, Value: size(&o.Bandwidth, 0, 0),
			Help: "bytes per second of all sites together, as in 500kB or 2MB (0: no limit)"},

		{Name: "limit", Field: "Limit", Group: GroupEnd, Unit: "pages", Larger: Wider, Resume: FromNowOn, Value: count(&o.Limit, 0, 0),
			Help: "pages of the whole crawl, not counting requisites (0: no limit)"},
		{Name: "max-bytes", Field: "MaxBytes", Group: GroupEnd, Unit: "bytes", Larger: Wider, Resume: FromNowOn, Value: size(&o.MaxBytes, 0, 0),
			Help: "bytes of answers of the whole crawl (0: no limit)"},
		{Name: "max-time", Field: "MaxTime", Group: GroupEnd, Larger: Wider, Resume: FromNowOn, Value: span(&o.MaxTime, 0, 0),
			Help: "stop the run after this time; requests still running 10s later are cancelled (0: no limit)"},
		{Name: "max-host-pages", Field: "MaxHostPages", Group: GroupEnd, Unit: "pages", Larger: Wider, Resume: FromNowOn, Value: count(&o.MaxHostPages, DefaultHostPages, 0),
			Help: "pages of one site, not counting requisites (0: no limit)"},
		{Name: "max-host-bytes", Field: "MaxHostBytes", Group: GroupEnd, Unit: "bytes", Larger: Wider, Resume: FromNowOn, Value: size(&o.MaxHostBytes, 0, 0),
			Help: "bytes of answers of one site (0: no limit)"},
		{Name: "max-host-time", Field: "MaxHostTime", Group: GroupEnd, Larger: Wider, Resume: FromNowOn, Value: span(&o.MaxHostTime, 0, 0),
			Help: "time that requests to one site may take in all (0: no limit)"},
		{Name: "patience", Field: "Patience", Group: GroupEnd, Larger: Other, Resume: FromNowOn, Value: wait(&o.Patience, 2*time.Minute),
			Help: "end the run when nothing falls due within this time (0: when nothing is due, forever: when nothing waits)"},
		{Name: "revisit", Field: "Revisit", Group: GroupEnd, Larger: Other, Resume: FromNowOn, Value: policy{o},
			Help: "fetch pages again, and do not end: each after the same time (fixed:7d), sooner if it had changed (adaptive:1h-30d), by how often it changes (rate:7d), and by what servers say (hints:7d)"},

		{Name: "robots-forbidden", Field: "AllowForbidden", Group: GroupRobots, Larger: Wider, Resume: FromNowOn, Value: either(&o.AllowForbidden, "deny", "allow"),
			Help: "what a robots.txt with status 401, 402, 403 or 451 means"},
		{Name: "dialect", Field: "Dialect", Group: GroupRobots, Larger: Other, Resume: FromNowOn, Value: dialects(&o.Dialect),
			Help: "specification by which robots.txt is read"},
		{Name: "alias", Field: "Aliases", Group: GroupRobots, Larger: Other, Resume: FromNowOn, Value: aliases{&o.Aliases},
			Help: "further product token of this crawler, such as an old name, whose groups also apply; may be repeated"},

		{Name: "header", Field: "Header", Group: GroupWire, Larger: Other, Resume: FromNowOn, Value: fields{&o.Header},
			Help: "\"Name: value\" to be sent with every request; may be repeated"},
		{Name: "timeout", Field: "Timeout", Group: GroupWire, Larger: Other, Resume: FromNowOn, Value: span(&o.Timeout, 30*time.Second, time.Millisecond),
			Help: "longest wait in each phase of a request; four times that for the whole"},
		{Name: "max-size", Field: "MaxSize", Group: GroupWire, Unit: "bytes", Larger: Wider, Resume: FromNowOn, Value: size(&o.MaxSize, fetch.DefaultMaxSize, 1),
			Help: "largest body, decompressed; the rest is cut and marked"},
		{Name: "body-budget", Field: "BodyBudget", Group: GroupWire, Unit: "bytes", Larger: Other, Resume: FromNowOn, Value: size(&o.BodyBudget, defaultBodyBudget, 1),
			Help: "memory for the bodies of all requests together; other bodies are in temporary files"},
		{Name: "allow-private", Field: "AllowPrivate", Group: GroupWire, Larger: Wider, Resume: FromNowOn, Value: yesNo(&o.AllowPrivate),
			Help: "talk to private and loopback addresses, too"},
		{Name: "connect-to", Field: "ConnectTo", Group: GroupWire, Larger: Other, Resume: FromNowOn, Value: detours{&o.ConnectTo},
			Help: "HOST1:PORT1:HOST2:PORT2, as in curl: connect there instead; may be repeated"},
		{Name: "proxy", Field: "Proxy", Group: GroupWire, Larger: Other, Resume: FromNowOn, Value: proxy{o},
			Help: "http://, https:// or socks5://[USER:PASSWORD@]HOST:PORT for all sites; env: as HTTP_PROXY, HTTPS_PROXY and NO_PROXY say, which are ignored otherwise"},

		{Name: "output", Field: "Output", Group: GroupOutput, Larger: Other, Resume: FromNowOn, Value: outputs{&o.Output},
			Help: "what to write: warc (WARC files and their index), jsonl (pages.jsonl), bodies (in it, too), links (links.jsonl), none"},
		{Name: "previous", Field: "Previous", Group: GroupWire, Larger: Other, Resume: FromNowOn, Value: directory{&o.Previous},
			Help: "directory of the crawl before this one: pages in its archive are fetched only if they have changed, and each page is marked as new, modified, or the same"},
		{Name: "text-digest", Field: "TextDigest", Group: GroupOutput, Larger: Other, Resume: FromNowOn, Value: yesNo(&o.TextDigest),
			Help: "keep a digest of the visible text of each page, which shows whether the text has changed"},
		{Name: "max-archive", Field: "MaxArchive", Group: GroupOutput, Unit: "bytes", Larger: Other, Resume: FromNowOn, Value: size(&o.MaxArchive, 1<<30, 1), CodeOnly: true,
			Help: "bytes of a WARC file, after which the next is begun"},
	}
}

// Set implements flag.Value. The error describes the text, without the name of the setting.
func (s Setting) Set(text string) error { return s.Value.Set(text) }

// String implements flag.Value.
func (s Setting) String() string {
	if s.Value == nil {
		return ""
	}
	return s.Value.String()
}

// IsBoolFlag reports whether a flag of that name may be used without a value.
func (s Setting) IsBoolFlag() bool {
	b, ok := s.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

// IsList reports whether Set adds to earlier values.
func (s Setting) IsList() bool {
	l, ok := s.Value.(interface{ IsList() bool })
	return ok && l.IsList()
}

// Choices returns the words that a value may be, or be a list of; nil if other values are
// allowed.
func (s Setting) Choices() []string {
	if c, ok := s.Value.(interface{ Choices() []string }); ok {
		return c.Choices()
	}
	return nil
}

// Type returns the kind of value: duration, number, a list of words ...
func (s Setting) Type() string {
	if t, ok := s.Value.(interface{ Type() string }); ok {
		return t.Type()
	}
	return "text"
}

// Compare returns how a value differs from the one before, both in the form of String.
func (s Setting) Compare(was, is string) Way {
	before, known := s.width(was)
	now, ok := s.width(is)
	switch {
	case s.Larger == Other || !known || !ok || before == now:
		return Other
	case before < now:
		return Wider
	}
	return Tighter
}

// width returns a number that is larger if the value allows more requests to sites. For no
// limit and for no pause it is +Inf. It returns false if the value has no such number.
func (s Setting) width(text string) (float64, bool) {
	m, ok := s.Value.(interface{ measure(string) (float64, error) })
	if !ok {
		return 0, false
	}
	n, err := m.measure(text)
	if s.Larger == Tighter && !math.IsInf(n, 1) {
		n = -n
	}
	return n, err == nil
}

// InWords returns a value in the form of String for people.
func InWords(value string) string {
	if n, err := strconv.ParseFloat(value, 64); value == "" || err == nil && n == 0 {
		return "none"
	}
	return value
}

// setting returns the setting with a name.
func (o *Options) setting(name string) Setting {
	all := o.Settings()
	return all[slices.IndexFunc(all, func(s Setting) bool { return s.Name == name })]
}
