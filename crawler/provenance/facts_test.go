package provenance

import (
	"bytes"
	"testing"

	"github.com/permesso-crawler/permesso/crawler"
)

// Each standing has its words, and each mark of the datasheet its facts, and the other way
// round.
func TestEachStandingAndEachMarkHasItsWords(t *testing.T) {
	for _, s := range crawler.Standings() {
		if standingWords[s] == "" {
			t.Errorf("%s has none", s)
		}
	}
	facts := newWriter(t.Context(), t.TempDir(), nil, Options{}).facts()
	text, err := fillSheet(emptySheet, facts)
	if err != nil || len(text) <= len(emptySheet) {
		t.Errorf("%v: %s", err, text)
	}
	marks := map[string]bool{}
	for _, m := range allMarks(emptySheet) {
		marks[m] = true
		if facts[m] == "" {
			t.Errorf("there are no facts %s", m)
		}
	}
	for name := range facts {
		if !marks[name] {
			t.Errorf("the facts %s have no mark", name)
		}
	}
}

func allMarks(sheet []byte) (names []string) {
	for _, line := range bytes.Split(sheet, []byte("\n")) {
		if m := beginFacts.FindSubmatch(line); m != nil {
			names = append(names, string(m[1]))
		}
	}
	return names
}
