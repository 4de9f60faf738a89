package fetch

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

func redirectTo(url string) string {
	return "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: " + url + "\r\n\r\n"
}

func status(code int, body string) string {
	return fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Length: %d\r\n\r\n%s", code, http.StatusText(code), len(body), body)
}

// journey visits the seeds, or http://a.example/page, until they have ended; files are the answers by URL. It
// returns the requests with their times, and the last result.
func journey(t *testing.T, files map[string]string, opts frontier.Options, snapshots Snapshots, seeds ...string) (asked []string, last Result) {
	begin := time.Now()
	var urls []string
	w := &wire{serve: answers(func(r *request, n int) string {
		url := "http://" + r.header.Get("Host") + r.target
		urls = append(urls, url)
		asked = append(asked, fmt.Sprintf("+%v %s", time.Since(begin), url))
		if a, ok := files[url]; ok {
			return a
		}
		return status(404, "")
	})}
	v := newTour(t, Options{Network: w, Snapshots: snapshots})
	if len(seeds) == 0 {
		seeds = []string{"http://a.example/page"}
	}
	front := frontOf(t, opts, seeds...)
	var told []string
	for {
		turn, err := front.Next(t.Context())
		if errors.Is(err, frontier.ErrEnd) {
			if !slices.Equal(told, urls) {
				t.Errorf("exchanges %v, requests %v", told, urls)
			}
			waiting := 0
			for _, l := range v.fetcher.sites {
				if l.host.chain != nil {
					waiting++
				}
			}
			if v.fetcher.unused.Len()+waiting != len(v.fetcher.sites) {
				t.Errorf("%d of %d hosts unused, %d wait", v.fetcher.unused.Len(), len(v.fetcher.sites), waiting)
			}
			return asked, last
		}
		if err != nil {
			t.Fatal(err)
		}
		if last, err = v.fetcher.Get(t.Context(), turn); err != nil {
			t.Fatal(err)
		}
		if h := v.fetcher.sites[turn.Site()].host; len(seeds) == 1 && h.chain != nil && h.chain.at.Site() != h.site && len(last.Exchanges) > 0 &&
			last.Exchanges[len(last.Exchanges)-1].URL.Site() == h.site && !last.Outcome.Defer.After(time.Now()) {
			t.Errorf("another site was not available, and the outcome does not say how long to wait: %+v", last.Outcome)
		}
		for _, x := range last.Exchanges {
			told = append(told, x.URL.String())
		}
		if _, err := turn.Finish(last.Outcome); err != nil {
			t.Fatal(err)
		}
	}
}

// The robots.txt of a.example redirects to b.example. The table has the requests and their times.
func TestRequestsForARobotsRedirectToAnotherSite(t *testing.T) {
	const a, b, c = "http://a.example/robots.txt", "http://b.example/robots.txt", "http://c.example/robots.txt"
	rules := status(200, "User-agent: *\nDisallow: /page")
	for _, tc := range []struct {
		name    string
		files   map[string]string
		opts    frontier.Options
		want    string
		access  robots.Access
		failure string
		before  string // a stored robots.txt of b.example
	}{
		{
			name:  "to a robots.txt",
			files: map[string]string{a: redirectTo(b), b: rules},
			want:  "+0s a/robots.txt +0s b/robots.txt", access: robots.Disallow,
		}, {
			name:  "to a file of a site without rules",
			files: map[string]string{a: redirectTo("http://b.example/rules"), "http://b.example/rules": rules},
			want:  "+0s a/robots.txt +0s b/robots.txt +1s b/rules", access: robots.Disallow,
		}, {
			name:  "to a file that is allowed, after the pause that it demands",
			files: map[string]string{a: redirectTo("http://b.example/rules"), "http://b.example/rules": rules, b: status(200, "User-agent: *\nCrawl-delay: 10\nDisallow: /x")},
			want:  "+0s a/robots.txt +0s b/robots.txt +10s b/rules", access: robots.Disallow,
		}, {
			name:  "to a file that is forbidden",
			files: map[string]string{a: redirectTo("http://b.example/rules"), "http://b.example/rules": rules, b: status(200, "User-agent: *\nDisallow: /rules")},
			want:  "+0s a/robots.txt +0s b/robots.txt +1m0s a/robots.txt +3m0s a/robots.txt", access: robots.Defer, failure: "redirect",
		}, {
			name:  "to a file of a site whose rules cannot be had",
			files: map[string]string{a: redirectTo("http://b.example/rules"), "http://b.example/rules": rules, b: status(500, "")},
			want:  "+0s a/robots.txt +0s b/robots.txt +1m0s a/robots.txt +1m0s b/robots.txt +3m0s a/robots.txt +3m0s b/robots.txt", access: robots.Defer, failure: "redirect",
		}, {
			name:  "and on, to a third",
			files: map[string]string{a: redirectTo(b), b: redirectTo(c), c: rules},
			want:  "+0s a/robots.txt +0s b/robots.txt +0s c/robots.txt", access: robots.Disallow,
		}, {
			name:  "and back",
			files: map[string]string{a: redirectTo(b), b: redirectTo(a)},
			want:  "+0s a/robots.txt +0s b/robots.txt +1m0s a/robots.txt +1m0s b/robots.txt +3m0s a/robots.txt +3m0s b/robots.txt", access: robots.Defer, failure: "redirect",
		}, {
			name:  "at an address that is asked once a minute: a waits for its start, too",
			files: map[string]string{a: redirectTo(b), b: rules},
			opts:  frontier.Options{IPDelay: time.Minute},
			want:  "+0s a/robots.txt +2m0s b/robots.txt", access: robots.Disallow,
		}, {
			name:   "to a file that leads on, within the pause of rules at hand",
			before: "User-agent: *\nCrawl-delay: 10\nDisallow: /x",
			files:  map[string]string{a: redirectTo("http://b.example/rules"), "http://b.example/rules": redirectTo("/more"), "http://b.example/more": rules},
			want:   "+0s a/robots.txt +0s b/rules +10s b/more", access: robots.Disallow,
		}, {
			name:   "to a file that rules at hand forbid",
			before: "User-agent: *\nDisallow: /rules",
			files:  map[string]string{a: redirectTo("http://b.example/rules"), "http://b.example/rules": rules},
			want:   "+0s a/robots.txt +1m0s a/robots.txt +3m0s a/robots.txt", access: robots.Defer, failure: "redirect",
		}, {
			name:   "to a file of a site with a visit time",
			before: "User-agent: *\nVisit-time: 0010-0300",
			files:  map[string]string{a: redirectTo("http://b.example/rules"), "http://b.example/rules": rules},
			want:   "+0s a/robots.txt +10m0s b/rules", access: robots.Disallow,
		}, {
			name:  "to a file of a site at an address that is asked once a minute",
			files: map[string]string{a: redirectTo("http://b.example/rules"), "http://b.example/rules": rules},
			opts:  frontier.Options{IPDelay: time.Minute},
			want:  "+0s a/robots.txt +2m0s b/robots.txt +3m0s b/rules", access: robots.Disallow,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tc.opts.Patience = time.Hour
				if tc.opts.IPDelay == 0 {
					tc.opts.IPDelay = -1
				}
				snapshots := newMemorySnapshots(math.MaxInt)
				if tc.before != "" {
					snapshots.PutSnapshot("http://b.example", &robots.Snapshot{URL: b, Status: 200, Fetched: time.Now().Add(-time.Hour), Body: []byte(tc.before)})
				}
				asked, last := journey(t, tc.files, tc.opts, snapshots)
				got := strings.NewReplacer("http://", "", ".example", "").Replace(strings.Join(asked, " "))
				if got != tc.want || last.Verdict.Access != tc.access || last.Snapshot.Failure != tc.failure {
					t.Errorf("requests %s, verdict %v, failure %q", got, last.Verdict.Access, last.Snapshot.Failure)
				}
			})
		})
	}
}

// The robots.txt of a.example is at b.example/rules. The robots.txt of b.example, which says whether
// that may be requested, is on a third site. a.example waits for it: its robots.txt does not count
// as unreachable, and the redirect of b.example is not requested twice.
func TestARobotsRedirectWaitsForRulesOfAThirdSite(t *testing.T) {
	const pageOfA, pageOfB, pageOfC = "http://a.example/page", "http://b.example/page", "http://c.example/page"
	rules := status(200, "User-agent: *\nDisallow: /page")
	files := map[string]string{
		"http://a.example/robots.txt": redirectTo("http://b.example/rules"), "http://b.example/rules": rules,
		"http://b.example/robots.txt": redirectTo("http://c.example/robots.txt"),
	}
	const slow = "User-agent: *\nCrawl-delay: 10\nDisallow: /page"
	for _, tc := range []struct {
		name  string
		seeds []string
		third string // the robots.txt of c.example
		want  string
	}{
		{"b.example has not followed its redirect", []string{pageOfA, pageOfB}, "User-agent: *\nDisallow: /page",
			"+0s a/robots.txt +0s b/robots.txt +1s c/robots.txt +2s b/rules"},
		{"b.example waits for its rules", []string{pageOfC, pageOfB, pageOfA}, slow,
			"+0s c/robots.txt +0s b/robots.txt +0s a/robots.txt +10s c/robots.txt +10s b/rules"},
		{"no visit follows the redirect of b.example", []string{pageOfA}, "User-agent: *\nDisallow: /page",
			"+0s a/robots.txt +0s b/robots.txt +2m0s a/robots.txt +2m0s b/robots.txt +5m0s a/robots.txt +5m0s b/robots.txt"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				files["http://c.example/robots.txt"] = status(200, tc.third)
				asked, last := journey(t, files, frontier.Options{IPDelay: -1, Patience: 4 * time.Minute}, newMemorySnapshots(math.MaxInt), tc.seeds...)
				got := strings.NewReplacer("http://", "", ".example", "").Replace(strings.Join(asked, " "))
				if got != tc.want {
					t.Errorf("requests %s, want %s; the last verdict is %v", got, tc.want, last.Verdict.Access)
				}
			})
		})
	}
}

// Only a part of a redirect's body is read. Rules are read up to their limit, with any 2xx status.
func TestTheBodyOfARobotsRedirect(t *testing.T) {
	body := strings.Repeat("#", 70_000) + "\nUser-agent: *\nDisallow: /\n"
	for code, want := range map[int]int{299: len(body), 200: len(body), 300: 64 << 10, 302: 64 << 10, 399: 64 << 10, 400: len(body)} {
		synctest.Test(t, func(t *testing.T) {
			w := &wire{serve: answers(func(*request, int) string { return status(code, body) })}
			v := newTour(t, Options{Network: w})
			v.once = true
			_, all := v.visit("http://a.example/")
			if n := len(all[0].Body); n != want || (all[0].Truncated != "") != (want < len(body)) {
				t.Errorf("%d: %d bytes, cut by %q; want %d", code, n, all[0].Truncated, want)
			}
		})
	}
}

// failing is a store of snapshots whose reads or writes fail.
type failing struct {
	*memorySnapshots
	site        frontier.Site
	read, write error
}

func (f *failing) Snapshot(s frontier.Site) (*robots.Snapshot, error) {
	if f.read != nil && s == f.site {
		return nil, f.read
	}
	return f.memorySnapshots.Snapshot(s)
}

func (f *failing) PutSnapshot(s frontier.Site, snapshot *robots.Snapshot) error {
	if f.write != nil && s == f.site {
		return f.write
	}
	return f.memorySnapshots.PutSnapshot(s, snapshot)
}

// If rules cannot be stored, requests that depend on them are not made.
func TestErrorsOfTheSnapshotsEndTheVisit(t *testing.T) {
	broken := errors.New("disk")
	for name, store := range map[string]*failing{
		"read":                    {site: "http://a.example", read: broken},
		"write":                   {site: "http://a.example", write: broken},
		"read of the other site":  {site: "http://b.example", read: broken},
		"write of the other site": {site: "http://b.example", write: broken},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store.memorySnapshots = newMemorySnapshots(math.MaxInt)
				w := &wire{serve: answers(func(r *request, n int) string {
					if r.header.Get("Host") == "a.example" {
						return redirectTo("http://b.example/rules")
					}
					return status(200, "")
				})}
				if name == "write" {
					w.serve = answers(func(*request, int) string { return status(200, "") })
				}
				v := newTour(t, Options{Network: w, Snapshots: store})
				front := frontOf(t, frontier.Options{IPDelay: -1}, "http://a.example/page")
				for range 5 {
					turn, err := front.Next(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					res, err := v.fetcher.Get(t.Context(), turn)
					if err != nil {
						if !errors.Is(err, broken) {
							t.Errorf("%v", err)
						}
						return
					}
					if res.Page != nil {
						t.Fatal("a page was had")
					}
					if _, err := turn.Finish(res.Outcome); err != nil {
						t.Fatal(err)
					}
				}
				t.Error("no error")
			})
		})
	}
}
