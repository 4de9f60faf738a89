package store

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"
)

// A PageRecord is one line of pages.jsonl. Its fields are never renamed or given another
// meaning; new fields may be added.
type PageRecord struct {
	URL        string        `json:"url"`                   // URL of the page, as it was requested
	Method     string        `json:"method,omitempty"`      // HEAD if only the header was requested; empty: GET
	Time       time.Time     `json:"time"`                  // start of the request, UTC
	Status     int           `json:"status"`                // HTTP status
	Type       string        `json:"type,omitempty"`        // media type, lower case, without parameters
	Charset    string        `json:"charset,omitempty"`     // charset from which Body was decoded
	Size       int64         `json:"size"`                  // number of bytes of the decoded body
	Digest     string        `json:"digest,omitempty"`      // "sha1:" and base 32, of the decoded body
	Change     string        `json:"change,omitempty"`      // compared with the crawl before: new, modified, same-text or not-modified
	TextDigest string        `json:"text_digest,omitempty"` // "sha256:" and hexadecimal digits, of the visible text
	Truncated  string        `json:"truncated,omitempty"`   // why the body is incomplete, as in WARC-Truncated
	Title      string        `json:"title,omitempty"`       // title of an HTML page
	Location   string        `json:"location,omitempty"`    // target, if the answer is a redirect
	Links      int           `json:"links"`                 // number of links on the page, in scope or not
	LinksCut   bool          `json:"linkscut,omitempty"`    // the page has more links than the limit
	Depth      int           `json:"depth"`                 // number of links from the seed to the page
	Hops       string        `json:"hops,omitempty"`        // path from the seed in Heritrix's letters
	Via        string        `json:"via,omitempty"`         // the page on which the URL was found
	Tag        string        `json:"tag,omitempty"`         // the tag that the user gave to the seed
	Robots     time.Time     `json:"robots,omitzero"`       // when the robots.txt in force was fetched
	Rule       string        `json:"rule,omitempty"`        // the rule of robots.txt that allows the page, with its line, if there is such a rule
	NoIndex    bool          `json:"noindex,omitempty"`     // the page asks not to be indexed
	NoArchive  bool          `json:"noarchive,omitempty"`   // the page asks not to be shown from an archive
	Usage      []UsageRecord `json:"usage,omitempty"`       // statements about the use of the page, by use
	License    []string      `json:"license,omitempty"`     // URLs of terms of use: License lines of robots.txt, and Link fields with rel=license
	TDMPolicy  []string      `json:"tdmpolicy,omitempty"`   // URLs of policies of text and data mining
	Refused    string        `json:"refused,omitempty"`     // the statement that refuses the purpose of the crawl, or requires a license: nothing else of the page is kept
	Canonical  string        `json:"canonical,omitempty"`   // URL of link rel=canonical in the head or the header of the page
	OpenGraph  string        `json:"ogurl,omitempty"`       // URL of the meta element og:url of the page
	WARC       string        `json:"warc,omitempty"`        // name of the file in warc/ that has the answer
	Offset     int64         `json:"offset,omitempty"`      // position of the answer's record in the WARC file, in bytes
	Length     int64         `json:"length,omitempty"`      // length of the answer's record as it is stored, in bytes
	Body       Text          `json:"body,omitempty"`        // the body of a text, as UTF-8, if bodies are kept
	Base64     []byte        `json:"base64,omitempty"`      // the body of another type, if bodies are kept
}

// Text is a JSON string that is encoded without being copied.
type Text []byte

// MarshalText implements encoding.TextMarshaler.
func (t Text) MarshalText() ([]byte, error) { return t, nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *Text) UnmarshalText(b []byte) error {
	*t = append((*t)[:0], b...)
	return nil
}

// head returns the beginning of the line of p. If placed is set, it ends before WARC, Offset
// and Length, which become known when the record is appended. Otherwise it ends before the
// body.
func (p *PageRecord) head(placed bool) ([]byte, error) {
	bare := *p
	bare.Body, bare.Base64 = nil, nil
	if placed {
		bare.WARC, bare.Offset, bare.Length = "", 0, 0
	}
	line, err := jsonLine(&bare)
	return bytes.TrimSuffix(line, []byte("}\n")), err
}

// place returns the part of the line of p that says where its answer is. The name of the
// file needs no escaping, because newArchive allows only some ASCII characters.
func (p *PageRecord) place() []byte {
	b := make([]byte, 0, len(p.WARC)+80)
	b = append(b, `,"warc":"`...)
	b = append(b, p.WARC...)
	b = append(b, '"')
	if p.Offset != 0 {
		b = strconv.AppendInt(append(b, `,"offset":`...), p.Offset, 10)
	}
	if p.Length != 0 {
		b = strconv.AppendInt(append(b, `,"length":`...), p.Length, 10)
	}
	return b
}

// tail returns the rest of the line of p, beginning with its body.
func (p *PageRecord) tail() ([]byte, error) {
	if len(p.Body)+len(p.Base64) == 0 {
		return []byte("}\n"), nil
	}
	line, err := jsonLine(&struct {
		Body   Text   `json:"body,omitempty"`
		Base64 []byte `json:"base64,omitempty"`
	}{p.Body, p.Base64})
	if err != nil {
		return nil, err
	}
	line[0] = ','
	return line, nil
}

func jsonLine(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}

// largeBody is a size in bytes. Pages with larger bodies are encoded one at a time.
const largeBody = 1 << 20

// A LinkRecord is one line of links.jsonl, an edge of the link graph. Its fields are never
// renamed or given another meaning.
type LinkRecord struct {
	From  string `json:"from"`            // URL of the page with the link, as it was requested
	To    string `json:"to"`              // target of the link, in the form in which the crawl requests it
	Hop   string `json:"hop"`             // kind of the link, as a letter of Heritrix's hop paths
	Where string `json:"where,omitempty"` // element and attribute, as "a/href"
	Rel   string `json:"rel,omitempty"`   // value of the attribute rel, as written
	Lang  string `json:"lang,omitempty"`  // value of the attribute hreflang, as written
	Text  string `json:"text,omitempty"`  // visible text of the link, with white space folded
}

func linkLines(links []LinkRecord) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for i := range links {
		if err := enc.Encode(&links[i]); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}
