package extract

import (
	"iter"
	"strings"
)

// imageCandidates returns the URLs of a srcset attribute (HTML, section 4.8.4.2.1). The attribute
// is a list of URLs, separated by commas. Descriptors may follow each URL. A URL may contain
// commas, but cannot end with a comma.
func imageCandidates(list string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for {
			list = strings.TrimLeft(list, blanks+",")
			if list == "" {
				return
			}
			end := strings.IndexAny(list, blanks)
			if end < 0 {
				end = len(list)
			}
			raw := list[:end]
			list = list[end:]
			if u := strings.TrimRight(raw, ","); u != raw {
				raw = u
			} else {
				list = afterDescriptors(list)
			}
			if !yield(raw) {
				return
			}
		}
	}
}

// afterDescriptors returns the rest of the list after the comma that ends the descriptors of a URL.
// A comma in parentheses does not end them.
func afterDescriptors(list string) string {
	inside := false
	for i := range len(list) {
		switch list[i] {
		case '(':
			inside = true
		case ')':
			inside = false
		case ',':
			if !inside {
				return list[i+1:]
			}
		}
	}
	return ""
}
