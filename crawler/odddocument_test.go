package crawler_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write the table of odd answers into its document anew")

const oddDocument = "../docs/odd-answers.md"

// tableFollows is the line of the document that its tables follow.
const tableFollows = "<!-- go test ./crawler -run OddAnswers -rewrite -->\n"

// docs/odd-answers.md has what TestOddAnswers holds us to.
func TestTheDocumentOfOddAnswers(t *testing.T) {
	text, err := os.ReadFile(oddDocument)
	if err != nil {
		t.Fatal(err)
	}
	before, _, ok := strings.Cut(string(text), tableFollows)
	if !ok {
		t.Fatalf("%s has no line %q", oddDocument, tableFollows)
	}
	want := before + tableFollows + oddTables()
	if *rewrite {
		if err := os.WriteFile(oddDocument, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(text) != want {
		t.Errorf("%s is not as the tests are: go test ./crawler -run OddAnswers -rewrite", oddDocument)
	}
}

// oddTables are the tables of pages and of what else is read.
func oddTables() string {
	var b strings.Builder
	b.WriteString("\n## Pages\n\n| body | 200 | 301, 302, 303, 307, 308 | 404, 410 | 500, 503 | what Chromium shows of 200 | why |\n|---|---|---|---|---|---|---|\n")
	for _, f := range faults {
		c := cell{fault: f}
		c.question.name, c.status = "page 200", "200 OK"
		shown := c.shown()
		if had, _, _ := strings.Cut(f.page, ","); shown == had {
			shown = "the same"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", f.name, f.page, ofAll(f, "page 301", "page 302", "page 303", "page 307", "page 308"),
			ofAll(f, "page 404", "page 410"), ofAll(f, "page 500", "page 503"), shown, f.why)
	}
	b.WriteString("\n## robots.txt, sitemaps, licenses, tdmrep.json\n\n| body | robots.txt 200 | 302 | 404, 410 | 403, 500, 503 | sitemap 200 | license, tdmrep.json 200 | 302 |\n|---|---|---|---|---|---|---|---|\n")
	for _, f := range faults {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", f.name, ofAll(f, "robots.txt 200"), ofAll(f, "robots.txt 302"), ofAll(f, "robots.txt 404", "robots.txt 410"),
			ofAll(f, "robots.txt 403", "robots.txt 500", "robots.txt 503"), ofAll(f, "sitemap 200"), ofAll(f, "license 200", "tdmrep.json 200"), ofAll(f, "license 302", "tdmrep.json 302"))
	}
	return b.String()
}

// ofAll is what comes of a body with several statuses, which is one thing but for the number of
// tries and the status itself.
func ofAll(f fault, names ...string) string {
	var all []string
	for _, q := range questions() {
		if slices.Contains(names, q.name) {
			c := cell{question: q, fault: f}
			got := strings.ReplaceAll(c.want(), "page with "+q.status[:3], "a page")
			if strings.HasPrefix(got, "failed") {
				got = "failed"
			}
			if !slices.Contains(all, got) {
				all = append(all, got)
			}
		}
	}
	return strings.Join(all, " or ")
}
