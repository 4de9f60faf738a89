package provenance

import (
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/audit"
	"github.com/permesso-crawler/permesso/internal/processes"
)

// Format identifies the JSON form of a Provenance, and Version is its number. They change if a
// name in the JSON or its meaning changes, but not if a name is added. Verify also reads
// formats 1 and 2.
const (
	Format  = "permesso-provenance/3"
	Version = 3
)

// The names of the files that Write makes in the directory of a crawl.
const (
	File          = "provenance.json"
	SignatureFile = "provenance.json.sig" // Ed25519 signature of the bytes of File, 64 bytes
	AbsencesFile  = "absences.jsonl"
	RobotsFile    = "robots.jsonl"
	SeedsFile     = "seeds-asked.txt" // written if there are more than MostSeeds seeds
	DatasheetFile = "DATASHEET.md"
)

// The largest numbers of listed items. Further items are only counted.
const (
	MostSeeds  = 1000
	mostListed = 1000 // number of runs, changes, overrides and orders
	mostNames  = 1000 // number of different names, such as media types and statuses; further names are counted together
)

// A Provenance describes where the data of a crawl come from. Times are in UTC.
type Provenance struct {
	Format  string          `json:"format"`
	Version int             `json:"version"`
	Name    string          `json:"name"`    // base name of the crawl's directory
	Written time.Time       `json:"written"` // when this provenance was written
	Writer  processes.Build `json:"writer"`  // the program that has written this provenance, perhaps another one than the crawler

	Identity       Identity  `json:"identity"`
	Settings       []Setting `json:"settings"`        // settings of the last run
	SettingsSHA256 string    `json:"settings_sha256"` // SHA-256 of the names and values of all settings, each followed by a zero byte
	Seeds          Seeds     `json:"seeds"`

	Runs      Many[Run]                  `json:"runs"`
	Killed    int64                      `json:"killed"`   // number of runs that were killed
	LogLost   int64                      `json:"log_lost"` // number of bytes of crawl.log that were removed between runs
	Builds    map[string]processes.Build `json:"builds"`   // the programs that have crawled, by Run.Build
	Changes   Many[Change]               `json:"changes"`
	Overrides Many[Override]             `json:"overrides"`
	Orders    Many[crawler.Order]        `json:"orders"`

	Figures  Figures   `json:"figures"`
	Robots   Robots    `json:"robots"`
	Absences Absences  `json:"absences"`
	Audit    Audit     `json:"audit"`
	Previous *Previous `json:"previous,omitempty"`
	Purge    *Purge    `json:"purge,omitempty"` // URLs whose stored answers were purged later, which absences.jsonl lists; nil: there are none

	Outputs []Output `json:"outputs"`

	// FileSHA256 is the SHA-256 of provenance.json itself, with 64 zeros in place of this
	// value. It is empty in format 1.
	FileSHA256 string `json:"file_sha256"`
}

// A Purge says how many URLs had their stored answers purged, and when the last purge was.
type Purge struct {
	URLs int64     `json:"urls"`
	Last time.Time `json:"last"`
}

// A Many has the first items of a list, and the number of all its items.
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
	UserAgent string   `json:"user_agent"`            // User-Agent of the requests, as this version of the program sends it
	Archived  []string `json:"user_agents_archived"`  // User-Agents of the requests in the WARC files
	From      string   `json:"from_header,omitempty"` // value of the From header field of the requests
}

// A Setting is an option of the crawl.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Given bool   `json:"given"` // Value is not the default
	Usual string `json:"usual"` // the default; "unknown" if the program that writes this provenance does not have the setting
}

// Seeds are the URLs with which the crawl began, and those that were added later.
type Seeds struct {
	Count  int64    `json:"count"`
	SHA256 string   `json:"sha256"` // SHA-256 of the seeds as a text with one seed per line
	List   []string `json:"list"`   // the seeds, sorted by site; empty if File has them
	File   string   `json:"file,omitempty"`
}

// A Run is one process that worked on the crawl.
type Run struct {
	Began time.Time `json:"began"`
	Last  time.Time `json:"last_line,omitzero"` // time of the last line of the run in crawl.log
	Ended time.Time `json:"ended,omitzero"`     // when the run ended, as the run itself has recorded; zero: not recorded
	How   string    `json:"how"`                // how the run ended: a crawler.End, HowKilled, HowItself or HowUnknown

	Zone         string `json:"zone,omitempty"`
	Offset       *int   `json:"utc_offset,omitempty"` // seconds east of UTC
	Clock        string `json:"clock"`                // hardware from which the operating system reads the time, or "unknown"
	Synchronised string `json:"synchronised"`         // whether the clock was synchronised: "yes", "no" or "unknown"
	Build        string `json:"build,omitempty"`      // key of the run's program in Provenance.Builds; empty: not known
}

// The values of Run.How for a run that has not recorded its end.
const (
	HowKilled  = "killed"    // the run ended by a kill, a power cut or a full disk
	HowItself  = "by itself" // the run ended by itself, but has not recorded how
	HowUnknown = "unknown"
)

// Unknown is the value of a fact that was not recorded.
const Unknown = "unknown"

// A Change is a setting that has another value than in the previous run.
type Change struct {
	Time    time.Time `json:"time"`
	Setting string    `json:"setting"`
	Was     string    `json:"was"`
	Is      string    `json:"is"`
}

// An Override is a setting that permits more requests than the default permits, or more at one
// site than at others.
type Override struct {
	Time    time.Time `json:"time,omitzero"` // time of the line in crawl.log; zero: the setting is one of the whole crawl
	Site    string    `json:"site,omitempty"`
	Setting string    `json:"setting"`
	Value   string    `json:"value"`
	Reason  string    `json:"reason,omitempty"`
}

// Figures are numbers from crawl.log and pages.jsonl.
type Figures struct {
	First          time.Time        `json:"first,omitzero"` // time of the first line of crawl.log
	Last           time.Time        `json:"last,omitzero"`
	LogLines       int64            `json:"log_lines"`
	OtherLines     int64            `json:"other_lines"` // number of lines of crawl.log that cannot be read
	Requests       int64            `json:"requests"`
	RobotsRequests int64            `json:"robots_requests"`
	Bytes          int64            `json:"bytes"` // size of all bodies as they were sent over the wire
	Sites          int64            `json:"sites"` // number of sites that received requests
	Hosts          int64            `json:"hosts"`
	TopHosts       []Count          `json:"top_hosts"`    // the hosts with the most requests
	Statuses       map[string]int64 `json:"status"`       // number of answers by HTTP status, including answers for robots.txt
	Errors         map[string]int64 `json:"errors"`       // number of failed requests, by the stage that failed
	Types          map[string]int64 `json:"types_of_2xx"` // number of 2xx answers, and of 304 answers whose page is archived, by media type; without robots.txt files

	HasPages bool             `json:"has_pages"`  // pages.jsonl exists; the next fields are counted from it
	Pages    int64            `json:"page_lines"` // number of lines of pages.jsonl
	Charsets map[string]int64 `json:"charsets"`
	// PageChanges counts pages by how they have changed since they were last fetched (see
	// crawler.ChangeClass), in the previous crawl or earlier in this one. It does not count
	// sitemaps, embedded resources, and pages whose change is not known.
	PageChanges map[string]int64 `json:"page_changes"`
	// Gone is the number of pages that had status 404 or 410 in this crawl, and were fetched
	// without an error in the previous crawl. It is nil if there is no previous crawl, or if
	// that cannot be read.
	Gone *int64 `json:"gone"`

	Truncated int64            `json:"truncated"` // number of pages whose body is incomplete
	NoIndex   int64            `json:"noindex"`
	NoArchive int64            `json:"noarchive"`
	Refused   int64            `json:"use_refused"` // number of pages that were not stored because their owner refuses the purpose of the crawl
	Usage     map[string]int64 `json:"usage"`       // number of pages by what their owners say about a use, such as "tdm refused" or "search granted"
	Licenses  []Count          `json:"licenses"`    // URLs of terms of use, each with the number of pages to which it applies
}

// A Count is a name and how often it occurred.
type Count struct {
	Name string `json:"name"`
	N    int64  `json:"count"`
}

// Robots counts the copies of robots.txt that the crawl has used. robots.jsonl has a line for
// each copy.
type Robots struct {
	Sites  int64  `json:"sites"` // number of sites whose robots.txt was requested, with or without success
	Copies int64  `json:"copies"`
	File   string `json:"file"`
}

// Absences counts the URLs that have no answer. absences.jsonl has a line for each of them.
type Absences struct {
	Entered int64                   `json:"entered"` // number of URLs that were queued
	URLs    int64                   `json:"urls"`    // number of queued URLs that have no stored answer
	Fates   map[frontier.Code]int64 `json:"fates"`   // number of queued URLs by their final code
	File    string                  `json:"file"`

	// The next fields count links whose URL was not queued. Source says where they were
	// counted: in links.jsonl, or in the summary of the last run. It is empty if they were not
	// counted.
	Source       string           `json:"refused_source"`
	Refused      map[string]int64 `json:"refused_urls"`  // from links.jsonl: number of URLs that were never queued, by reason; each URL counts once
	SkippedLinks map[string]int64 `json:"skipped_links"` // from the last run: number of links by reason; a URL counts once for each page that links to it
}

// The values of Absences.Source.
const (
	SourceLinks   = "links.jsonl"
	SourceLastRun = "the last run"
)

// An Audit is the result of auditing the crawl with package audit.
type Audit struct {
	Verdict       string        `json:"verdict"`          // one of the verdicts below
	Why           string        `json:"reason,omitempty"` // if Verdict is NotAudited, the reason
	Violations    int64         `json:"violations"`
	UnprovenLines int64         `json:"unproven_lines"`
	Requests      int64         `json:"requests"`
	LogSHA256     string        `json:"log_sha256,omitempty"`
	CopiesSHA256  string        `json:"robots_copies_sha256,omitempty"`
	Checks        []audit.Check `json:"checks"`
}

// The values of Audit.Verdict.
const (
	Clean      = "clean"
	Violated   = "violated"
	NotAudited = "not audited"
)

// Previous is the previous crawl. This crawl has compared its pages with it.
type Previous struct {
	Dir        string `json:"dir"`                         // path of the previous crawl's directory, as the user has given it
	Provenance string `json:"provenance_sha256,omitempty"` // SHA-256 of its provenance.json; empty: it has none
}

// An Output is a file of the crawl.
type Output struct {
	Name   string `json:"name"` // path in the directory of the crawl, with slashes
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}
