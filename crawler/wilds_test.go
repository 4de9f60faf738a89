package crawler_test

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
)

// A wilds is a random web that is generated from a seed.
type wilds struct {
	*crawltest.Web
	seed  uint64
	seeds []string

	mu    sync.Mutex // guards asked
	asked map[string]int
}

const wildSites = 6

func newWilds(t *testing.T, seed uint64, moved *atomic.Int64) *wilds {
	w := &wilds{Web: crawltest.New(t), seed: seed, asked: map[string]int{}}
	for i := range wildSites {
		origin := w.origin(i)
		w.seeds = append(w.seeds, origin+"/p/0")
		random := w.of(origin)
		rules := "User-agent: *\nDisallow: /no\nAllow: /no/ok\nDisallow: /*?secret\n"
		if random.IntN(2) == 0 {
			rules += fmt.Sprintf("Crawl-delay: %d\n", 1+random.IntN(30))
		}
		s := w.Site(origin).Robots(rules).Latency(time.Duration(random.IntN(300)) * time.Millisecond)
		switch random.IntN(4) {
		case 0:
			s.Flaky("/robots.txt", rules, "90", 503)
		case 1:
			s.Redirect("/robots.txt", "/rules.txt").Func("/rules.txt", sent("text/plain", rules))
		}
		if i > 3 {
			s.Addr("16.7.7.7")
		}
		s.Default(func(rw http.ResponseWriter, r *http.Request) {
			moved.Add(1)
			w.answer(rw, origin, r.RequestURI)
		})
	}
	return w
}

// origin returns the origin of a site. Two of the sites are on one host.
func (w *wilds) origin(i int) string {
	if i == 1 {
		return "http://h0.example:8080"
	}
	return fmt.Sprintf("http://h%d.example", i)
}

// of returns a random source that depends only on the seed and on text.
func (w *wilds) of(text string) *rand.Rand {
	hash := fnv.New64a()
	hash.Write([]byte(text))
	return rand.New(rand.NewPCG(hash.Sum64(), w.seed))
}

func (w *wilds) answer(rw http.ResponseWriter, origin, target string) {
	url := origin + target
	w.mu.Lock()
	w.asked[url]++
	asked := w.asked[url]
	w.mu.Unlock()
	random := w.of("answer " + url)
	switch kind, _, _ := strings.Cut(strings.TrimPrefix(target, "/"), "/"); {
	case kind == "go":
		rw.Header().Set("Location", w.target(url))
		rw.WriteHeader(http.StatusFound)
	case kind == "busy" && asked <= 1+random.IntN(2):
		rw.Header().Set("Retry-After", strconv.Itoa(random.IntN(1200)))
		rw.WriteHeader([]int{429, 503}[random.IntN(2)])
	case kind == "gone":
		rw.WriteHeader(http.StatusNotFound)
	default:
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(rw, "<title>%s</title>", url)
		for _, l := range w.links(url) {
			fmt.Fprintf(rw, `<a href="%s">x</a>`, l)
		}
	}
}

// target returns the target of a redirect. Most targets are forbidden.
func (w *wilds) target(url string) string {
	random := w.of("redirect " + url)
	kind := []string{"/no/%d", "/p/%d?secret", "/p/%d", "/no/ok/%d"}[random.IntN(4)]
	return w.origin(random.IntN(wildSites)) + fmt.Sprintf(kind, random.IntN(15))
}

// links returns the links of a page.
func (w *wilds) links(url string) (links []string) {
	random := w.of("links " + url)
	kinds := []string{"/p/%d", "/p/%d", "/p/%d", "/p/%d", "/no/%d", "/no/ok/%d", "/go/%d", "/busy/%d", "/gone/%d", "/p/%d?secret", "/p/%d?from=x"}
	origin, _ := frontier.ParseURL(url)
	for range 1 + random.IntN(5) {
		at := string(origin.Site())
		if random.IntN(5) == 0 {
			at = w.origin(random.IntN(wildSites))
		}
		links = append(links, at+fmt.Sprintf(kinds[random.IntN(len(kinds))], random.IntN(15)))
	}
	return links
}

// forbidden reports whether the robots.txt of every site forbids a URL. It does not use package
// robots.
func (w *wilds) forbidden(url string) bool {
	return strings.Contains(url, "/no/") && !strings.Contains(url, "/no/ok/") || strings.Contains(url, "?secret")
}

// refused reports whether the program refuses a URL. The result for a URL is always the same.
func (w *wilds) refused(url string) bool { return w.of("refused "+url).IntN(12) == 0 }

// reach returns the pages that can be reached from the given ones, if the program wants them and
// robots.txt allows them.
func (w *wilds) reach(from ...string) map[string]bool {
	found := map[string]bool{}
	for len(from) > 0 {
		url := strings.TrimSuffix(from[0], "?from=x")
		if from = from[1:]; found[url] || w.forbidden(url) {
			continue
		}
		found[url] = true
		from = append(from, w.next(url)...)
	}
	return found
}

// next returns the pages to which a page leads.
func (w *wilds) next(url string) (next []string) {
	switch {
	case strings.Contains(url, "/gone/"):
		return nil
	case strings.Contains(url, "/go/"):
		return []string{w.target(url)}
	}
	for _, l := range w.links(url) {
		if l = strings.TrimSuffix(l, "?from=x"); !w.refused(l) {
			next = append(next, l)
		}
	}
	return next
}
