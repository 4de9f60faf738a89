package robots

import (
	"strings"
	"unicode/utf8"
)

// builder collects the rules of a group, and compiles them.
type builder struct {
	patterns []pattern
	arena    []byte // texts of patterns that do not occur in the file in this form
	spare    []byte // buffer for a value with an added slash, and for a path without dot segments
	latin1   []byte
}

// pattern is a rule in normal form. A final "$" that anchors the rule is left out.
type pattern struct {
	text       string // text of the pattern; "" if it is builder.arena[start:end]
	start, end int32
	rank       rank
	wild       bool // the pattern has a wildcard or is anchored
	anchored   bool
}

// here returns the offset in the arena at which the next text begins.
func (b *builder) here() int32 { return int32(len(b.arena)) }

// add adds the rule on the line e, which is f.entries[index]. It leaves out a rule that matches
// nothing.
func (b *builder) add(f *File, e *entry, index int) {
	value, allow := f.value(e), e.kind == allowLine
	if value == "" {
		// An empty pattern has no effect: it would have the lowest rank and allow only URLs that
		// no other rule matches (RFC 9309, 2.2.2). In the standard of 1994 an empty Disallow
		// allows everything.
		return
	}
	switch f.dialect {
	case Google:
		b.addGoogle(value, allow, index)
	case Koster1996:
		b.addKoster(value, index)
	default:
		b.addRFC(f, value, allow, e.flags, index)
	}
}

// addRFC adds a rule as dialect RFC9309 reads it. An Allow counts only if it is unambiguous; a
// Disallow counts in every plausible reading.
func (b *builder) addRFC(f *File, value string, allow bool, flags flag, index int) {
	rooted := value[0] == '/' || value[0] == '*'
	if allow {
		if flags == 0 && rooted && utf8.ValidString(value) {
			b.normal(value, true, index, false)
		}
		return
	}
	i := len(b.patterns)
	if rooted {
		b.normal(value, false, index, false)
	} else {
		var ok bool
		if value, ok = b.ownPath(f, value); !ok {
			return
		}
		b.normal(value, false, index, true)
	}
	p := b.patterns[i]
	if p.text != "" {
		return // a value in normal form has no other reading
	}
	b.loosen(p)
	if !utf8.ValidString(value) {
		// Also read the rule as if the file were in ISO 8859-1.
		b.latin1 = appendLatin1(b.latin1[:0], value)
		j := len(b.patterns)
		b.normal(view(b.latin1), false, index, true)
		b.patterns[j].rank = p.rank
		b.loosen(b.patterns[j])
	}
	b.resolve(&b.patterns[i])
}

// loosen adds a copy of p in which the reserved octets of the query are not escaped. It adds
// nothing if the query of p has no escaped reserved octets.
func (b *builder) loosen(p pattern) {
	text := view(b.arena[p.start:p.end]) // the view stays valid, because appending to the arena does not change these bytes
	q := strings.IndexByte(text, '?')
	if q < 0 || strings.IndexByte(text[q:], '%') < 0 {
		return
	}
	p.start = b.here()
	out, changed := appendLoose(b.arena, text)
	if !changed {
		return
	}
	b.arena, p.end = out, int32(len(out))
	b.patterns = append(b.patterns, p)
}

// normal adds the pattern of value in the normal form of RFC 9309. copied says that value is not a
// part of the text of the file. Then the text of the pattern is copied to the arena.
func (b *builder) normal(value string, allow bool, index int, copied bool) {
	p := pattern{}
	body := value
	if strings.HasSuffix(value, "$") {
		body = value[:len(value)-1]
		p.anchored = true
	}
	seen := classesOf(body)
	p.wild = p.anchored || seen&star != 0
	length := len(body)
	if !copied && seen&(escaped|special) == 0 && !strings.Contains(body, "/.") {
		p.text = body
	} else {
		p.start = b.here()
		b.arena = appendNormal(b.arena, body, true)
		p.end = b.here()
		length = int(p.end - p.start)
	}
	if p.anchored {
		length++
	}
	p.rank = newRank(length, allow, index)
	b.patterns = append(b.patterns, p)
}

// resolve removes the dot segments of a Disallow pattern, because they are also removed from every
// URL. It leaves three things unchanged: the part from the first wildcard or "?" on, the last
// segment before this part, which may be incomplete, and a pattern that would otherwise block the
// whole site.
func (b *builder) resolve(p *pattern) {
	text := view(b.arena[p.start:p.end])
	head, rest := text, ""
	if i := strings.IndexAny(text, "*?"); i >= 0 {
		head, rest = text[:i], text[i:]
	}
	if !strings.Contains(head, "/.") {
		return
	}
	b.spare = removeDots(append(b.spare[:0], head...), false)
	if len(b.spare) == len(head) || string(b.spare) == "/" && rest == "" {
		return
	}
	p.start = b.here()
	b.arena = append(append(b.arena, b.spare...), rest...)
	p.end = b.here()
}

// ownPath returns the path for a Disallow value that begins with neither "/" nor "*". A value that
// is not an absolute URL is taken as a path without its slash. An absolute URL counts if it is a
// URL of the file's own site, or if the site of the file is not known. In the second case the URL
// of a whole site does not count, because real files name other sites in that way.
func (b *builder) ownPath(f *File, value string) (path string, ok bool) {
	i := strings.Index(value, "://")
	if i <= 0 || strings.ContainsAny(value[:i], "/?*") {
		b.spare = append(append(b.spare[:0], '/'), value...)
		return view(b.spare), true
	}
	path, err := Target(value)
	if err != nil {
		return "", false
	}
	if f.site == "" {
		return path, path != "/" && path[1] != '*' && path[1] != '$'
	}
	loc, err := Locate(value)
	return path, err == nil && afterScheme(loc) == afterScheme(f.site+robotsPath[1:])
}

func afterScheme(u string) string {
	_, rest, _ := strings.Cut(u, "://")
	return rest
}

// addGoogle adds a rule in the form that google/robotstxt gives it.
func (b *builder) addGoogle(value string, allow bool, index int) {
	if value[0] != '/' && value[0] != '*' {
		return // the rule cannot match, because every path begins with a slash
	}
	p := pattern{start: b.here()}
	b.arena = appendGoogle(b.arena, value)
	length := int(b.here() - p.start)
	if strings.HasSuffix(value, "$") {
		p.anchored, p.wild = true, true
		b.arena = b.arena[:len(b.arena)-1]
	}
	p.end = b.here()
	p.wild = p.wild || strings.IndexByte(value, '*') >= 0
	p.rank = newRank(length, allow, index)
	b.patterns = append(b.patterns, p)
	if !allow {
		return
	}
	// Allow: /x/index.htm(l) also allows the directory /x/.
	text := string(b.arena[p.start:p.end])
	if i := strings.LastIndexByte(text, '/'); i >= 0 && strings.HasPrefix(text[i:], "/index.htm") {
		q := pattern{start: p.start, end: p.start + int32(i) + 1, anchored: true, wild: true}
		q.rank = newRank(i+2, true, index)
		b.patterns = append(b.patterns, q)
	}
}

// addKoster adds a rule as the draft of 1996 reads it. There are no wildcards, and only the order
// of the lines counts.
func (b *builder) addKoster(value string, index int) {
	p := pattern{start: b.here(), rank: newRank(0, false, index)}
	if value[0] != '/' {
		return
	}
	b.arena = appendKoster(b.arena, value)
	p.end = b.here()
	b.patterns = append(b.patterns, p)
}
