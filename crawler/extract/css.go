package extract

import (
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/permesso-crawler/permesso/frontier"
)

// CSS parses a style sheet in UTF-8 that was fetched from u. It returns the references that the
// tokens of CSS Syntax Level 3 contain: each url() and src(), the strings of image-set(), and
// @import at the start of a rule. The Hop of all references is frontier.HopEmbed. The conditions of
// at-rules (@supports, @namespace) load nothing and are left out. Queries are in UTF-8 even if the
// style sheet was in another encoding (CSS Values Level 4, section 4.5).
func CSS(body []byte, u frontier.URL, _ Options) Document {
	c := newCollector(u, nil)
	for raw, kind := range styleRefs(string(body)) {
		where := "css/url"
		if kind == importKind {
			where = "css/@import"
		}
		if !c.add(found{raw: raw, where: where, hop: frontier.HopEmbed}) {
			break
		}
	}
	return c.document()
}

// Kinds of references in a style sheet.
const (
	urlKind    = "url"
	importKind = "import"
)

// styleRefs yields each reference of a style sheet, or of the value of a style attribute, with its
// kind. It decodes the escapes in a reference. It leaves out empty references, data: URLs and
// references into the same document (url(#a)).
func styleRefs(css string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		s := styleScanner{css: css, fresh: true, yield: yield}
		for s.pos < len(css) && !s.stopped {
			s.next()
		}
	}
}

// A styleScanner is a tokenizer that follows CSS Syntax Level 3, section 4, without the parts that do not
// matter to references. It also finds the start of a rule, which is a part of the parser (section
// 5.4).
type styleScanner struct {
	css     string
	pos     int
	open    []byte // the open brackets; the bracket of image-set() has the value imageSet
	fresh   bool   // a rule can begin here
	want    string // kind of the reference that may come next, or ""
	prelude bool   // the position is between an at-keyword and its block
	depth   int    // length of open at the at-keyword
	yield   func(string, string) bool
	stopped bool
}

// imageSet represents the bracket of image-set() in styleScanner.open. The strings in image-set()
// are URLs.
const imageSet = 'i'

// next reads one token.
func (s *styleScanner) next() {
	c, rest := s.css[s.pos], s.css[s.pos:]
	switch {
	case isBlank(c):
		s.pos++
		return
	case c == '/' && strings.HasPrefix(rest, "/*"):
		s.skipComment()
		return
	case c == '<' && strings.HasPrefix(rest, "<!--"):
		s.pos += len("<!--")
		return
	case c == '-' && strings.HasPrefix(rest, "-->"):
		s.pos += len("-->")
		return
	}
	fresh, want := s.fresh, s.want
	s.fresh, s.want = false, ""
	switch {
	case c == '"' || c == '\'':
		s.text(want)
	case c == '@' && s.startsName(s.pos+1):
		s.pos++
		s.atKeyword(s.name(), fresh)
	case c == '(' || c == '[' || c == '{':
		s.push(c)
	case c == ')' || c == ']' || c == '}':
		s.pop(c)
	case c == ';':
		s.pos++
		s.fresh = len(s.open) == 0 || s.open[len(s.open)-1] == '{'
		s.prelude = s.prelude && len(s.open) > s.depth
	case s.startsName(s.pos):
		s.identLike(want)
	case decimal(c) || c == '#':
		// A unit is a part of its number, and the name after a "#" is a part of its hash. So a
		// bracket after one of them does not begin a function.
		s.pos = s.nameEnd(s.pos + 1)
	default:
		s.pos++
	}
}

func (s *styleScanner) skipComment() {
	s.pos += len("/*")
	if end := strings.Index(s.css[s.pos:], "*/"); end >= 0 {
		s.pos += end + len("*/")
	} else {
		s.pos = len(s.css)
	}
}

// atKeyword processes an at-keyword with the given name. fresh reports whether it is at the start
// of a rule.
func (s *styleScanner) atKeyword(name string, fresh bool) {
	if !fresh {
		return
	}
	s.prelude, s.depth = true, len(s.open)
	if strings.EqualFold(name, "import") {
		s.want = importKind
	}
}

func (s *styleScanner) push(bracket byte) {
	s.pos++
	s.fresh = bracket == '{'
	if s.fresh && len(s.open) == s.depth {
		s.prelude = false
	}
	s.open = append(s.open, bracket)
}

// pop closes the innermost open bracket if bracket matches it. Otherwise bracket is an ordinary
// token (section 5.4.8).
func (s *styleScanner) pop(bracket byte) {
	s.pos++
	if len(s.open) == 0 {
		return
	}
	var closes bool
	switch s.open[len(s.open)-1] {
	case '(', imageSet:
		closes = bracket == ')'
	case '[':
		closes = bracket == ']'
	case '{':
		closes = bracket == '}'
	}
	if closes {
		s.open = s.open[:len(s.open)-1]
		s.fresh = bracket == '}'
		s.prelude = s.prelude && len(s.open) >= s.depth
	}
}

// identLike reads a name. If a bracket follows, it also reads the start of a function, or a URL
// (section 4.3.4). The parameter want is the kind of the reference that is expected here, or "".
func (s *styleScanner) identLike(want string) {
	name := s.name()
	if s.pos == len(s.css) || s.css[s.pos] != '(' {
		return
	}
	bracket := byte('(')
	switch {
	case strings.EqualFold(name, "url"):
		start := s.pos + 1
		for start < len(s.css) && isBlank(s.css[start]) {
			start++
		}
		if start == len(s.css) || s.css[start] != '"' && s.css[start] != '\'' {
			s.pos = start
			s.unquoted(want)
			return
		}
		s.want = s.wanted(want)
	case strings.EqualFold(name, "src"):
		s.want = s.wanted(want)
	case strings.EqualFold(name, "image-set"), strings.EqualFold(name, "-webkit-image-set"):
		bracket = imageSet
	}
	s.pos++
	s.open = append(s.open, bracket)
}

// wanted returns the kind of the next URL, or "" if the URL is in a condition and is not loaded.
// The parameter want is the kind that is expected here, or "".
func (s *styleScanner) wanted(want string) string {
	if want == "" && !s.prelude {
		return urlKind
	}
	return want
}

// unquoted reads the rest of a url() without quotes, including its closing bracket (section 4.3.6).
// The parameter want is the kind of the reference that is expected here, or "".
func (s *styleScanner) unquoted(want string) {
	start, end := s.pos, -1
	for s.pos < len(s.css) {
		c := s.css[s.pos]
		switch {
		case c == ')':
			if end < 0 {
				end = s.pos
			}
			s.pos++
			s.found(s.wanted(want), s.css[start:end])
			return
		case isBlank(c):
			if end < 0 {
				end = s.pos
			}
			s.pos++
		case end >= 0, c == '"', c == '\'', c == '(', c < ' ' && c != 0, c == 0x7f, c == '\\' && !s.escapes(s.pos):
			s.skipBadURL()
			return
		case c == '\\':
			s.pos = s.escapeEnd(s.pos)
		default:
			s.pos++
		}
	}
	if end < 0 {
		end = len(s.css)
	}
	s.found(s.wanted(want), s.css[start:end])
}

func (s *styleScanner) skipBadURL() {
	for s.pos < len(s.css) {
		switch {
		case s.css[s.pos] == ')':
			s.pos++
			return
		case s.escapes(s.pos):
			s.pos = s.escapeEnd(s.pos)
		default:
			s.pos++
		}
	}
}

// text reads a string (section 4.3.5). A string that contains a line end is invalid and ignored.
// The parameter want is the kind of the reference that is expected here, or "".
func (s *styleScanner) text(want string) {
	quote := s.css[s.pos]
	s.pos++
	start := s.pos
	for s.pos < len(s.css) && s.css[s.pos] != quote {
		switch c := s.css[s.pos]; {
		case isLineEnd(c):
			return
		case c != '\\':
			s.pos++
		case s.escapes(s.pos):
			s.pos = s.escapeEnd(s.pos)
		default:
			s.pos = lineEnd(s.css, s.pos+1)
		}
	}
	if n := len(s.open); want == "" && n > 0 && s.open[n-1] == imageSet {
		want = s.wanted("")
	}
	// In a string, a backslash at the very end of the style sheet is ignored.
	raw := s.css[start:s.pos]
	if s.pos < len(s.css) {
		s.pos++
	} else if n := len(raw) - len(strings.TrimRight(raw, "\\")); n%2 == 1 {
		raw = raw[:len(raw)-1]
	}
	s.found(want, raw)
}

// found decodes the escapes in a reference and yields it.
func (s *styleScanner) found(kind, raw string) {
	if kind == "" || s.stopped {
		return
	}
	const data = "data:"
	if start := strings.TrimLeft(raw, blanks); len(start) >= len(data) && strings.EqualFold(start[:len(data)], data) {
		return // checked before decoding, because a data: URL can be long
	}
	if strings.ContainsAny(raw, "\\\x00") {
		raw = unescapeStyle(raw)
	}
	if start := strings.TrimLeft(raw, blanks); start != "" && start[0] != '#' {
		s.stopped = !s.yield(raw, kind)
	}
}

// name reads a name (section 4.3.11) and returns it with its escapes decoded.
func (s *styleScanner) name() string {
	start := s.pos
	s.pos = s.nameEnd(s.pos)
	name := s.css[start:s.pos]
	const longest = len("-webkit-image-set") * len("\\000041\r\n")
	if len(name) <= longest && strings.IndexByte(name, '\\') >= 0 {
		return unescapeStyle(name)
	}
	return name
}

func (s *styleScanner) nameEnd(i int) int {
	for i < len(s.css) {
		switch {
		case styleNames[s.css[i]]:
			i++
		case s.escapes(i):
			i = s.escapeEnd(i)
		default:
			return i
		}
	}
	return i
}

// startsName reports whether a name begins at offset i (section 4.3.9).
func (s *styleScanner) startsName(i int) bool {
	if i < len(s.css) && s.css[i] == '-' {
		if i++; i < len(s.css) && s.css[i] == '-' {
			return true
		}
	}
	return i < len(s.css) && (styleNames[s.css[i]] && s.css[i] != '-' && !decimal(s.css[i]) || s.escapes(i))
}

// escapes reports whether an escape begins at offset i (section 4.3.8).
func (s *styleScanner) escapes(i int) bool {
	return s.css[i] == '\\' && (i+1 == len(s.css) || !isLineEnd(s.css[i+1]))
}

// escapeEnd returns the offset after the escape at offset i (section 4.3.7). If the escaped
// character is not ASCII, this is the offset after its first byte, because its other bytes begin no
// token.
func (s *styleScanner) escapeEnd(i int) int {
	start := i + 1
	for i = start; i < len(s.css) && i-start < 6 && hexadecimal(s.css[i]); i++ {
	}
	switch {
	case i == len(s.css):
	case i == start:
		i++
	case isBlank(s.css[i]):
		i = lineEnd(s.css, i)
	}
	return i
}

// unescapeStyle decodes the escapes in a name, a URL or a string.
func unescapeStyle(raw string) string {
	var b strings.Builder
	b.Grow(len(raw))
	for i := 0; i < len(raw); {
		c := raw[i]
		i++
		switch {
		case c == 0:
			b.WriteRune(utf8.RuneError)
			continue
		case c != '\\':
			b.WriteByte(c)
			continue
		case i == len(raw):
			b.WriteRune(utf8.RuneError)
			continue
		case isLineEnd(raw[i]):
			i = lineEnd(raw, i)
			continue
		case !hexadecimal(raw[i]) && raw[i] != 0:
			b.WriteByte(raw[i])
			i++
			continue
		}
		r := rune(0)
		for n := 0; n < 6 && i < len(raw) && hexadecimal(raw[i]); n++ {
			r = r<<4 | rune(hexDigit(raw[i]))
			i++
		}
		if i < len(raw) && isBlank(raw[i]) {
			i = lineEnd(raw, i)
		}
		if r == 0 || !utf8.ValidRune(r) {
			r = utf8.RuneError
		}
		b.WriteRune(r)
	}
	return b.String()
}

// lineEnd returns the offset after the blank or line end at i. CR LF is one line end.
func lineEnd(s string, i int) int {
	if strings.HasPrefix(s[i:], "\r\n") {
		return i + 2
	}
	return i + 1
}

func isLineEnd(c byte) bool { return c == '\n' || c == '\r' || c == '\f' }

func isBlank(c byte) bool { return c == ' ' || c == '\t' || isLineEnd(c) }

// styleNames reports for each byte whether a name in CSS may contain it. A NUL is read as U+FFFD.
var styleNames = func() (in [256]bool) {
	for i := range in {
		c := byte(i)
		in[i] = letter(c) || decimal(c) || c == '_' || c == '-' || c >= utf8.RuneSelf || c == 0
	}
	return in
}()

func hexDigit(c byte) byte {
	if decimal(c) {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}
