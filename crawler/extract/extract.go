// Package extract finds links and page directives in what a server sent. It is
// pure: bytes in, findings out; it fetches nothing. Read takes a document of any kind
// that names links, and each kind has its own reader: HTML, CSS, Feed, Sitemap; the
// fields of an answer have LinkHeader.
//
// Links of HTML are found in one pass over the tags, without a tree: a document that is
// nested too deep for a parser loses no link. They are those of the tree that a
// browser builds, which the tests hold against x/net/html; only what names a
// link is decoded.
package extract

import (
	"iter"
	"strings"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// A Link is a URL that a document refers to.
type Link struct {
	URL      frontier.URL
	Hop      frontier.Hop
	Where    string // element and attribute, as "a/href"
	Rel      string // value of rel, as written
	NoFollow bool   // rel says nofollow
}

// A Document is what one of the readers found.
type Document struct {
	Title      string            // of the first title element, blanks folded
	Links      []Link            // in the order of the document
	Canonical  frontier.URL      // link rel=canonical; zero if there is none
	Directives robots.Directives // meta elements that address robots, or the token
	Cut        bool              // there were more links than are taken
	Sitemap    bool              // it is a sitemap, whose links are what it lists

	base   frontier.URL
	encode func(query string) string
}

// Resolve reads a reference as the document's own: relative to its base
// element, with a query in its encoding. The error is a *frontier.URLError.
func (d *Document) Resolve(ref string) (frontier.URL, error) {
	return d.base.ResolveQuery(ref, d.encode)
}

// IsHTML reports whether a media type is one that HTML reads.
func IsHTML(mediaType string) bool {
	return mediaType == "text/html" || mediaType == "application/xhtml+xml"
}

const blanks = " \t\r\n\f"

// Bounds of what is taken from one document. A page may be made to hold more
// than a crawl can.
const (
	MaxLinks     = 20_000
	maxLinkBytes = 4 << 20
)

// Options say what the readers look for.
type Options struct {
	Token  string // product token that meta elements may address
	Embeds bool   // images, scripts and style sheets, too, with HopEmbed

	// Charset is the encoding that the document was in, as Decode names it:
	// that of the queries in its links. Empty is UTF-8.
	Charset string

	Sitemap bool // Read takes for a sitemap what may be one, whatever its type
}

// HTML reads a UTF-8 document that was fetched from u; mediaType says whether
// it is XHTML. References of schemes that are not crawled are left out.
func HTML(body []byte, u frontier.URL, mediaType string, opts Options) Document {
	s := scanner{markup: newMarkup(body, mediaType, opts.Embeds), token: opts.Token}
	if s.run(); s.open.lost {
		s = scanner{markup: newMarkup(body, mediaType, opts.Embeds), token: opts.Token}
		s.open.whole = true
		s.run()
	}
	return s.document(u, queryEncoder(opts.Charset))
}

// span is a part of scanner.text.
type span struct{ start, end int }

// ref is a reference before the base is known, which may come after it.
type ref struct {
	raw, rel span
	where    string
	hop      frontier.Hop
}

type scanner struct {
	markup
	token   string
	base    string
	hasBase bool
	refs    []ref
	text    strings.Builder // what refs are made of: one string for all
	found   Document
	titled  bool
}

func (s *scanner) run() {
	for s.next() {
		if s.space == htmlSpace {
			s.element(s.z.tag)
		} else {
			s.foreign()
		}
	}
}

// foreign takes a tag of SVG or MathML: an SVG link leads somewhere.
func (s *scanner) foreign() {
	if s.space != svgSpace || s.z.tag != aTag {
		return
	}
	if s.z.has(hrefName) {
		s.link("a/href", hrefName)
	} else {
		s.link("a/xlink:href", xlinkName)
	}
}

func (s *scanner) element(tag tag) {
	if s.open.xml && tag != otherTag && s.z.selfClosing() {
		// Nothing is inside; in HTML the slash says nothing.
		s.z.rawText = ""
		if tag == titleTag {
			return
		}
	}
	switch tag {
	case titleTag:
		if !s.titled {
			s.titled = true
			s.found.Title = strings.Join(strings.Fields(decodeText(s.z.readRawText())), " ")
		}
	case aTag:
		s.link("a/href", hrefName)
	case areaTag:
		s.link("area/href", hrefName)
	case iframeTag:
		s.link("iframe/src", srcName)
	case frameTag:
		s.link("frame/src", srcName)
	case linkTag:
		if rel := s.z.value(relName); linked(rel) {
			s.link("link/href", hrefName)
		} else if s.z.embeds && shown(rel) {
			s.embed("link/href", hrefName)
		}
	case imgTag:
		s.embed("img/src", srcName)
		s.candidates("img/srcset")
	case sourceTag:
		s.embed("source/src", srcName)
		s.candidates("source/srcset")
	case scriptTag:
		if s.z.embeds {
			s.embed("script/src", srcName)
		}
	case baseTag:
		if s.z.has(hrefName) && !s.hasBase && !s.open.inTemplate() {
			s.base, s.hasBase = s.z.value(hrefName), true
		}
	case metaTag:
		s.meta()
	}
}

// link notes the reference of the tag that was read.
func (s *scanner) link(where string, from name) {
	if !s.z.has(from) || !s.room() {
		return
	}
	r := ref{where: where, hop: frontier.HopLink, raw: s.keep(s.z.raw(from))}
	if from != srcName && s.z.has(relName) {
		r.rel = s.keep(s.z.raw(relName))
	}
	s.refs = append(s.refs, r)
}

// embed notes what the document needs to be shown.
func (s *scanner) embed(where string, from name) {
	if s.z.has(from) && s.room() {
		s.refs = append(s.refs, ref{where: where, hop: frontier.HopEmbed, raw: s.keep(s.z.raw(from))})
	}
}

// candidates notes the images of a srcset attribute.
func (s *scanner) candidates(where string) {
	if !s.z.has(srcsetName) {
		return
	}
	for raw := range imageCandidates(s.z.value(srcsetName)) {
		if !s.room() {
			return
		}
		start := s.text.Len()
		s.text.WriteString(raw)
		s.refs = append(s.refs, ref{where: where, hop: frontier.HopEmbed, raw: span{start, s.text.Len()}})
	}
}

// imageCandidates are the URLs of a srcset attribute (HTML, section 4.8.4.2.1):
// a list with commas, each behind blanks and before its descriptors. A URL may
// hold commas, but not end with one.
func imageCandidates(list string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for {
			list = strings.TrimLeft(list, blanks+",")
			if list == "" {
				return
			}
			end := strings.IndexAny(list, blanks)
			if end < 0 {
				end = len(list)
			}
			raw := list[:end]
			list = list[end:]
			if u := strings.TrimRight(raw, ","); u != raw {
				raw = u
			} else {
				list = behindDescriptors(list)
			}
			if !yield(raw) {
				return
			}
		}
	}
}

// behindDescriptors is what follows the comma that ends a candidate; there may
// be others in parentheses.
func behindDescriptors(list string) string {
	inside := false
	for i := range len(list) {
		switch list[i] {
		case '(':
			inside = true
		case ')':
			inside = false
		case ',':
			if !inside {
				return list[i+1:]
			}
		}
	}
	return ""
}

// room reports whether one more reference is taken.
func (s *scanner) room() bool {
	if len(s.refs) == MaxLinks {
		s.found.Cut = true
		return false
	}
	if s.refs == nil {
		s.refs = make([]ref, 0, 64)
		s.text.Grow(2048)
	}
	return true
}

// keep copies the value of an attribute.
func (s *scanner) keep(raw []byte) span {
	start := s.text.Len()
	if plainValue(raw) {
		s.text.Write(raw)
	} else {
		s.text.WriteString(decodeValue(raw))
	}
	return span{start, s.text.Len()}
}

func (s *scanner) meta() {
	if s.z.has(nameName) {
		if name := s.z.value(nameName); name != "" {
			s.found.Directives = s.found.Directives.Merge(robots.MetaDirectives(s.token, name, s.z.value(contentName)))
		}
	}
	if s.z.has(equivName) && strings.EqualFold(s.z.value(equivName), "refresh") {
		if raw, ok := refreshURL(s.z.value(contentName)); ok && s.room() {
			start := s.text.Len()
			s.text.WriteString(raw)
			s.refs = append(s.refs, ref{raw: span{start, s.text.Len()}, where: "meta/refresh", hop: frontier.HopLink})
		}
	}
}

// linked reports whether a link element leads to another document, rather than
// to what a document is made of: by the link types of HTML (section 4.6.7), of
// HTML 4 (section 6.12), and those that generators of documentation write.
func linked(rel string) bool {
	yes := false
	for _, t := range strings.Fields(strings.ToLower(rel)) {
		switch t {
		case "alternate", "author", "bookmark", "canonical", "help", "license", "next", "prev", "privacy-policy", "search", "terms-of-service",
			"appendix", "chapter", "contents", "copyright", "glossary", "index", "section", "start", "subsection",
			"begin", "end", "first", "home", "last", "parent", "previous", "toc", "top", "up":
			yes = true
		case "stylesheet", "icon", "preload", "prefetch", "preconnect", "dns-prefetch", "modulepreload", "manifest":
			return false
		}
	}
	return yes
}

// shown are the types of link elements that a document needs to be shown.
func shown(rel string) bool {
	for _, t := range strings.Fields(strings.ToLower(rel)) {
		if t == "stylesheet" || t == "icon" {
			return true
		}
	}
	return false
}

// refreshURL is the URL of a meta refresh (HTML, section 4.2.5.3): behind a
// number, a separator, and "url=" with optional quotes.
func refreshURL(content string) (string, bool) {
	s := strings.TrimLeft(content, blanks)
	rest := strings.TrimLeft(s, "0123456789.")
	if rest == s || rest == "" || !strings.ContainsRune(blanks+";,", rune(rest[0])) {
		return "", false
	}
	rest = strings.TrimLeft(rest, blanks)
	if rest != "" && (rest[0] == ';' || rest[0] == ',') {
		rest = strings.TrimLeft(rest[1:], blanks)
	}
	if len(rest) >= 3 && strings.EqualFold(rest[:3], "url") {
		if v := strings.TrimLeft(rest[3:], blanks); strings.HasPrefix(v, "=") {
			rest = strings.TrimLeft(v[1:], blanks)
		}
	}
	if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
		rest, _, _ = strings.Cut(rest[1:], rest[:1])
	}
	rest = strings.TrimRight(rest, blanks)
	return rest, rest != ""
}

// document resolves the references; encode is for their queries.
func (s *scanner) document(u frontier.URL, encode func(string) string) Document {
	base := u
	if s.hasBase {
		if b, err := u.ResolveQuery(s.base, encode); err == nil {
			base = b
		}
	}
	d := s.found
	d.base, d.encode = base, encode
	if len(s.refs) > 0 {
		d.Links = make([]Link, 0, len(s.refs))
	}
	text := s.text.String()
	size := 0
	for _, r := range s.refs {
		target, err := d.Resolve(text[r.raw.start:r.raw.end])
		if err != nil {
			continue
		}
		size += len(target.String())
		if size > maxLinkBytes {
			d.Cut = true
			break
		}
		rel := text[r.rel.start:r.rel.end]
		d.Links = append(d.Links, Link{
			URL: target, Hop: r.hop, Where: r.where, Rel: rel, NoFollow: robots.RelNoFollow(rel),
		})
		if r.where == "link/href" && r.hop == frontier.HopLink && d.Canonical.IsZero() && strings.EqualFold(strings.TrimSpace(rel), "canonical") {
			d.Canonical = target
		}
	}
	return d
}
