package extract

import (
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// A Link is a URL that a document refers to. The links of one document share memory. Use
// frontier.URL.Clone for a URL that is kept for long, so that it does not keep that memory.
type Link struct {
	URL      frontier.URL
	Where    string // element and attribute, as "a/href"
	Rel      string // value of rel, as written
	said     string // Lang, followed by Text; most links have neither
	Hop      frontier.Hop
	NoFollow bool // rel says nofollow
	lang     uint8
}

// Lang returns the language of the link's target as in hreflang: "de", "en-GB", or "x-default"
// for no particular language. It is empty if hreflang is missing.
func (l Link) Lang() string { return l.said[:l.lang] }

// Text returns the visible text of an "a" element, including the alt texts of its images, or the
// alt text of an "area" element. The result has at most 256 bytes. It is empty if Options.Text is
// not set.
func (l Link) Text() string { return l.said[l.lang:] }

// maxLang is the length in bytes of the longest language tag that is accepted. The longest
// example in RFC 5646, section 4.4.1, has 35 characters.
const maxLang = 64

// langOf returns the language tag in a value of hreflang, or "" if the value is too long for
// one.
func langOf(value string) string {
	if value = strings.Trim(value, blanks); len(value) > maxLang {
		return ""
	}
	return value
}

// A Document is the result of one of the readers.
type Document struct {
	Title      string            // of the first title element, with white space folded
	Links      []Link            // in the order of the document
	Canonical  frontier.URL      // link rel=canonical; zero if missing, or if several differ
	OpenGraph  frontier.URL      // og:url of the first meta element that has one; zero if missing
	Directives robots.Directives // meta elements that address robots, or the token
	TDM        robots.TDM        // meta elements about text and data mining
	Terms      []*robots.RSL     // license documents in script elements, the first 16
	Licenses   []frontier.URL    // of license documents that link elements name, the first 16
	Cut        bool              // some links were left out because of the limits
	Sitemap    bool              // the document is a sitemap, and Links are its locations
	Feed       bool              // the document is a feed
	Changes    []Change          // from a sitemap or a feed, with Options.Changes
	Every      time.Duration     // how often a feed says that it changes; 0 if it does not say

	// Broken are the references of an HTML document that are no valid URL, such as "http://", in
	// the order of the document, at most 1,000. References with schemes that are not crawled are
	// not among them. Only with Options.Broken.
	Broken []*frontier.URLError

	disputed bool // several links with rel=canonical differ, so Canonical is zero
	base     frontier.URL
	encode   func(query string) string
}

// A Change is the time of the last change of a listed page.
type Change struct {
	URL  frontier.URL // of a page, or of a sitemap in an index
	Time time.Time    // midnight in the zone of the change if only the day is known
}

// Resolve resolves ref like the references in the document. It is relative to the document's
// base element, and its query is in the document's encoding. The error is a *frontier.URLError.
func (d *Document) Resolve(ref string) (frontier.URL, error) {
	return d.base.ResolveQuery(ref, d.encode)
}

// maxBroken is the largest length of Document.Broken.
const maxBroken = 1000

// breaks adds the error of a reference to Broken.
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

// IsHTML reports whether HTML reads documents of a media type.
func IsHTML(mediaType string) bool {
	return mediaType == "text/html" || mediaType == "application/xhtml+xml"
}

const blanks = " \t\r\n\f"

// Limits of the links of one document. A page can be made to have more links than a crawl can
// store.
const (
	MaxLinks     = 20_000
	maxLinkBytes = 4 << 20
)

// Options are the settings of the readers.
type Options struct {
	Token   string   // product token that meta elements may address
	Aliases []string // further names of the same crawler
	Embeds  bool     // find images, scripts and style sheets, too, with HopEmbed
	Forms   bool     // find the actions of forms that only send a query
	Text    bool     // set Link.Text
	Broken  bool     // set Document.Broken
	// Changes sets Document.Changes.
	Changes bool

	// Charset is the name of the document's original encoding, as Decode returns it. The
	// queries of links keep this encoding. Empty means UTF-8.
	Charset string

	Sitemap bool // Read accepts sitemaps of any media type

	Room []Link // memory for Document.Links; if nil, new memory is allocated
}

// HTML parses a UTF-8 document that was fetched from u. mediaType says whether the document is
// XHTML. References with schemes that are not crawled are left out.
func HTML(body []byte, u frontier.URL, mediaType string, opts Options) Document {
	s := scan(body, mediaType, opts, 0)
	defer s.release()
	return s.document(u, queryEncoder(opts.Charset))
}

// scan reads a document. within is the number of documents around it, if it is in the srcdoc of
// an iframe. The caller must release the scanner after it has used the results.
func scan(body []byte, mediaType string, opts Options, within int) *scanner {
	s := scanners.Get().(*scanner)
	s.begin(body, mediaType, opts, within)
	if s.run(); s.open.lost {
		s.begin(body, mediaType, opts, within)
		s.open.whole = true
		s.run()
	}
	return s
}

// A span is a part of scanner.text or of scanner.said.
type span struct{ start, end int }

// A ref is a reference that is not resolved yet, since the base element may come after it. In
// scanner.said, the bytes of rel come first, then those of Link.Lang, then those of Link.Text.
// The field lang is the number of bytes of Link.Lang. The field said is the number of bytes of
// Link.Lang and Link.Text together.
type ref struct {
	raw   span // in scanner.text
	rel   span // in scanner.said
	where string
	hop   frontier.Hop
	utf8  bool // its query is in UTF-8, even if the document is not
	names identity
	lang  uint8
	said  uint16
}

type scanner struct {
	markup
	opts     Options
	base     string
	refs     []ref
	within   int    // number of documents that contain this document in a srcdoc
	text     []byte // the raw references of refs
	said     []byte // rel, Link.Lang and Link.Text of refs, one after another
	found    Document
	hasBase  bool
	titled   bool
	licenses []string // references of link elements to license documents
	body     bool     // the body element has begun
}

// scanners keeps unused scanners, which are large.
var scanners = sync.Pool{New: func() any { return new(scanner) }}

// Limits of the memory that an unused scanner keeps for the next document.
const (
	maxKeptRefs  = 1 << 10
	maxKeptBytes = 64 << 10
)

// begin makes s read a document, and removes the state of the previous document.
func (s *scanner) begin(body []byte, mediaType string, opts Options, within int) {
	refs, text, said, stack := s.refs[:0], s.text[:0], s.said[:0], s.open.stack[:0]
	*s = scanner{markup: newMarkup(body, mediaType, opts.Embeds), opts: opts, within: within, refs: refs, text: text, said: said}
	s.open.stack = stack
}

// release makes s reusable. The results of s must not refer to the memory of s after that.
func (s *scanner) release() {
	clear(s.refs) // they refer to strings
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

// room reports whether one more reference may be added to s.refs.
func (s *scanner) room() bool {
	if len(s.refs) == MaxLinks {
		s.found.Cut = true
		return false
	}
	return true
}

// appendValue appends the decoded value of an attribute.
func appendValue(to, raw []byte) []byte {
	if plainValue(raw) {
		return append(to, raw...)
	}
	return append(to, decodeValue(raw)...)
}

// document returns the Document with its references resolved. encode converts the queries of
// the references.
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
