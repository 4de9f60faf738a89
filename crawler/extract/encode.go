package extract

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
)

// queryEncoder returns the function that converts queries to the encoding with this name, for
// frontier.URL.ResolveQuery. It returns nil if queries stay in UTF-8 (Encoding, section 4.3).
func queryEncoder(name string) func(string) string {
	switch name {
	case "", "utf-8", "utf-16be", "utf-16le", "replacement":
		return nil
	}
	e, err := htmlindex.Get(name)
	if err != nil {
		return nil
	}
	return func(query string) string { return encodeQuery(e, name, query) }
}

// encodeQuery encodes a query in the encoding e. A character that e does not have becomes a
// percent-encoded character reference (WHATWG URL, section 1.3).
func encodeQuery(e encoding.Encoding, name, query string) string {
	query = strings.ToValidUTF8(query, "\ufffd")
	if r := rewritten[name]; r != nil {
		query = r.Replace(query)
	}
	table, single := singleByte(name)
	var out strings.Builder
	encoder := e.NewEncoder()
	// ISO-2022-JP has states. So consecutive characters that can be encoded are encoded together.
	start := 0
	flush := func(end int) {
		text, _ := encoder.String(query[start:end])
		out.WriteString(text)
	}
	for i, r := range query {
		one, err := encoder.String(query[i : i+utf8.RuneLen(r)])
		switch {
		case err == nil && !decodesOnly(name, one[0]):
			continue
		case single && undefined(table, r):
			flush(i)
			out.WriteByte(byte(r))
		default:
			flush(i)
			fmt.Fprintf(&out, "%%26%%23%d%%3B", r)
		}
		start = i + utf8.RuneLen(r)
	}
	flush(len(query))
	return out.String()
}

// decodesOnly reports whether characters whose encoded form begins with lead are decoded but never
// encoded (Encoding, sections 11.1.2 and 12.1.2).
func decodesOnly(name string, lead byte) bool {
	return name == "euc-jp" && lead == 0x8f || name == "big5" && 0x80 < lead && lead < 0xa1
}

// rewritten holds replacements of characters that are made before a query is encoded in a Japanese
// encoding (Encoding, sections 12.1.2, 12.2.2 and 12.3.2).
var rewritten = map[string]*strings.Replacer{
	"euc-jp":      strings.NewReplacer("\u00a5", `\`, "\u203e", "~", "\u2212", "\uff0d"),
	"shift_jis":   strings.NewReplacer("\u00a5", `\`, "\u203e", "~", "\u2212", "\uff0d"),
	"iso-2022-jp": strings.NewReplacer(append(fullWidth(), "\u2212", "\uff0d")...),
}

// fullWidth returns pairs of half-width katakana, from U+FF61 on, and their full-width forms.
func fullWidth() []string {
	var pairs []string
	half := '\uff61'
	for _, full := range "。「」、・ヲァィゥェォャュョッーアイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワン゛゜" {
		pairs = append(pairs, string(half), string(full))
		half++
	}
	return pairs
}

// singleByte returns the table of an encoding with one byte for each character. For other encodings
// it returns false.
func singleByte(name string) (*charmap.Charmap, bool) {
	e, _ := htmlindex.Get(name)
	table, ok := e.(*charmap.Charmap)
	return table, ok
}

// undefined reports whether r is a control character without a byte in the table. Browsers then use
// the byte with the number of r.
func undefined(table *charmap.Charmap, r rune) bool {
	return 0x80 <= r && r < 0xa0 && table.DecodeByte(byte(r)) == utf8.RuneError
}

func decodeBytes(table *charmap.Charmap, body []byte) []byte {
	out := make([]byte, 0, len(body)+len(body)/4)
	for _, c := range body {
		switch r := rune(c); {
		case c < utf8.RuneSelf:
			out = append(out, c)
		case undefined(table, r):
			out = utf8.AppendRune(out, r)
		default:
			out = utf8.AppendRune(out, table.DecodeByte(c))
		}
	}
	return out
}
