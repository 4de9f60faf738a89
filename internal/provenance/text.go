package provenance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
)

// encode returns v as JSON. It escapes characters that could control a terminal, because the
// JSON has texts from sites, and people read such files in a terminal.
func encode(v any, indent string) ([]byte, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	if !bytes.ContainsFunc(text.Bytes(), steers) {
		return text.Bytes(), nil
	}
	var b bytes.Buffer
	for _, r := range text.String() {
		if !steers(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.Bytes(), nil
}

// line writes v as one line of JSON.
func line(w io.Writer, v any) error {
	text, err := encode(v, "")
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}

// steers reports whether a terminal could take r for a part of a command.
func steers(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsGraphic(r) }

// mostText is the largest number of characters of a text that shown returns, counted before
// escaping.
const mostText = 200

// shown returns s as a code span of Markdown, so that nothing in s is markup. It writes
// characters that would end the span, or that cannot be seen, as \u{...}.
func shown(s string) string {
	if strings.TrimSpace(s) == "" {
		return "(empty)"
	}
	var b strings.Builder
	b.WriteByte('`')
	n := 0
	for _, r := range s {
		if n++; n > mostText {
			b.WriteString("…")
			break
		}
		switch {
		case r == '\n' || r == '\t':
			b.WriteByte(' ')
		case r == '`', !unicode.IsGraphic(r), unicode.Is(unicode.M, r):
			fmt.Fprintf(&b, `\u{%x}`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('`')
	return b.String()
}
