package provenance

import (
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/audit"
	"github.com/permesso-crawler/permesso/internal/processes"
)

// Format names the form of a Provenance in JSON, and Version is its number. Format and Version
// change if a name in the JSON or its meaning changes, but not if a name is added. Verify also
// reads formats 1 and 2.
const (
	Format  = "permesso-provenance/3"
	Version = 3
)

// Names of the files in the directory of a crawl.
const (
	File          = "provenance.json"
	SignatureFile = "provenance.json.sig" // Ed25519, 64 bytes, over the bytes of File
	AbsencesFile  = "absences.jsonl"
	RobotsFile    = "robots.jsonl"
	SeedsFile     = "seeds-asked.txt" // written if there are more than MostSeeds seeds
	DatasheetFile = "DATASHEET.md"
)

// Maximum numbers of listed items. Further items are only counted.
const (
	MostSeeds  = 1000
	mostListed = 1000 // runs, changes, overrides, orders
	mostNames  = 1000 // different media types, statuses ...; the others are counted together
)

// A Provenance is what is known about the origin of the data of a crawl. Times are in UTC.
type Provenance struct {
	Format  string          `json:"format"`
	Version int             `json:"version"`
	Name    string          `json:"name"`    // name of the directory of the crawl
	Written time.Time       `json:"written"` // when this provenance was written
	Writer  processes.Build `json:"writer"`  // the program that has written this provenance; it may be another one than that which crawled

	Identity       Identity  `json:"identity"`
	Settings       []Setting `json:"settings"`        // settings of the last run
	SettingsSHA256 string    `json:"settings_sha256"` // SHA-256 of the names and values of all settings, each followed by a zero byte
	Seeds          Seeds     `json:"seeds"`

	Runs      Many[Run]                  `json:"runs"`
	Killed    int64                      `json:"killed"`   // runs that did not end by themselves
	LogLost   int64                      `json:"log_lost"` // bytes of crawl.log that were removed or cut between runs
	Builds    map[string]processes.Build `json:"builds"`   // the programs that crawled, by Run.Build
	Changes   Many[Change]               `json:"changes"`
	Overrides Many[Override]             `json:"overrides"`
	Orders    Many[crawler.Order]        `json:"orders"`

	Figures  Figures   `json:"figures"`
	Robots   Robots    `json:"robots"`
	Absences Absences  `json:"absences"`
	Audit    Audit     `json:"audit"`
	Previous *Previous `json:"previous,omitempty"`
	Purge    *Purge    `json:"purge,omitempty"` // URLs whose stored answers were purged later; absences.jsonl lists these URLs; nil: there are none

	Outputs []Output `json:"outputs"`

	// FileSHA256 is the SHA-256 of provenance.json, computed with 64 zeros in the place of this
	// value. Format 1 has no such field.
	FileSHA256 string `json:"file_sha256"`
}

// A Purge says for how many URLs the stored answers were purged, and when this was done last.
type Purge struct {
	URLs int64     `json:"urls"`
	Last time.Time `json:"last"`
}

// A Many is a list that is cut off after its first items, with the number of all items.
type Many[T any] struct {
	All  int64 `json:"all"`
	List []T   `json:"list"`
}

func (m *Many[T]) add(v T) {
	if m.All++; len(m.List) < mostListed {
		m.List = append(m.List, v)
	}
}

// Identity is the identity of the crawler.
type Identity struct {
	Token     string   `json:"token"`
	Contact   string   `json:"contact"`
	Mail      string   `json:"mail,omitempty"`
	UserAgent string   `json:"user_agent"`            // the User-Agent field, as this program would send it
	Archived  []string `json:"user_agents_archived"`  // User-Agent fields of the requests in the WARC files
	From      string   `json:"from_header,omitempty"` // the From header field
}

// A Setting is an option of the crawl.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Given bool   `json:"given"` // Value differs from Usual
	Usual string `json:"usual"` // the default; "unknown" if this program does not have the setting
}

// Seeds are the URLs that the crawl began with, and those that were added to it.
type Seeds struct {
	Count  int64    `json:"count"`
	SHA256 string   `json:"sha256"` // SHA-256 of the seeds as a text with a line for each
	List   []string `json:"list"`   // sorted by site; empty if File has the list
	File   string   `json:"file,omitempty"`
}

// A Run is one process that worked on the crawl.
type Run struct {
	Began time.Time `json:"began"`
	Last  time.Time `json:"last_line,omitzero"` // time of the last line of the run in crawl.log
	Ended time.Time `json:"ended,omitzero"`     // when the run ended, as the run itself has recorded
	How   string    `json:"how"`                // how the run ended: a crawler.End, HowKilled, HowItself or HowUnknown

	Zone         string `json:"zone,omitempty"`
	Offset       *int   `json:"utc_offset,omitempty"` // seconds east of UTC
	Clock        string `json:"clock"`                // the hardware that the machine's clock is read from, or "unknown"
	Synchronised string `json:"synchronised"`         // whether the clock was synchronised: yes, no, unknown
	Build        string `json:"build,omitempty"`      // key of Provenance.Builds; empty if it is unknown
}

// The values of Run.How for a run that has not recorded its end.
const (
	HowKilled  = "killed"    // a kill, a power cut, a full disk
	HowItself  = "by itself" // the run ended by itself, but did not record how
	HowUnknown = "unknown"
)

// Unknown is the value of facts that were not recorded.
const Unknown = "unknown"

// A Change is a setting that differs from that of the run before.
type Change struct {
	Time    time.Time `json:"time"`
	Setting string    `json:"setting"`
	Was     string    `json:"was"`
	Is      string    `json:"is"`
}

// An Override is a setting that allows more requests than usual: to all sites, or to one site
// more than to the others.
type Override struct {
	Time    time.Time `json:"time,omitzero"` // time of the line in crawl.log; zero for a setting of the crawl
	Site    string    `json:"site,omitempty"`
	Setting string    `json:"setting"`
	Value   string    `json:"value"`
	Reason  string    `json:"reason,omitempty"`
}

// Figures are counts from crawl.log and pages.jsonl.
type Figures struct {
	First          time.Time        `json:"first,omitzero"` // time of the first line of crawl.log
	Last           time.Time        `json:"last,omitzero"`
	LogLines       int64            `json:"log_lines"`
	OtherLines     int64            `json:"other_lines"` // lines of crawl.log that cannot be parsed
	Requests       int64            `json:"requests"`
	RobotsRequests int64            `json:"robots_requests"`
	Bytes          int64            `json:"bytes"` // bytes of bodies, as they came over the wire
	Sites          int64            `json:"sites"` // sites that received requests
	Hosts          int64            `json:"hosts"`
	TopHosts       []Count          `json:"top_hosts"`    // the hosts with the most requests
	Statuses       map[string]int64 `json:"status"`       // number of answers by HTTP status, including those for robots.txt
	Errors         map[string]int64 `json:"errors"`       // requests that failed, by stage
	Types          map[string]int64 `json:"types_of_2xx"` // number of answers by media type: answers with 2xx, and 304s whose page is archived; robots.txt files are not counted

	HasPages bool             `json:"has_pages"`  // pages.jsonl exists; the fields below are counted from it
	Pages    int64            `json:"page_lines"` // lines of pages.jsonl
	Charsets map[string]int64 `json:"charsets"`
	// PageChanges counts pages by crawler.ChangeClass: how they have changed since they were
	// fetched before, in the previous crawl or earlier in this one. Pages whose class is
	// unknown, sitemaps and embedded resources are not counted.
	PageChanges map[string]int64 `json:"page_changes"`
	// Gone is the number of pages that were answered with 404 or 410 in this crawl, but without
	// an error in the previous one. It is nil if there is no previous crawl, or if that cannot
	// be read.
	Gone *int64 `json:"gone"`

	Truncated int64            `json:"truncated"` // pages whose body is not complete
	NoIndex   int64            `json:"noindex"`
	NoArchive int64            `json:"noarchive"`
	Refused   int64            `json:"use_refused"` // pages that were not kept because their owner refuses the purpose of the crawl
	Usage     map[string]int64 `json:"usage"`       // number of pages by what their owners have said about a use, such as "tdm refused" or "search granted"
	Licenses  []Count          `json:"licenses"`    // URLs of terms of use, each with the number of pages that they are for
}

// A Count is a name and how often it occurred.
type Count struct {
	Name string `json:"name"`
	N    int64  `json:"count"`
}

// Robots counts the copies of robots.txt that the crawl used. robots.jsonl has a line for each
// copy.
type Robots struct {
	Sites  int64  `json:"sites"` // sites whose robots.txt was fetched, or requested in vain
	Copies int64  `json:"copies"`
	File   string `json:"file"`
}

// Absences counts the URLs that have no answer. absences.jsonl has a line for each of them.
type Absences struct {
	Entered int64                   `json:"entered"` // URLs that entered the crawl
	URLs    int64                   `json:"urls"`    // URLs that entered and have no answer
	Fates   map[frontier.Code]int64 `json:"fates"`   // number of URLs that entered the crawl, by what became of them
	File    string                  `json:"file"`

	// The fields below count links that did not bring their URL into the crawl. Source says
	// where they were counted: in links.jsonl, or in the summary of the last run. If it is
	// empty, they were not counted.
	Source       string           `json:"refused_source"`
	Refused      map[string]int64 `json:"refused_urls"`  // from links.jsonl: number of URLs that never entered the crawl, by reason; a URL counts once
	SkippedLinks map[string]int64 `json:"skipped_links"` // from the last run: number of links by reason; a URL counts once for each page
}

// The values of Absences.Source.
const (
	SourceLinks   = "links.jsonl"
	SourceLastRun = "the last run"
)

// An Audit is the result of auditing the crawl with package audit.
type Audit struct {
	Verdict       string        `json:"verdict"`          // one of the verdicts below
	Why           string        `json:"reason,omitempty"` // the reason if Verdict is NotAudited
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

// Previous is the previous crawl, with which this one has compared its pages.
type Previous struct {
	Dir        string `json:"dir"`                         // the directory as the user has given it
	Provenance string `json:"provenance_sha256,omitempty"` // SHA-256 of its provenance.json; empty if there is none
}

// An Output is a file of the crawl.
type Output struct {
	Name   string `json:"name"` // relative to the directory, with slashes
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}
