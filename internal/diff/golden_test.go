package diff_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/diff"
	"github.com/permesso-crawler/permesso/robots"
)

var rewrite = flag.Bool("rewrite", false, "write the golden file again")

// goldenWeb returns a function that makes a web with a URL of each kind, in its earlier or its
// later state.
func goldenWeb(later bool) func(w *crawltest.Web) {
	pick := func(was, is string) string {
		if later {
			return is
		}
		return was
	}
	to := func(path string, status int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, path, status) }
	}
	body := func(text, noise string) string {
		return "<title>T</title><p>" + text + ", and more than a few bytes of it<!--" + noise + "-->"
	}
	return func(w *crawltest.Web) {
		home := ""
		for _, path := range strings.Fields("modified same-text moved moved-text redirected moving became gone failing recovered refused refused-too allowed same none " + pick("left-out", "new")) {
			home += "<a href=/" + path + "></a>"
		}
		s := w.Site("http://a.example").Robots("User-agent: *\nDisallow: /"+pick("allowed\nDisallow: /unlinked", "refused\nDisallow: /a\nAllow: /allowed\nCrawl-delay: 2\nRequest-rate: 1/1\nContent-Signal: search=no\n\nUser-agent: oldbot\nDisallow: /t\nDisallow: /a\nAllow: /allowed\nRequest-rate: 1/3")+"\n").
			Page("/", home).Page("/modified", body(pick("one", "two"), "")).Page("/same-text", body("same", pick("1", "2"))).Page("/same", body("same", "")).
			Page("/left-out", "left").Page("/new", "new").Page("/refused", "r").Page("/refused-too", "r").Page("/allowed", "a").Status("/none", http.StatusNotFound).
			Page("/there", body("moved", "")).Page("/text", body("moved", "now")).
			Func("/moving", to(pick("/same", "/modified"), http.StatusPermanentRedirect))
		if later {
			s.Func("/moved", to("/there", http.StatusMovedPermanently)).Func("/moved-text", to("/text", http.StatusMovedPermanently)).Func("/redirected", to("/same", http.StatusFound)).
				Status("/gone", http.StatusGone).Status("/failing", http.StatusNotImplemented).Page("/recovered", "r").Page("/became", "page")
		} else {
			s.Page("/moved", body("moved", "")).Page("/moved-text", body("moved", "")).Page("/redirected", "r").Page("/gone", "g").Page("/failing", "f").Status("/recovered", http.StatusNotFound).
				Func("/became", to("/same", http.StatusFound))
		}
		if later {
			w.Site("http://b.example").Status("/robots.txt", http.StatusForbidden).Page("/", "b")
		} else {
			w.Site("http://b.example").Status("/robots.txt", http.StatusNotFound).Page("/", "b")
		}
		w.Site("http://out.example").Robots("").Page("/", "out")
		w.Site("http://old.example").Robots("").Page("/", "old")
		w.Site("http://young.example").Robots("").Page("/", "young")
	}
}

// The result for two crawls with a URL of each kind equals the golden file.
func TestGoldenDiff(t *testing.T) {
	root := t.TempDir()
	a, b := filepath.Join(root, "a.crawl"), filepath.Join(root, "b.crawl")
	crawl(t, a, goldenWeb(false), func(o *crawler.Options) {
		o.Seeds = append(o.Seeds, "http://b.example/", "http://out.example/", "http://old.example/")
		o.Aliases, o.Dialect, o.AllowForbidden = []string{"oldbot"}, robots.Koster1996, true
	})
	crawl(t, b, goldenWeb(true), func(o *crawler.Options) {
		o.Seeds = append(o.Seeds, "http://b.example/", "http://out.example/", "http://young.example/")
		o.Depth = 5
		o.OptOut = func(u frontier.URL) string {
			if u.Host() == "out.example" {
				return "mail of 3 May"
			}
			return ""
		}
	})
	var is strings.Builder
	tell := func(v any, words string) {
		text, err := json.MarshalIndent(v, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&is, "%s\n%s\n", text, words)
	}
	reported := map[diff.Kind]bool{}
	compare := func(was, is string, o diff.Options) *diff.Result {
		o.Temp = t.TempDir()
		r, err := diff.Compare(t.Context(), was, is, o)
		if err != nil {
			t.Fatal(err)
		}
		tell(r, "")
		return r
	}
	r := compare(a, b, diff.Options{
		Most:   2,
		Change: func(c *diff.Change) error { reported[c.Kind] = true; tell(c, c.Words()); return nil },
		Effect: func(e *diff.Effect) error { tell(e, fmt.Sprintf("%v -> %v", e.Was, e.Is)); return nil },
	})
	back := compare(b, a, diff.Options{Most: 3}) // compares with the rules of the other crawl
	for i := range back.Robots {
		tell(back.Robots[i].Was.Words(), back.Robots[i].Is.Words())
	}
	compare(a, b, diff.Options{Most: -1, NoText: true, Site: func(s frontier.Site) bool { return s.Host() != "b.example" }})
	for _, k := range diff.Kinds() {
		if k.IsChange() && !reported[k] {
			t.Errorf("no URL is %s", k)
		}
	}
	text := strings.ReplaceAll(is.String(), root, "DIR")
	text = regexp.MustCompile(`[T ]\d\d:\d\d(:\d\d(\.\d+)?)?Z`).ReplaceAllString(text, "THH:MM:SSZ")
	const golden = "testdata/golden.txt"
	if *rewrite {
		if err := os.WriteFile(golden, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), text); d != "" {
		t.Error(d)
	}
	for _, s := range []diff.Snapshot{r.Was, r.Is} { // remove the year, because virtual time begins with it
		if first, last := s.First.Second(), s.Last.Sub(s.First); first > 2 || last < 10*time.Second {
			t.Errorf("%+v", s)
		}
	}
}
