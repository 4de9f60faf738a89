package diff_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/internal/diff"
)

// table has the kinds of pages that do not have an answer without an error in both crawls.
var table = map[[2]string]diff.Kind{
	{"", "page"}: diff.New, {"", "redirect"}: diff.New, {"", "missing"}: diff.Failing, {"", "failing"}: diff.Failing, {"", "refused"}: diff.Other,
	{"page", ""}: diff.LeftOut, {"page", "missing"}: diff.Gone, {"page", "failing"}: diff.Failing, {"page", "refused"}: diff.Refused,
	{"redirect", ""}: diff.LeftOut, {"redirect", "missing"}: diff.Gone, {"redirect", "failing"}: diff.Failing, {"redirect", "refused"}: diff.Refused,
	{"missing", ""}: diff.Other, {"missing", "page"}: diff.Recovered, {"missing", "redirect"}: diff.Recovered, {"missing", "missing"}: diff.Other, {"missing", "failing"}: diff.Other, {"missing", "refused"}: diff.Refused,
	{"failing", ""}: diff.Other, {"failing", "page"}: diff.Recovered, {"failing", "redirect"}: diff.Recovered, {"failing", "missing"}: diff.Other, {"failing", "failing"}: diff.Other, {"failing", "refused"}: diff.Refused,
	{"refused", ""}: diff.Other, {"refused", "page"}: diff.Allowed, {"refused", "redirect"}: diff.Allowed, {"refused", "missing"}: diff.Allowed, {"refused", "failing"}: diff.Allowed, {"refused", "refused"}: diff.Other,
}

// expected returns the difference of two models: the kind of each page, and for each page with
// a changed decision whether robots.txt now allows it.
func expected(was, is model) (kinds map[string]diff.Kind, rules map[string]bool) {
	kinds, rules = map[string]diff.Kind{}, map[string]bool{}
	before, now := was.known(), is.known()
	for i := range was {
		a, b := was[i], is[i]
		name := fmt.Sprintf("http://a.example/p%d", i)
		from, to := before[i], now[i]
		if from == "" && to == "" {
			continue
		}
		if was.robots() != is.robots() && a.forbidden != b.forbidden {
			rules[name] = a.forbidden
		}
		kind, known := table[[2]string{from, to}]
		switch {
		case known:
		case to == "redirect" && from == "redirect" && a.to == b.to && (a.answer == b.answer || b.answer == isFound):
			kind = diff.NotModified
		case to == "redirect" && b.answer == isMoved:
			kind = diff.Moved
		case to == "redirect":
			kind = diff.Redirected
		case from == "redirect":
			kind = diff.Modified
		case a.text == b.text && a.noise == b.noise:
			kind = diff.NotModified
		case a.text == b.text:
			kind = diff.SameText
		default:
			kind = diff.Modified
		}
		kinds[name] = kind
	}
	kinds["http://a.example/"] = diff.SameText
	if slices.Equal(was.links(), is.links()) {
		kinds["http://a.example/"] = diff.NotModified
	}
	return kinds, rules
}

// The difference of two crawls equals the difference of the web, for random changes of a site.
func TestADifferenceIsThatOfTheWeb(t *testing.T) {
	var mu sync.Mutex
	seen := map[diff.Kind]bool{}
	t.Run("webs", func(t *testing.T) {
		for seed := range uint64(30) {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel() // in parallel, because each test waits for the disk
				r := rand.New(rand.NewPCG(seed, 7))
				was := newModel(r)
				is := was.change(r)
				a, b := filepath.Join(t.TempDir(), "a.crawl"), filepath.Join(t.TempDir(), "b.crawl")
				outputs := func(o *crawler.Options) {
					if seed%3 == 1 { // then only the archive has the target of a redirect
						o.Output = []crawler.Output{crawler.OutputWARC}
					}
				}
				crawl(t, a, func(w *crawltest.Web) { was.web(w) }, outputs)
				crawl(t, b, func(w *crawltest.Web) { is.web(w) }, outputs)
				kinds, rules := map[string]diff.Kind{}, map[string]bool{}
				res, err := diff.Compare(t.Context(), a, b, diff.Options{
					Temp:   t.TempDir(),
					Change: func(c *diff.Change) error { kinds[c.URL] = c.Kind; return nil },
					Effect: func(e *diff.Effect) error { rules[e.URL] = e.Allowed; return nil },
				})
				if err != nil {
					t.Fatal(err)
				}
				want, wantRules := expected(was, is)
				counts := map[diff.Kind]int64{}
				mu.Lock()
				defer mu.Unlock()
				for url, kind := range want {
					if counts[kind]++; !kind.IsChange() {
						delete(want, url)
					}
					seen[kind] = true
				}
				if d := cmp.Diff(want, kinds); d != "" {
					t.Fatalf("seed %d (-want +got):\n%s", seed, d)
				}
				if d := cmp.Diff(wantRules, rules); d != "" {
					t.Fatalf("seed %d, robots.txt (-want +got):\n%s", seed, d)
				}
				for _, kind := range diff.Kinds() {
					if res.Counts.Of(kind) != counts[kind] {
						t.Errorf("seed %d: %d %s, want %d", seed, res.Counts.Of(kind), kind, counts[kind])
					}
				}
			})
		}
	})
	for _, kind := range diff.Kinds() {
		if !seen[kind] && kind != diff.NotAsked {
			t.Errorf("no web had one that is %s", kind)
		}
	}
}
