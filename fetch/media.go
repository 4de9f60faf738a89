package fetch

import (
	"mime"
	"strings"
)

// A MediaType is the result of parsing the Content-Type fields of an answer.
type MediaType struct {
	Type    string // type in lower case, without parameters; empty if it is missing
	Charset string // value of the parameter charset as written; empty if it is missing
}

// String returns m as an unambiguous Content-Type field.
func (m MediaType) String() string {
	if m.Charset == "" {
		return m.Type
	}
	return mime.FormatMediaType(m.Type, map[string]string{"charset": m.Charset})
}

// ParseMediaType parses Content-Type fields as browsers do ("extract a MIME type" in section 3.2
// of the Fetch standard). If the fields contain several types, the last valid one counts. If that
// type has no charset, the charset of an earlier value with the same type is used.
func ParseMediaType(fields []string) MediaType {
	if len(fields) == 1 {
		if m, ok := plainMediaType(fields[0]); ok {
			return m
		}
	}
	var found MediaType
	for _, field := range fields {
		for _, one := range splitQuoted(field, ',') {
			m, ok := parseOne(one)
			if !ok || m.Type == "*/*" {
				continue
			}
			if m.Charset == "" && m.Type == found.Type {
				m.Charset = found.Charset
			}
			found = m
		}
	}
	return found
}

// plainMediaType parses a field in the form that most servers send, and reports whether the field
// has this form. It is quicker than the full parser.
func plainMediaType(field string) (MediaType, bool) {
	t, charset, more := strings.Cut(field, "; charset=")
	major, minor, ok := strings.Cut(t, "/")
	ok = ok && isToken(major) && isToken(minor) && strings.ToLower(t) == t && t != "*/*" && (!more || isToken(charset))
	return MediaType{t, charset}, ok
}

// parseOne parses one type (MIME Sniffing, section 4.4). If a parameter is repeated, the first
// one counts. Malformed parameters are skipped.
func parseOne(s string) (MediaType, bool) {
	parts := splitQuoted(s, ';')
	essence := strings.ToLower(strings.Trim(parts[0], blanks))
	major, minor, _ := strings.Cut(essence, "/")
	if !isToken(major) || !isToken(minor) {
		return MediaType{}, false
	}
	m := MediaType{Type: essence}
	for _, p := range parts[1:] {
		name, value, _ := strings.Cut(strings.TrimLeft(p, blanks), "=")
		if !strings.EqualFold(name, "charset") {
			continue
		}
		value = strings.Trim(value, blanks) // labels of the Encoding standard have no blanks at their ends
		if strings.HasPrefix(value, `"`) {
			value = strings.Trim(unquote(value), blanks)
		}
		if value != "" && strings.IndexFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r > 0x7e }) < 0 {
			m.Charset = value
			break
		}
	}
	return m, true
}

// blanks are the octets that HTTP treats as white space, including line ends.
const blanks = " \t\r\n"

// splitQuoted splits s at each sep outside of quoted strings. The closing quote may be
// missing.
func splitQuoted(s string, sep byte) []string {
	var parts []string
	start, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			quoted = !quoted
		case quoted && s[i] == '\\':
			i++
		case !quoted && s[i] == sep:
			parts = append(parts, s[start:i])
			start = i + 1
		}
	}
	return append(parts, s[start:])
}

// unquote returns the value of the quoted string at the start of s (RFC 9110, section 5.6.4).
func unquote(s string) string {
	var b strings.Builder
	for i := 1; i < len(s) && s[i] != '"'; i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// isToken reports whether s is a token (RFC 9110, section 5.6.2).
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !('a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0) {
			return false
		}
	}
	return s != ""
}
