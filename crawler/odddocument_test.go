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

const oddDocument = "../docs/reference/odd-answers.md"

// tableFollows is the line of the document after which its tables begin.
const tableFollows = "<!-- go test ./crawler -run OddAnswers -rewrite -->\n"

// The tables in docs/reference/odd-answers.md have the results that TestOddAnswers checks.
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

// oddTables returns the text of the tables of pages and of other documents.
func oddTables() string {
	var b strings.Builder
	redirects, errors := []string{"301", "302", "303", "307", "308"}, []string{"500", "503"}
	b.WriteString("\n## Pages\n\n| body | 200, 203 | 301, 302, 303, 307, 308 | 403, 404, 410 | 500, 503 | what Chromium shows of all but redirects | why |\n|---|---|---|---|---|---|---|\n")
	for _, f := range faults {
		c := cell{fault: f}
		shown := c.shown()
		if had, _, _ := strings.Cut(f.page, ","); shown == had {
			shown = "as of 200 here"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", f.name, ofAll(f, "page", "200", "203"), ofAll(f, "page", redirects...),
			ofAll(f, "page", "403", "404", "410"), ofAll(f, "page", errors...), shown, f.why)
	}
	for _, document := range []string{"robots.txt", "sitemap", "license", "tdmrep.json"} {
		fmt.Fprintf(&b, "\n## %s\n\n| body | 200, 203 | 301, 302, 303, 307, 308 | 404, 410 | 403 | 500, 503 |\n|---|---|---|---|---|---|\n", document)
		for _, f := range faults {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", f.name, ofAll(f, document, "200", "203"), ofAll(f, document, redirects...),
				ofAll(f, document, "404", "410"), ofAll(f, document, "403"), ofAll(f, document, errors...))
		}
	}
	return b.String()
}

// ofAll returns the result of a fault for several statuses. It must be the same for all of them,
// except for the status itself and the number of tries.
func ofAll(f fault, document string, statuses ...string) string {
	var all []string
	for _, q := range questions() {
		if of, status, _ := strings.Cut(q.name, " "); of == document && slices.Contains(statuses, status) {
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
