package provenance_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"unicode"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/internal/provenance"
)

func sheetOf(t *testing.T, dir string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, provenance.DatasheetFile))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// The numbers in a datasheet equal those in provenance.json.
func TestADatasheetHasTheFiguresOfTheProvenance(t *testing.T) {
	dir := crawled(t)
	res := write(t, dir, provenance.Options{})
	sheet := sheetOf(t, dir)
	p := res.Provenance
	for _, want := range []string{
		fmt.Sprintf("| URLs that entered the crawl | %d |", p.Absences.Entered),
		fmt.Sprintf("| of them, without an answer | %d |", p.Absences.URLs),
		fmt.Sprintf("| requests | %d |", p.Figures.Requests),
		fmt.Sprintf("| of them, for robots.txt | %d |", p.Figures.RobotsRequests),
		fmt.Sprintf("| seeds | %d |", p.Seeds.Count),
		fmt.Sprintf("| `a.example` | %d |", p.Figures.TopHosts[0].N),
		"| forbidden by robots.txt | `refused` | 1 |", "| failed every time | `failed` | 1 |", "| on the opt-out list | `optout` | 1 |",
		"| `outside` | 1 |", "| `nofollow` | 1 |", "| use: `ai-train refused` | 1 |", "| not to be indexed | 1 |",
		"| `http://c.example` | `robots-forbidden` | `allow` | `agreed by mail, 4 May` |", "| all | `allow-private` | `yes` | none is given |",
		"`" + p.Seeds.SHA256 + "`", "0 violations", "`" + p.Outputs[0].SHA256 + "`", "| `delay` | `2s` |", "in 2 runs (0 killed)",
	} {
		if !strings.Contains(sheet, want) {
			t.Errorf("the datasheet does not have %s", want)
		}
	}
	if open := strings.Count(sheet, "*Open: a person has to answer this.*"); open < 10 || res.Sheet.Open != open || res.Sheet.Why != "" {
		t.Errorf("%d questions are open, said are %+v", open, res.Sheet)
	}
}

// Updating a datasheet keeps what a person has written. Marks that a person has removed stay
// removed. Facts are replaced.
func TestADatasheetKeepsWhatAPersonWrote(t *testing.T) {
	dir := crawled(t)
	write(t, dir, provenance.Options{})
	const mine = "We asked for it ourselves.\n\n| a | `b` |\n<!-- a note -->\r\n"
	spoil(t, filepath.Join(dir, provenance.DatasheetFile), func(b []byte) []byte {
		text := strings.Replace(string(b), "*Open: a person has to answer this.*\n", mine, 1)
		text = strings.Replace(text, "| seeds | 3 |", "| seeds | 99 |", 1)
		a := strings.Index(text, "<!-- facts: hosts -->")
		return []byte(text[:a] + text[a+strings.Index(text[a:], "<!-- /facts -->")+len("<!-- /facts -->"):])
	})
	res := write(t, dir, provenance.Options{})
	first := sheetOf(t, dir)
	if !strings.Contains(first, mine) || !strings.Contains(first, "| seeds | 3 |") || strings.Contains(first, "| seeds | 99 |") || strings.Contains(first, "facts: hosts") {
		t.Errorf("%s", first)
	}
	if again := write(t, dir, provenance.Options{}); again.Sheet != res.Sheet || strings.Count(sheetOf(t, dir), "\n") != strings.Count(first, "\n") {
		t.Errorf("%+v\n%s", again.Sheet, sheetOf(t, dir))
	}
}

// If the marks do not show what a person has written, the datasheet is not changed, and
// Sheet.Why says why.
func TestADatasheetWhoseMarksAreLostIsKept(t *testing.T) {
	dir := crawled(t)
	path := filepath.Join(dir, provenance.DatasheetFile)
	for text, want := range map[string]string{
		"# Ours\n":                             "no marks for facts, and is kept",
		"a\n<!-- facts: counts -->\nb\n":       "that begin in line 2 have no end",
		"a\n<!-- /facts -->\n":                 "in line 2 facts end that have not begun",
		"<!-- facts: a -->\n<!-- facts: b -->": "in line 2 facts begin within those that begin in line 1",
		strings.Repeat("a\n", 9<<20):           "too long",
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if res := write(t, dir, provenance.Options{}); !strings.Contains(res.Sheet.Why, want) || sheetOf(t, dir) != text {
			t.Errorf("%.50q: %q", text, res.Sheet.Why)
		}
	}
}

// A datasheet of 16 MiB is updated.
func TestALongDatasheetIsFilled(t *testing.T) {
	dir := once(t, "x", func(*crawler.Options) {})
	const marks = "<!-- facts: counts -->\n<!-- /facts -->\n"
	for size, filled := range map[int]bool{16 << 20: true, 16<<20 + 1: false} {
		text := marks + strings.Repeat("x", size-len(marks))
		if err := os.WriteFile(filepath.Join(dir, provenance.DatasheetFile), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if res := write(t, dir, provenance.Options{NoAudit: true}); (res.Sheet.Why == "") != filled {
			t.Errorf("%d bytes: %q", size, res.Sheet.Why)
		}
	}
}

// If a mark has a name that this version does not know, the text after it stays.
func TestFactsOfAnotherVersionAreKept(t *testing.T) {
	dir := crawled(t)
	const text = "<!-- facts: later -->\nkept\n<!-- /facts -->\n<!-- facts: counts -->\n<!-- /facts -->\nend\n"
	if err := os.WriteFile(filepath.Join(dir, provenance.DatasheetFile), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	write(t, dir, provenance.Options{})
	is := sheetOf(t, dir)
	if !strings.HasPrefix(is, "<!-- facts: later -->\nkept\n<!-- /facts -->\n<!-- facts: counts -->\n\nAn item") || !strings.HasSuffix(is, "|\n\n<!-- /facts -->\nend\n") {
		t.Errorf("%s", is)
	}
}

// hostileText is a text that sites and people might write into any field: it has control
// characters, markup and marks.
const hostileText = "\u202e|x|`y`\x1b]0;t\x07\u009b2J<!-- /facts --><script>alert(1)</script>\n<!-- /facts -->\n# H\u0300\u0300"

// Texts from sites and people are only text in all files. They send no commands to a terminal,
// end no cell of a table and no facts, and are no markup.
func TestWhatOthersWroteIsText(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", "<link rel=license href=\"/`|\u202e\"><a href=\"/\u202e|`\">x</a><a href=\"http://b.example/|`\u009b\">y</a>").
			Func("/odd", func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header()["Content-Type"] = []string{"text/`|\u009b<b>"}
				rw.Header()["Link"] = []string{"</`|>; rel=license"}
			})
		o := crawler.Options{
			Identity: testIdentity, Seeds: []string{"http://a.example/\t" + strings.ReplaceAll(hostileText, "\n", " "), "http://a.example/odd"}, Wire: crawler.Wire{Network: w}, Dir: dir,
			Keep: crawler.Keep{Output: []crawler.Output{crawler.OutputPages, crawler.OutputLinks}}, Hooks: crawler.Hooks{Logger: slog.New(slog.DiscardHandler)},
			Follow: crawler.Follow{Exclude: regexp.MustCompile("zzz" + regexp.QuoteMeta(hostileText))},
		}
		c, err := crawler.New(o)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Exclude("b.example", hostileText); err != nil {
			t.Fatal(err)
		}
		if err := c.Run(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	})
	write(t, dir, provenance.Options{})
	for _, name := range []string{provenance.File, provenance.AbsencesFile, provenance.RobotsFile, provenance.DatasheetFile} {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if i := strings.IndexFunc(string(raw), func(r rune) bool { return r != '\n' && !unicode.IsGraphic(r) }); i >= 0 {
			t.Errorf("%s: byte %d steers the terminal: %q", name, i, raw[max(0, i-50):i+10])
		}
	}
	sheet := sheetOf(t, dir)
	columns, tables := 0, 0
	for line := range strings.Lines(sheet) {
		cells := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|") - 1
		switch {
		case !strings.HasPrefix(line, "|"):
			columns = 0
		case columns == 0:
			columns = cells
			tables++
		case cells != columns:
			t.Errorf("a row of %d cells in a table of %d: %s", cells, columns, line)
		}
		if outside := regexp.MustCompile("`[^`]*`").ReplaceAllString(strings.TrimSpace(line), ""); strings.Contains(outside, "`") ||
			strings.ContainsAny(outside, "<>") && !strings.HasPrefix(outside, "<!-- ") {
			t.Errorf("markup: %s", line)
		}
	}
	if tables < 8 || !strings.Contains(sheet, "script") || strings.Count(sheet, "\n<!-- /facts -->") != strings.Count(sheet, "\n<!-- facts: ") {
		t.Errorf("%d tables\n%s", tables, sheet)
	}
	write(t, dir, provenance.Options{}) // the second Write must find the marks of the first
	if again := sheetOf(t, dir); strings.Count(again, "\n") != strings.Count(sheet, "\n") {
		t.Errorf("%s", again)
	}
}
