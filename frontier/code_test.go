package frontier

import (
	"encoding/json"
	"strings"
	"testing"
)

// Each code has a name of its own and words that describe it. UnmarshalText accepts this name, and
// the names that earlier releases used.
func TestEachCodeHasOneNameAndWords(t *testing.T) {
	seen := map[string]Code{}
	for c := range endOfCodes {
		if c.String() == "" || c.Words() == "" || strings.Contains(c.String(), " ") {
			t.Errorf("code %d: name %q, words %q", uint8(c), c, c.Words())
		}
		for _, name := range append([]string{c.String()}, codes[c].earlier...) {
			if other, twice := seen[name]; twice {
				t.Errorf("%q is the name of %d and %d", name, uint8(other), uint8(c))
			}
			seen[name] = c
			var got Code
			if err := got.UnmarshalText([]byte(name)); err != nil || got != c {
				t.Errorf("%q is read as %v: %v", name, got, err)
			}
		}
	}
	for _, c := range Fates() {
		if c == Undecided || c >= OutOfScope {
			t.Errorf("%v is not the code of a URL that has entered a crawl", c)
		}
	}
}

// JSON contains the names of codes, both as values and as keys.
func TestCodesInJSON(t *testing.T) {
	type counts struct {
		Fate Code         `json:"fate,omitempty"`
		N    map[Code]int `json:"n,omitempty"`
	}
	for text, want := range map[string]string{
		`{"fate":"refused","n":{"outside":2,"waiting":1}}`: `{"fate":"refused","n":{"outside":2,"waiting":1}}`,
		`{"fate":"robots disallowed","n":{"too deep":2}}`:  `{"fate":"refused","n":{"depth":2}}`,
		`{}`:                  `{}`,
		`{"fate":"sleeping"}`: `frontier: "sleeping" is not one of undecided, fetched, `,
	} {
		var c counts
		err := json.Unmarshal([]byte(text), &c)
		got, _ := json.Marshal(c)
		if err != nil {
			got = []byte(err.Error())
		}
		if string(got) != want && (err == nil || !strings.HasPrefix(string(got), want)) {
			t.Errorf("%s is read as %s, want %s", text, got, want)
		}
	}
	if s, w := endOfCodes.String(), endOfCodes.Words(); s != "code 25" || w != s {
		t.Errorf("a code that does not exist: %q, %q", s, w)
	}
}
