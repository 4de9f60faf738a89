package robots

import (
	"strings"
	"unicode/utf8"
)

// The normal form of dialect RFC9309. appendNormal makes it for rules and for URLs, so that
// rules and URLs can be compared octet by octet (RFC 9309, 2.2.2; RFC 3986, 6.2.2):
//
//   - an escaped unreserved octet is decoded, once;
//   - the hexadecimal digits of other escapes are upper-cased;
//   - octets that a URL cannot contain (blanks, controls, non-ASCII and
//     "<>\^`{|}) are escaped;
//   - reserved octets stay as they are, so %2F is not a slash;
//   - a per cent sign without two hexadecimal digits is an ordinary octet;
//   - literal "*" and "$" are escaped, so that %2A and %24 in a rule match them
//     (2.2.3);
//   - in a URL, dot segments are removed after decoding: /a/%2e%2e/b is /b.

// class says how normalisation treats an octet that is not escaped.
type class uint8

const (
	plain    class = 0
	escaped  class = 1 << iota // the octet is not permitted in a URL, and is escaped
	special                    // "%" and "$": the treatment depends on the octets that follow
	star                       // "*": the treatment depends on whether it is in a pattern
	reserved                   // reserved octets (RFC 3986, 2.2) stay as they are
	unreserved
)

var classes = func() (t [256]class) {
	for c := range t {
		switch b := byte(c); {
		case isAlpha(b) || isDigit(b) || b == '-' || b == '.' || b == '_' || b == '~':
			t[c] = unreserved
		case b <= ' ' || b >= 0x7F:
			t[c] = escaped
		}
	}
	for _, c := range "\"<>\\^`{|}" {
		t[c] = escaped
	}
	for _, c := range ":/?#[]@!&'()+,;=" {
		t[c] = reserved
	}
	t['*'], t['$'], t['%'] = star, special, special
	return t
}()

// isNormal reports whether s, a path and query, is already in normal form, as most URLs are. The
// test is quick: it may also return false for an unusual URL that is in normal form.
func isNormal(s string) bool {
	return classesOf(s)&(escaped|special|star) == 0 && !strings.Contains(s, "/.")
}

// classesOf returns the union of the classes of the octets of s.
func classesOf(s string) class {
	var seen class
	for len(s) >= 8 {
		seen |= classes[s[0]] | classes[s[1]] | classes[s[2]] | classes[s[3]] |
			classes[s[4]] | classes[s[5]] | classes[s[6]] | classes[s[7]]
		s = s[8:]
	}
	for i := 0; i < len(s); i++ {
		seen |= classes[s[i]]
	}
	return seen
}

const hexDigits = "0123456789ABCDEF"

func appendEscape(dst []byte, c byte) []byte {
	return append(dst, '%', hexDigits[c>>4], hexDigits[c&15])
}

func unhex(c byte) byte {
	if isDigit(c) {
		return c - '0'
	}
	return lower(c) - 'a' + 10
}

// escapeAt returns the octet that the escape at s[i] encodes. ok is false if no valid escape
// begins at s[i].
func escapeAt(s string, i int) (c byte, ok bool) {
	if i+2 < len(s) && s[i] == '%' && isHex(s[i+1]) && isHex(s[i+2]) {
		return unhex(s[i+1])<<4 | unhex(s[i+2]), true
	}
	return 0, false
}

// appendNormal appends the normal form of s to dst. If pattern is true, "*" is a wildcard and
// is not escaped. Dot segments are not removed.
func appendNormal(dst []byte, s string, pattern bool) []byte {
	// An octet that is decoded right after a literal per cent sign could become part of a new
	// escape. Such an octet stays escaped, so that normalising twice gives the same form. loose is
	// the number of octets to come for which this can happen.
	loose := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' {
			o, ok := escapeAt(s, i)
			switch {
			case !ok:
				dst = append(dst, c)
				loose = 3
			case classes[o]&unreserved != 0 && !(loose > 0 && isHex(o)):
				dst = append(dst, o)
				i += 2
				if !isHex(o) {
					loose = 0
				}
			default:
				dst = appendEscape(dst, o)
				i += 2
				loose = 0
			}
		} else if k := classes[c]; k&(escaped|special) != 0 || k&star != 0 && !pattern {
			dst = appendEscape(dst, c)
			loose = 0
		} else {
			dst = append(dst, c)
			if !isHex(c) {
				loose = 0
			}
		}
		if loose > 0 {
			loose--
		}
	}
	return dst
}

// hasDots reports whether the path of s can have a dot segment.
func hasDots(s string) bool {
	for i := 0; i+1 < len(s); i++ {
		if s[i] == '?' {
			return false
		}
		if s[i] == '/' && s[i+1] == '.' {
			return true
		}
	}
	return false
}

// removeDots removes the dot segments of the path of s, in place (RFC 3986, 5.2.4). If whole is
// false, s is a rule, whose last segment may be incomplete ("/." may stand for "/.git"). Then
// removeDots does not change the last segment.
func removeDots(s []byte, whole bool) []byte {
	end := 0
	for end < len(s) && s[end] != '?' {
		end++
	}
	out := s[:0]
	for i := 0; i < end; {
		// s[i] is a slash, or the first octet of a path that does not begin with a slash.
		j := i + 1
		for j < end && s[j] != '/' {
			j++
		}
		last := j == end
		switch seg := s[i:j]; {
		case last && !whole:
			out = append(out, seg...)
		case string(seg) == "/.":
			if last {
				out = append(out, '/')
			}
		case string(seg) == "/..":
			for len(out) > 0 {
				c := out[len(out)-1]
				out = out[:len(out)-1]
				if c == '/' {
					break
				}
			}
			if last {
				out = append(out, '/')
			}
		default:
			out = append(out, seg...)
		}
		i = j
	}
	return append(out, s[end:]...)
}

// appendLoose appends s, which is in normal form, to dst, and decodes the escaped reserved octets
// of its query. changed reports whether it decoded any. After this, queries that differ only in
// these escapes are equal. The reason is the table of RFC 9309: it escapes ":" and "/" in a query,
// although the text of the RFC would not escape them.
func appendLoose(dst []byte, s string) (out []byte, changed bool) {
	query := false
	for i := 0; i < len(s); i++ {
		if s[i] == '?' {
			query = true
		}
		if o, ok := escapeAt(s, i); ok {
			if query && classes[o]&reserved != 0 {
				dst = append(dst, o)
				changed = true
			} else {
				dst = append(dst, s[i:i+3]...)
			}
			i += 2
			continue
		}
		dst = append(dst, s[i])
	}
	return dst, changed
}

// appendGoogle appends s in the form that google/robotstxt gives a pattern: escapes are
// upper-cased and non-ASCII octets are escaped.
func appendGoogle(dst []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		if _, ok := escapeAt(s, i); ok {
			dst = append(dst, '%', upper(s[i+1]), upper(s[i+2]))
			i += 2
		} else if s[i] >= 0x80 {
			dst = appendEscape(dst, s[i])
		} else {
			dst = append(dst, s[i])
		}
	}
	return dst
}

// appendKoster appends s in the form in which the draft of 1996 compares paths:
// every escape is decoded except that of the slash (3.2.2). A literal per cent
// sign becomes %25, so that it is not read as part of an escape.
func appendKoster(dst []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		o, ok := escapeAt(s, i)
		switch {
		case ok && (o == '/' || o == '%'):
			dst = appendEscape(dst, o)
			i += 2
		case ok:
			dst = append(dst, o)
			i += 2
		case s[i] == '%':
			dst = append(dst, "%25"...)
		default:
			dst = append(dst, s[i])
		}
	}
	return dst
}

// appendLatin1 appends s in UTF-8. It reads the bytes of s that are not UTF-8 as ISO 8859-1.
// RFC 9309, 2.2.2, lets crawlers resolve such a mismatch of encodings.
func appendLatin1(dst []byte, s string) []byte {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			r = rune(s[i])
		}
		dst = utf8.AppendRune(dst, r)
		i += n
	}
	return dst
}
