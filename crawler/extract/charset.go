package extract

import (
	"bytes"
	"unicode/utf8"

	"github.com/gogs/chardet"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
)

// Decode returns body as UTF-8 and the name of the encoding it was in. What
// says so, in this order: a byte order mark, the charset of contentType, a
// meta element, the whole being valid UTF-8, a guess from its bytes, and
// windows-1252 as the last resort.
func Decode(body []byte, contentType string) ([]byte, string) {
	e, name, certain := charset.DetermineEncoding(body, contentType)
	if !certain && !declared(body) {
		if utf8.Valid(body) {
			return body, "utf-8"
		}
		if guessed, g := guess(body); guessed != nil {
			e, name = guessed, g
		}
	}
	out := body
	if name != "utf-8" {
		if decoded, err := e.NewDecoder().Bytes(body); err == nil {
			out = decoded
		}
	}
	return bytes.TrimPrefix(out, []byte("\ufeff")), name
}

// declared reports whether a meta element may have named the encoding, in the
// part of a document where that counts.
func declared(body []byte) bool {
	head := bytes.ToLower(body[:min(len(body), 1024)])
	for {
		_, rest, found := bytes.Cut(head, []byte("<meta"))
		if !found {
			return false
		}
		tag, after, _ := bytes.Cut(rest, []byte(">"))
		if bytes.Contains(tag, []byte("charset")) {
			return true
		}
		head = after
	}
}

func guess(body []byte) (encoding.Encoding, string) {
	const enough, sure = 64 << 10, 30
	r, err := chardet.NewHtmlDetector().DetectBest(body[:min(len(body), enough)])
	if err != nil || r.Confidence < sure {
		return nil, ""
	}
	return charset.Lookup(r.Charset)
}
