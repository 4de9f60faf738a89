package robots

import (
	"bytes"
	"encoding/xml"
	"io"
	"slices"
	"strings"
)

// Bounds of an RSL document: what is longer cannot be read, and further scopes and licenses
// are left out.
const (
	MaxRSLBytes    = 256 << 10
	maxRSLScopes   = 1000
	maxRSLLicenses = 100 // of one scope
)

const rslNamespace = "https://rslstandard.org/rsl"

// An RSL is a document of license terms (Really Simple Licensing 1.0). The zero value says
// nothing. It is safe for concurrent use. What it says about payments, users and places is
// not weighed: a license with any of these grants nothing by itself.
type RSL struct{ scopes []rslScope }

// rslScope is a content element: what is said about the URLs that it covers.
type rslScope struct {
	url      string
	site     string // as Locate has it; "" for any
	pattern  ruleSet
	length   int  // of the pattern, which says how specific it is
	server   bool // a license has to be got there, free or not
	licenses []rslLicense
}

// rslLicense is a license element. Of several that a scope has each may be taken.
type rslLicense struct {
	permits, prohibits []string // usage; nil where there is no such element
	conditions         bool     // payment, or something that is said about users and places
}

// ParseRSL reads an RSL document. It never fails: one that is no XML in UTF-8, has another
// root, or is longer than MaxRSLBytes, says nothing.
func ParseRSL(body []byte) *RSL {
	if len(body) > MaxRSLBytes {
		return &RSL{}
	}
	r := rslReader{x: xml.NewDecoder(bytes.NewReader(body))}
	for {
		token, err := r.x.Token()
		if err == io.EOF && r.rooted {
			return &r.doc
		}
		if err != nil || !r.take(token) {
			return &RSL{}
		}
	}
}

type rslReader struct {
	x      *xml.Decoder
	doc    RSL
	rooted bool
	scope  *rslScope // that is open; nil: none, or one too many
	terms  *rslLicense
	list   *[]string // of usage, whose text comes
	text   []byte
}

// take takes one token; false says that this is no RSL document.
func (r *rslReader) take(token xml.Token) bool {
	switch t := token.(type) {
	case xml.StartElement:
		if !r.rooted {
			r.rooted = t.Name.Local == "rsl"
			return r.rooted
		}
		if t.Name.Space == "" || strings.HasPrefix(t.Name.Space, rslNamespace) {
			r.start(t)
		}
	case xml.CharData:
		if r.list != nil {
			r.text = append(r.text, t...)
		}
	case xml.EndElement:
		switch t.Name.Local {
		case "content":
			r.scope, r.terms, r.list = nil, nil, nil
		case "license":
			r.terms, r.list = nil, nil
		case "permits", "prohibits":
			if r.list != nil {
				*r.list = append(*r.list, strings.FieldsFunc(strings.ToLower(string(r.text)), func(c rune) bool { return c == ',' || c <= ' ' })...)
			}
			r.list, r.text = nil, r.text[:0]
		}
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
		if r.scope, r.terms, r.list = nil, nil, nil; len(r.doc.scopes) < maxRSLScopes {
			if s, ok := newRSLScope(attr("url")); ok {
				s.server = attr("server") != ""
				r.doc.scopes = append(r.doc.scopes, s)
				r.scope = &r.doc.scopes[len(r.doc.scopes)-1]
			}
		}
	case name == "license" && r.scope != nil && len(r.scope.licenses) < maxRSLLicenses:
		r.scope.licenses = append(r.scope.licenses, rslLicense{conditions: r.scope.server})
		r.terms = &r.scope.licenses[len(r.scope.licenses)-1]
	case r.terms == nil:
	case name == "payment":
		r.terms.conditions = r.terms.conditions || !equalFold(attr("type"), "free")
	case name == "permits" || name == "prohibits":
		list := &r.terms.permits
		if name == "prohibits" {
			list = &r.terms.prohibits
		}
		if of := attr("type"); of != "" && !equalFold(of, "usage") {
			r.terms.conditions = true
			return
		}
		if *list == nil {
			*list = []string{}
		}
		r.list, r.text = list, r.text[:0]
	}
}

// newRSLScope reads the url of a content element: a path pattern as in Allow and Disallow
// (RFC 9309, section 2.2.3), or a whole URL with one.
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

// rslUses are the words for each use, those of drafts, too. For mining and archives there
// is none but "all".
var rslUses = map[Use][]string{
	UseSearch:  {"search", "all"},
	UseAITrain: {"ai-train", "train-ai", "ai-all", "all"},
	UseAIInput: {"ai-input", "ai-use", "ai-all", "all"},
	UseTDM:     {"all"},
	UseArchive: {"all"},
}

// Signals returns what the document says about the use of what url, a whole one, serves.
// Of the scopes that cover it the most specific one decides, and what any of them
// prohibits stays so (section 3.1.1). A use is refused that no license of the scope leaves
// open, and granted where one permits it by its word, and nothing for it.
func (d *RSL) Signals(url string) Signals {
	var s Signals
	best := d.covering(url)
	if len(best) == 0 {
		return s
	}
	for _, use := range uses {
		for i, scope := range best {
			if stance, word := scope.of(use); stance == Refused || stance == Granted && i == 0 {
				verb := "prohibits "
				if stance == Granted {
					verb = "permits "
				}
				s.add(Statement{Use: use, Granted: stance == Granted, Field: "RSL", Value: verb + word + " for " + shown(scope.url)})
				if stance == Refused {
					break
				}
			} else if i == 0 && stance == Unstated && scope.excludes(use) {
				s.add(Statement{Use: use, Field: "RSL", Value: "permits others alone for " + shown(scope.url)})
				break
			}
		}
	}
	return s
}

// covering are the scopes that cover a URL, the most specific one first.
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

// of says what the licenses of the scope say of a use by its words, and by which.
func (s *rslScope) of(use Use) (stance Stance, word string) {
	prohibited := 0
	for i := range s.licenses {
		l := &s.licenses[i]
		if w := l.word(l.prohibits, use); w != "" {
			prohibited++
			word = w
		} else if w := l.word(l.permits, use); w != "" && !l.conditions {
			return Granted, w
		}
	}
	if prohibited > 0 && prohibited == len(s.licenses) {
		return Refused, word
	}
	return Unstated, ""
}

// excludes reports whether each license of the scope prohibits a use, or permits others
// and not it (section 3.5). Of what RSL has no word for that says nothing.
func (s *rslScope) excludes(use Use) bool {
	if len(rslUses[use]) == 1 || len(s.licenses) == 0 {
		return false
	}
	for i := range s.licenses {
		l := &s.licenses[i]
		if l.word(l.prohibits, use) == "" && (l.permits == nil || l.word(l.permits, use) != "") {
			return false
		}
	}
	return true
}

func (l *rslLicense) word(list []string, use Use) string {
	for _, w := range rslUses[use] {
		if slices.Contains(list, w) {
			return w
		}
	}
	return ""
}
