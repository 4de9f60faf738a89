package store

import "strings"

// A UsageRecord is a statement about one use of a page, such as ai-train, in a line of
// pages.jsonl. Its fields are never renamed or given another meaning.
type UsageRecord struct {
	Use     string `json:"use"`     // search, ai-train, ai-input, tdm or archive; more uses may be added
	Granted bool   `json:"granted"` // true: the use is granted; false: it is refused
	By      string `json:"by"`      // the statement that decides, and where it was found
}

// String formats the record as a field of a WARC metadata record: "ai-train=n by line 5:
// Content-Signal: ai-train=no".
func (u UsageRecord) String() string {
	if u.Granted {
		return u.Use + "=y by " + u.By
	}
	return u.Use + "=n by " + u.By
}

// ParseUsage parses the result of String; ok is false for any other text.
func ParseUsage(s string) (u UsageRecord, ok bool) {
	said, by, ok := strings.Cut(s, " by ")
	use, value, is := strings.Cut(said, "=")
	if !ok || !is || use == "" || by == "" || value != "y" && value != "n" {
		return UsageRecord{}, false
	}
	return UsageRecord{Use: use, Granted: value == "y", By: by}, true
}
