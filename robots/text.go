package robots

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// utf16Of returns a function that reads one code unit of a text in UTF-16, and the length of the
// byte order mark. Without a mark, the zeros in the first two characters show the byte order,
// because these characters are ASCII in all formats of this package (XML 1.0, appendix F). For a
// text that is not in UTF-16, the function is nil.
func utf16Of(b []byte) (unit func([]byte) uint16, mark int) {
	little := func(b []byte) uint16 { return uint16(b[0]) | uint16(b[1])<<8 }
	big := func(b []byte) uint16 { return uint16(b[1]) | uint16(b[0])<<8 }
	switch {
	case len(b) < 2:
	case b[0] == 0xFF && b[1] == 0xFE:
		return little, 2
	case b[0] == 0xFE && b[1] == 0xFF:
		return big, 2
	case len(b) < 4:
	case ascii(b[0]) && b[1] == 0 && ascii(b[2]) && b[3] == 0:
		return little, 0
	case b[0] == 0 && ascii(b[1]) && b[2] == 0 && ascii(b[3]):
		return big, 0
	}
	return nil, 0
}

func ascii(c byte) bool { return 0 < c && c < utf8.RuneSelf }

// textOf returns a document in UTF-8, without a byte order mark. If the document is in neither
// UTF-16 nor UTF-8, it is read as ISO 8859-1. Only ASCII matters except in paths, and all
// encodings that extend ASCII agree on it.
func textOf(body []byte) []byte {
	if unit, mark := utf16Of(body); unit != nil {
		return []byte(decodeUTF16(body[mark:], unit))
	}
	body = bytes.TrimPrefix(body, []byte("\ufeff"))
	if utf8.Valid(body) {
		return body
	}
	text := make([]byte, 0, len(body)+len(body)/8)
	for _, c := range body {
		text = utf8.AppendRune(text, rune(c))
	}
	return text
}

func decodeUTF16(b []byte, unit func([]byte) uint16) string {
	out := make([]byte, 0, len(b)/2)
	for len(b) >= 2 {
		r := rune(unit(b))
		b = b[2:]
		if utf16.IsSurrogate(r) && len(b) >= 2 {
			if pair := utf16.DecodeRune(r, rune(unit(b))); pair != utf8.RuneError {
				r = pair
				b = b[2:]
			}
		}
		out = utf8.AppendRune(out, r)
	}
	return string(out)
}
