package crawler_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/account"
)

// explained runs a crawl that has URLs of many codes, and returns its directory.
func explained(t *testing.T, change func(*crawler.Options)) (dir string) {
	t.Helper()
	dir = t.TempDir()
	w := crawltest.New(t)
	same := strings.Repeat("the same body in many places ", 9)
	w.Site("http://a.example").
		Robots("User-agent: other\nDisallow: /\n\nUser-agent: *\nDisallow: /private/\nAllow: /private/open/\n").
		Page("/", `<a href="/a">a</a> <a href="/private/x">x</a> <a href="http://b.example/out">b</a> <a href="/skipped" rel="ugc nofollow">n</a>
			<a href="/secret/1">s</a> <img src="/i.png"> <a href="/moved">m</a> <a href="/flaky">f</a> <a href="/r/r/r/r/">t</a>`).
		Page("/a", `<a href="/a/b">b</a><a href="/private/open/y">y</a>`+same).Page("/a/b", `<a href="/a/b/c">c</a>`).
		Page("/private/open/y", same).Page("/target", same).Page("/target2", same).Redirect("/moved", "/target?x=1#y").
		Func("/target?x=1", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, same) }).
		Flaky("/flaky", "at last", "", 500, 502)
	crawl(t, w, func(o *crawler.Options) {
		o.Dir, o.Depth, o.Exclude = dir, 2, regexp.MustCompile("/secret/")
		o.Output = []crawler.Output{crawler.OutputWARC, crawler.OutputLinks}
		if change != nil {
			change(o)
		}
	}, "http://a.example/")
	return dir
}

// explain returns the Explanation of a URL in the account a.
func explain(t *testing.T, a *account.Account, url string) *account.Explanation {
	t.Helper()
	u, err := frontier.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	x, err := a.Explain(u)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// way returns the URLs on the path from the explained URL back to its seed, joined to one text.
func way(x *account.Explanation) string {
	var all []string
	for _, s := range x.Found {
		hop := "seed"
		if s.Hop != 0 {
			hop = string(rune(s.Hop))
		}
		all = append(all, hop+" "+s.URL)
	}
	return strings.Join(all, ", ")
}

// The Explanation of a known URL has its path from the seed, the rule of robots.txt that decides,
// the rule that it overrides, each try, and the place of its answer.
func TestAnEntryIsExplained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := accountOf(t, explained(t, nil))
		for _, c := range []struct {
			url    string
			code   frontier.Code
			reason string
			way    string
			tries  string
			// The rule that decides, the rule that it overrides, and the nearest rule.
			rule string
		}{
			{"http://a.example/", frontier.Fetched, "status 200", "seed http://a.example/", "200", "||"},
			{"HTTP://A.example:80/a#top", frontier.Fetched, "status 200", "L http://a.example/a, seed http://a.example/", "200", "||"},
			{"http://a.example/private/x", frontier.RobotsDisallowed, "line 5: Disallow: /private/", "L http://a.example/private/x, seed http://a.example/", "-9998",
				"Disallow: /private/||Allow: /private/open/"},
			{"http://a.example/private/open/y", frontier.Fetched, "status 200", "L http://a.example/private/open/y, L http://a.example/a, seed http://a.example/", "200",
				"Allow: /private/open/|Disallow: /private/|"},
			{"http://a.example/target?x=1", frontier.Fetched, "status 200", "R http://a.example/target?x=1, L http://a.example/moved, seed http://a.example/", "200", "||"},
			{"http://a.example/flaky", frontier.Fetched, "status 200", "L http://a.example/flaky, seed http://a.example/", "500 502 200", "||"},
		} {
			x := explain(t, a, c.url)
			if !x.Known || x.Code != c.code || x.Reason != c.reason || way(x) != c.way || x.Lost != "" {
				t.Errorf("%s: known %v, %s (%s), by %s %s\nwant %s (%s), by %s", c.url, x.Known, x.Code, x.Reason, way(x), x.Lost, c.code, c.reason, c.way)
			}
			var tries []string
			for _, try := range x.Tries {
				tries = append(tries, fmt.Sprint(try.Status))
				if try.Request() != (try.Status > 0) {
					t.Errorf("%s: %+v", c.url, try)
				}
			}
			if got := strings.Join(tries, " "); got != c.tries {
				t.Errorf("%s: tries %q, want %q", c.url, got, c.tries)
			}
			r := x.Robots
			if r == nil || r.Status != 200 || r.Digest == "" || r.GroupLine != 4 || !r.Expires.After(r.Fetched) {
				t.Fatalf("%s: robots.txt %+v", c.url, r)
			}
			if got := r.Verdict.Rule.String() + "|" + r.Against.String() + "|" + r.Nearest.String(); got != c.rule {
				t.Errorf("%s: by %s, want %s", c.url, got, c.rule)
			}
			if (x.Fate.Answer.File != "") != (c.code == frontier.Fetched) || x.Fate.Time.IsZero() || !x.Site.Known {
				t.Errorf("%s: archived at %+v, ended at %v, %+v", c.url, x.Fate.Answer, x.Fate.Time, x.Site)
			}
		}
		if to := explain(t, a, "http://a.example/moved").LeadsTo.String(); to != "http://a.example/target?x=1" {
			t.Errorf("the redirect leads to %q", to)
		}
		first, again := explain(t, a, "http://a.example/target?x=1"), explain(t, a, "http://a.example/private/open/y")
		if first.SameAs == "" {
			first, again = again, first
		}
		if first.SameAs != again.URL.String() || !first.SameAt.Equal(again.Tries[0].Start) || again.SameAs != "" || !again.SameAt.IsZero() {
			t.Errorf("%s is the same as %q of %v, %s as %q", first.URL, first.SameAs, first.SameAt, again.URL, again.SameAs)
		}
	})
}

// The Explanation of a URL that is not in the crawl has the pages that link to it, and the setting
// that excludes it.
func TestAURLThatNeverEnteredIsExplained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := explained(t, nil)
		for _, kept := range []bool{true, false} {
			if !kept {
				if err := os.Remove(filepath.Join(dir, "links.jsonl")); err != nil {
					t.Fatal(err)
				}
			}
			a := accountOf(t, dir)
			a.OptOut = func(u frontier.URL) string {
				if u.Host() == "never.example" {
					return "list:3"
				}
				return ""
			}
			for _, c := range []struct {
				url, from, reason, without string // without is the reason if there is no links.jsonl
			}{
				{"http://b.example/out", "http://a.example/", "outside: scope host", "outside: scope host"},
				{"http://a.example/skipped", "http://a.example/", "nofollow: rel=ugc nofollow", ""},
				{"http://a.example/secret/1", "http://a.example/", "filter: exclude /secret/", "filter: exclude /secret/"},
				{"http://a.example/a/b/c", "http://a.example/a/b", "depth: depth 2", ""},
				{"http://a.example/i.png", "http://a.example/", "requisite: requisites none", ""},
				{"http://a.example/unlinked", "", "", ""},
				{"http://a.example/d/d/d/d/", "", "trap: the path repeats /d", "trap: the path repeats /d"},
				{"http://never.example/", "", "optout: list:3", "optout: list:3"},
			} {
				x := explain(t, a, c.url)
				from, want := "", c.reason
				if len(x.Links) > 0 {
					from = x.Links[0].From
				}
				if !kept {
					want, c.from = c.without, ""
				}
				code := frontier.Unknown
				if word, _, _ := strings.Cut(want, ": "); word != "" {
					if err := code.UnmarshalText([]byte(word)); err != nil {
						t.Fatal(err)
					}
				}
				if x.Known || x.Code != code || x.Reason != want || from != c.from || x.Tries != nil || x.Found != nil {
					t.Errorf("%s: %s (%s), found on %q, known %v\nwant %s (%s) on %q", c.url, x.Code, x.Reason, from, x.Known, code, want, c.from)
				}
				if x.HasLinks != true {
					t.Errorf("%s: the run kept links", c.url)
				}
			}
			if x := explain(t, a, "http://a.example/private/z"); x.Robots == nil || x.Robots.Verdict.Allowed() {
				t.Errorf("robots.txt would forbid it: %+v", x.Robots)
			}
			if x := explain(t, a, "http://b.example/out"); x.Robots != nil || x.Site.Known {
				t.Errorf("robots.txt was never requested: %+v, %+v", x.Robots, x.Site)
			}
		}
	})
}

// Refused yields each URL that was not queued once, with the first link to it.
func TestRefusedLinksAreListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := explained(t, nil)
		var got []string
		for l, err := range accountOf(t, dir).Refused() {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%s on %s: %s", l.To, l.From, l.Code))
		}
		want := []string{
			"http://b.example/out on http://a.example/: outside", "http://a.example/skipped on http://a.example/: nofollow",
			"http://a.example/secret/1 on http://a.example/: filter", "http://a.example/i.png on http://a.example/: requisite", "http://a.example/a/b/c on http://a.example/a/b: depth",
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q\nwant %q", got, want)
		}
		for range accountOf(t, dir).Refused() { // leaving the loop is allowed
			break
		}
		if err := os.Remove(filepath.Join(dir, "links.jsonl")); err != nil {
			t.Fatal(err)
		}
		for _, err := range accountOf(t, dir).Refused() {
			if !errors.Is(err, account.ErrNoLinks) {
				t.Error(err)
			}
		}
	})
}

// The Explanation of an unknown URL names a known URL that differs only in scheme, www or a slash.
func TestSimilarURLsAreNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := accountOf(t, explained(t, nil))
		for asked, want := range map[string]string{
			"https://a.example/a": "http://a.example/a", "http://www.a.example/a": "http://a.example/a", "https://www.a.example/": "http://a.example/",
			"http://a.example/a/": "http://a.example/a", "http://a.example/A": "", "ftp://a.example/a": "", "http://a.example/a": "",
		} {
			if got := explain(t, a, asked).Near.String(); got != want {
				t.Errorf("near %s is %q, want %q", asked, got, want)
			}
		}
	})
}

// If the scope is a function of the program, an account does not know it, and assumes that it
// excludes nothing.
func TestAnUnknownScopeExcludesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := accountOf(t, explained(t, func(o *crawler.Options) {
			o.Scope = crawler.ScopeFunc(func(e frontier.Entry) bool { return e.URL.Host() == "a.example" })
			o.Output = nil
		}))
		x := explain(t, a, "http://b.example/out")
		if x.Code != frontier.Unknown || len(x.Untold) != 1 || x.Untold[0].Setting != "scope" || x.HasLinks {
			t.Errorf("%s (%s), untold %v, links %v", x.Code, x.Reason, x.Untold, x.HasLinks)
		}
	})
}

// The Explanation of an entry that a narrower run removed from the queue has the setting that
// excludes it.
func TestURLsPutAsideAreExplained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", `<a href="/a">`).Page("/a", "x")
		for _, exclude := range []string{"", "^http://a.example/a"} {
			crawl(t, w, func(o *crawler.Options) {
				o.Dir = dir
				if o.Limit = 1; exclude != "" {
					o.Exclude, o.Limit = regexp.MustCompile(exclude), 0
				}
			}, "http://a.example/")
		}
		x := explain(t, accountOf(t, dir), "http://a.example/a")
		if want := (account.Refusal{Code: frontier.Filtered, Detail: "exclude ^http://a.example/a"}); x.Code != frontier.ScopeNarrowed || x.Refusal != want {
			t.Errorf("%s, %+v, want %+v", x.Code, x.Refusal, want)
		}
	})
}

// The Explanation of a queued entry has the clock for which it waits, and the number of entries
// before it.
func TestQueuedURLsAreExplained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := accountOf(t, explained(t, func(o *crawler.Options) {
			o.Delay, o.Patience = time.Hour, time.Minute
		}))
		x := explain(t, a, "http://a.example/")
		if x.Code != frontier.Waiting || x.Clock != frontier.OwnClock || !x.Until.After(time.Now()) || x.Ahead != 0 || x.Robots == nil {
			t.Errorf("%s for %s until %v, %d ahead", x.Code, x.Clock, x.Until, x.Ahead)
		}
	})
}

// The body in an Explanation is the decoded answer. It is found even if the archive has it under
// another URL. Without an archive it is found in pages.jsonl.
func TestTheBodyOfAnAnswerIsFound(t *testing.T) {
	for name, output := range map[string][]crawler.Output{"archive": {crawler.OutputWARC}, "pages.jsonl": {crawler.OutputBodies}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := accountOf(t, explained(t, func(o *crawler.Options) { o.Output = output }))
				same := strings.Repeat("the same body in many places ", 9)
				for url, want := range map[string]string{
					"http://a.example/flaky": "at last", "http://a.example/target?x=1": same, "http://a.example/private/open/y": same,
				} {
					u, _ := frontier.ParseURL(url)
					resp, err := a.Answer(u)
					if err != nil {
						t.Errorf("%s: %v", url, err)
						continue
					}
					body, err := io.ReadAll(resp.Body)
					if err := errors.Join(err, resp.Body.Close()); err != nil || string(body) != want {
						t.Errorf("%s: %q, %v, want %q", url, body, err, want)
					}
				}
				for _, url := range []string{"http://a.example/private/x", "http://a.example/none"} {
					u, _ := frontier.ParseURL(url)
					if _, err := a.Answer(u); !errors.Is(err, account.ErrNoBody) {
						t.Errorf("%s: %v", url, err)
					}
				}
			})
		})
	}
}

// The Explanation of a redirect says what became of its target: why it was not followed, or why the
// redirect has no target.
func TestTheTargetOfARedirectIsExplained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		w := crawltest.New(t)
		s := w.Site("http://a.example").Robots("User-agent: *\nDisallow: /closed\n").Page("/target", "").
			Redirect("/there", "/target").Redirect("/away", "http://b.example/").Redirect("/forbidden", "/closed").Redirect("/self", "/self#x").Redirect("/%7Ea", "/~a").Page("/~a", "").
			Redirect("/bad", "http://:0/").Redirect("/mail", "mailto:a@b.example").Func("/none", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(302) }).
			Func("/choice", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(300) })
		links := ""
		for _, target := range []string{"there", "away", "forbidden", "self", "%7Ea", "bad", "mail", "none", "choice", "chain0"} {
			links += `<a href="/` + target + `">x</a>`
		}
		s.Page("/", links)
		for i := range frontier.MaxRedirects + 1 {
			s.Redirect(fmt.Sprintf("/chain%d", i), fmt.Sprintf("/chain%d", i+1))
		}
		crawl(t, w, func(o *crawler.Options) { o.Dir, o.Depth = dir, 1 }, "http://a.example/")
		a := accountOf(t, dir)
		last := fmt.Sprintf("/chain%d", frontier.MaxRedirects)
		for target, want := range map[string]string{
			"/there": "http://a.example/target fetched status 200", "/away": "http://b.example/ outside outside: scope host",
			"/forbidden": "http://a.example/closed refused line 2: Disallow: /closed", "/self": "http://a.example/self fetched status 302",
			"/%7Ea": "http://a.example/~a fetched status 200",
			"/bad":  `its Location "http://:0/" is not the URL of a page`, "/mail": `its Location "mailto:a@b.example" is not the URL of a page`,
			"/none": "it has no Location", "/choice": "", "/": "",
			last: fmt.Sprintf("http://a.example/chain%d redirects redirects", frontier.MaxRedirects+1),
		} {
			x := explain(t, a, "http://a.example"+target)
			got := x.Astray
			if x.Target != nil {
				got += fmt.Sprintf("%s %s %s", x.LeadsTo, x.Target.Code, x.Target.Reason)
			}
			if got != want {
				t.Errorf("%s: %s, want %s", target, got, want)
			}
		}
		if got, want := way(explain(t, a, "http://a.example/~a")), "R http://a.example/~a, L http://a.example/%7Ea, seed http://a.example/"; got != want {
			t.Errorf("/~a was found by %s, want %s", got, want)
		}
	})
}
