package extract

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/permesso-crawler/permesso/frontier"
)

// Limits of a data block (a script element with JSON-LD): the bytes that are read, and the depth of
// nesting. Both are far above the limits of search engines.
const (
	maxDataBytes = 256 << 10
	maxDataDepth = 64
)

// isJSONLD reports whether a script is a data block of JSON-LD (JSON-LD 1.1,
// section 7).
func isJSONLD(scriptType string) bool {
	mediaType, _, _ := strings.Cut(scriptType, ";")
	return strings.EqualFold(strings.Trim(mediaType, blanks), "application/ld+json")
}

// A dataKey is the key of a member of an object.
type dataKey uint8

const (
	otherKey dataKey = iota
	urlKey
	typeKey
	contextKey
)

// A dataReader reads a data block, a script element with JSON-LD. It finds the values of the key
// url: strings, and strings in lists. It continues after errors that a JSON parser refuses, because
// data blocks often have an extra comma or a comment.
//
// It skips the values of @id, which identify things and need not be URLs of pages, and the values
// of @context, which define names.
type dataReader struct {
	text  []byte
	open  []dataValue
	key   dataKey // the key of the next value
	found []dataURL
	urls  []int // indexes in found of the URLs of the open objects
}

// A dataURL is a value of the key url in a data block.
type dataURL struct {
	raw string
	hop frontier.Hop
}

// A dataValue is an open object or list.
type dataValue struct {
	key   dataKey // key whose value is this object or list
	list  bool
	image bool // the object describes an image, so its url is the URL of the image
	urls  int  // length of dataReader.urls when the object or list began
}

// jsonLD adds the references of a data block, a script element with JSON-LD.
func (s *scanner) jsonLD(text []byte) {
	d := dataReader{text: text[:min(len(text), maxDataBytes)]}
	for at := 0; at < len(d.text) && at >= 0; {
		at = d.token(at)
	}
	for len(d.open) > 0 {
		d.end()
	}
	for _, u := range d.found {
		if u.hop == leads || s.z.embeds {
			s.addUTF8("script/ld+json", u.hop, u.raw)
		}
	}
}

// token reads the token that begins at d.text[at]. It returns the offset after the token. It
// returns -1 if the nesting is too deep or a string has no end; then the rest is not read.
func (d *dataReader) token(at int) int {
	switch d.text[at] {
	case '{', '[':
		if len(d.open) == maxDataDepth {
			return -1
		}
		d.open = append(d.open, dataValue{key: d.key, list: d.text[at] == '[', urls: len(d.urls)})
		if !d.top().list {
			d.key = otherKey
		}
	case '}', ']':
		d.end()
	case ',':
		d.key = otherKey
		if top := d.top(); top != nil && top.list {
			d.key = top.key
		}
	case '"':
		return d.literal(at)
	}
	return at + 1
}

func (d *dataReader) top() *dataValue {
	if len(d.open) == 0 {
		return nil
	}
	return &d.open[len(d.open)-1]
}

// end closes the innermost object or list. If an object is an image, its URLs become embedded
// resources.
func (d *dataReader) end() {
	d.key = otherKey
	top := d.top()
	if top == nil {
		return
	}
	if !top.list {
		if top.image {
			for _, i := range d.urls[top.urls:] {
				d.found[i].hop = shows
			}
		}
		d.urls = d.urls[:top.urls]
	}
	d.open = d.open[:len(d.open)-1]
}

// literal reads the string that begins at d.text[at]. It returns the offset after the string, or -1
// if the string has no end.
func (d *dataReader) literal(at int) int {
	end := stringEnd(d.text, at+1)
	if end < 0 {
		return -1
	}
	raw := d.text[at : end+1]
	if rest := bytes.TrimLeft(d.text[end+1:], blanks); len(rest) > 0 && rest[0] == ':' {
		d.key = keyOf(raw)
		return len(d.text) - len(rest) + 1
	}
	d.value(raw)
	return end + 1
}

func keyOf(raw []byte) dataKey {
	text := raw[1 : len(raw)-1]
	if bytes.IndexByte(text, '\\') >= 0 {
		decoded, _ := stringValue(raw)
		text = []byte(decoded)
	}
	switch string(text) {
	case "url":
		return urlKey
	case "@type":
		return typeKey
	case "@context":
		return contextKey
	}
	return otherKey
}

// value reads a string that is not a key.
func (d *dataReader) value(raw []byte) {
	if d.key != urlKey && d.key != typeKey {
		return
	}
	owner := len(d.open) - 1
	for owner >= 0 && d.open[owner].list {
		owner--
	}
	if owner < 0 {
		return
	}
	for i := range d.open {
		if d.open[i].key == contextKey {
			return
		}
	}
	text, ok := stringValue(raw)
	if !ok {
		return
	}
	if d.key == typeKey {
		d.open[owner].image = d.open[owner].image || strings.HasSuffix(text, "ImageObject")
	} else if anchored(text) {
		d.urls = append(d.urls, len(d.found))
		d.found = append(d.found, dataURL{text, leads})
	}
}

// stringValue decodes a string in quotes, and reports whether it is valid.
func stringValue(raw []byte) (string, bool) {
	text := string(raw[1 : len(raw)-1])
	if strings.IndexByte(text, '\\') < 0 {
		return text, true
	}
	return text, json.Unmarshal(raw, &text) == nil
}

// stringEnd returns the offset of the quote that ends a string, or -1 if none exists. The
// parameter at is the offset after the opening quote.
func stringEnd(text []byte, at int) int {
	for i := at; ; i++ {
		n := bytes.IndexByte(text[i:], '"')
		if n < 0 {
			return -1
		}
		i += n
		escapes := 0
		for i-escapes > at && text[i-escapes-1] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i
		}
	}
}
