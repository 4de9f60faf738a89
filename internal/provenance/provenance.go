package provenance

import (
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/audit"
)

// Format names the form of a Provenance in JSON, and Version is its number. Both change
// where a name changes, or its meaning; names may be added. Verify reads those of format 1, too.
const (
	Format  = "permesso-provenance/2"
	Version = 2
)

// Names of the files in the directory of a crawl.
const (
	File          = "provenance.json"
	SignatureFile = "provenance.json.sig" // Ed25519, 64 bytes, of the bytes of File
	AbsencesFile  = "absences.jsonl"
	RobotsFile    = "robots.jsonl"
	SeedsFile     = "seeds-asked.txt" // where there are more than MostSeeds
	DatasheetFile = "DATASHEET.md"
)

// How much is listed in a Provenance. All is counted.
const (
	MostSeeds  = 1000
	mostListed = 1000 // runs, changes, overrides, orders
	mostNames  = 1000 // different media types, statuses ...; the others are counted together
)

// A Provenance is what is known of how the data of a crawl came about. Times are UTC.
type Provenance struct {
	Format  string        `json:"format"`
	Version int           `json:"version"`
	Name    string        `json:"name"`    // of the directory
	Written time.Time     `json:"written"` // when this was
	Writer  crawler.Build `json:"writer"`  // the program that has written this: not always the one that crawled

	Identity       Identity  `json:"identity"`
	Settings       []Setting `json:"settings"`        // of the last run
	SettingsSHA256 string    `json:"settings_sha256"` // of each name and value, each followed by a zero byte
	Seeds          Seeds     `json:"seeds"`

	Runs      Many[Run]                `json:"runs"`
	Killed    int64                    `json:"killed"`   // runs that did not end by themselves
	LogLost   int64                    `json:"log_lost"` // bytes of crawl.log that were removed or cut between runs
	Builds    map[string]crawler.Build `json:"builds"`   // of the programs that crawled, by Run.Build
	Changes   Many[Change]             `json:"changes"`
	Overrides Many[Override]           `json:"overrides"`
	Orders    Many[crawler.Order]      `json:"orders"`

	Figures  Figures   `json:"figures"`
	Robots   Robots    `json:"robots"`
	Absences Absences  `json:"absences"`
	Audit    Audit     `json:"audit"`
	Previous *Previous `json:"previous,omitempty"`
	Purge    *Purge    `json:"purge,omitempty"` // what was captured and taken out since; absences.jsonl has the URLs

	Outputs []Output `json:"outputs"`

	// FileSHA256 is the SHA-256 of this file with 64 zeros in the place of this value. Format 1
	// has none.
	FileSHA256 string `json:"file_sha256"`
}

// A Purge says of how many URLs what was captured was taken out, and when that was done
// last.
type Purge struct {
	URLs int64     `json:"urls"`
	Last time.Time `json:"last"`
}

// Many are the first of several, and how many there are.
type Many[T any] struct {
	All  int64 `json:"all"`
	List []T   `json:"list"`
}

func (m *Many[T]) add(v T) {
	if m.All++; len(m.List) < mostListed {
		m.List = append(m.List, v)
	}
}

// Identity is who asked.
type Identity struct {
	Token     string   `json:"token"`
	Contact   string   `json:"contact"`
	Mail      string   `json:"mail,omitempty"`
	UserAgent string   `json:"user_agent"`            // the header field, as this program would send it
	Archived  []string `json:"user_agents_archived"`  // as the WARC files say that it was sent
	From      string   `json:"from_header,omitempty"` // the other header field that says who asks
}

// A Setting is an option of the crawl.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Given bool   `json:"given"` // it is not the usual one
	Usual string `json:"usual"` // "unknown" of one that this version does not know
}

// Seeds are what the crawl began with, and what was added to it.
type Seeds struct {
	Count  int64    `json:"count"`
	SHA256 string   `json:"sha256"` // of the list, a line for each
	List   []string `json:"list"`   // sorted by site; empty where File has it
	File   string   `json:"file,omitempty"`
}

// A Run is one process that worked on the crawl.
type Run struct {
	Began time.Time `json:"began"`
	Last  time.Time `json:"last_line,omitzero"` // of its last line in crawl.log
	Ended time.Time `json:"ended,omitzero"`     // as it has said itself
	How   string    `json:"how"`                // a crawler.End, or one of the words below

	Zone         string `json:"zone,omitempty"`
	Offset       *int   `json:"utc_offset,omitempty"` // seconds east of UTC
	Clock        string `json:"clock"`                // what the machine's clock goes by, or "unknown"
	Synchronised string `json:"synchronised"`         // yes, no, unknown
	Build        string `json:"build,omitempty"`      // of Provenance.Builds; empty where it is not known
}

// How a run ended that has not said it.
const (
	HowKilled  = "killed"    // a kill, a power cut, a full disk
	HowItself  = "by itself" // and did not keep more
	HowUnknown = "unknown"
)

// Unknown stands for what nobody has said.
const Unknown = "unknown"

// A Change is a setting that a run had otherwise than the one before.
type Change struct {
	Time    time.Time `json:"time"`
	Setting string    `json:"setting"`
	Was     string    `json:"was"`
	Is      string    `json:"is"`
}

// An Override is something by which more is asked of sites than usually, or of one site
// than of the others.
type Override struct {
	Time    time.Time `json:"time,omitzero"` // when crawl.log says it; none: of the settings
	Site    string    `json:"site,omitempty"`
	Setting string    `json:"setting"`
	Value   string    `json:"value"`
	Reason  string    `json:"reason,omitempty"`
}

// Figures are counts of crawl.log and pages.jsonl.
type Figures struct {
	First          time.Time        `json:"first,omitzero"` // of crawl.log
	Last           time.Time        `json:"last,omitzero"`
	LogLines       int64            `json:"log_lines"`
	OtherLines     int64            `json:"other_lines"` // of crawl.log, that are none of a crawl
	Requests       int64            `json:"requests"`
	RobotsRequests int64            `json:"robots_requests"`
	Bytes          int64            `json:"bytes"` // of bodies, as they came over the wire
	Sites          int64            `json:"sites"` // that were asked
	Hosts          int64            `json:"hosts"`
	TopHosts       []Count          `json:"top_hosts"`    // by requests
	Statuses       map[string]int64 `json:"statuses"`     // of all answers, robots.txt included
	Errors         map[string]int64 `json:"errors"`       // requests that failed, by stage
	Types          map[string]int64 `json:"types_of_2xx"` // of answers with 2xx, and of 304s for which an archived page stands, except robots.txt, by media type

	HasPages bool             `json:"has_pages"`  // pages.jsonl is there, of which what follows is
	Pages    int64            `json:"page_lines"` // lines of pages.jsonl
	Charsets map[string]int64 `json:"charsets"`
	// Pages by what became of them since they were fetched before, in the crawl before
	// this one, or in this one that fetches them again: by crawler.ChangeClass. Those of
	// which that cannot be told are not among them, nor are sitemaps and what pages are
	// shown with.
	PageChanges map[string]int64 `json:"page_changes"`
	// Answers with 404 or 410 where the crawl before had one without an error; nil where
	// there is none, or where it cannot be read any more.
	Gone *int64 `json:"gone"`

	Truncated int64            `json:"truncated"` // pages whose body is not the whole
	NoIndex   int64            `json:"noindex"`
	NoArchive int64            `json:"noarchive"`
	Refused   int64            `json:"use_refused"` // pages of which nothing was kept, as their owner refuses the purpose
	Usage     map[string]int64 `json:"usage"`       // what owners have said of uses: "tdm refused", "search granted"
	Licenses  []Count          `json:"licenses"`    // where terms of use stand, by pages
}

// A Count is how often something was.
type Count struct {
	Name string `json:"name"`
	N    int64  `json:"n"`
}

// Robots are the copies of robots.txt that the crawl went by: robots.jsonl has a line for
// each.
type Robots struct {
	Sites  int64  `json:"sites"` // that a copy, or a try to get one, is kept of
	Copies int64  `json:"copies"`
	File   string `json:"file"`
}

// Absences are the URLs of which the crawl has no answer: absences.jsonl has a line for
// each.
type Absences struct {
	Entered int64                      `json:"entered"` // URLs that entered the crawl
	URLs    int64                      `json:"urls"`    // of them, that have no answer
	Fates   map[crawler.Standing]int64 `json:"fates"`   // of all that entered
	File    string                     `json:"file"`

	// Links that did not bring their URL into the crawl. Source says what they were counted of:
	// links.jsonl, the summary of the last run, or nothing.
	Source       string           `json:"refused_source"`
	Refused      map[string]int64 `json:"refused_urls"`  // of links.jsonl: URLs that never entered the crawl, each once, by reason
	SkippedLinks map[string]int64 `json:"skipped_links"` // of the last run: links, each URL once for each page, by reason
}

// What Absences.Source may be.
const (
	SourceLinks   = "links.jsonl"
	SourceLastRun = "the last run"
)

// An Audit is the verdict of package audit.
type Audit struct {
	Verdict       string        `json:"verdict"`       // one of those below
	Why           string        `json:"why,omitempty"` // it is NotAudited
	Violations    int64         `json:"violations"`
	UnprovenLines int64         `json:"unproven_lines"`
	Requests      int64         `json:"requests"`
	LogSHA256     string        `json:"log_sha256,omitempty"`
	CopiesSHA256  string        `json:"robots_copies_sha256,omitempty"`
	Checks        []audit.Check `json:"checks"`
}

// The verdicts.
const (
	Clean      = "clean"
	Violated   = "violated"
	NotAudited = "not audited"
)

// Previous is the crawl that this one was compared with.
type Previous struct {
	Dir        string `json:"dir"`                         // as it was given
	Provenance string `json:"provenance_sha256,omitempty"` // of its provenance.json; empty where there is none
}

// An Output is a file of the crawl.
type Output struct {
	Name   string `json:"name"` // in the directory, with slashes
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}
