package crawler_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
)

func TestAChallengeIsLoggedWithItsStatusAndIsNoPage(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		asked := 0
		w.Site("http://a.example").Func("/", func(rw http.ResponseWriter, r *http.Request) {
			if asked++; asked == 1 {
				rw.Header().Set("Cf-Mitigated", "challenge")
				rw.WriteHeader(http.StatusForbidden)
				return
			}
			fmt.Fprint(rw, "<title>Home</title>")
		})
		crawl(t, w, func(o *crawler.Options) { o.Dir = dir }, "http://a.example/")
		w.AssertPolite()
	})
	log, err := os.ReadFile(filepath.Join(dir, "crawl.log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`(?m) 403 +\d+ http://a\.example/ .*,error:challenge`,
		`(?m) 200 +\d+ http://a\.example/ .*,clock:back-off,`,
	} {
		if !regexp.MustCompile(want).Match(log) {
			t.Errorf("crawl.log has no line with %s:\n%s", want, log)
		}
	}
	if got := records(t, dir); len(got) != 1 || got[0].Status != http.StatusOK {
		t.Errorf("pages: %+v", got)
	}
}

func TestRedirectsWithoutEndEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		asked := 0
		w.Site("http://a.example").Default(func(rw http.ResponseWriter, r *http.Request) {
			asked++
			n, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
			http.Redirect(rw, r, "/"+strconv.Itoa(n+1), http.StatusFound)
		})
		crawl(t, w, nil, "http://a.example/0")
		if asked < 2 || asked > frontier.MaxRedirects+2 {
			t.Errorf("%d requests, want %d at most", asked, frontier.MaxRedirects+2)
		}
		w.AssertPolite()
	})
}

func TestOptionsOfTheNetworkAreChecked(t *testing.T) {
	for field, o := range map[string]crawler.Options{
		"Header":    {Wire: crawler.Wire{Header: http.Header{"Cookie": {"a=b"}}}},
		"Bandwidth": {Pace: crawler.Pace{Bandwidth: -1}},
	} {
		o.Identity, o.Seeds = testIdentity, []string{"http://a.example/"}
		if _, err := crawler.New(o); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: error %v", field, err)
		}
	}
}
