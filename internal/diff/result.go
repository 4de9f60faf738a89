package diff

import (
	"encoding/json"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// Format names the form of a Result in JSON. It changes if a name or its meaning changes. Names
// may be added without a change.
const Format = "permesso-diff/2"

// A Kind is what became of a URL between two crawls. Each URL that either crawl knows has one
// Kind.
type Kind string

// The kinds. "There" means that a URL was answered without an error: with a page, or with a
// redirect. "Now" is the later crawl, "was" and "before" are the earlier one.
const (
	New         Kind = "new"          // there now; unknown or not requested before
	Modified    Kind = "modified"     // another body
	SameText    Kind = "same-text"    // another body, with the same visible text
	Moved       Kind = "moved"        // was there; a permanent redirect leads elsewhere now
	Redirected  Kind = "redirected"   // was there; another redirect leads elsewhere now
	Gone        Kind = "gone"         // was there; 404 or 410 now
	LeftOut     Kind = "left-out"     // was there; no page links to it now
	NotAsked    Kind = "not-asked"    // was there; known now, but not requested
	Failing     Kind = "failing"      // an error now, but not before
	Recovered   Kind = "recovered"    // an error before; there now
	Refused     Kind = "refused"      // was requested; refused now
	Allowed     Kind = "allowed"      // was refused; requested now
	NotModified Kind = "not-modified" // the same body, or the same redirect
	Other       Kind = "other"        // there in neither crawl, for the same or similar reasons
)

var kinds = [...]Kind{
	New, Modified, SameText, Moved, Redirected, Gone, LeftOut, NotAsked, Failing, Recovered, Refused, Allowed, NotModified, Other,
}

// Kinds returns all kinds, in the order of reports.
func Kinds() []Kind { return append([]Kind(nil), kinds[:]...) }

// kindWords are the words for each kind.
var kindWords = map[Kind]string{
	New: "there now, and not before", Modified: "another body", SameText: "another body, with the same text for readers",
	Moved: "redirects permanently", Redirected: "redirects temporarily", Gone: "404 or 410, and was there",
	LeftOut: "was there; no page leads to it now", NotAsked: "was there; known, and not requested now",
	Failing: "an error, and none before", Recovered: "there now, and an error before",
	Refused: "refused now, and requested before", Allowed: "requested now, and refused before",
	NotModified: "as it was", Other: "there neither time",
}

// Words returns what the URLs of a kind have in common, in a few words without a full stop.
func (k Kind) Words() string { return kindWords[k] }

// IsChange reports whether a URL of this kind is listed as a change.
func (k Kind) IsChange() bool { return k != NotModified && k != Other }

// index returns the index of a kind.
func (k Kind) index() int {
	for i := range kinds {
		if kinds[i] == k {
			return i
		}
	}
	return len(kinds) - 1
}

// Counts are the numbers of URLs of each kind.
type Counts [len(kinds)]int64

// Of returns the number of URLs of one kind.
func (c *Counts) Of(k Kind) int64 { return c[k.index()] }

// Changes returns the number of URLs whose kind is a change.
func (c *Counts) Changes() (n int64) {
	for i, k := range kinds {
		if k.IsChange() {
			n += c[i]
		}
	}
	return n
}

// MarshalJSON returns an object with a member for each kind.
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

	// Settings that differ between the crawls. A change that they cause is not a change of the
	// web. They include the identity.
	Settings []Setting `json:"settings"`
	// Seeds that only one of the crawls has.
	Seeds Seeds `json:"seeds"`

	Counts Counts            `json:"counts"`
	Texts  Texts             `json:"texts"`
	Sites  []Site            `json:"sites"` // sites with a change, by name
	First  map[Kind][]Change `json:"first"` // the first changes of each kind, in the order of SURT: at most Options.Most

	Robots     []Robots `json:"robots"`           // sites whose robots.txt has changed, by name
	Disallowed int64    `json:"newly_disallowed"` // URLs that robots.txt forbids only now
	Allowed    int64    `json:"newly_allowed"`    // URLs that robots.txt forbade only before

	OtherLines int64 `json:"other_lines"` // lines of both pages.jsonl that cannot be read
}

// A Setting is a setting that differs between two crawls.
type Setting struct {
	Name string `json:"setting"`
	Was  string `json:"was"`
	Is   string `json:"is"`
}

// A Snapshot is one of two crawls.
type Snapshot struct {
	Dir     string    `json:"dir"`
	Token   string    `json:"token"`
	First   time.Time `json:"first,omitzero"` // when the crawl was done with its first URL
	Last    time.Time `json:"last,omitzero"`
	URLs    int64     `json:"urls"`    // URLs that the crawl knows
	There   int64     `json:"there"`   // URLs that were answered without an error
	Waiting int64     `json:"waiting"` // URLs that the crawl may still request if it continues
}

// Seeds are the seeds that only one of two crawls has.
type Seeds struct {
	Added   int64    `json:"added"`
	Removed int64    `json:"removed"`
	First   []string `json:"first,omitempty"` // some of these seeds: after "+" those of the later crawl only, after "-" those of the earlier one only
}

// Texts counts the pages with another body by the comparison of their texts.
type Texts struct {
	Compared int64 `json:"compared"`
	Unknown  int64 `json:"unknown"` // the text is not available: the page counts as modified
}

// A Site is what has changed at one site.
type Site struct {
	Site   frontier.Site `json:"site"`
	Counts Counts        `json:"counts"`
}

// A Change is what became of one URL.
type Change struct {
	URL    string        `json:"url"` // URL in the form of the later crawl or, if that does not know it, of the earlier one
	Site   frontier.Site `json:"site"`
	Kind   Kind          `json:"change"`
	Was    State         `json:"was"`
	Is     State         `json:"is"`
	Text   TextState     `json:"text,omitempty"`   // whether the text of a page with another body is the same
	Target *Target       `json:"target,omitempty"` // the new place of a URL that has moved
}

// A State is the fate of a URL in one crawl. The zero State means that the crawl did not
// know the URL.
type State struct {
	Fate     frontier.Code `json:"fate,omitempty"`
	Status   int           `json:"status,omitempty"` // HTTP status
	Digest   string        `json:"digest,omitempty"` // digest of the body
	Location string        `json:"location,omitempty"`
	Reason   string        `json:"reason,omitempty"` // why there is no answer: rule and line, error ...; empty if there is one
	Via      string        `json:"via,omitempty"`    // the page on which the URL was found
	Time     time.Time     `json:"time,omitzero"`    // when the crawl was done with the URL
}

// A TextState says whether two bodies have the same visible text.
type TextState string

// The values of TextState.
const (
	TextSame    TextState = "same"
	TextDiffers TextState = "differs"
	TextUnknown TextState = "unknown"
)

// A Target is the URL to which another one has moved.
type Target struct {
	URL      string        `json:"url"`
	Fate     frontier.Code `json:"fate,omitempty"` // what became of the target in the later crawl; empty if it is unknown there
	Status   int           `json:"status,omitempty"`
	SameBody bool          `json:"same_body"`      // the target has the body that the moved URL had
	Text     TextState     `json:"text,omitempty"` // whether the texts are the same, if the bodies differ
}

// A Robots is what has changed in the robots.txt of one site.
type Robots struct {
	Site frontier.Site `json:"site"`
	Was  Copy          `json:"was"`
	Is   Copy          `json:"is"`
	// Known URLs that only the later robots.txt forbids, and known URLs that only the earlier
	// one forbids, whether they were requested or not.
	Disallowed int64    `json:"newly_disallowed"`
	Allowed    int64    `json:"newly_allowed"`
	Unclear    int64    `json:"unclear"` // known URLs for which one of the two copies decides nothing, because there was no answer
	First      []Effect `json:"first"`   // the first of the URLs whose decision has changed, in the order of SURT
}

// A Copy is the result of the last request for a site's robots.txt.
type Copy struct {
	Fetched time.Time `json:"fetched,omitzero"`
	Outcome Outcome   `json:"outcome"`
	Status  int       `json:"status,omitempty"`
	Failure string    `json:"failure,omitempty"`
	Digest  string    `json:"digest,omitempty"`        // of the file that applies
	Copied  time.Time `json:"copy,omitzero"`           // when that file was fetched, if it is an earlier one
	Delay   float64   `json:"delay_seconds,omitempty"` // Crawl-delay or Request-rate for this crawler, whichever is longer, in seconds
	Signals []string  `json:"signals,omitempty"`       // statements about the use of the whole site
}

// An Outcome is the result of a request for robots.txt.
type Outcome string

// The outcomes.
const (
	File        Outcome = "file"        // there is a robots.txt
	None        Outcome = "none"        // there is no robots.txt: everything is allowed
	Forbidden   Outcome = "forbidden"   // the server refuses to send robots.txt: nothing is allowed
	Unreachable Outcome = "unreachable" // robots.txt could not be fetched: the last one that was fetched applies, or nothing is allowed
)

// An Effect is a URL for which the decision of robots.txt has changed.
type Effect struct {
	URL  string        `json:"url"`
	Site frontier.Site `json:"site"`
	// Allowed is true if the URL is allowed now and was not before. It is false in the
	// opposite case.
	Allowed    bool          `json:"allowed"`
	Was        Decision      `json:"was"`
	Is         Decision      `json:"is"`
	FateBefore frontier.Code `json:"fate_before,omitempty"` // what became of the URL in the earlier crawl
	Fate       frontier.Code `json:"fate,omitempty"`        // what became of the URL in the later crawl
}

// A Decision is what a robots.txt decides about a URL, and by which line.
type Decision struct {
	Line int    `json:"line,omitempty"` // number of the line in that robots.txt; 0 if no line decides
	Rule string `json:"rule,omitempty"` // the text of the line, or the reason in words
}
