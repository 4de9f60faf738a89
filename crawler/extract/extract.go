package extract

import (
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// A Link is a URL to which a document refers. The links of one document share memory. To keep a URL
// for a long time, copy it with frontier.URL.Clone, so that this memory can be freed.
type Link struct {
	URL      frontier.URL
	Where    string // element and attribute, such as "a/href"
	Rel      string // value of the rel attribute as written
	said     string // Lang, followed by Text; most links have neither
	Hop      frontier.Hop
	NoFollow bool // rel contains nofollow
	lang     uint8
}

// Lang returns the language of the link's target as written in hreflang: for example "de", "en-GB",
// or "x-default" for no particular language. It is empty if hreflang is missing.
func (l Link) Lang() string { return l.said[:l.lang] }

// Text returns the visible text of an "a" element, including the alt texts of its images, or the
// alt text of an "area" element. The result has at most 256 bytes. It is empty if Options.Text is
// not set.
func (l Link) Text() string { return l.said[l.lang:] }

// maxLang is the maximum length of a language tag in bytes. The longest example in RFC 5646,
// section 4.4.1, has 35 characters.
const maxLang = 64

// langOf returns the language tag in a value of hreflang, or "" if the value is longer than
// maxLang.
func langOf(value string) string {
	if value = strings.Trim(value, blanks); len(value) > maxLang {
		return ""
	}
	return value
}

// A Document holds the results of reading a document: its links and its metadata.
type Document struct {
	// Text of the first title element; each sequence of white space is one space.
	Title string
	Links []Link // in the order in which the document has them
	// URL of link rel=canonical; zero if none exists, or if there are several different ones
	Canonical  frontier.URL
	OpenGraph  frontier.URL      // og:url of the first meta element that has one; zero if none exists
	Directives robots.Directives // from meta elements for all robots, or for Options.Token
	TDM        robots.TDM        // from meta elements about text and data mining
	Terms      []*robots.RSL     // license documents in script elements; at most the first 16
	Licenses   []frontier.URL    // URLs of license documents in link elements; at most the first 16
	Cut        bool              // some links were left out, because a limit was reached
	Sitemap    bool              // the document is a sitemap, and Links are its entries
	Feed       bool              // the document is a feed
	Changes    []Change          // dates in a sitemap or a feed; only with Options.Changes
	Every      time.Duration     // how often a feed changes, as it says itself; 0 if it does not say

	// Broken are the references of an HTML document that are not valid URLs, such as "http://", in
	// the order of the document, at most 1,000. References with schemes that are not crawled are
	// left out. Broken is set only with Options.Broken.
	Broken []*frontier.URLError

	// There are several different links with rel=canonical, so Canonical is zero.
	disputed bool
	base     frontier.URL
	encode   func(query string) string
}

// A Change is the time at which a page in a sitemap or feed was last changed.
type Change struct {
	URL  frontier.URL // URL of a page, or of a sitemap in an index
	Time time.Time    // when it was changed; midnight in the time zone of the date if only the day is known
}

// Resolve resolves ref like the references in the document. It is relative to the document's
// base element, and its query is in the document's encoding. The error is a *frontier.URLError.
func (d *Document) Resolve(ref string) (frontier.URL, error) {
	return d.base.ResolveQuery(ref, d.encode)
}

// maxBroken is the maximum length of Document.Broken.
const maxBroken = 1000

// breaks adds err to Broken, if it is the error of an invalid reference.
func (d *Document) breaks(err error) {
	var bad *frontier.URLError
	if errors.As(err, &bad) && len(d.Broken) < maxBroken && !otherScheme(bad.Raw) {
		d.Broken = append(d.Broken, &frontier.URLError{Raw: strings.Clone(bad.Raw), Err: bad.Err})
	}
}

// otherScheme reports whether a reference begins with a scheme (RFC 3986, section 3.1) that is not
// crawled.
func otherScheme(ref string) bool {
	scheme, _, ok := strings.Cut(strings.TrimLeft(ref, blanks), ":")
	if !ok || scheme == "" || strings.ContainsFunc(scheme, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '+' || r == '-' || r == '.')
	}) {
		return false
	}
	switch strings.ToLower(scheme) {
	case "http", "https", "ftp":
		return false
	}
	return true
}

// IsHTML reports whether documents of a media type are HTML or XHTML.
func IsHTML(mediaType string) bool {
	return mediaType == "text/html" || mediaType == "application/xhtml+xml"
}

const blanks = " \t\r\n\f"

// Limits of the links of one document, because a page can be made to have more links than a crawl
// can store: their number, and the total bytes of their URLs.
const (
	MaxLinks     = 20_000
	maxLinkBytes = 4 << 20
)

// Options select the results of the readers.
type Options struct {
	Token   string   // product token of the crawler, which meta elements may address
	Aliases []string // further product tokens of the same crawler
	Embeds  bool     // also find images, scripts and style sheets, with frontier.HopEmbed
	Forms   bool     // also find the actions of forms that send only a query
	Text    bool     // set Link.Text
	Broken  bool     // set Document.Broken
	// Changes makes the readers set Document.Changes.
	Changes bool

	// Charset is the name of the document's original encoding, as returned by Decode. The queries
	// of links are converted to this encoding. Empty means UTF-8.
	Charset string

	Sitemap bool // let Read accept sitemaps of any media type

	Room []Link // memory to reuse for Document.Links; nil: new memory is allocated
}

// HTML parses a UTF-8 document that was fetched from u. mediaType decides between HTML and XHTML.
// References with schemes that are not crawled are left out.
func HTML(body []byte, u frontier.URL, mediaType string, opts Options) Document {
	s := scan(body, mediaType, opts, 0)
	defer s.release()
	return s.document(u, queryEncoder(opts.Charset))
}

// scan reads an HTML document. If the document is in the srcdoc of an iframe, within is the number
// of documents around it. The caller must call release after it has used the results.
func scan(body []byte, mediaType string, opts Options, within int) *scanner {
	s := scanners.Get().(*scanner)
	s.begin(body, mediaType, opts, within)
	if s.run(); s.open.lost {
		s.begin(body, mediaType, opts, within)
		s.open.keepAll = true
		s.run()
	}
	return s
}

// A span is the part of scanner.text or scanner.said between two offsets.
type span struct{ start, end int }

// A ref is a reference that is not resolved yet, because a base element may follow. In
// scanner.said, the bytes of rel are followed by those of Link.Lang, and then by those of
// Link.Text. The field lang is the length of Link.Lang in bytes. The field said is the length of
// Link.Lang and Link.Text together.
type ref struct {
	raw   span // part of scanner.text
	rel   span // part of scanner.said
	where string
	hop   frontier.Hop
	utf8  bool // the query is in UTF-8 even if the document is not
	names identity
	lang  uint8
	said  uint16
}

type scanner struct {
	markup
	opts     Options
	base     string
	refs     []ref
	within   int    // number of documents around this document, if it is in a srcdoc
	text     []byte // the references of refs as written
	said     []byte // rel, Link.Lang and Link.Text of each of refs, one after another
	found    Document
	hasBase  bool
	titled   bool
	licenses []string // references in link elements to license documents
	body     bool     // the body element has begun
}

// scanners is a pool of scanners, which are reused because they are large.
var scanners = sync.Pool{New: func() any { return new(scanner) }}

// Limits of the memory that a scanner in the pool keeps.
const (
	maxKeptRefs  = 1 << 10
	maxKeptBytes = 64 << 10
)

// begin prepares s for a document. It removes the state of the previous document.
func (s *scanner) begin(body []byte, mediaType string, opts Options, within int) {
	refs, text, said, stack := s.refs[:0], s.text[:0], s.said[:0], s.open.stack[:0]
	*s = scanner{markup: newMarkup(body, mediaType, opts.Embeds), opts: opts, within: within, refs: refs, text: text, said: said}
	s.open.stack = stack
}

// release makes s reusable. After that the results of s must not refer to the memory of s.
func (s *scanner) release() {
	clear(s.refs) // so that the strings in refs can be freed
	s.begin(nil, "", Options{}, 0)
	if cap(s.refs) > maxKeptRefs {
		s.refs = nil
	}
	if cap(s.text)+cap(s.said) > maxKeptBytes {
		s.text, s.said = nil, nil
	}
	scanners.Put(s)
}

func (s *scanner) run() {
	if s.open.xml && s.z.embeds {
		s.styleInstructions()
	}
	for s.next() {
		if s.space == htmlSpace {
			s.element(s.z.tag)
		} else {
			s.foreign()
		}
	}
}

// room reports whether one more reference may be added to s.refs. Otherwise it sets Document.Cut.
func (s *scanner) room() bool {
	if len(s.refs) == MaxLinks {
		s.found.Cut = true
		return false
	}
	return true
}

// appendValue appends the decoded value of an attribute to to.
func appendValue(to, raw []byte) []byte {
	if plainValue(raw) {
		return append(to, raw...)
	}
	return append(to, decodeValue(raw)...)
}

// document returns the Document with its references resolved. encode converts the queries of the
// references; nil leaves them in UTF-8.
func (s *scanner) document(u frontier.URL, encode func(string) string) Document {
	base := u
	if s.hasBase {
		if b, err := u.ResolveQuery(s.base, encode); err == nil {
			base = b
		}
	}
	d := s.found
	d.base, d.encode = base, encode
	d.takeLicenses(s.licenses)
	targets := base.Resolver()
	for i := range s.refs {
		targets.Expect(s.text[s.refs[i].raw.start:s.refs[i].raw.end])
	}
	said := string(s.said)
	links := s.opts.Room[:0]
	if cap(links) < len(s.refs) {
		links = make([]Link, 0, len(s.refs))
	}
	size := 0
	for i := range s.refs {
		r := &s.refs[i]
		in := encode
		if r.utf8 {
			in = nil
		}
		target, err := targets.Resolve(s.text[r.raw.start:r.raw.end], in)
		if err != nil {
			if s.opts.Broken {
				d.breaks(err)
			}
			continue
		}
		size += len(target.String())
		if size > maxLinkBytes {
			d.Cut = true
			break
		}
		switch r.names {
		case canonicalURL:
			d.canonical(target)
		case openGraphURL:
			if d.OpenGraph.IsZero() {
				d.OpenGraph = target
			}
		}
		links = append(links, Link{
			URL: target, Where: r.where, Hop: r.hop, Rel: said[r.rel.start:r.rel.end],
			said: said[r.rel.end : r.rel.end+int(r.said)], lang: r.lang,
		})
		if l := &links[len(links)-1]; l.Rel != "" {
			l.NoFollow = robots.RelNoFollow(l.Rel)
		}
	}
	if len(links) > 0 {
		d.Links = links
	}
	return d
}
