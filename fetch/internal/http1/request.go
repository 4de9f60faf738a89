package http1

import (
	"fmt"
	"net/http"
	"slices"

	"golang.org/x/net/http/httpguts"
)

// AppendRequest appends the head of a request without content (RFC 9112, sections 2.1 and 3) to b.
// The order of the fields is Host, User-Agent, and then the others by name. Nothing is escaped,
// rewritten or left out. AppendRequest fails if an argument is not permitted in its part of the
// head, such as a target with a blank.
func AppendRequest(b []byte, method, target, host string, header http.Header) ([]byte, error) {
	if !httpguts.ValidHeaderFieldName(method) {
		return b, fmt.Errorf("the method %q is no token (RFC 9110, section 9.1)", method)
	}
	if target == "" || !visible(target) {
		return b, fmt.Errorf("the target %.200q has a blank or a control character, or is empty: escape it", target)
	}
	if host == "" || !visible(host) {
		return b, fmt.Errorf("the host %.200q has a blank or a control character, or is empty", host)
	}
	b = append(b, method...)
	b = append(append(b, ' '), target...)
	b = append(append(b, " HTTP/1.1\r\nHost: "...), host...)
	b = append(b, "\r\n"...)
	b, err := appendFields(b, "User-Agent", header["User-Agent"])
	var room [16]string
	names := room[:0]
	for name := range header {
		if name != "User-Agent" && name != "Host" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if err == nil {
			b, err = appendFields(b, name, header[name])
		}
	}
	return append(b, "\r\n"...), err
}

func appendFields(b []byte, name string, values []string) ([]byte, error) {
	if !httpguts.ValidHeaderFieldName(name) {
		return b, fmt.Errorf("the field name %.200q is no token (RFC 9110, section 5.1)", name)
	}
	for _, v := range values {
		if !httpguts.ValidHeaderFieldValue(v) {
			return b, fmt.Errorf("the field %s has a control character in its value %.200q", name, v)
		}
		b = append(append(b, name...), ": "...)
		b = append(append(b, v...), "\r\n"...)
	}
	return b, nil
}

// visible reports whether s has neither white space nor control characters.
func visible(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] == 0x7f {
			return false
		}
	}
	return true
}
