package fetch

import (
	"bytes"
	"maps"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
)

// readHead parses a head that may be malformed. It returns the status, or 0 if there is no status
// line, and all fields that are complete lines with a name.
func readHead(head []byte) (int, http.Header) {
	header := http.Header{}
	status := 0
	first := true
	for line := range bytes.Lines(head) {
		if first {
			first = false
			version, rest, _ := bytes.Cut(line, []byte(" "))
			rest = bytes.TrimLeft(rest, " ")
			n, err := strconv.Atoi(string(rest[:min(3, len(rest))]))
			if err != nil || n < 100 || !bytes.HasPrefix(version, []byte("HTTP/")) {
				return 0, nil
			}
			status = n
			continue
		}
		name, value, ok := cutField(string(line))
		if ok && bytes.HasSuffix(line, []byte("\n")) {
			header.Add(name, textproto.TrimString(value))
		}
	}
	return status, header
}

// withoutField returns head without the fields that have this name.
func withoutField(head []byte, name string) []byte {
	var kept []byte
	for line := range bytes.Lines(head) {
		field, _, _ := bytes.Cut(line, []byte(":"))
		if !bytes.EqualFold(field, []byte(name)) {
			kept = append(kept, line...)
		}
	}
	return kept
}

// withoutCredentials returns h, or a copy of it without the fields that credentials lists.
func withoutCredentials(h http.Header) http.Header {
	for _, name := range credentials {
		if len(h[name]) > 0 {
			h = h.Clone()
			h.Del(name)
		}
	}
	return h
}

// requestHead returns the head of a request in the form of HTTP/1.1. It is used for protocols with
// another form on the wire. The fields are in the order of their names.
func requestHead(req *http.Request, target string) []byte {
	return appendHeader([]byte(req.Method+" "+target+" HTTP/1.1\r\nHost: "+req.Host+"\r\n"), withoutCredentials(req.Header))
}

func responseHead(status int, header http.Header) []byte {
	return appendHeader([]byte("HTTP/1.1 "+strconv.Itoa(status)+" "+http.StatusText(status)+"\r\n"), header)
}

func appendHeader(b []byte, header http.Header) []byte {
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, value := range header[name] {
			b = append(b, name+": "+value+"\r\n"...)
		}
	}
	return append(b, "\r\n"...)
}
