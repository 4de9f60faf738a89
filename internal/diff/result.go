package diff

import (
	"encoding/json"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
)

// Format names the form of a Result in JSON. It changes where a name changes, or its
// meaning; names may be added.
const Format = "permesso-diff/1"

// A Kind says in one word what became of a URL between two crawls. Each URL that either
// crawl knows has one.
type Kind string

// The kinds. A URL is there where it was answered without an error: with a page, or with
// a redirect.
const (
	New         Kind = "new"          // there now; not known before, or not asked for
	Modified    Kind = "modified"     // another body
	SameText    Kind = "same-text"    // another body, and readers see the same text
	Moved       Kind = "moved"        // was there; a permanent redirect leads elsewhere now
	Redirected  Kind = "redirected"   // was there; another redirect leads elsewhere now
	Gone        Kind = "gone"         // was there; 404 or 410 now
	LeftOut     Kind = "left-out"     // was there; no page leads to it now
	NotAsked    Kind = "not-asked"    // was there; known now, and not asked for
	Failing     Kind = "failing"      // an error now, which it was not before
	Recovered   Kind = "recovered"    // an error before; there now
	Refused     Kind = "refused"      // was asked for; refused now
	Allowed     Kind = "allowed"      // was refused; asked for now
	NotModified Kind = "not-modified" // the same body, or the same redirect
	Other       Kind = "other"        // there in neither crawl, for like reasons
)

var kinds = [...]Kind{
	New, Modified, SameText, Moved, Redirected, Gone, LeftOut, NotAsked, Failing, Recovered, Refused, Allowed, NotModified, Other,
}

// Kinds are all kinds, in the order in which they are told.
func Kinds() []Kind { return append([]Kind(nil), kinds[:]...) }

// kindWords say what each kind is.
var kindWords = map[Kind]string{
	New: "there now, and not before", Modified: "another body", SameText: "another body, with the same text for readers",
	Moved: "leads elsewhere for good", Redirected: "leads elsewhere, for now", Gone: "404 or 410, and was there",
	LeftOut: "was there; no page leads to it now", NotAsked: "was there; known, and not asked for now",
	Failing: "an error, and none before", Recovered: "there now, and an error before",
	Refused: "refused now, and asked for before", Allowed: "asked for now, and refused before",
	NotModified: "as it was", Other: "there neither time",
}

// Words say in a few words, without a full stop, what the URLs of a kind have in common.
func (k Kind) Words() string { return kindWords[k] }

// IsChange reports whether a URL of this kind is listed: it is not as it was.
func (k Kind) IsChange() bool { return k != NotModified && k != Other }

// index is the place of a kind.
func (k Kind) index() int {
	for i := range kinds {
		if kinds[i] == k {
			return i
		}
	}
	return len(kinds) - 1
}

// Counts are how many URLs are of each kind.
type Counts [len(kinds)]int64

// Of is how many are of one kind.
func (c *Counts) Of(k Kind) int64 { return c[k.index()] }

// Changes are those of all kinds that are changes.
func (c *Counts) Changes() (n int64) {
	for i, k := range kinds {
		if k.IsChange() {
			n += c[i]
		}
	}
	return n
}

// MarshalJSON makes an object of the kinds.
func (c Counts) MarshalJSON() ([]byte, error) {
	of := make(map[Kind]int64, len(c))
	for i, n := range c {
		of[kinds[i]] = n
	}
	return json.Marshal(of)
}

// A Result is what has changed between two crawls. Times are UTC.
type Result struct {
	Format string   `json:"format"`
	Was    Snapshot `json:"was"`
	Is     Snapshot `json:"is"`

	// Settings that are not those of the crawl before: a change that they make is none of
	// the web's. Identity, too, is one.
	Settings []Setting `json:"settings"`
	// Seeds that only one of the crawls has.
	Seeds Seeds `json:"seeds"`

	Counts Counts            `json:"counts"`
	Texts  Texts             `json:"texts"`
	Sites  []Site            `json:"sites"` // those with a change, by name
	First  map[Kind][]Change `json:"first"` // the first of each list, in the order of SURT: Options.Most of each

	Robots     []Robots `json:"robots"`           // of the sites whose robots.txt is another one, by name
	Disallowed int64    `json:"newly_disallowed"` // URLs that robots.txt has come to forbid
	Allowed    int64    `json:"newly_allowed"`    // URLs that it forbade

	OtherLines int64 `json:"other_lines"` // of pages.jsonl of both, that are none of a page
}

// A Setting is one that two crawls do not have in common.
type Setting struct {
	Name string `json:"setting"`
	Was  string `json:"was"`
	Is   string `json:"is"`
}

// A Snapshot is one of two crawls.
type Snapshot struct {
	Dir     string    `json:"dir"`
	Token   string    `json:"token"`
	First   time.Time `json:"first,omitzero"` // when the first of its URLs ended
	Last    time.Time `json:"last,omitzero"`
	URLs    int64     `json:"urls"`    // that it knows
	There   int64     `json:"there"`   // of them, that were answered without an error
	Waiting int64     `json:"waiting"` // of them, that it may yet ask for: more is known once it goes on
}

// Seeds are those that only one of two crawls has.
type Seeds struct {
	Added   int64    `json:"added"`
	Removed int64    `json:"removed"`
	First   []string `json:"first,omitempty"` // some of them, with + or - before each
}

// Texts say of how many pages with another body the text was compared.
type Texts struct {
	Compared int64 `json:"compared"`
	Unknown  int64 `json:"unknown"` // not to be had: the page counts as modified
}

// A Site is what has changed at one.
type Site struct {
	Site   frontier.Site `json:"site"`
	Counts Counts        `json:"counts"`
}

// A Change is what became of one URL.
type Change struct {
	URL    string        `json:"url"` // as the later crawl has it, if it knows it
	Site   frontier.Site `json:"site"`
	Kind   Kind          `json:"change"`
	Was    State         `json:"was"`
	Is     State         `json:"is"`
	Text   TextState     `json:"text,omitempty"`   // of a page with another body
	Target *Target       `json:"target,omitempty"` // of one that has moved: where to
}

// A State is how a URL stood in one crawl: the zero State in one that did not know it.
type State struct {
	Standing crawler.Standing `json:"standing,omitempty"`
	Status   int              `json:"status,omitempty"` // of HTTP
	Digest   string           `json:"digest,omitempty"` // of the body
	Location string           `json:"location,omitempty"`
	Reason   string           `json:"reason,omitempty"` // rule and line, error ...; none of what was answered
	Via      string           `json:"via,omitempty"`    // the page it was found on
	Time     time.Time        `json:"time,omitzero"`    // when it ended
}

// A TextState says whether readers see the same text in two bodies.
type TextState string

// The states of texts.
const (
	TextSame    TextState = "same"
	TextDiffers TextState = "differs"
	TextUnknown TextState = "unknown"
)

// A Target is where a URL has moved.
type Target struct {
	URL      string           `json:"url"`
	Standing crawler.Standing `json:"standing,omitempty"` // in the later crawl; none: not known there
	Status   int              `json:"status,omitempty"`
	SameBody bool             `json:"same_body"`      // it has the body that the URL had
	Text     TextState        `json:"text,omitempty"` // where it has another one
}

// Robots is what has changed of the robots.txt of one site.
type Robots struct {
	Site frontier.Site `json:"site"`
	Was  Copy          `json:"was"`
	Is   Copy          `json:"is"`
	// Known URLs that were allowed by the one and are disallowed by the other, and the
	// other way around, whether a crawl came to ask for them or not.
	Disallowed int64    `json:"newly_disallowed"`
	Allowed    int64    `json:"newly_allowed"`
	Unclear    int64    `json:"unclear"` // known URLs of which one of the two says nothing, for want of an answer
	First      []Effect `json:"first"`   // the first of those URLs, in the order of SURT
}

// A Copy is what a site's robots.txt came to, at the last time that it was asked for.
type Copy struct {
	Fetched time.Time `json:"fetched,omitzero"`
	Outcome Outcome   `json:"outcome"`
	Status  int       `json:"status,omitempty"`
	Failure string    `json:"failure,omitempty"`
	Digest  string    `json:"digest,omitempty"`  // of the file that counts
	Copied  time.Time `json:"copied,omitzero"`   // when that was fetched, where it is an earlier one
	Delay   float64   `json:"delay,omitempty"`   // Crawl-delay or Request-rate, the longer, for this crawler; seconds
	Signals []string  `json:"signals,omitempty"` // what it says about the use of the whole site
}

// An Outcome is what asking for a robots.txt comes to.
type Outcome string

// The outcomes.
const (
	File        Outcome = "file"        // there is one
	None        Outcome = "none"        // there is none: everything is allowed
	Forbidden   Outcome = "forbidden"   // it may not be known: nothing is allowed
	Unreachable Outcome = "unreachable" // nobody knows: the last copy counts, or nothing is asked for
)

// An Effect is a URL that a robots.txt has come to forbid, or does not forbid any more.
type Effect struct {
	URL  string        `json:"url"`
	Site frontier.Site `json:"site"`
	// Allowed now; it was not before. Otherwise it is the other way around.
	Allowed bool             `json:"allowed"`
	Was     Decision         `json:"was"`
	Is      Decision         `json:"is"`
	Stood   crawler.Standing `json:"stood,omitempty"`  // in the crawl before
	Stands  crawler.Standing `json:"stands,omitempty"` // in the later one
}

// A Decision is what a robots.txt says of a URL, and where.
type Decision struct {
	Line int    `json:"line,omitempty"` // of that copy; 0 where no line decides
	Rule string `json:"rule,omitempty"` // as a line; or else the reason, in words
}
