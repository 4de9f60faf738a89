// Package extract finds links and page directives in what a server sent. It is
// pure: bytes in, findings out; it fetches nothing.
//
// Links are found by one pass of the tokenizer of x/net/html, without a tree:
// a document that is nested too deep for the parser loses no link.
package extract

import (
	"bytes"
	"strings"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// A Link is a URL that a document refers to.
type Link struct {
	URL      frontier.URL
	Hop      frontier.Hop
	Where    string // element and attribute, as "a/href"
	Rel      string // value of rel, as written
	NoFollow bool   // rel says nofollow
}

// A Document is what HTML found.
type Document struct {
	Title      string            // of the first title element, blanks folded
	Links      []Link            // in the order of the document
	Canonical  frontier.URL      // link rel=canonical; zero if there is none
	Directives robots.Directives // meta elements that address robots, or the token
	Cut        bool              // there were more links than are taken
}

// IsHTML reports whether a media type is one that HTML reads.
func IsHTML(mediaType string) bool {
	return mediaType == "text/html" || mediaType == "application/xhtml+xml"
}

// Bounds of what is taken from one document. A page may be made to hold more
// than a crawl can.
const (
	MaxLinks     = 20_000
	maxLinkBytes = 4 << 20
)

// HTML reads a UTF-8 document that was fetched from u; mediaType says whether
// it is XHTML. token is the product token that meta elements may address. References of schemes that are not
// crawled are left out.
func HTML(body []byte, u frontier.URL, mediaType, token string) Document {
	s := scanner{z: html.NewTokenizer(bytes.NewReader(body)), token: token, xhtml: mediaType == "application/xhtml+xml"}
	s.run()
	return s.document(u)
}

// ref is a reference before the base is known, which may come after it.
type ref struct {
	raw, where, rel string
}

type scanner struct {
	z       *html.Tokenizer
	token   string
	xhtml   bool
	svg     int // how deep inside svg elements, which have titles of their own
	base    string
	hasBase bool
	refs    []ref
	title   *strings.Builder // being read
	found   Document
	titled  bool
}

func (s *scanner) run() {
	for {
		switch s.z.Next() {
		case html.ErrorToken:
			return
		case html.TextToken:
			if s.title != nil {
				s.title.Write(s.z.Text())
			}
		case html.EndTagToken:
			s.endTitle()
			if name, _ := s.z.TagName(); atom.Lookup(name) == atom.Svg && s.svg > 0 {
				s.svg--
			}
		case html.SelfClosingTagToken:
			s.endTitle()
			name, more := s.z.TagName()
			tag := atom.Lookup(name)
			if s.xhtml {
				// Nothing is inside; in HTML the slash counts for nothing.
				s.z.NextIsNotRawText()
			}
			if !s.xhtml || tag != atom.Title {
				s.element(tag, more)
			}
		case html.StartTagToken:
			s.endTitle()
			name, more := s.z.TagName()
			tag := atom.Lookup(name)
			if tag == atom.Svg {
				s.svg++
			}
			s.element(tag, more)
		}
	}
}

func (s *scanner) endTitle() {
	if s.title != nil {
		s.found.Title = strings.Join(strings.Fields(s.title.String()), " ")
		s.title = nil
	}
}

func (s *scanner) element(tag atom.Atom, more bool) {
	switch tag {
	case atom.Title:
		if !s.titled && s.svg == 0 {
			s.titled, s.title = true, new(strings.Builder)
		}
	case atom.Noscript, atom.Noframes:
		// What is for readers without scripts and frames is for us.
		s.z.NextIsNotRawText()
	case atom.A, atom.Area, atom.Base, atom.Link, atom.Iframe, atom.Frame, atom.Meta:
		if more {
			s.attributes(tag)
		}
	}
}

// attributes are those that matter of any element; the first of a name counts.
type attributes struct {
	href, src, rel, name, content, equiv string
	hasHref, hasSrc                      bool
}

func (s *scanner) attributes(tag atom.Atom) {
	var a attributes
	for more := true; more; {
		var key, value []byte
		key, value, more = s.z.TagAttr()
		switch string(key) {
		case "href":
			if !a.hasHref {
				a.href, a.hasHref = string(value), true
			}
		case "src":
			if !a.hasSrc {
				a.src, a.hasSrc = string(value), true
			}
		case "rel":
			first(&a.rel, value)
		case "name":
			first(&a.name, value)
		case "content":
			first(&a.content, value)
		case "http-equiv":
			first(&a.equiv, value)
		}
	}
	switch tag {
	case atom.A:
		s.refer(a.hasHref, ref{a.href, "a/href", a.rel})
	case atom.Area:
		s.refer(a.hasHref, ref{a.href, "area/href", a.rel})
	case atom.Link:
		if linked(a.rel) {
			s.refer(a.hasHref, ref{a.href, "link/href", a.rel})
		}
	case atom.Iframe:
		s.refer(a.hasSrc, ref{a.src, "iframe/src", ""})
	case atom.Frame:
		s.refer(a.hasSrc, ref{a.src, "frame/src", ""})
	case atom.Base:
		if a.hasHref && !s.hasBase {
			s.base, s.hasBase = a.href, true
		}
	case atom.Meta:
		s.meta(a)
	}
}

func first(to *string, value []byte) {
	if *to == "" {
		*to = string(value)
	}
}

func (s *scanner) refer(has bool, r ref) {
	switch {
	case !has:
	case len(s.refs) == MaxLinks:
		s.found.Cut = true
	default:
		s.refs = append(s.refs, r)
	}
}

func (s *scanner) meta(a attributes) {
	if a.name != "" {
		s.found.Directives = s.found.Directives.Merge(robots.MetaDirectives(s.token, a.name, a.content))
	}
	if strings.EqualFold(a.equiv, "refresh") {
		if raw, ok := refreshURL(a.content); ok {
			s.refer(true, ref{raw, "meta/refresh", ""})
		}
	}
}

// linked are the types of link elements that lead to other documents
// (HTML, section 4.6.7), rather than to what a document is made of.
func linked(rel string) bool {
	yes := false
	for _, t := range strings.Fields(strings.ToLower(rel)) {
		switch t {
		case "next", "prev", "canonical", "alternate", "index", "contents", "start", "help",
			"author", "license", "bookmark", "up", "top":
			yes = true
		case "stylesheet", "icon", "preload", "prefetch", "preconnect", "dns-prefetch", "modulepreload", "manifest":
			return false
		}
	}
	return yes
}

// refreshURL is the URL of a meta refresh (HTML, section 4.2.5.3): behind a
// number, a separator, and "url=" with optional quotes.
func refreshURL(content string) (string, bool) {
	const blanks = " \t\r\n\f"
	s := strings.TrimLeft(content, blanks)
	n := 0
	for n < len(s) && (s[n] >= '0' && s[n] <= '9' || s[n] == '.') {
		n++
	}
	rest := strings.TrimLeft(s[n:], blanks)
	if n == 0 || rest == "" {
		return "", false
	}
	if rest[0] == ';' || rest[0] == ',' {
		rest = strings.TrimLeft(rest[1:], blanks)
	}
	if len(rest) >= 3 && strings.EqualFold(rest[:3], "url") {
		if v := strings.TrimLeft(rest[3:], blanks); strings.HasPrefix(v, "=") {
			rest = strings.TrimLeft(v[1:], blanks)
		}
	}
	if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
		quote := rest[0]
		rest = rest[1:]
		if i := strings.IndexByte(rest, quote); i >= 0 {
			rest = rest[:i]
		}
	}
	rest = strings.TrimRight(rest, blanks)
	return rest, rest != ""
}

// document resolves the references.
func (s *scanner) document(u frontier.URL) Document {
	s.endTitle()
	base := u
	if s.hasBase {
		if b, err := u.Resolve(s.base); err == nil {
			base = b
		}
	}
	d := s.found
	size := 0
	for _, r := range s.refs {
		target, err := base.Resolve(r.raw)
		if err != nil {
			continue
		}
		size += len(target.String())
		if size > maxLinkBytes {
			d.Cut = true
			break
		}
		d.Links = append(d.Links, Link{
			URL: target, Hop: frontier.HopLink, Where: r.where, Rel: r.rel, NoFollow: robots.RelNoFollow(r.rel),
		})
		if r.where == "link/href" && d.Canonical.IsZero() && strings.EqualFold(strings.TrimSpace(r.rel), "canonical") {
			d.Canonical = target
		}
	}
	return d
}
