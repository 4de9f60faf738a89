package frontier

import (
	"fmt"
	"slices"
	"strings"
)

// A Code says in one word what became of a URL or a link: that it was fetched, or why it was
// not. Fates (see Fate), reports and the outputs in JSON all use it.
type Code uint8

// The codes. Codes of fates are stored as numbers, so their order must never change.
const (
	// Codes of fates. Undecided is the zero value: there is no fate yet.
	Undecided         Code = iota
	Fetched                // the server answered; Fate.Status is the HTTP status
	RobotsDisallowed       // a rule of robots.txt forbids the URL
	RobotsUnreachable      // the site was given up, because robots.txt could not be fetched
	Failed                 // the last try failed; Fate.Detail names the class of the error
	SiteDead               // the site was given up after six requests in a row without an answer
	ScopeNarrowed          // put aside: the scope was changed after the URL was queued, and now excludes it
	Waiting                // queued and not due yet; after a crawl: not due within the patience of the crawl
	// The owner refuses the purpose of the crawl. Fate.Detail is the statement; Fate.Status is
	// 0 if there was no request.
	UseRefused
	// The URL is on the list of URLs that no crawl of this machine requests, or the crawl excludes
	// its site. Fate.Detail says which.
	OptedOut

	// Codes of queued URLs. Waiting, RobotsUnreachable and SiteDead are also used for queued URLs.
	Queued       // not handed out yet; after a crawl: due within the patience of the crawl
	BudgetSpent  // the budget of its site is spent
	LimitReached // the limit of the crawl is reached
	Excluded     // its site was excluded (Frontier.Exclude)

	// Codes of links whose URL was not added to the crawl. OptedOut and UseRefused are also used
	// for such links.
	OutOfScope
	TooDeep          // the URL is more links away from a seed than the crawl follows
	Filtered         // excluded by a pattern of the settings
	NoFollow         // the page or the link is marked nofollow
	TooManyRedirects // too many redirects in a row led to it; a redirect to a known URL, as in a circle, does not count
	Trap             // looks like part of an endless space of URLs, such as a calendar
	RefusedByProgram // a callback of the program refused the link
	RequisitesOff    // the URL is a requisite (an image, script or style sheet), and the crawl fetches no requisites
	SitemapsOff      // the URL is a sitemap, and the crawl reads no sitemaps
	LinksOff         // the URL is a link of a page, and the crawl follows only sitemaps
	Unknown          // no stored data says why
	endOfCodes
)

// codes has for each code its name, words that describe it, and the names that earlier releases
// had for it.
var codes = [endOfCodes]struct {
	name, words string
	earlier     []string
}{
	Undecided:         {"undecided", "undecided", nil},
	Fetched:           {"fetched", "answered, with any status", nil},
	RobotsDisallowed:  {"refused", "forbidden by robots.txt", []string{"robots disallowed"}},
	RobotsUnreachable: {"unreachable", "queued at a site whose robots.txt cannot be fetched", []string{"robots unreachable"}},
	Failed:            {"failed", "failed every time", nil},
	SiteDead:          {"dead", "queued at a site that does not answer", []string{"site dead"}},
	ScopeNarrowed:     {"scope", "put aside, as the scope is narrower now", []string{"scope narrowed"}},
	Waiting:           {"waiting", "queued, not due yet", []string{"waits"}},
	UseRefused:        {"use", "refused by the owner for the purpose of the crawl", []string{"use refused"}},
	OptedOut:          {"optout", "on the opt-out list", []string{"opted out"}},
	Queued:            {"queued", "queued, to be requested in turn", nil},
	BudgetSpent:       {"budget", "queued at a site whose budget is spent", []string{"site budget spent"}},
	LimitReached:      {"limit", "queued, and the limit of the crawl is reached", []string{"limit reached"}},
	Excluded:          {"excluded", "queued at a site that was excluded", nil},
	OutOfScope:        {"outside", "out of scope", []string{"out of scope"}},
	TooDeep:           {"depth", "too many links from a seed", []string{"too deep"}},
	Filtered:          {"filter", "excluded by a pattern", []string{"filtered"}},
	NoFollow:          {"nofollow", "marked nofollow", nil},
	TooManyRedirects:  {"redirects", "redirected too often", []string{"too many redirects"}},
	Trap:              {"trap", "part of an endless space", nil},
	RefusedByProgram:  {"program", "refused by the program", []string{"refused by the program"}},
	RequisitesOff:     {"requisite", "to a part of a page, which this crawl does not fetch", []string{"no link"}},
	SitemapsOff:       {"sitemap", "to a sitemap, which this crawl does not read", []string{"sitemaps not read"}},
	LinksOff:          {"link", "on a page, in a crawl that follows only sitemaps", []string{"links not followed"}},
	Unknown:           {"unknown", "not in the crawl for a reason that is not kept", nil},
}

// Fates returns the codes of URLs that have entered a crawl, in the order in which reports show
// them.
func Fates() []Code {
	return []Code{
		Fetched, RobotsDisallowed, UseRefused, Failed, ScopeNarrowed, OptedOut,
		Queued, Waiting, BudgetSpent, LimitReached, Excluded, SiteDead, RobotsUnreachable,
	}
}

// String returns the name of the code: the word that JSON and the flags of commands use.
func (c Code) String() string {
	if c < endOfCodes {
		return codes[c].name
	}
	return fmt.Sprintf("code %d", uint8(c))
}

// Words returns a description of the code, as words that follow "URLs" or "links" in a
// sentence.
func (c Code) Words() string {
	if c < endOfCodes {
		return codes[c].words
	}
	return c.String()
}

// MarshalText returns the name of the code.
func (c Code) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads the name of a code. It also accepts the names of earlier releases.
func (c *Code) UnmarshalText(name []byte) error {
	for i, known := range codes {
		if known.name == string(name) || slices.Contains(known.earlier, string(name)) {
			*c = Code(i)
			return nil
		}
	}
	return fmt.Errorf("frontier: %q is not one of %s", name, strings.Join(codeNames(), ", "))
}

func codeNames() (names []string) {
	for _, known := range codes {
		names = append(names, known.name)
	}
	return names
}

// Aside reports whether an entry with this code is only put aside. Such an entry is queued again
// after a change of the scope, or of the list that excluded the entry.
func (c Code) Aside() bool { return c == ScopeNarrowed || c == OptedOut }
