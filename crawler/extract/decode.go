package extract

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// decodeText decodes the text of a title, which may contain character references but no elements.
// NUL becomes U+FFFD, as in an HTML parser.
func decodeText(raw []byte) string {
	s := strings.ReplaceAll(string(raw), "\x00", "\ufffd")
	return html.UnescapeString(s)
}

// plainValue reports whether the value of an attribute needs no decoding.
func plainValue(raw []byte) bool {
	for _, c := range raw {
		if c == '&' || c == '\r' || c == 0 {
			return false
		}
	}
	return true
}

// decodeValue decodes the value of an attribute. It keeps each & that does not begin a character
// reference, because many URLs in pages contain one.
func decodeValue(raw []byte) string {
	s := string(raw)
	if plainValue(raw) {
		return s
	}
	if strings.IndexByte(s, '\r') >= 0 {
		s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	}
	s = strings.ReplaceAll(s, "\x00", "\ufffd")
	amp := strings.IndexByte(s, '&')
	if amp < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for amp >= 0 {
		b.WriteString(s[:amp])
		s = s[amp:]
		n := referenceLen(s)
		b.WriteString(decodeReference(s[:n], s[n:]))
		s = s[n:]
		amp = strings.IndexByte(s, '&')
	}
	b.WriteString(s)
	return b.String()
}

// referenceLen returns the length of a possible character reference at the start of s.
func referenceLen(s string) int {
	i := 1
	digit := alphanumeric
	if i < len(s) && s[i] == '#' {
		i++
		digit = decimal
		if i < len(s) && s[i]|0x20 == 'x' {
			i++
			digit = hexadecimal
		}
	}
	for i < len(s) && digit(s[i]) {
		i++
	}
	if i < len(s) && s[i] == ';' {
		i++
	}
	return i
}

// decodeReference decodes s, the possible reference that referenceLen has found. rest is the text
// after s. The rules are those for attributes (HTML, section 13.2.5.73): "?a=1&copy=2" has no
// copyright sign, and "&notes" stays unchanged, although "not" is a known name.
func decodeReference(s, rest string) string {
	if s == "&amp;" {
		return "&"
	}
	whole := strings.HasSuffix(s, ";")
	if !whole && strings.HasPrefix(rest, "=") && len(s) > 1 && s[1] != '#' {
		return s
	}
	decoded := html.UnescapeString(s)
	switch {
	case len(s) > 1 && s[1] == '#':
		return decoded
	case whole && strings.HasSuffix(decoded, ";") && decoded != ";",
		!whole && utf8.RuneCountInString(decoded) != 1:
		return s
	}
	return decoded
}

func alphanumeric(c byte) bool { return letter(c) || decimal(c) }

func decimal(c byte) bool { return '0' <= c && c <= '9' }

func hexadecimal(c byte) bool { return decimal(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }
