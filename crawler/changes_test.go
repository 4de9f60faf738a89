package crawler_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
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
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/robots"
)

// changed begins a crawl with the options of was, resumes it with those of is, and returns the
// settings that are reported as changed.
func changed(t *testing.T, was, is func(*crawler.Options)) (all []string) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", "x")
		for _, change := range []func(*crawler.Options){was, is} {
			crawl(t, w, func(o *crawler.Options) {
				o.Dir, o.OnStart = dir, func(s crawler.Start) {
					for _, c := range s.Changes {
						all = append(all, c.String())
					}
				}
				change(o)
			}, "http://a.example/")
		}
	})
	return all
}

// Each changed setting is reported with its old and new value. Settings of the zero Options have
// their default values.
func TestEachChangeOfASettingIsReported(t *testing.T) {
	got := changed(t, func(*crawler.Options) {}, func(o *crawler.Options) {
		o.Scope = crawler.ScopeFunc(func(frontier.Entry) bool { return true })
		o.Include, o.Exclude = regexp.MustCompile("a"), regexp.MustCompile("b")
		o.Depth, o.Limit, o.MaxBytes, o.MaxTime = 1, 1000, 1<<40, time.Hour
		o.MaxHostPages, o.MaxHostBytes, o.MaxHostTime = -1, 1, time.Minute
		o.Delay, o.IPDelay, o.DomainDelay, o.Rate, o.Bandwidth = 2*time.Second, -1, time.Second, 0.5, 1<<30
		o.Concurrency, o.Patience, o.MaxSize, o.Timeout = 1, -1, 5, time.Second
		o.Dialect, o.Aliases = robots.Google, []string{"formerbot", "oldbot"}
		o.Header = http.Header{"X-A": {"1"}}
		o.AllowForbidden, o.AllowPrivate, o.FollowNoFollow, o.Requisites = true, true, true, true
		o.Output, o.BodyBudget, o.MaxArchive = []crawler.Output{}, 1<<20, 1<<20
	})
	want := []string{
		"scope: host -> crawler.ScopeFunc", "include: none -> a", "exclude: none -> b", "depth: none -> 1", "requisites: none -> page", "nofollow: obey -> ignore",
		"delay: 1s -> 2s", "ip-delay: 250ms -> none", "domain-delay: none -> 1s", "concurrency: 64 -> 1", "rate: none -> 0.5", "bandwidth: none -> 1GiB",
		"limit: none -> 1000", "max-bytes: none -> 1024GiB", "max-time: none -> 1h", "max-host-pages: 10000 -> none", "max-host-bytes: none -> 1B", "max-host-time: none -> 1m",
		"patience: 2m -> none", "robots-forbidden: deny -> allow", "dialect: rfc9309 -> google", "alias: none -> formerbot oldbot", "header: none -> X-A#X",
		"timeout: 30s -> 1s", "max-size: 16MiB -> 5B", "body-budget: 24MiB -> 1MiB", "allow-private: no -> yes", "output: warc,jsonl -> none", "max-archive: 1GiB -> 1MiB",
	}
	for i, c := range got {
		got[i] = regexp.MustCompile("#[0-9a-f]{6}$").ReplaceAllString(c, "#X")
	}
	if !slices.Equal(got, want) {
		t.Errorf("changes:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := changed(t, func(*crawler.Options) {}, func(*crawler.Options) {}); got != nil {
		t.Errorf("nothing has changed, but %q", got)
	}
}

// Behind a proxy the address of a site is not known. So NoDelay means no delay only with
// AllowPrivate.
func TestTheLeastDelayBehindAProxy(t *testing.T) {
	proxied := func(o *crawler.Options) {
		o.Proxy = func(*url.URL) (*url.URL, error) { return nil, nil }
	}
	for _, test := range []struct {
		name   string
		change func(*crawler.Options)
		want   string // the delay that applies if Options.Delay is one hour
	}{
		{"no delay", func(o *crawler.Options) { proxied(o); o.Delay = crawler.NoDelay }, "delay: 1h -> 200ms"},
		{"a short one", func(o *crawler.Options) { proxied(o); o.Delay = time.Millisecond }, "delay: 1h -> 200ms"},
		{"a long one", func(o *crawler.Options) { proxied(o); o.Delay = 300 * time.Millisecond }, "delay: 1h -> 300ms"},
		{"the usual one", proxied, "delay: 1h -> 1s"},
		{"private addresses", func(o *crawler.Options) { proxied(o); o.Delay, o.AllowPrivate = crawler.NoDelay, true }, "delay: 1h -> none"},
		{"no proxy", func(o *crawler.Options) { o.Delay = crawler.NoDelay }, "delay: 1h -> none"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := changed(t, func(o *crawler.Options) { o.Delay = time.Hour }, test.change)
			if !slices.Contains(got, test.want) {
				t.Errorf("changes %q, want %q", got, test.want)
			}
		})
	}
}

// Each invalid option is named, with a reason. The smallest and the largest valid values are
// accepted.
func TestOptionsAtTheirBounds(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*crawler.Options)
		field  string // field in the error; empty if there is no error
		reason string
	}{
		{"no dialect", func(o *crawler.Options) { o.Dialect = 99 }, "Dialect", ""},
		{"alias of no token", func(o *crawler.Options) { o.Aliases = []string{"goodbot", "old bot"} }, "Aliases", ""},
		{"key directory without TLS", func(o *crawler.Options) {
			o.Signing = fetch.Signing{Key: make([]byte, 64), Agent: "http://example.org"}
		}, "Signing", `"http://example.org" is no https URL of a key directory`},
		{"key directory without a key", func(o *crawler.Options) { o.Signing.Agent = "https://example.org" }, "Signing", "the key has 0 bytes"},
		{"alias of another robot", func(o *crawler.Options) { o.Aliases = []string{"Googlebot"} }, "Aliases", `"Googlebot" is the name of `},
		{"alias", func(o *crawler.Options) { o.Aliases = []string{"goodbot"} }, "", ""},
		{"no purpose", func(o *crawler.Options) { o.Purpose = "spam" }, "Purpose", `"spam" is not one of ["archive" `},
		{"purpose", func(o *crawler.Options) { o.Purpose = robots.PurposeLinkCheck }, "", ""},
		{"rescan of nothing", func(o *crawler.Options) { o.Rescan = true }, "Rescan", "needs the archive in a Dir"},
		{"rescan", func(o *crawler.Options) { o.Rescan, o.Dir = true, "x" }, "", ""},
		{"one output of two", func(o *crawler.Options) { o.Output, o.Dir = []crawler.Output{crawler.OutputWARC, "csv"}, "x" }, "Output", `"csv" is not one of warc, jsonl, bodies, links`},
		{"all outputs", func(o *crawler.Options) { o.Output, o.Dir = []crawler.Output{"warc", "jsonl", "bodies", "links"}, "x" }, "", ""},
		{"a field of ours", func(o *crawler.Options) { o.Header = http.Header{"User-Agent": {"x"}} }, "Header", ""},
		{"no token", func(o *crawler.Options) { o.Identity.Token = "" }, "Identity.Token", `is empty: give the crawler a name of its own, such as "titlebot"`},
		{"no mail", func(o *crawler.Options) { o.Identity.Mail = "me" }, "Identity.Mail", `"me" is no e-mail address`},
		{"a URL as mail", func(o *crawler.Options) { o.Identity.Mail = "https://example.org/" }, "Identity.Mail", `"https://example.org/" is no e-mail address`},
		{"mail", func(o *crawler.Options) { o.Identity.Mail = "me@example.org" }, "", ""},
		{"no scheme", func(o *crawler.Options) { o.Identity.Contact = "example.org/bot" }, "Identity.Contact", "is neither an http(s) URL nor an e-mail address"},
		{"another scheme", func(o *crawler.Options) { o.Identity.Contact = "ftp://example.org/bot" }, "Identity.Contact", "is neither"},
		{"no host", func(o *crawler.Options) { o.Identity.Contact = "https:///bot" }, "Identity.Contact", "is neither"},
		{"no URL", func(o *crawler.Options) { o.Identity.Contact = "https://example.org:x/" }, "Identity.Contact", "is neither"},
		{"a blank", func(o *crawler.Options) { o.Identity.Contact = "https://example.org/a b" }, "Identity.Contact", "is neither"},
		{"a control character", func(o *crawler.Options) { o.Identity.Contact = "https://example.org/\x7f" }, "Identity.Contact", "is neither"},
		{"end of a comment", func(o *crawler.Options) { o.Identity.Contact = "https://example.org/)" }, "Identity.Contact", "is neither"},
		{"begin of a comment", func(o *crawler.Options) { o.Identity.Contact = "https://example.org/(" }, "Identity.Contact", "is neither"},
		{"the first letters", func(o *crawler.Options) { o.Identity.Contact = "http://example.org/!~" }, "", ""},
		{"an address with a name", func(o *crawler.Options) { o.Identity.Contact = "<me@example.org>" }, "Identity.Contact", "is neither"},
	} {
		o := crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}}
		test.change(&o)
		_, err := crawler.New(o)
		var option *crawler.OptionError
		switch errors.As(err, &option) {
		case true:
			if option.Field != test.field || !strings.HasPrefix(strings.TrimPrefix(option.Reason, fmt.Sprintf("%q ", o.Identity.Contact)), test.reason) {
				t.Errorf("%s: %v", test.name, err)
			}
			if !strings.HasPrefix(err.Error(), "crawler: "+test.field+": ") {
				t.Errorf("%s: %v", test.name, err)
			}
		default:
			if err != nil || test.field != "" {
				t.Errorf("%s: %v", test.name, err)
			}
		}
	}
	// The errors of these options wrap their cause.
	good := crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}}
	cause := map[string]func(*crawler.Options){
		"Dialect":        func(o *crawler.Options) { o.Dialect = 99 },
		"Aliases":        func(o *crawler.Options) { o.Aliases = []string{"old bot"} },
		"Header":         func(o *crawler.Options) { o.Header = http.Header{"User-Agent": {"x"}} },
		"Identity.Token": func(o *crawler.Options) { o.Identity.Token = "a bot" },
	}
	for field, change := range cause {
		o := good
		change(&o)
		_, err := crawler.New(o)
		if errors.Unwrap(err) == nil || !strings.Contains(err.Error(), errors.Unwrap(err).Error()) {
			t.Errorf("%s: the cause of %v is %v", field, err, errors.Unwrap(err))
		}
	}
}

// Only the outputs in Options.Output are written.
func TestFilesOfEachOutput(t *testing.T) {
	for _, test := range []struct {
		output []crawler.Output
		want   []string
	}{
		{nil, []string{"index.cdxj", "pages.jsonl", "warc"}},
		{[]crawler.Output{}, nil},
		{[]crawler.Output{crawler.OutputWARC}, []string{"index.cdxj", "warc"}},
		{[]crawler.Output{crawler.OutputPages}, []string{"pages.jsonl"}},
		{[]crawler.Output{crawler.OutputBodies}, []string{"pages.jsonl"}},
		{[]crawler.Output{crawler.OutputLinks}, []string{"links.jsonl"}},
	} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			w := crawltest.New(t)
			w.Site("http://a.example").Page("/", "<a href=/1>1</a>").Page("/1", "x")
			crawl(t, w, func(o *crawler.Options) { o.Dir, o.Output = dir, test.output }, "http://a.example/")
		})
		var got []string
		for _, name := range []string{store.IndexFile, store.LinksFile, store.PagesFile, store.ArchiveDir} {
			if info, err := os.Stat(filepath.Join(dir, name)); err == nil && (info.IsDir() || info.Size() > 0) {
				got = append(got, name)
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%q: %q, want %q", test.output, got, test.want)
		}
		if !slices.Contains(test.want, store.PagesFile) {
			continue
		}
		for _, r := range records(t, dir) {
			if has := len(r.Body) > 0; has != slices.Contains(test.output, crawler.OutputBodies) {
				t.Errorf("%q: %s has its body: %v", test.output, r.URL, has)
			}
		}
	}
}
