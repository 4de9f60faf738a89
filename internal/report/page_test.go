package report_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/permesso-crawler/permesso/internal/report"
	"github.com/permesso-crawler/permesso/internal/store"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// written makes a directory with the state of a crawl and with the given files, by name.
func written(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	db, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// logged returns the log line of a request that began at the given second. The line requires a
// pause of one second.
func logged(second int, status, url, via, kind, notes string) string {
	return fmt.Sprintf("2026-05-04T10:00:%02d.100Z %s 4711 %s L %s %s #001 202605041000%02d000+100 sha1:X - start:2026-05-04T10:00:%02d.000000Z,ttfb:0.05,took:0.100000%s\n",
		second, status, url, via, kind, second, second, notes)
}

const hostile = "\u202e\u2066x<script>alert(1)</script></title></svg><img/src=x/onerror=alert(1)>\"'`{{.}}javascript:alert(1)\u0300\u0300\u0300\u0300\u0300\u0300\u0300"

// hostileReport returns the report of a crawl in whose files every text has elements, scripts
// or hidden characters.
func hostileReport(t *testing.T) *report.Report {
	field := strings.ReplaceAll(hostile, " ", "")
	url := "http://a.test/?" + field
	quoted := strings.ReplaceAll(strings.ReplaceAll(hostile, `\`, `\\`), `"`, `\"`)
	urlQuoted := strings.ReplaceAll(url, `"`, `\"`)
	log := "2026-05-04T10:00:00.000Z 0 - permesso:run - - unknown #000 - - - begin:clean\n" +
		strings.Replace(logged(1, "200", "http://a.test/robots.txt", "http://a.test/", "text/plain", ""), " L ", " P ", 1) +
		logged(3, "200", url, url, field, ",asked:1.000000,clock:"+strings.ReplaceAll(field, ",", "")) +
		logged(5, "404", url+"2", url, field, ",asked:1.000000,clock:own") +
		logged(7, "302", url+"3", url, field, ",asked:1.000000,clock:own") +
		logged(9, "-3", url+"4", url, field, ",asked:1.000000,clock:own,error:"+field) +
		logged(11, "200", url+"5", url, field, ",asked:1.000000,clock:own") +
		field + " is no line\n"
	dir := written(t, map[string]string{
		store.LogFile: log,
		store.PagesFile: fmt.Sprintf(`{"url":"%s","title":"%s"}`+"\n"+`{"url":"%s2","title":"%s"}`+"\n"+`{"url":"%s3","location":"javascript:%s"}`+"\n",
			urlQuoted, quoted, urlQuoted, quoted, urlQuoted, quoted),
		store.LinksFile: fmt.Sprintf(`{"from":"%s","to":"%s2","hop":"L"}`+"\n", urlQuoted, urlQuoted),
	})
	r, err := report.Dir(t.Context(), dir, report.Options{Temp: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if r.Requests != 6 || r.Errors.All != 2 || r.Redirect.All != 1 || r.Linked.All != 1 || r.Repeated != 1 || r.Others != 1 {
		t.Fatalf("%d requests, %d errors, %d redirects, %d linked, %d repeated, %d others", r.Requests, r.Errors.All, r.Redirect.All, r.Linked.All, r.Repeated, r.Others)
	}
	r.Name, r.Token, r.Contact, r.Since = hostile, hostile, hostile, hostileChanges()
	r.NotCompared = &report.NotCompared{Dir: hostile, Why: hostile, Mend: hostile}
	return r
}

// pageOf returns a report as the text of its page, and as a parsed tree.
func pageOf(t *testing.T, r *report.Report) (string, *html.Node) {
	t.Helper()
	var b bytes.Buffer
	if err := r.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	tree, err := html.Parse(bytes.NewReader(b.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	return b.String(), tree
}

func all(of *html.Node, names ...string) (found []*html.Node) {
	for n := range of.Descendants() {
		if n.Type == html.ElementNode && slices.Contains(names, n.Data) {
			found = append(found, n)
		}
	}
	return found
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func text(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
	}
	return b.String()
}

// A text from a site is shown only as text. It makes no element, runs and loads nothing, hides
// no other text and does not change its order.
func TestWhatSitesSayIsTextInAReport(t *testing.T) {
	raw, tree := pageOf(t, hostileReport(t))
	if path := os.Getenv("PERMESSO_PAGE"); path != "" { // write the page to this file, to look at it in a browser
		if err := os.WriteFile(path, []byte(raw), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	known := strings.Fields("html head meta title style body header p h1 h2 h3 bdi nav a dl div dt dd main figure svg desc path circle text ul li i details summary table caption thead tbody tr th td section footer")
	for n := range tree.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		if !slices.Contains(known, n.Data) {
			t.Errorf("there is an element %s", n.Data)
		}
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || slices.Contains([]string{"src", "style", "srcset", "action", "xlink:href"}, a.Key) || a.Key == "href" && !strings.HasPrefix(a.Val, "#") {
				t.Errorf("<%s %s=%q>", n.Data, a.Key, a.Val)
			}
		}
	}
	for _, r := range raw {
		if r != '\n' && !unicode.IsGraphic(r) {
			t.Fatalf("the page has the character %U", r)
		}
	}
	if strings.Contains(raw, strings.Repeat("\u0300", 3)) {
		t.Error("marks pile up")
	}
	for _, want := range []string{`\u{202e}\u{2066}x<script>alert(1)</script></title></svg>`, "javascript:alert(1)", "{{.}}"} {
		if !strings.Contains(text(tree), want) {
			t.Errorf("the page does not show %s", want)
		}
	}
	if n := len(all(tree, "style")); n != 1 {
		t.Errorf("%d style elements", n)
	}
}

// The page has a language, a title, and a Content-Security-Policy that forbids it to load
// anything.
func TestAReportIsAPageOfItsOwn(t *testing.T) {
	raw, tree := pageOf(t, hostileReport(t))
	if !strings.HasPrefix(raw, "<!doctype html>\n") || attr(all(tree, "html")[0], "lang") != "en" {
		t.Error("it has no doctype, or no language")
	}
	if title := text(all(tree, "title")[0]); !strings.HasSuffix(title, ": report of a crawl") {
		t.Errorf("its title is %q", title)
	}
	metas := map[string]string{}
	for _, m := range all(tree, "meta") {
		metas[attr(m, "http-equiv")+attr(m, "name")] = attr(m, "content")
	}
	if metas["Content-Security-Policy"] != "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'" ||
		metas["color-scheme"] != "light dark" || metas["referrer"] != "no-referrer" || metas["viewport"] == "" {
		t.Errorf("metas %q", metas)
	}
	if len(all(tree, "h1")) != 1 || len(all(tree, "main")) != 1 {
		t.Error("it has not one heading and one main part")
	}
	style := text(all(tree, "style")[0])
	for _, want := range []string{"prefers-color-scheme: dark", "@media print", "max-width: 30rem"} {
		if !strings.Contains(style, want) {
			t.Errorf("its style has no %s", want)
		}
	}
	if regexp.MustCompile(`url\(|@import`).MatchString(style) {
		t.Error("its style loads something")
	}
	ids := map[string]int{}
	for n := range tree.Descendants() {
		if id := attr(n, "id"); id != "" {
			ids[id]++
		}
	}
	for id, n := range ids {
		if n > 1 {
			t.Errorf("%d elements have the id %s", n, id)
		}
	}
	for _, a := range all(tree, "a") {
		if ids[strings.TrimPrefix(attr(a, "href"), "#")] != 1 {
			t.Errorf("a link leads to %s", attr(a, "href"))
		}
	}
}

// Each element has its end tag, in the right order.
func TestAReportIsWellFormed(t *testing.T) {
	raw, _ := pageOf(t, hostileReport(t))
	var open []string
	in := html.NewTokenizer(strings.NewReader(raw))
	for {
		switch in.Next() {
		case html.ErrorToken:
			if len(open) > 0 {
				t.Errorf("not ended: %v", open)
			}
			return
		case html.StartTagToken:
			if name, _ := in.TagName(); atom.Lookup(name) != atom.Meta {
				open = append(open, string(name))
			}
		case html.EndTagToken:
			name, _ := in.TagName()
			if len(open) == 0 || open[len(open)-1] != string(name) {
				t.Fatalf("</%s> in %v", name, open)
			}
			open = open[:len(open)-1]
		}
	}
}

// Each picture has a title, a description and a table with its numbers, for readers that do not
// see pictures.
func TestEachPictureHasItsWordsAndItsTable(t *testing.T) {
	_, crawl, _ := crawled(t)
	for _, r := range []*report.Report{crawl, hostileReport(t)} {
		_, tree := pageOf(t, r)
		figures := all(tree, "figure")
		if len(figures) != 11 || len(all(tree, "svg")) < 9 {
			t.Errorf("%d figures, %d pictures", len(figures), len(all(tree, "svg")))
		}
		for _, f := range figures {
			pictures, tables := all(f, "svg"), all(f, "table")
			if len(pictures) == 0 && strings.TrimSpace(text(f)) != "" && len(all(f, "p")) == 2 {
				continue // this part has a text that says why there is no picture
			}
			if len(pictures) != 1 || len(tables) != 1 || len(all(f, "details")) != 1 {
				t.Fatalf("%s: %d pictures, %d tables", attr(f, "id"), len(pictures), len(tables))
			}
			svg := pictures[0]
			named := strings.Fields(attr(svg, "aria-labelledby"))
			if attr(svg, "role") != "img" || len(named) != 2 || attr(svg.FirstChild.NextSibling, "id") != named[0] ||
				text(svg.FirstChild.NextSibling) == "" || attr(all(svg, "desc")[0], "id") != named[1] || text(all(svg, "desc")[0]) == "" {
				t.Errorf("%s: role %q, labelled by %q", attr(f, "id"), attr(svg, "role"), named)
			}
			for _, n := range all(svg, "path", "circle", "text") {
				for _, a := range n.Attr {
					if strings.Contains(a.Val, "NaN") || strings.Contains(a.Val, "Inf") {
						t.Errorf("%s: %s=%q", attr(f, "id"), a.Key, a.Val)
					}
				}
			}
		}
		for _, table := range all(tree, "table") {
			caption := all(table, "caption")
			if len(caption) != 1 || text(caption[0]) == "" {
				t.Error("a table has no caption")
			}
			columns := 0
			for _, row := range all(table, "tr") {
				cells := all(row, "th", "td")
				if columns == 0 {
					columns = len(cells)
				}
				if len(cells) != columns || cells[0].Data != "th" {
					t.Errorf("%s: %d cells in a row, of %d columns", text(caption[0]), len(cells), columns)
				}
			}
			for _, th := range all(table, "th") {
				if scope := attr(th, "scope"); scope != "col" && scope != "row" {
					t.Errorf("%s: the scope of a head is %q", text(caption[0]), scope)
				}
			}
		}
	}
}
