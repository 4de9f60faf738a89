package crawler_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/internal/store"
)

// book adds a site of n pages with links between them.
func book(w *crawltest.Web, origin string, n int) {
	s := w.Site(origin)
	for i := range n {
		s.Page(fmt.Sprintf("/%d", i), fmt.Sprintf(`<title>%d</title><a href="/%d">next</a><a href="/%d">far</a>`, i, (i+1)%n, (i*7+3)%n))
	}
}

func records(t *testing.T, dir string) []store.PageRecord {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, store.PagesFile))
	if err != nil {
		t.Fatal(err)
	}
	var all []store.PageRecord
	for line := range bytes.Lines(raw) {
		var r store.PageRecord
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

func logLines(t *testing.T, dir string) []*crawllog.Line {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, store.LogFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []*crawllog.Line
	if err := crawllog.Read(bufio.NewReader(f), func(l *crawllog.Line) error { all = append(all, l); return nil }); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestACrawlIsResumed(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		book(w, "http://a.example", 30)
		book(w, "http://b.example", 30)
		for run := 0; ; run++ {
			if run > 20 {
				t.Fatal("the crawl does not end")
			}
			c, err := crawler.New(crawler.Options{
				Identity: testIdentity, Seeds: []string{"http://a.example/0", "http://b.example/0"}, Wire: crawler.Wire{Network: w}, Dir: dir,
			})
			if err != nil {
				t.Fatal(err)
			}
			var n atomic.Int32
			err = c.Run(context.Background(), crawler.HandlerFunc(func(context.Context, *crawler.Page) error {
				if n.Add(1) == 7 {
					return crawler.ErrStop
				}
				return nil
			}))
			if err != nil {
				t.Fatal(err)
			}
			if c.Summary().End == crawler.EndDone {
				break
			}
		}
		for i := range 30 {
			w.AssertFetched(fmt.Sprintf("http://a.example/%d", i), fmt.Sprintf("http://b.example/%d", i))
		}
		w.AssertFetched("http://a.example/robots.txt", "http://b.example/robots.txt")
		w.AssertPolite()
		w.AssertDelay("", time.Second)
	})
	if n := len(records(t, dir)); n != 60 {
		t.Errorf("%d lines in pages.jsonl, want 60", n)
	}
	requests := 0
	for _, l := range logLines(t, dir) {
		if l.URL != crawllog.RunURL {
			requests++
		}
	}
	if requests != 62 {
		t.Errorf("%d requests in crawl.log, want 62", requests)
	}
}

func TestCancellingLosesNothing(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		book(w, "http://a.example", 12)
		w.Site("http://a.example").Latency(time.Second)
		for run := 0; ; run++ {
			if run > 50 {
				t.Fatal("the crawl does not end")
			}
			c, err := crawler.New(crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/0"}, Wire: crawler.Wire{Network: w}, Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(context.Background(), time.Duration(5+run%7)*time.Second+500*time.Millisecond)
			err = c.Run(ctx, nil)
			cancel()
			if err == nil {
				break
			}
			if !errors.Is(err, context.DeadlineExceeded) || c.Summary().End != crawler.EndBroken {
				t.Fatalf("Run: %v, ended %s", err, c.Summary().End)
			}
		}
		w.AssertDelay("", time.Second)
	})
	urls := map[string]int{}
	for _, r := range records(t, dir) {
		urls[r.URL]++
	}
	if len(urls) != 12 {
		t.Errorf("pages: %v", urls)
	}
}

func TestTheLimitIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		var seeds []string
		for i := range 10 {
			book(w, fmt.Sprintf("http://h%d.example", i), 20)
			seeds = append(seeds, fmt.Sprintf("http://h%d.example/0", i))
		}
		pages, sum := crawl(t, w, func(o *crawler.Options) { o.Limit = 33 }, seeds...)
		if len(pages) != 33 || sum.End != crawler.EndLimit {
			t.Errorf("%d pages, ended %q", len(pages), sum.End)
		}
	})
}

func TestBudgetsDepthAndTime(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*crawler.Options)
		pages  int
		end    crawler.End
	}{
		{"host budget", func(o *crawler.Options) { o.MaxHostPages = 5 }, 5, crawler.EndUnasked},
		{"depth", func(o *crawler.Options) { o.Depth = 3 }, 1 + 2 + 4 + 8, crawler.EndDone},
		{"no depth limit", func(o *crawler.Options) { o.MaxHostPages = 40 }, 40, crawler.EndUnasked},
		// robots.txt is requested at 0 s, and then one page each second.
		{"time", func(o *crawler.Options) { o.MaxTime = 10500 * time.Millisecond }, 10, crawler.EndTime},
		// The rate allows two requests in five seconds.
		{"rate", func(o *crawler.Options) { o.Rate = 0.4; o.MaxTime = 26 * time.Second }, 10, crawler.EndTime},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				w.Site("http://a.example").Trap("/", 2)
				pages, sum := crawl(t, w, tc.change, "http://a.example/")
				if len(pages) != tc.pages || sum.End != tc.end {
					t.Errorf("%d pages, ended %q; want %d, %q", len(pages), sum.End, tc.pages, tc.end)
				}
				w.AssertPolite()
			})
		})
	}
}

func TestScopes(t *testing.T) {
	for _, tc := range []struct {
		name  string
		scope crawler.Scope
		want  []string
	}{
		{"host", nil, []string{"http://www.a.example/dir/", "http://www.a.example/x", "https://www.a.example/"}},
		{"domain", crawler.SameDomain(), []string{"http://www.a.example/dir/", "http://www.a.example/x", "https://www.a.example/", "http://b.a.example/"}},
		{"prefix", crawler.SamePrefix(), []string{"http://www.a.example/dir/"}},
		{"list", crawler.SeedsOnly(), []string{"http://www.a.example/dir/"}},
		{"any", crawler.Anywhere(), []string{"http://www.a.example/dir/", "http://www.a.example/x", "https://www.a.example/", "http://b.a.example/", "http://c.example/"}},
		{"func", crawler.ScopeFunc(func(e frontier.Entry) bool { return e.URL.Host() == "c.example" }), []string{"http://www.a.example/dir/", "http://c.example/"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				w.Site("http://www.a.example").Page("/x", "").Page("/dir/",
					`<a href="/x"></a><a href="https://www.a.example/"></a><a href="http://b.a.example/"></a><a href="http://c.example/"></a>`)
				for _, s := range []string{"https://www.a.example", "http://b.a.example", "http://c.example"} {
					w.Site(s).Page("/", "")
				}
				pages, _ := crawl(t, w, func(o *crawler.Options) { o.Scope = tc.scope }, "http://www.a.example/dir/")
				wantPages(t, pages, tc.want...)
			})
		})
	}
}

func TestIncludeAndExclude(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		book(w, "http://a.example", 10)
		pages, _ := crawl(t, w, func(o *crawler.Options) {
			o.Include, o.Exclude = regexp.MustCompile(`/[0-4]$`), regexp.MustCompile(`/3$`)
		}, "http://a.example/0")
		wantPages(t, pages, "http://a.example/0", "http://a.example/1", "http://a.example/2")
	})
}

// A URL that Options.Exclude matches is not requested, even if a seed redirects to it.
func TestASeedThatRedirectsToAnExcludedURL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Redirect("/", "http://b.example/private/").Redirect("/open", "http://b.example/open")
		w.Site("http://b.example").Page("/private/", "").Page("/open", "")
		pages, sum := crawl(t, w, func(o *crawler.Options) { o.Exclude = regexp.MustCompile(`/private/`) }, "http://a.example/", "http://a.example/open")
		wantPages(t, pages, "http://a.example/", "http://a.example/open", "http://b.example/open")
		if sum.SkippedLinks[frontier.Filtered] != 1 {
			t.Errorf("skips: %v", sum.SkippedLinks)
		}
	})
}

// For site owners: "`nofollow` (rel, meta, X-Robots-Tag) is obeyed."
func TestNoFollow(t *testing.T) {
	for _, follow := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := crawltest.New(t)
			w.Site("http://a.example").
				Page("/", `<a href="/rel" rel="nofollow"></a><a href="/meta"></a><a href="/header"></a><a href="/other"></a>`).
				Page("/rel", "").Page("/1", "").Page("/2", "").Page("/3", "").
				Page("/meta", `<meta name="benchbot" content="nofollow"><a href="/1"></a>`).
				Page("/other", `<meta name="otherbot" content="nofollow"><a href="/3"></a>`).
				Func("/header", func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("X-Robots-Tag", "otherbot: noindex, nofollow")
					w.Header().Add("X-Robots-Tag", "benchbot: nofollow")
					w.Header().Set("Content-Type", "text/html")
					io.WriteString(w, `<a href="/2"></a>`)
				})
			pages, sum := crawl(t, w, func(o *crawler.Options) { o.FollowNoFollow = follow }, "http://a.example/")
			want := []string{"http://a.example/", "http://a.example/header", "http://a.example/meta", "http://a.example/other", "http://a.example/3"}
			if follow {
				want = append(want, "http://a.example/rel", "http://a.example/1", "http://a.example/2")
			} else if sum.SkippedLinks[frontier.NoFollow] != 3 {
				t.Errorf("skips: %v", sum.SkippedLinks)
			}
			wantPages(t, pages, want...)
		})
	}
}

func TestHandlerErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").
			Page("/", `<a href="/panic"></a><a href="/error"></a><a href="/retry"></a><a href="/never"></a>`).
			Page("/panic", `<a href="/after">is followed</a>`).Page("/after", "").
			Page("/error", "").Page("/retry", "").Page("/never", "")
		c, err := crawler.New(crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: w}})
		if err != nil {
			t.Fatal(err)
		}
		tries := map[string]int{}
		var mu sync.Mutex
		err = c.Run(context.Background(), crawler.HandlerFunc(func(ctx context.Context, p *crawler.Page) error {
			mu.Lock()
			defer mu.Unlock()
			tries[p.URL.Target()]++
			switch p.URL.Target() {
			case "/panic":
				panic("at the page")
			case "/error":
				return errors.New("an error")
			case "/retry":
				if tries["/retry"] < 3 {
					return crawler.ErrRetry
				}
			case "/never":
				return crawler.ErrRetry
			}
			return nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]int{"/": 1, "/panic": 1, "/after": 1, "/error": 1, "/retry": 3, "/never": 3}
		if fmt.Sprint(tries) != fmt.Sprint(want) {
			t.Errorf("tries %v, want %v", tries, want)
		}
		s := c.Summary()
		if s.Handler != 2 || s.SkippedURLs[frontier.Failed] != 1 || s.Retries != 4 {
			t.Errorf("summary: %+v", s.Counts)
		}
		if err := c.Run(context.Background(), nil); !errors.Is(err, crawler.ErrRan) {
			t.Errorf("second Run: %v", err)
		}
		w.AssertPolite()
	})
}

func TestPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("https://a.example").
			Robots("User-agent: *\nDisallow: /\nAllow: /$").
			Func("/", func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/html; charset=windows-1252")
				io.WriteString(w, "<title>Caf\xe9</title><p class=x>one</p><a href='/no'>")
			})
		var skips []crawler.Skip
		var mu sync.Mutex
		c, err := crawler.New(crawler.Options{
			Identity: testIdentity, Seeds: []string{"https://a.example/\tnews"}, Wire: crawler.Wire{Network: w, RootCAs: w.RootCAs()},
			Hooks: crawler.Hooks{OnSkip: func(s crawler.Skip) { mu.Lock(); defer mu.Unlock(); skips = append(skips, s) }},
		})
		if err != nil {
			t.Fatal(err)
		}
		err = c.Run(context.Background(), crawler.HandlerFunc(func(ctx context.Context, p *crawler.Page) error {
			doc, err := p.Doc()
			if err != nil {
				return err
			}
			if p.Title() != "Café" || doc.Find("p.x").Text() != "one" || p.Entry.Tag != "news" || p.Verdict.Rule.Line != 3 || len(p.Links()) != 1 {
				t.Errorf("page: %+v", p)
			}
			if err := p.Follow("javascript:x"); err == nil {
				t.Error("Follow of no URL: no error")
			}
			return p.Follow("no?again")
		}))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range skips {
			got = append(got, fmt.Sprintf("%s %s %s", s.URL.Target(), s.Code, s.Detail))
		}
		slices.Sort(got)
		if strings.Join(got, "; ") != "/no refused line 2: Disallow: /; /no?again refused line 2: Disallow: /" {
			t.Errorf("skips: %q", got)
		}
		if c.Summary().Handler != 0 {
			t.Error("the handler failed")
		}
	})
}

func TestOutputs(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").
			Robots("User-agent: *\nDisallow: /no").
			Page("/", `<title>Home</title><a href="/image"></a><a href="/go"></a><a href="/no"></a>`).
			Redirect("/go", "/").
			Func("/image", func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "image/png")
				w.Write([]byte{1, 2, 255})
			})
		crawl(t, w, func(o *crawler.Options) {
			o.Dir, o.Output = dir, []crawler.Output{crawler.OutputPages, crawler.OutputBodies}
		}, "http://a.example/\tthe tag")
	})
	byURL := map[string]store.PageRecord{}
	for _, r := range records(t, dir) {
		byURL[r.URL] = r
	}
	home, image, redirect := byURL["http://a.example/"], byURL["http://a.example/image"], byURL["http://a.example/go"]
	if home.Title != "Home" || home.Status != 200 || !bytes.HasPrefix(home.Body, []byte("<title>")) || home.Charset != "utf-8" || home.Tag != "the tag" || home.Links != 3 || home.Robots.IsZero() {
		t.Errorf("home: %+v", home)
	}
	if image.Type != "image/png" || !bytes.Equal(image.Base64, []byte{1, 2, 255}) || image.Size != 3 || image.Hops != "L" || image.Via != home.URL {
		t.Errorf("image: %+v", image)
	}
	if redirect.Status != 302 || redirect.Location != home.URL {
		t.Errorf("redirect: %+v", redirect)
	}
	lines := logLines(t, dir)
	if a, _ := lines[0].Annotation("begin"); lines[0].URL != crawllog.RunURL || a != "clean" {
		t.Errorf("first line: %+v", lines[0])
	}
	seen := map[string]*crawllog.Line{}
	for _, l := range lines {
		seen[l.URL] = l
	}
	if l := seen["http://a.example/no"]; l.Status != crawllog.RobotsDisallowed || l.Size != -1 || !l.Start.IsZero() || !slices.Contains(l.Annotations, "rule:2") {
		t.Errorf("refused: %+v", l)
	}
	if l := seen["http://a.example/robots.txt"]; l.Hops != "P" || l.Via != home.URL {
		t.Errorf("robots.txt: %+v", l)
	}
	asked, _ := seen["http://a.example/image"].Annotation("asked")
	clock, _ := seen["http://a.example/image"].Annotation("clock")
	if asked != "1.000000" || clock != "own" || seen[home.URL].Digest != home.Digest {
		t.Errorf("image: %+v", seen["http://a.example/image"])
	}
}

func TestTheLogIsWrittenBeforeTheHandlerRuns(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", "")
		c, err := crawler.New(crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: w}, Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		err = c.Run(context.Background(), crawler.HandlerFunc(func(ctx context.Context, p *crawler.Page) error {
			lines := logLines(t, dir)
			if l := lines[len(lines)-1]; l.URL != p.URL.String() || l.Status != 200 {
				t.Errorf("last line in the handler: %+v", l)
			}
			return nil
		}))
		if err != nil {
			t.Fatal(err)
		}
	})
}

func TestASiteThatWasGivenUpHasALine(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Status("/robots.txt", 500)
		crawl(t, w, func(o *crawler.Options) { o.Dir, o.Patience = dir, 5*time.Minute }, "http://a.example/1", "http://a.example/2")
	})
	lines := logLines(t, dir)
	l := lines[len(lines)-1]
	if n, _ := l.Annotation("queued"); l.Status != crawllog.RobotsUnreachable || l.URL != "http://a.example/" || n != "2" {
		t.Errorf("last line: %+v", l)
	}
}

func TestResumeUnderOtherConditions(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Redirect("/", "http://www.a.example/")
		book(w, "http://www.a.example", 10)
		w.Site("http://www.a.example").Page("/", `<a href="/0">0</a>`)
		run := func(change func(*crawler.Options)) (crawler.Summary, error) {
			o := crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: w}, Dir: dir}
			change(&o)
			c, err := crawler.New(o)
			if err != nil {
				t.Fatal(err)
			}
			err = c.Run(context.Background(), nil)
			return c.Summary(), err
		}
		if _, err := run(func(o *crawler.Options) { o.Limit = 3 }); err != nil {
			t.Fatal(err)
		}
		var other *crawler.IdentityError
		if _, err := run(func(o *crawler.Options) { o.Identity.Token = "otherbot" }); !errors.As(err, &other) || !strings.Contains(err.Error(), dir+" was begun as benchbot (") || !strings.Contains(err.Error(), "not as otherbot (") {
			t.Errorf("another identity: %v", err)
		}
		// A tighter scope applies to queued URLs. The host to which the seed redirected stays in
		// scope.
		sum, err := run(func(o *crawler.Options) { o.Exclude = regexp.MustCompile(`/[5-9]$`) })
		if err != nil || sum.SkippedURLs[frontier.ScopeNarrowed]+sum.SkippedLinks[frontier.Filtered] == 0 {
			t.Errorf("tighter: %+v, %v", sum.Counts, err)
		}
		w.AssertFetched("http://www.a.example/4")
		w.AssertNeverFetched("http://www.a.example/7")
		w.AssertPolite()
	})
}
