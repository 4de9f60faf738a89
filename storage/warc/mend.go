package warc

import (
	"bytes"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var statusLine = regexp.MustCompile(`^(?i:HTTP/)(\d(?:\.\d)?) +(\d{3})(?:[ \t](.*)|([A-Za-z].*))?$`)

// mended returns a head in the form that a correct server would have sent, so that net/http
// accepts it. The crawler that wrote the archive may have accepted the original form. Lines that
// are not fields are left out. If bodiless is true, the answer has no body, and the fields that
// state a length are left out, too.
func mended(head []byte, bodiless bool) []byte {
	var out []byte
	for i, line := range unfolded(head) {
		if i == 0 {
			if m := statusLine.FindStringSubmatch(line); m != nil {
				line = mendedStatus(line)
				bodiless = bodiless || m[2] == strconv.Itoa(http.StatusNoContent) || m[2] == strconv.Itoa(http.StatusNotModified)
			}
			out = append(out, line+"\r\n"...)
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		name = strings.TrimRight(name, " \t")
		if !ok || !isToken(name) {
			continue
		}
		if value, ok = framing(name, spaced(value), bodiless); ok {
			out = append(out, name+": "+value+"\r\n"...)
		}
	}
	return append(out, "\r\n"...)
}

// mendedStatus returns a status line in the form of RFC 9112, section 4. It returns "" if line
// is not a status line.
func mendedStatus(line string) string {
	m := statusLine.FindStringSubmatch(line)
	if m == nil {
		return ""
	}
	version := m[1]
	switch {
	case len(version) == 1, version < "1.0": // any such version counts as 1.0
		version = "1.0"
	case version > "1.1":
		version = "1.1"
	}
	return "HTTP/" + version + " " + m[2] + " " + spaced(m[3]+m[4])
}

// unfolded returns the lines of a head, without their ends and without the empty line. It joins a
// line that begins with white space to the line before, which it continues (RFC 9112, section
// 5.2).
func unfolded(head []byte) []string {
	var lines, parts []string
	flush := func() {
		if len(parts) > 0 {
			lines, parts = append(lines, strings.Join(parts, " ")), nil
		}
	}
	for line := range bytes.Lines(head) {
		line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		if len(line) == 0 {
			break
		}
		if line[0] != ' ' && line[0] != '\t' {
			flush()
		}
		parts = append(parts, strings.Trim(string(line), " \t"))
	}
	flush()
	return lines
}

// spaced returns value with a space in place of each control character except the tab (RFC
// 9110, section 5.5), and without white space at its ends.
func spaced(value string) string {
	b := []byte(value)
	for i, c := range b {
		if c < ' ' && c != '\t' || c == 0x7f {
			b[i] = ' '
		}
	}
	return strings.Trim(string(b), " \t")
}

// framing returns the value of a field in a form that net/http accepts. It changes only the fields
// that state the length of a body: Content-Length and Transfer-Encoding. ok is false if such a
// field must be left out, because its value is meaningless or because the answer has no body
// (bodiless).
func framing(name, value string, bodiless bool) (_ string, ok bool) {
	var said []string
	for one := range strings.SplitSeq(value, ",") {
		if one = strings.ToLower(strings.Trim(one, " \t")); !slices.Contains(said, one) {
			said = append(said, one)
		}
	}
	switch {
	case strings.EqualFold(name, contentLength):
		_, err := strconv.ParseUint(said[0], 10, 63)
		return said[0], err == nil && len(said) == 1 && !bodiless
	case strings.EqualFold(name, "Transfer-Encoding"):
		said = slices.DeleteFunc(said, func(one string) bool { return one == "" || one == "identity" })
		return strings.Join(said, ", "), len(said) > 0 && !bodiless
	}
	return value, true
}
