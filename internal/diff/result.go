package diff

import (
	"encoding/json"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// Format identifies the JSON form of a Result. It changes if a name or its meaning changes, but
// not if a name is added.
const Format = "permesso-diff/2"

// A Kind says how a URL has changed between two crawls. Each URL that either crawl knows has
// one Kind.
type Kind string

// The kinds of changes. A URL "is there" in a crawl if its answer was no error: a page or a
// redirect. "Now" is the later crawl; "was" and "before" are the earlier one.
const (
	New         Kind = "new"          // is there now; was not known or not requested before
	Modified    Kind = "modified"     // had another body before
	SameText    Kind = "same-text"    // has another body now, with the same visible text
	Moved       Kind = "moved"        // was there; redirects permanently now
	Redirected  Kind = "redirected"   // was there; redirects temporarily now
	Gone        Kind = "gone"         // had an answer without an error before; is 404 or 410 now
	LeftOut     Kind = "left-out"     // had an answer without an error before; no page links to it now
	NotAsked    Kind = "not-asked"    // was there; is known now, but was not requested
	Failing     Kind = "failing"      // had an answer without an error before; fails now
	Recovered   Kind = "recovered"    // failed before; is there now
	Refused     Kind = "refused"      // was requested; is refused now
	Allowed     Kind = "allowed"      // was refused; was requested now
	NotModified Kind = "not-modified" // has the same body or the same redirect
	Other       Kind = "other"        // is there in neither crawl, for the same or similar reasons
)

var kinds = [...]Kind{
	New, Modified, SameText, Moved, Redirected, Gone, LeftOut, NotAsked, Failing, Recovered, Refused, Allowed, NotModified, Other,
}

// Kinds returns all kinds, in the order of reports.
func Kinds() []Kind { return append([]Kind(nil), kinds[:]...) }

// kindWords has the words for each kind.
var kindWords = map[Kind]string{
	New: "there now, and not before", Modified: "another body", SameText: "another body, with the same text for readers",
	Moved: "redirects permanently", Redirected: "redirects temporarily", Gone: "404 or 410, and was there",
	LeftOut: "was there; no page leads to it now", NotAsked: "was there; known, and not requested now",
	Failing: "an error, and none before", Recovered: "there now, and an error before",
	Refused: "refused now, and requested before", Allowed: "requested now, and refused before",
	NotModified: "as it was", Other: "there neither time",
}

// Words returns a few words, without a full stop, for the URLs of a kind.
func (k Kind) Words() string { return kindWords[k] }

// IsChange reports whether URLs of this kind are listed as changes.
func (k Kind) IsChange() bool { return k != NotModified && k != Other }

// index returns the index of k in kinds.
func (k Kind) index() int {
	for i := range kinds {
		if kinds[i] == k {
			return i
		}
	}
	return len(kinds) - 1
}

// Counts has the number of URLs of each kind.
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

// A Result has the changes between two crawls. Times are UTC.
type Result struct {
	Format string   `json:"format"`
	Was    Snapshot `json:"was"`
	Is     Snapshot `json:"is"`

	// Settings has the settings that differ between the crawls, including the identity. A
	// difference that they cause is no change of the web.
	Settings []Setting `json:"settings"`
	// Seeds has the seeds that only one of the crawls has.
	Seeds Seeds `json:"seeds"`

	Counts Counts            `json:"counts"`
	Texts  Texts             `json:"texts"`
	Sites  []Site            `json:"sites"` // sites with at least one change, by name
	First  map[Kind][]Change `json:"first"` // the first changes of each kind, in the order of SURT, at most Options.Most

	Robots     []Robots `json:"robots"`           // changed robots.txt files, by the name of the site
	Disallowed int64    `json:"newly_disallowed"` // number of URLs that only the later robots.txt forbids
	Allowed    int64    `json:"newly_allowed"`    // number of URLs that only the earlier robots.txt forbids

	OtherLines int64 `json:"other_lines"` // number of lines in both pages.jsonl that cannot be read
}

// A Setting is a setting that differs between two crawls.
type Setting struct {
	Name string `json:"setting"`
	Was  string `json:"was"`
	Is   string `json:"is"`
}

// A Snapshot describes one of the two crawls.
type Snapshot struct {
	Dir     string    `json:"dir"`
	Token   string    `json:"token"`
	First   time.Time `json:"first,omitzero"` // when the crawl finished with its first URL
	Last    time.Time `json:"last,omitzero"`
	URLs    int64     `json:"urls"`    // number of URLs that the crawl knows
	There   int64     `json:"there"`   // number of URLs whose answer was no error
	Waiting int64     `json:"waiting"` // number of URLs that the crawl would request if it were resumed
}

// Seeds are the seeds that only one of two crawls has.
type Seeds struct {
	Added   int64    `json:"added"`
	Removed int64    `json:"removed"`
	First   []string `json:"first,omitempty"` // some of these seeds; "+" is before a seed of the later crawl, "-" before a seed of the earlier one
}

// Texts counts the pages with another body, by the result of comparing their visible texts.
type Texts struct {
	Compared int64 `json:"compared"`
	Unknown  int64 `json:"unknown"` // the text is not available, so the page counts as modified
}

// A Site has the numbers of changes at one site.
type Site struct {
	Site   frontier.Site `json:"site"`
	Counts Counts        `json:"counts"`
}

// A Change says how one URL has changed.
type Change struct {
	URL    string        `json:"url"` // the URL in the spelling of the later crawl, or of the earlier one if the later one does not know it
	Site   frontier.Site `json:"site"`
	Kind   Kind          `json:"change"`
	Was    State         `json:"was"`
	Is     State         `json:"is"`
	Text   TextState     `json:"text,omitempty"`   // whether a page with another body has the same visible text
	Target *Target       `json:"target,omitempty"` // new URL of a page that has moved
}

// A State is the result of a URL in one crawl. The zero State means that the crawl does not
// know the URL.
type State struct {
	Fate     frontier.Code `json:"fate,omitempty"`
	Status   int           `json:"status,omitempty"` // HTTP status
	Digest   string        `json:"digest,omitempty"` // digest of the body
	Location string        `json:"location,omitempty"`
	Reason   string        `json:"reason,omitempty"` // why there is no answer, such as a rule with its line or an error; empty: there is one
	Via      string        `json:"via,omitempty"`    // the page on which the URL was found
	Time     time.Time     `json:"time,omitzero"`    // when the crawl finished with the URL
}

// A TextState says whether two bodies have the same visible text.
type TextState string

// The values of TextState.
const (
	TextSame    TextState = "same"
	TextDiffers TextState = "differs"
	TextUnknown TextState = "unknown"
)

// A Target is the URL to which another URL redirects permanently.
type Target struct {
	URL      string        `json:"url"`
	Fate     frontier.Code `json:"fate,omitempty"` // code of the target in the later crawl; empty: the crawl does not know it
	Status   int           `json:"status,omitempty"`
	SameBody bool          `json:"same_body"`      // the target has the body that the moved URL had before
	Text     TextState     `json:"text,omitempty"` // if the bodies differ, whether the visible texts are the same
}

// A Robots has the changes in the robots.txt of one site.
type Robots struct {
	Site frontier.Site `json:"site"`
	Was  Copy          `json:"was"`
	Is   Copy          `json:"is"`
	// Disallowed is the number of known URLs that only the later robots.txt forbids, and
	// Allowed of those that only the earlier one forbids, whether they were requested or not.
	Disallowed int64    `json:"newly_disallowed"`
	Allowed    int64    `json:"newly_allowed"`
	Unclear    int64    `json:"unclear"` // number of known URLs about which one of the two copies decides nothing, because there was no answer
	First      []Effect `json:"first"`   // some of the URLs whose decision has changed, in the order of SURT
}

// A Copy is the result of the last request for a site's robots.txt.
type Copy struct {
	Fetched time.Time `json:"fetched,omitzero"`
	Outcome Outcome   `json:"outcome"`
	Status  int       `json:"status,omitempty"`
	Failure string    `json:"failure,omitempty"`
	Digest  string    `json:"digest,omitempty"`        // digest of the file in force
	Copied  time.Time `json:"copy,omitzero"`           // when the file in force was fetched, if that was before the last request
	Delay   float64   `json:"delay_seconds,omitempty"` // pause for this crawler in seconds: Crawl-delay or Request-rate, the longer one
	Signals []string  `json:"signals,omitempty"`       // statements of the file about the use of the whole site
}

// An Outcome is the result of a request for robots.txt.
type Outcome string

// The values of Outcome.
const (
	File        Outcome = "file"        // there is a robots.txt
	None        Outcome = "none"        // there is no robots.txt, so everything is allowed
	Forbidden   Outcome = "forbidden"   // the server refuses to send robots.txt, so nothing is allowed
	Unreachable Outcome = "unreachable" // robots.txt could not be fetched, so the last copy is in force or, without one, nothing is allowed
)

// An Effect is a URL for which the decision of robots.txt has changed.
type Effect struct {
	URL  string        `json:"url"`
	Site frontier.Site `json:"site"`
	// Allowed is true if the URL is allowed now and was not before, and false in the opposite
	// case.
	Allowed    bool          `json:"allowed"`
	Was        Decision      `json:"was"`
	Is         Decision      `json:"is"`
	FateBefore frontier.Code `json:"fate_before,omitempty"` // code of the URL in the earlier crawl
	Fate       frontier.Code `json:"fate,omitempty"`        // code of the URL in the later crawl
}

// A Decision says whether a robots.txt allows a URL, and which line decides.
type Decision struct {
	Line int    `json:"line,omitempty"` // number of the line in the robots.txt; 0: no line decides
	Rule string `json:"rule,omitempty"` // text of the line, or the reason in words
}
