package export

import (
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/v1"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
)

// A Fate says what the crawl has done with an answer that it has received.
type Fate string

const (
	// Fetched is the fate of the last answer for a URL, which is in pages.jsonl.
	Fetched Fate = "fetched"
	// RobotsTxt is the fate of an answer that is a robots.txt, a tdmrep.json or a license
	// document.
	RobotsTxt Fate = "robots.txt"
	// Refused is the fate of a page that the crawl has not stored, because its owner refuses
	// the purpose of the crawl or requires a license.
	Refused Fate = "refused"
	// NotTaken is the fate of an answer that is archived, but not in pages.jsonl. The URL was
	// then requested again or given up; crawl.log says which.
	NotTaken Fate = "not taken"
)

// A Row is one capture. The JSON tags are the names of the columns in CSV and JSON lines, and
// the fields are in their order. A pointer is nil if the value is unknown. A string is empty if
// the value is unknown or empty.
type Row struct {
	Snapshot time.Time `json:"snapshot,omitzero"` // when the run of the row's crawl began, if the crawl is one of a series; otherwise zero

	SURT   string    `json:"surt"` // sort key of URL that begins with the domain, as cdxj.SURT returns it
	URL    string    `json:"url"`  // URL as requested
	Host   string    `json:"host,omitempty"`
	Domain string    `json:"domain,omitempty"` // registrable domain of Host, or Host if it has none
	Time   time.Time `json:"time"`             // start of the request, UTC, to the microsecond
	Fate   Fate      `json:"fate,omitempty"`   // empty: the crawl has no pages.jsonl

	Status        int    `json:"status"` // HTTP status; 0: the answer has no status
	Type          string `json:"type,omitempty"`
	SentType      string `json:"type_sent,omitempty"`     // Content-Type without parameters
	DetectedType  string `json:"type_detected,omitempty"` // WARC-Identified-Payload-Type
	Charset       string `json:"charset,omitempty"`       // charset from which the body was decoded
	Size          *int64 `json:"size,omitempty"`          // size of the decoded body, in bytes
	Digest        string `json:"digest,omitempty"`        // digest of the decoded body
	PayloadDigest string `json:"payload_digest,omitempty"`
	Truncated     string `json:"truncated,omitempty"` // why the body is incomplete, as in WARC-Truncated; of a revisit record, as in pages.jsonl
	Title         string `json:"title,omitempty"`
	Location      string `json:"location,omitempty"` // target of a redirect
	Links         *int   `json:"links,omitempty"`
	Depth         *int   `json:"depth,omitempty"` // number of links from the seed
	Hops          string `json:"hops,omitempty"`  // kinds of the links from the seed, in the letters of Heritrix
	Via           string `json:"via,omitempty"`
	Tag           string `json:"tag,omitempty"`

	Robots    time.Time `json:"robots,omitzero"` // when the robots.txt in force was fetched
	Rule      string    `json:"rule,omitempty"`
	NoIndex   *bool     `json:"noindex,omitempty"`
	NoArchive *bool     `json:"noarchive,omitempty"`

	IP         netip.Addr `json:"ip,omitzero"`
	WARCType   string     `json:"warc_type,omitempty"` // response, revisit or resource
	WARCID     string     `json:"warc_id,omitempty"`   // WARC-Record-ID without angle brackets
	WARCFile   string     `json:"warc_file,omitempty"` // name of the WARC file without directories; empty: the answer is not archived
	WARCOffset *int64     `json:"warc_offset,omitempty"`
	WARCLength *int64     `json:"warc_length,omitempty"` // length of the record as stored, in bytes

	// UseSearch and the next fields say whether the owner allows a use of the page; nil: not
	// known.
	UseSearch  *bool  `json:"use_search,omitempty"`
	UseAITrain *bool  `json:"use_ai_train,omitempty"`
	UseAIInput *bool  `json:"use_ai_input,omitempty"`
	UseTDM     *bool  `json:"use_tdm,omitempty"`
	UseArchive *bool  `json:"use_archive,omitempty"`
	Usage      string `json:"usage,omitempty"`      // all statements about uses, separated by "; "
	License    string `json:"license,omitempty"`    // License lines of robots.txt and Link fields with rel=license, separated by spaces
	TDMPolicy  string `json:"tdm_policy,omitempty"` // URLs of policies of text and data mining, separated by spaces
	Refused    string `json:"refused,omitempty"`    // the owner's statement because of which the page was not stored

	// Canonical and OpenGraph are the URL that the page names as its own: link rel=canonical, and
	// og:url.
	Canonical string `json:"canonical,omitempty"`
	OpenGraph string `json:"og_url,omitempty"`
	Method    string `json:"method,omitempty"` // HEAD if only the header was requested; empty: GET

	Change     string `json:"change,omitempty"`      // how the page has changed since the previous crawl or fetch: new, modified, same-text or not-modified
	TextDigest string `json:"text_digest,omitempty"` // "sha256:" and hexadecimal digits, of the visible text

	// Page reports whether the capture is a line of pages.jsonl. WARCFile says whether it is
	// archived.
	Page bool `json:"-"`

	// Undescribed says that the owner's statements about uses are not known: the row comes from
	// the archive alone, and the metadata record of the capture may be in a part that cannot be
	// read.
	Undescribed bool `json:"-"`
}

// SnapshotColumn is the name of the first column in a table of several crawls.
const SnapshotColumn = "snapshot"

// Columns returns the names of the columns of one crawl, in their order.
func Columns() []string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.name
	}
	return names
}

type column struct {
	name string
	text func(*Row) string
}

// columns has the name of each column, and a function that returns its CSV text.
var columns = []column{
	{"surt", func(r *Row) string { return r.SURT }},
	{"url", func(r *Row) string { return r.URL }},
	{"host", func(r *Row) string { return r.Host }},
	{"domain", func(r *Row) string { return r.Domain }},
	{"time", func(r *Row) string { return timeText(r.Time) }},
	{"fate", func(r *Row) string { return string(r.Fate) }},
	{"status", func(r *Row) string { return strconv.Itoa(r.Status) }},
	{"type", func(r *Row) string { return r.Type }},
	{"type_sent", func(r *Row) string { return r.SentType }},
	{"type_detected", func(r *Row) string { return r.DetectedType }},
	{"charset", func(r *Row) string { return r.Charset }},
	{"size", func(r *Row) string { return numberText(r.Size) }},
	{"digest", func(r *Row) string { return r.Digest }},
	{"payload_digest", func(r *Row) string { return r.PayloadDigest }},
	{"truncated", func(r *Row) string { return r.Truncated }},
	{"title", func(r *Row) string { return r.Title }},
	{"location", func(r *Row) string { return r.Location }},
	{"links", func(r *Row) string { return numberText(r.Links) }},
	{"depth", func(r *Row) string { return numberText(r.Depth) }},
	{"hops", func(r *Row) string { return r.Hops }},
	{"via", func(r *Row) string { return r.Via }},
	{"tag", func(r *Row) string { return r.Tag }},
	{"robots", func(r *Row) string { return timeText(r.Robots) }},
	{"rule", func(r *Row) string { return r.Rule }},
	{"noindex", func(r *Row) string { return flagText(r.NoIndex) }},
	{"noarchive", func(r *Row) string { return flagText(r.NoArchive) }},
	{"ip", func(r *Row) string {
		if !r.IP.IsValid() {
			return ""
		}
		return r.IP.String()
	}},
	{"warc_type", func(r *Row) string { return r.WARCType }},
	{"warc_id", func(r *Row) string { return r.WARCID }},
	{"warc_file", func(r *Row) string { return r.WARCFile }},
	{"warc_offset", func(r *Row) string { return numberText(r.WARCOffset) }},
	{"warc_length", func(r *Row) string { return numberText(r.WARCLength) }},
	{"use_search", func(r *Row) string { return flagText(r.UseSearch) }},
	{"use_ai_train", func(r *Row) string { return flagText(r.UseAITrain) }},
	{"use_ai_input", func(r *Row) string { return flagText(r.UseAIInput) }},
	{"use_tdm", func(r *Row) string { return flagText(r.UseTDM) }},
	{"use_archive", func(r *Row) string { return flagText(r.UseArchive) }},
	{"usage", func(r *Row) string { return r.Usage }},
	{"license", func(r *Row) string { return r.License }},
	{"tdm_policy", func(r *Row) string { return r.TDMPolicy }},
	{"refused", func(r *Row) string { return r.Refused }},
	{"canonical", func(r *Row) string { return r.Canonical }},
	{"og_url", func(r *Row) string { return r.OpenGraph }},
	{"method", func(r *Row) string { return r.Method }},
	{"change", func(r *Row) string { return r.Change }},
	{"text_digest", func(r *Row) string { return r.TextDigest }},
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339Nano)
}

func numberText[N int | int64](n *N) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(int64(*n), 10)
}

func flagText(b *bool) string {
	if b == nil {
		return ""
	}
	return strconv.FormatBool(*b)
}

func pageRow(p *store.PageRecord) *Row {
	r := &Row{
		URL: p.URL, Time: p.Time.UTC().Truncate(time.Microsecond), Page: true,
		Status: p.Status, Type: p.Type, Charset: p.Charset, Size: &p.Size, Digest: p.Digest, Truncated: p.Truncated,
		Title: p.Title, Location: p.Location, Links: &p.Links,
		Depth: &p.Depth, Hops: p.Hops, Via: p.Via, Tag: p.Tag,
		Robots: p.Robots.UTC().Truncate(time.Microsecond), Rule: p.Rule, NoIndex: &p.NoIndex, NoArchive: &p.NoArchive,
		Method: p.Method, Change: p.Change, TextDigest: p.TextDigest,
	}
	for _, u := range p.Usage {
		r.use(u)
	}
	r.License, r.TDMPolicy, r.Refused = strings.Join(p.License, " "), strings.Join(p.TDMPolicy, " "), p.Refused
	r.Canonical, r.OpenGraph = p.Canonical, p.OpenGraph
	if p.WARC != "" {
		r.WARCFile, r.WARCOffset, r.WARCLength = p.WARC, &p.Offset, &p.Length
	}
	return r
}

// use sets the columns for one statement of the owner about a use.
func (r *Row) use(u store.UsageRecord) {
	r.Usage = listed(r.Usage, "; ", u.String())
	for _, known := range [...]struct {
		name string
		to   **bool
	}{
		{"search", &r.UseSearch}, {"ai-train", &r.UseAITrain}, {"ai-input", &r.UseAIInput}, {"tdm", &r.UseTDM}, {"archive", &r.UseArchive},
	} {
		if u.Use == known.name {
			// Of two statements about the same use, the more restrictive one counts.
			*known.to = new(u.Granted && (*known.to == nil || **known.to))
		}
	}
}

// listed returns list with one added at its end, after separator.
func listed(list, separator, one string) string {
	if list == "" {
		return one
	}
	return list + separator + one
}

// addCapture adds the fields of the archived capture c to the page r. If both have a value,
// that of the page stays, because it was made from the body itself.
func (r *Row) addCapture(c *Row) {
	r.SentType, r.DetectedType, r.PayloadDigest, r.IP = c.SentType, c.DetectedType, c.PayloadDigest, c.IP
	r.WARCType, r.WARCID, r.WARCFile, r.WARCOffset, r.WARCLength = c.WARCType, c.WARCID, c.WARCFile, c.WARCOffset, c.WARCLength
	if r.Truncated == "" {
		r.Truncated = c.Truncated
	}
}

// finish sets the fields that are computed from other fields.
func (r *Row) finish(havePages bool) {
	target := ""
	if u, err := frontier.ParseURL(r.URL); err == nil {
		r.Host, r.Domain, target = u.Host(), u.Site().Domain(), u.Target()
		if !r.Page && r.Location != "" {
			if to, err := u.Resolve(r.Location); err == nil {
				r.Location = to.String()
			}
		}
	}
	switch {
	case r.Page && r.Refused != "":
		r.Fate = Refused
	case r.Page:
		r.Fate = Fetched
	case target == "/robots.txt" || strings.HasSuffix(r.Hops, string(frontier.HopPrerequisite)):
		r.Fate = RobotsTxt
	case havePages:
		r.Fate = NotTaken
	}
	if r.Type == "" {
		r.Type = strings.ToLower(r.SentType)
	}
}

// A stored is a row in the form in which it is sorted, without the fields that finish sets. It
// has members for Page and Undescribed, which the JSON of a Row does not have.
type stored struct {
	*Row
	IsPage        bool `json:"page,omitempty"`
	IsUndescribed bool `json:"undescribed,omitempty"`
}

func (r *Row) store() ([]byte, error) { return json.Marshal(stored{r, r.Page, r.Undescribed}) }

func restore(b []byte) (*Row, error) {
	v := stored{Row: &Row{}}
	if err := json.Unmarshal(b, &v); err != nil {
		return nil, err
	}
	v.Page, v.Undescribed = v.IsPage, v.IsUndescribed
	return v.Row, nil
}
