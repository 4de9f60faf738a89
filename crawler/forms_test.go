package crawler_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// A line of a seed file is a URL, a host name, or invalid.
func TestFormsOfSeeds(t *testing.T) {
	for _, test := range []struct{ line, url string }{
		{"http://a.example/", "http://a.example/"},
		{"http://a.example/x # and why", "http://a.example/x"},
		{"http://a.example/x#part", "http://a.example/x"},
		{"\thttp://a.example/", ""},
		{"http://a.example/x \tnews ", "http://a.example/x"},
		{"a.example", "https://a.example/"},
		{"a.example.", "https://a.example./"},
		{"a.example/x?y=z", "https://a.example/x?y=z"},
		{"a.example:8080/x", "https://a.example:8080/x"},
		{"localhost", "https://localhost/"},
		{"localhost:8080", "https://localhost:8080/"},
		{"127.0.0.1:80/x", "https://127.0.0.1:80/x"},
		{"a.example/x:y", "https://a.example/x:y"},
		{"words", ""},
		{"words/a.b", ""},
		{"words:80", ""},
		{".words", ""},
		{"words.", ""},
		{".", ""},
		{"/a.example/", ""},
		{"a.example:x", ""},
		{"a.example:8x/", ""},
		{"mailto:me@a.example", ""},
		{"me@a.example", ""},
		{"<a.example>", ""},
		{"\"a.example\"", ""},
		{"gopher://a.example/", ""},
		{"http://", ""},
		{"http://a.example/a b", ""},
		{"http://a.example/a\rb", ""},
		{"http://a.example/a\vb", ""},
		{"http://a.example/a\fb", ""},
		{" # a remark", ""},
	} {
		c, err := crawler.New(crawler.Options{Identity: testIdentity, Seeds: []string{test.line}})
		if test.url == "" {
			var option *crawler.OptionError
			var cause *frontier.URLError
			if !errors.As(err, &option) || option.Field != "Seeds" || !errors.As(err, &cause) {
				t.Errorf("%q: %v", test.line, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", test.line, err)
			continue
		}
		c.Stop() // the seed is queued but not requested
		if err := c.Run(t.Context(), nil); err != nil {
			t.Errorf("%q: %v", test.line, err)
		}
		var got []string
		for s, err := range c.Left() {
			got = append(got, s.URL.String())
			if err != nil || s.Code != frontier.Queued {
				t.Errorf("%q: %+v, %v", test.line, s, err)
			}
		}
		if want := mustURL(t, test.url).String(); len(got) != 1 || got[0] != want {
			t.Errorf("%q: %q, want %q", test.line, got, want)
		}
	}
}

func mustURL(t *testing.T, raw string) frontier.URL {
	t.Helper()
	u, err := frontier.ParseURL(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// An invalid line is reported with the file, the line number, and the cause. The other lines are
// returned.
func TestReportsOfSeedFiles(t *testing.T) {
	const file = "\ufeffa.example\n \t \n#b.example\nwords\n  c.example\ttag  \n\ufeff\n http://d.example/ x\n" + "e.example"
	seeds, bad, err := crawler.ReadSeeds(strings.NewReader(file), "dir/seeds.txt")
	if want := []string{"a.example", "c.example\ttag", "e.example"}; err != nil || !slices.Equal(seeds, want) {
		t.Errorf("%q, %v; want %q", seeds, err, want)
	}
	var said []string
	for _, b := range bad {
		var cause *frontier.URLError
		said = append(said, fmt.Sprint(b.File, " ", b.Line))
		if !errors.As(b, &cause) || b.Error() != fmt.Sprintf("%s:%d: %v", b.File, b.Line, b.Err) {
			t.Errorf("%v", b)
		}
	}
	if want := []string{"dir/seeds.txt 4", "dir/seeds.txt 7"}; !slices.Equal(said, want) {
		t.Errorf("%q, want %q", said, want)
	}
	long := "a.example\t" + strings.Repeat("t", 64<<10)
	_, bad, err = crawler.ReadSeeds(strings.NewReader(long[:64<<10]+"\n"+long[:64<<10+1]+"\n"), "f")
	if err != nil || len(bad) != 1 || bad[0].Error() != "f:2: longer than 65536 bytes: is this a seed file?" {
		t.Errorf("%v, %v", bad, err)
	}
}

// Each scope contains certain URLs after its roots were admitted.
func TestWhatScopesHold(t *testing.T) {
	for _, test := range []struct {
		name    string
		scope   crawler.Scope
		roots   []string
		in, out []string
	}{
		{"host", crawler.SameHost(), []string{"http://a.example/x"},
			[]string{"http://a.example/", "https://a.example:8443/y"}, []string{"http://b.a.example/", "http://example/"}},
		{"domain", crawler.SameDomain(), []string{"http://www.a.example/x"},
			[]string{"http://a.example/", "https://b.a.example:8443/y"}, []string{"http://b.example/"}},
		{"list", crawler.SeedsOnly(), []string{"http://a.example/x?y"},
			[]string{"http://a.example/x?y", "http://a.example:80/x?y#z"}, []string{"http://a.example/x", "http://a.example/x?z", "https://a.example/x?y"}},
		{"prefix", crawler.SamePrefix(), []string{"http://a.example/x/y/z?q=/r/", "http://b.example/x", "http://c.example/d"},
			[]string{"http://a.example/x/y/", "http://a.example/x/y/other", "http://a.example/x/y/z/deep/er?a/b", "http://b.example/", "http://b.example/other/deep/", "http://c.example/?/"},
			[]string{"http://a.example/x/y", "http://a.example/x/", "http://a.example/", "http://a.example/x/yy/", "http://a.example/?/x/y/", "https://a.example/x/y/",
				"http://a.example:81/x/y/", "http://d.example/x/y/", "http://b.example:81/", "https://b.example/"}},
		{"any", crawler.Anywhere(), []string{"http://a.example/"}, []string{"http://b.example/"}, nil},
	} {
		if named, ok := test.scope.(fmt.Stringer); test.name != "any" && (!ok || named.String() != test.name) {
			t.Errorf("%s: its name is %v", test.name, test.scope)
		}
		holds := func(s crawler.Scope, raw string) bool { return s.Contains(frontier.Entry{URL: mustURL(t, raw)}) }
		empty := test.scope
		if c, ok := test.scope.(interface{ Clone() crawler.Scope }); ok {
			empty = c.Clone()
			for _, in := range test.in {
				if holds(test.scope, in) || holds(empty, in) {
					t.Errorf("%s holds %s without a root", test.name, in)
				}
			}
		}
		for _, root := range test.roots {
			test.scope.Admit(mustURL(t, root))
		}
		full := test.scope
		if c, ok := test.scope.(interface{ Clone() crawler.Scope }); ok {
			full = c.Clone()
			test.scope.Admit(mustURL(t, "http://later.example/"))
			if holds(full, "http://later.example/") || !holds(test.scope, "http://later.example/") {
				t.Errorf("%s and its copy are one", test.name)
			}
			full.Admit(mustURL(t, "http://copy.example/"))
			if !holds(full, "http://copy.example/") || holds(test.scope, "http://copy.example/") {
				t.Errorf("the copy of %s and it are one", test.name)
			}
			for _, in := range test.in {
				if holds(empty, in) {
					t.Errorf("the empty copy of %s holds %s", test.name, in)
				}
			}
		}
		for _, s := range []crawler.Scope{test.scope, full} {
			for _, in := range append(test.in, test.roots...) {
				if !holds(s, in) {
					t.Errorf("%s does not hold %s", test.name, in)
				}
			}
			for _, out := range test.out {
				if holds(s, out) {
					t.Errorf("%s holds %s", test.name, out)
				}
			}
		}
	}
}

// answered crawls n pages that h answers, and calls look with each page in the handler. It returns
// their lines in pages.jsonl.
func answered(t *testing.T, n int, h func(rw http.ResponseWriter, i int), look func(i int, p *crawler.Page)) []store.PageRecord {
	t.Helper()
	dir := t.TempDir()
	path := func(i int) string { return fmt.Sprintf("/%d", i) }
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		numbers := map[string]int{}
		var seeds []string
		for i := range n {
			w.Site("http://a.example").Func(path(i), func(rw http.ResponseWriter, _ *http.Request) { h(rw, i) })
			seeds = append(seeds, "http://a.example"+path(i))
			numbers[path(i)] = i
		}
		_, err := try(t, w, func(o *crawler.Options) {
			o.Dir, o.Output, o.Seeds, o.Scope = dir, []crawler.Output{crawler.OutputBodies}, seeds, crawler.SeedsOnly()
		}, crawler.HandlerFunc(func(_ context.Context, p *crawler.Page) error {
			if i, ok := numbers[p.URL.Target()]; ok { // false for the target of a redirect
				look(i, p)
			}
			return nil
		}))
		if err != nil {
			t.Fatal(err)
		}
	})
	lines := make([]store.PageRecord, n)
	for _, r := range records(t, dir) {
		for i := range lines {
			if r.URL == "http://a.example"+path(i) {
				lines[i] = r
			}
		}
	}
	return lines
}

// The kind of a page, and the form of its stored body, depend on its media type. This is the type
// in the header, or a guess from its first bytes.
func TestTypesOfPages(t *testing.T) {
	const html = `<title>T</title><a href="/x">x</a>`
	tests := []struct {
		contentType string // empty: the header has none
		body        string
		is          string
		links, text bool
	}{
		{"text/html", html, "text/html", true, true},
		{"application/xhtml+xml", html, "application/xhtml+xml", true, true},
		{"text/plain", html, "text/plain", false, true},
		{"application/atom+xml", html, "application/atom+xml", false, true},
		{"application/ld+json", `{}`, "application/ld+json", false, true},
		{"application/json", `{}`, "application/json", false, true},
		{"application/xml", `<a/>`, "application/xml", false, true},
		{"application/javascript", `x`, "application/javascript", false, true},
		{"application/pdf", `%PDF`, "application/pdf", false, false},
		{"image/png", "\x89PNG", "image/png", false, false},
		{"x-text/plain", "x", "x-text/plain", false, false},
		{"application/json+xmlish", "x", "application/json+xmlish", false, false},
		{"", "<html>" + html, "text/html", true, true},
		{"", "\x89PNG\r\n\x1a\n", "image/png", false, false},
		{"", "x", "text/plain", false, true},
		{"", "", "", false, false},
		{"text/html", "", "text/html", false, false},
	}
	seen := make([]crawler.Page, len(tests))
	lines := answered(t, len(tests), func(rw http.ResponseWriter, i int) {
		rw.Header()["Content-Type"] = nil // otherwise the server would send a guessed type
		if is := tests[i].contentType; is != "" {
			rw.Header().Set("Content-Type", is)
		}
		io.WriteString(rw, tests[i].body)
	}, func(i int, p *crawler.Page) { seen[i] = *p })
	for i, test := range tests {
		seen, r := seen[i], lines[i]
		if seen.Type != test.is || r.Type != test.is || (len(seen.Links()) == 1) != test.links || (seen.Title() == "T") != test.links {
			t.Errorf("%q, %q: type %q, in pages.jsonl %q; links %v", test.contentType, test.body, seen.Type, r.Type, seen.Links())
		}
		if body := string(r.Body); test.text && body != test.body || !test.text && body != "" {
			t.Errorf("%q, %q: body %q", test.contentType, test.body, body)
		}
		if body := string(r.Base64); !test.text && body != test.body || test.text && body != "" {
			t.Errorf("%q, %q: base64 %q", test.contentType, test.body, body)
		}
		if (r.Charset != "") != (test.text || test.links || strings.Contains(test.is, "html")) {
			t.Errorf("%q, %q: charset %q", test.contentType, test.body, r.Charset)
		}
	}
}

// Only a redirect has a Location, and only a page has links.
func TestStatusesOfPages(t *testing.T) {
	tests := []struct {
		status          int
		location        string
		redirect, links bool
	}{
		{200, "", false, true}, {200, "/x", false, true}, {203, "", false, true}, {299, "", false, true},
		{300, "/x", true, false}, {301, "/x", true, false}, {399, "/x", true, false}, {302, "", false, false}, {302, "gopher://a/", false, false},
		{400, "/x", false, false}, {404, "", false, false},
	}
	seen := make([]crawler.Page, len(tests))
	lines := answered(t, len(tests), func(rw http.ResponseWriter, i int) {
		if tests[i].location != "" {
			rw.Header().Set("Location", tests[i].location)
		}
		rw.Header().Set("Content-Type", "text/html")
		rw.WriteHeader(tests[i].status)
		fmt.Fprintf(rw, `<a href="/x">%d</a>`, i)
	}, func(i int, p *crawler.Page) { seen[i] = *p })
	for i, test := range tests {
		seen, r := seen[i], lines[i]
		want := ""
		if test.redirect {
			want = "http://a.example/x"
		}
		if seen.Status != test.status || seen.Location.String() != want || r.Location != want || (len(seen.Links()) == 1) != test.links || (r.Links == 1) != test.links {
			t.Errorf("%d, %q: leads to %q, in pages.jsonl %q, links %v, %d", test.status, test.location, seen.Location, r.Location, seen.Links(), r.Links)
		}
	}
}

// A document is parsed once, from the text of the page, in any encoding.
func TestDocOfAPage(t *testing.T) {
	answered(t, 2, func(rw http.ResponseWriter, i int) {
		if i == 1 {
			io.WriteString(rw, strings.Repeat("<div>", 600)+"<a href=/1>1</a>")
			return
		}
		rw.Header().Set("Content-Type", "text/plain; charset=windows-1252")
		io.WriteString(rw, "<p>Caf\xe9</p>")
	}, func(i int, p *crawler.Page) {
		doc, err := p.Doc()
		if i == 1 {
			if again, err2 := p.Doc(); err == nil || doc != nil || err2 == nil || again != nil || len(p.Links()) != 1 {
				t.Errorf("600 elements deep: %v, %v, %d links", err, err2, len(p.Links()))
			}
			return
		}
		if err != nil || doc.Find("p").Text() != "Café" || string(p.Text()) != "<p>Café</p>" {
			t.Errorf("%q, %v", p.Text(), err)
		}
		p.Body = []byte("<p>changed</p>")
		if again, err := p.Doc(); err != nil || again != doc || string(p.Text()) != "<p>Café</p>" {
			t.Errorf("it was parsed again: %q, %v", p.Text(), err)
		}
	})
}

// links.jsonl has exactly these lines.
func TestLinesOfTheLinkGraph(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", `<a rel="nofollow me" href="/1">1</a><img src="/i.gif"><a hreflang=de href="/go">g <b>o</b></a>`).
			Page("/1", "x").Redirect("/go", "/1")
		crawl(t, w, func(o *crawler.Options) { o.Dir, o.Output = dir, []crawler.Output{crawler.OutputLinks} }, "http://a.example/")
		w.AssertNeverFetched("http://a.example/i.gif")
	})
	raw, err := os.ReadFile(filepath.Join(dir, store.LinksFile))
	want := `{"from":"http://a.example/","to":"http://a.example/1","hop":"L","where":"a/href","rel":"nofollow me","text":"1"}
{"from":"http://a.example/","to":"http://a.example/i.gif","hop":"E","where":"img/src"}
{"from":"http://a.example/","to":"http://a.example/go","hop":"L","where":"a/href","lang":"de","text":"g o"}
{"from":"http://a.example/go","to":"http://a.example/1","hop":"R","where":"location"}
`
	if err != nil || string(raw) != want {
		t.Errorf("links.jsonl is %v\n%s\nwant\n%s", err, raw, want)
	}
}

// archivedRecords returns the records of a crawl's only WARC file. Each map has the header fields
// of a record, and the fields in its block.
func archivedRecords(t *testing.T, dir string) (all []map[string]string) {
	t.Helper()
	files, err := store.ArchiveFiles(dir)
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	f, err := os.Open(files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for in := warc.NewReader(f); ; {
		rec, err := in.Next()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		fields := rec.Header
		if rec.Header.Get(warc.FieldContentType) == "application/warc-fields" {
			block, err := rec.Fields()
			if err != nil {
				t.Fatal(err)
			}
			fields = slices.Concat(fields, block)
		}
		record := map[string]string{}
		for _, f := range fields {
			record[f.Name] = strings.TrimPrefix(record[f.Name]+", "+f.Value, ", ")
		}
		all = append(all, record)
	}
}

// The warcinfo record names the program, and each record names the protocols of its answer. No
// field has control characters.
func TestFieldsOfTheArchive(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "my\x7fcr\xe4wl\x1b")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skip(err) // some systems have no such names
	}
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("https://a.example").Robots("User-agent: *\nAllow: /\x01\x1f \x7f~\nAllow: /no").Latency(1234*time.Millisecond).
			Page("/", "<a href='/%01%1F%20%7F~'>1</a>").Page("/%01%1F%20%7F~", "1")
		crawl(t, w, func(o *crawler.Options) {
			o.Dir, o.Output = dir, []crawler.Output{crawler.OutputWARC}
			o.Identity.Mail = "me@example.org"
		}, "https://a.example/")
	})
	all := archivedRecords(t, dir)
	host, _ := os.Hostname()
	for name, want := range map[string]string{
		"software": "permesso/" + crawler.Version, "robots": "RFC 9309", "http-header-user-agent": "benchbot (+https://example.org/benchbot) permesso/" + crawler.Version,
		"http-header-from": "me@example.org", "operator": "https://example.org/benchbot", "hostname": host, "isPartOf": "my_cr_wl_",
	} {
		if got := all[0][name]; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	var kinds []string
	for _, r := range all[1:] {
		kinds = append(kinds, strings.TrimPrefix(r["WARC-Target-URI"], "https://a.example")+" "+r["WARC-Type"])
		if r["WARC-Type"] != "metadata" {
			if got := r["WARC-Protocol"]; got != "h2, tls/1.3" && got != "http/1.1, tls/1.3" || !strings.HasPrefix(r["WARC-Cipher-Suite"], "TLS_") {
				t.Errorf("protocol %q, cipher %q", got, r["WARC-Cipher-Suite"])
			}
			continue
		}
		switch r["WARC-Target-URI"] {
		case "https://a.example/robots.txt":
			if r["via"] != "https://a.example/" || r["hopsFromSeed"] != "P" || r["robotsFetched"] != "" || r["robotsRule"] != "" {
				t.Errorf("%q", r)
			}
		case "https://a.example/":
			if r["via"] != "" || r["hopsFromSeed"] != "" || r["fetchTimeMs"] != "1234" || r["robotsFetched"] == "" || r["robotsRule"] != "" {
				t.Errorf("%q", r)
			}
		default:
			if r["hopsFromSeed"] != "L" || !strings.HasPrefix(r["robotsRule"], "line 2: Allow: /") || strings.ContainsFunc(r["robotsRule"], func(r rune) bool { return r < ' ' || r == 0x7f }) {
				t.Errorf("%q", r)
			}
			if want := "line 2: Allow: /%01%1F %7F~"; r["robotsRule"] != want {
				t.Errorf("robotsRule %q, want %q", r["robotsRule"], want)
			}
		}
	}
	if want := []string{
		"/robots.txt response", "/robots.txt request", "/robots.txt metadata", "/ response", "/ request", "/ metadata",
		"/%01%1F%20%7F~ response", "/%01%1F%20%7F~ request", "/%01%1F%20%7F~ metadata",
	}; !slices.Equal(kinds, want) {
		t.Errorf("records %q, want %q", kinds, want)
	}
}
