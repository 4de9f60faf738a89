package extract

import (
	"bytes"
	"encoding/json"
	"strings"
)

// maxJSONPath is the maximum number of open objects and arrays around a string that may be a link
// of a JSON Feed.
const maxJSONPath = 6

// A jsonLevel is an open object or array of a JSON Feed.
type jsonLevel struct {
	key    string // in an object, the key of the next value
	object bool
	keyed  bool // the key of the next value has been read
}

// json reads a JSON Feed (version 1.1) token by token. If the feed is cut, or has a value of a
// wrong type, all other values are still read.
func (f *feed) json(body []byte) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var levels []jsonLevel
	for !f.limitReached {
		token, err := d.Token()
		if err != nil {
			return
		}
		last := len(levels) - 1
		switch t := token.(type) {
		case json.Delim:
			if t == '{' || t == '[' {
				levels = append(levels, jsonLevel{object: t == '{'})
				if isItem(levels) {
					f.beginItem()
				}
				continue
			}
			if isItem(levels) {
				f.endItem()
			}
			levels = levels[:last]
			last--
		case string:
			if last >= 0 && levels[last].object && !levels[last].keyed {
				levels[last].key, levels[last].keyed = t, true
				continue
			}
			f.value(levels, t)
		}
		if last >= 0 {
			levels[last].keyed = false // the next value has a key of its own
		}
	}
}

// isItem reports whether the last level is an object in the array "items".
func isItem(levels []jsonLevel) bool {
	return len(levels) == 3 && levels[0].object && levels[0].key == "items" && !levels[1].object && levels[2].object
}

// value reads a string. The keys of the open objects determine the meaning of the string.
func (f *feed) value(levels []jsonLevel, text string) {
	if len(levels) > maxJSONPath {
		return
	}
	var path []string
	for _, l := range levels {
		if l.object {
			path = append(path, l.key)
		}
	}
	name := strings.Join(path, "/")
	if name == "title" {
		f.c.doc.Title = strings.Join(strings.Fields(text), " ")
		return
	}
	f.part = "feed"
	local, item := strings.CutPrefix(name, "items/")
	if item {
		f.part = "item"
	}
	switch name {
	case "items/date_modified":
		f.date(text, true)
	case "home_page_url", "next_url", "author/url", "authors/url",
		"items/url", "items/external_url", "items/attachments/url", "items/author/url", "items/authors/url":
		f.link(text, local, "")
	case "icon", "favicon", "author/avatar", "authors/avatar",
		"items/image", "items/banner_image", "items/author/avatar", "items/authors/avatar":
		f.embed(text, local)
	}
}
