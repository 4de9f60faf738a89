package provenance

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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

// The crawl before is named, with the digest of its provenance, if it has one.
func TestTheCrawlBeforeIsNamed(t *testing.T) {
	before := t.TempDir()
	previous := func() *Previous {
		w := newWriter(t.Context(), t.TempDir(), nil, Options{})
		w.asked = map[string]string{"previous": before}
		if err := w.compare(); err != nil {
			t.Fatal(err)
		}
		return w.Previous
	}
	if p := previous(); p == nil || p.Dir != before || p.Provenance != "" {
		t.Errorf("%+v", p)
	}
	if err := os.WriteFile(filepath.Join(before, File), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if p := previous(); p == nil || p.Provenance != digestOf([]byte("{}")) {
		t.Errorf("%+v", p)
	}
}

// Who reads the datasheet of a snapshot is told what it has from the crawl before: bodies
// that are not in its archive, pages that were not sent again, a robots.txt that is older
// than the crawl. Of a crawl that stands alone nothing of that is said.
func TestADatasheetTellsWhatASnapshotHasFromTheOneBefore(t *testing.T) {
	w := newWriter(t.Context(), t.TempDir(), nil, Options{})
	w.Settings = []Setting{{Name: "purpose", Value: "none"}}
	told := map[string]string{
		"types":      "A 304 says that a page is as it was",
		"settings":   "stands in snapshot.json, as `changed`",
		"politeness": "was carried over from the crawl before it",
		"files":      "a record of type `revisit` says where it stands",
	}
	alone := w.facts()
	for name, text := range told {
		if strings.Contains(alone[name], text) {
			t.Errorf("a crawl that stands alone: %s: %s", name, alone[name])
		}
	}
	if alone["purpose"] != "The crawl declares no purpose to sites.\n" {
		t.Errorf("%s", alone["purpose"])
	}
	w.Previous = &Previous{Dir: "last.crawl"}
	w.Figures.Statuses = map[string]int64{"304": 1}
	w.Outputs = []Output{{Name: "snapshot.json"}}
	w.Settings[0].Value = "search"
	facts := w.facts()
	for name, text := range told {
		if !strings.Contains(facts[name], text) {
			t.Errorf("%s: %s", name, facts[name])
		}
	}
	if facts["purpose"] != "The crawl declares its purpose to sites as `search`.\n" {
		t.Errorf("%s", facts["purpose"])
	}
}

// Lists are bounded, and say how many there are.
func TestListsAreBounded(t *testing.T) {
	var m Many[int]
	counts := map[string]int64{}
	for i := range 3 * mostNames {
		m.add(i)
		count(counts, strconv.Itoa(i))
	}
	if m.All != 3*mostNames || len(m.List) != mostListed || m.List[7] != 7 {
		t.Errorf("%d of %d", len(m.List), m.All)
	}
	if len(counts) != mostNames+1 || counts[others] != 2*mostNames {
		t.Errorf("%d names, %d others", len(counts), counts[others])
	}
}

// Whatever a datasheet is: what stands outside of the marks is kept, and to fill it twice is
// to fill it once.
func FuzzDatasheet(f *testing.F) {
	f.Add(string(emptySheet))
	f.Add("<!-- facts: counts -->\r\nx\r\n<!-- /facts -->\r\nmine")
	f.Add("<!-- facts: other -->\nkept\n<!-- /facts -->\n<!-- facts: counts -->\n<!-- /facts -->")
	facts := map[string]string{"counts": "| a | 1 |\n", "hosts": "none\n"}
	f.Fuzz(func(t *testing.T, old string) {
		once, err := fillSheet([]byte(old), facts)
		if err != nil {
			return
		}
		twice, err := fillSheet(once, facts)
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%q becomes %q, and that %q: %v", old, once, twice, err)
		}
		known := false
		rest := once
		for line := range bytes.Lines([]byte(old)) {
			if m := beginFacts.FindSubmatch(bytes.TrimSuffix(line, []byte("\n"))); m != nil {
				known = facts[string(m[1])] != ""
			} else if endFacts.Match(bytes.TrimSuffix(line, []byte("\n"))) {
				known = false
			} else if known {
				continue
			}
			i := bytes.Index(rest, line)
			if i < 0 {
				t.Fatalf("%q lost %q: %q", old, line, once)
			}
			rest = rest[i+len(line):]
		}
	})
}
