package extract

import (
	"iter"
	"strings"
)

// imageCandidates are the URLs of a srcset attribute (HTML, section 4.8.4.2.1):
// a list with commas, each behind blanks and before its descriptors. A URL may
// hold commas, but not end with one.
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
				list = behindDescriptors(list)
			}
			if !yield(raw) {
				return
			}
		}
	}
}

// behindDescriptors is what follows the comma that ends a candidate; there may
// be others in parentheses.
func behindDescriptors(list string) string {
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
