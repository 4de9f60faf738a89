package robots

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Bounds of an RSL document. A longer document is not read. Further scopes (content elements) and
// licenses are left out.
const (
	MaxRSLBytes    = 256 << 10
	maxRSLScopes   = 1000
	maxRSLLicenses = 100 // largest number of licenses of one scope
)

const rslNamespace = "https://rslstandard.org/rsl"

// An RSL is a document of license terms (Really Simple Licensing 1.0). The zero value states
// nothing. An RSL is safe for concurrent use.
//
// A license with a condition grants nothing, because a crawler cannot know whether its user meets
// the condition. The conditions are: a payment (other than attribution), a license that a server
// must issue, reports, a limit to some users or places, and elements that this package does not
// know.
type RSL struct {
	scopes []rslScope
	err    error // the result of Err
}

// Err returns the reason why the document could not be read, or nil if it was read. An unread
// document states nothing.
func (d *RSL) Err() error { return d.err }

// rslScope is a content element: the terms for the URLs that it covers.
type rslScope struct {
	url      string
	site     string // site of the URLs, in the form of Locate; "" for any site
	pattern  ruleSet
	length   int  // length of the path pattern in normal form; a longer pattern is more specific
	server   bool // the scope requires a license that its server issues, free or not (section 3.3)
	licenses []rslLicense
}

// rslLicense is a license element. If a scope (content element) has several licenses, the user
// may choose any of them.
type rslLicense struct {
	permits, prohibits []string // words for uses, as in rslUses; nil if the license has no such element
	condition          string   // the first condition, as text; "" if none exists
}

// demand sets the condition of l, unless l has one already.
func (l *rslLicense) demand(condition string) {
	if l.condition == "" {
		l.condition = condition
	}
}

var (
	errTooLong = errors.New("it is too long")
	errNotRSL  = errors.New("it is not an RSL document")
	errNotJSON = errors.New("it is not JSON")
)

// ParseRSL parses an RSL document. It never fails: a document that is not XML, or that is longer
// than MaxRSLBytes, states nothing, and Err returns the reason. The document may be in UTF-8,
// UTF-16 or another encoding that extends ASCII. In such another encoding, octets outside ASCII
// are read as ISO 8859-1. If the root is not rsl (it may be a feed), only elements in the
// namespace of RSL count.
func ParseRSL(body []byte) *RSL { return parseRSL(body, false) }

// ParseEmbeddedRSL parses an RSL document that is part of a page (RSL 1.0, section 4). Terms
// without a URL apply to the page. Only the path of a URL counts, because its host may be another
// name of the site.
func ParseEmbeddedRSL(body []byte) *RSL { return parseRSL(body, true) }

func parseRSL(body []byte, embedded bool) *RSL {
	if len(body) > MaxRSLBytes {
		return &RSL{err: errTooLong}
	}
	r := rslReader{embedded: embedded, x: xml.NewDecoder(bytes.NewReader(textOf(body)))}
	r.x.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil } // textOf has already converted the document to UTF-8
	for {
		token, err := r.x.Token()
		if err == io.EOF && r.rooted {
			return &r.doc
		}
		switch {
		case err == io.EOF:
			return &RSL{err: errNotRSL}
		case err != nil:
			return &RSL{err: err}
		case !r.take(token):
			return &RSL{err: errNotRSL}
		}
	}
}

type rslReader struct {
	x        *xml.Decoder
	doc      RSL
	rooted   bool
	embedded bool
	own      bool        // the root is rsl, so elements without a namespace count, too
	scope    *rslScope   // the open content element; nil outside of such elements, and in those beyond maxRSLScopes
	terms    *rslLicense // the open license element; nil outside of such elements, and in those beyond maxRSLLicenses
	element  string      // name of the open element whose text is collected, or ""
	text     []byte      // text of this element so far
}

// take handles one token. It returns false if the document is not an RSL document.
func (r *rslReader) take(token xml.Token) bool {
	switch t := token.(type) {
	case xml.StartElement:
		if !r.rooted {
			r.rooted, r.own = true, t.Name.Local == "rsl"
			return r.own || t.Name.Local != "html"
		}
		if strings.HasPrefix(t.Name.Space, rslNamespace) || r.own && t.Name.Space == "" {
			r.start(t)
		}
	case xml.CharData:
		if r.element != "" {
			r.text = append(r.text, t...)
		}
	case xml.EndElement:
		r.end(t.Name.Local)
	}
	return true
}

func (r *rslReader) start(t xml.StartElement) {
	attr := func(name string) string {
		for _, a := range t.Attr {
			if a.Name.Local == name {
				return trim(a.Value)
			}
		}
		return ""
	}
	switch name := t.Name.Local; {
	case name == "content":
		if r.scope, r.terms, r.element = nil, nil, ""; len(r.doc.scopes) < maxRSLScopes {
			url := attr("url")
			if r.embedded && url == "" {
				url = "*"
			}
			if s, ok := newRSLScope(url); ok {
				if r.embedded {
					s.site = ""
				}
				s.server = attr("server") != ""
				r.doc.scopes = append(r.doc.scopes, s)
				r.scope = &r.doc.scopes[len(r.doc.scopes)-1]
			}
		}
	case name == "license" && r.scope != nil && len(r.scope.licenses) < maxRSLLicenses:
		r.scope.licenses = append(r.scope.licenses, rslLicense{})
		r.terms = &r.scope.licenses[len(r.scope.licenses)-1]
	case r.terms == nil:
	case name == "permits" || name == "prohibits":
		if of := attr("type"); of != "" && !equalFold(of, "usage") {
			r.terms.demand("for " + shown(strings.ToLower(of)) + "s it names")
			return
		}
		r.element, r.text = name, r.text[:0]
	case name == "payment":
		// A payment without a type should be free, but it may contain an amount, so it is a
		// condition.
		if of := attr("type"); of != "" && !equalFold(of, "free") && !equalFold(of, "attribution") {
			r.terms.demand("with payment")
		}
	case name == "amount":
		r.element, r.text = name, r.text[:0]
	case name == "reporting":
		r.terms.demand("with reporting")
	case !slices.Contains(rslPlain[:], name):
		r.terms.demand("with " + shown(name))
	}
}

// rslPlain lists the elements of a license that are not conditions.
var rslPlain = [...]string{"standard", "custom", "accepts", "legal", "copyright", "terms", "schema", "alternate"}

func (r *rslReader) end(name string) {
	text := string(r.text)
	switch name {
	case "content":
		r.scope, r.terms = nil, nil
	case "license":
		r.terms = nil
	case r.element:
	default:
		return
	}
	if r.terms != nil && r.element == name {
		switch name {
		case "permits":
			r.terms.permits = appendRSLWords(r.terms.permits, text)
		case "prohibits":
			r.terms.prohibits = appendRSLWords(r.terms.prohibits, text)
		case "amount":
			if n, err := strconv.ParseFloat(trim(text), 64); err != nil || n != 0 {
				r.terms.demand("with payment")
			}
		}
	}
	r.element, r.text = "", r.text[:0]
}

// appendRSLWords appends the words of text to list. It never returns nil.
func appendRSLWords(list []string, text string) []string {
	words := strings.FieldsFunc(strings.ToLower(text), func(c rune) bool { return c == ',' || c == ';' || c <= ' ' })
	return append(append([]string{}, list...), words...)
}

// newRSLScope parses the url attribute of a content element: a path pattern as in Allow and
// Disallow (RFC 9309, section 2.2.3), or an absolute URL with such a pattern.
func newRSLScope(url string) (rslScope, bool) {
	s := rslScope{url: url}
	if i := strings.Index(url, "://"); i >= 0 {
		at, err := Locate(url)
		if err != nil {
			return s, false
		}
		s.site = at
		_, path, slash := strings.Cut(url[i+3:], "/")
		if url = "/"; slash {
			url += path
		}
	}
	if url == "" {
		return s, false
	}
	var b builder
	b.normal(url, true, 0, false)
	s.length = int(b.patterns[0].rank >> 33)
	s.pattern = b.build(RFC9309)
	return s, true
}

// rslUses lists the words of RSL for each use, including words of drafts. For text and data mining
// and for archives the only word is "all".
var rslUses = map[Use][]string{
	UseSearch:  {"search", "all"},
	UseAITrain: {"ai-train", "train-ai", "ai-all", "all"},
	UseAIInput: {"ai-input", "ai-use", "ai-all", "all"},
	UseTDM:     {"all"},
	UseArchive: {"all"},
}

// signals returns the statements of the document about the use of the page at url, an absolute
// URL. If several scopes (content elements) cover the page, the most specific ones decide. A use
// that any of the scopes prohibits stays prohibited (section 3.1.1).
//
// The user may choose any license of a scope. The scope grants a use if one of its licenses has a
// word for the use, permits it, and has no condition. If no license does, the scope states nothing
// if one of its licenses leaves the use open: it lists no permitted uses, has no condition, and
// does not prohibit the use. If no license does this either, the scope refuses a use that a
// license prohibits, sets a condition for, or leaves out of the permitted uses. A scope that
// requires a license from a server refuses every use.
func (d *RSL) signals(url string) Signals {
	var s Signals
	best := d.covering(url)
	for _, use := range uses {
		for _, scope := range best {
			stance, by, prohibited := scope.stance(use)
			if stance != unstated && (prohibited || scope.length == best[0].length) {
				s.add(Statement{Use: use, Granted: stance == Granted, Field: "RSL", Value: by + " for " + shown(scope.url)})
			}
		}
	}
	return s
}

// covering returns the scopes (content elements) that cover a URL, the most specific ones first.
func (d *RSL) covering(url string) (all []*rslScope) {
	if len(d.scopes) == 0 {
		return nil
	}
	at, err := Locate(url)
	if err != nil {
		return nil
	}
	_, rest, _ := strings.Cut(url, "://")
	target := "/"
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		target, _, _ = strings.Cut(rest[i:], "#")
	}
	target = normalTarget(target)
	for i := range d.scopes {
		if s := &d.scopes[i]; (s.site == "" || s.site == at) && s.pattern.match(target, false) != 0 {
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b *rslScope) int { return b.length - a.length })
	return all
}

// stance reports whether the scope grants or refuses a use, and returns the words that decide. The
// user may choose any license of the scope. The result prohibited says that all licenses prohibit
// the use.
func (s *rslScope) stance(use Use) (stance Stance, by string, prohibited bool) {
	if s.server {
		return Refused, "permits use only with a license of its server", false
	}
	prohibited = true
	open := len(s.licenses) == 0
	for i := range s.licenses {
		how, word := s.licenses[i].stance(use)
		switch prohibited = prohibited && how == rslProhibits; how {
		case rslPermits:
			return Granted, "permits " + word, false
		case rslOpen:
			open = true
		case rslProhibits:
			if by == "" {
				by = "prohibits " + word
			}
		case rslExcludes:
			if by == "" {
				by = "permits only other uses"
			}
		case rslConditional:
			by = "permits " + word + " only " + s.licenses[i].condition
		}
	}
	if open || by == "" {
		return unstated, "", false
	}
	return Refused, by, prohibited
}

// rslStance is the statement of one license about a use.
type rslStance uint8

const (
	rslOpen        rslStance = iota
	rslSilent                // the license permits other uses, and RSL has no word for this use alone
	rslPermits               // the license permits the use by a word, without a condition
	rslConditional           // the license has a condition, and permits the use by a word or does not list permitted uses
	rslExcludes              // the license permits only other uses (section 3.5)
	rslProhibits
)

// stance returns the statement of the license about a use, and the word that decides.
func (l *rslLicense) stance(use Use) (how rslStance, word string) {
	if w := wordIn(l.prohibits, use); w != "" {
		return rslProhibits, w
	}
	w := wordIn(l.permits, use)
	switch {
	case w != "" && l.condition == "":
		return rslPermits, w
	case w != "":
		return rslConditional, w
	case l.permits == nil && l.condition != "":
		return rslConditional, "use"
	case l.permits != nil && len(rslUses[use]) > 1:
		return rslExcludes, ""
	case l.permits != nil:
		return rslSilent, ""
	}
	return rslOpen, ""
}

// wordIn returns the first word of list that RSL has for the use, or "" if none exists.
func wordIn(list []string, use Use) string {
	for _, w := range rslUses[use] {
		if slices.Contains(list, w) {
			return w
		}
	}
	return ""
}
