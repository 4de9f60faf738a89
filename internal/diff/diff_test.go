package diff_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/diff"
	"github.com/permesso-crawler/permesso/internal/store"
)

// A compared has everything that a comparison returns or passes to functions.
type compared struct {
	*diff.Result
	order   []string // names of the called functions, in order
	changes map[string]diff.Change
	effects map[string]diff.Effect
}

func compare(t *testing.T, was, is string, o diff.Options) *compared {
	t.Helper()
	r := &compared{changes: map[string]diff.Change{}, effects: map[string]diff.Effect{}}
	o.Temp = t.TempDir()
	o.Begin = func(*diff.Result) error { r.order = append(r.order, "begin"); return nil }
	o.Change = func(c *diff.Change) error { r.order = append(r.order, c.URL); r.changes[c.URL] = *c; return nil }
	o.Effect = func(e *diff.Effect) error { r.effects[e.URL] = *e; return nil }
	var err error
	if r.Result, err = diff.Compare(t.Context(), was, is, o); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(o.Temp); err != nil || len(left) > 0 {
		t.Errorf("temporary files are left: %v, %v", left, err)
	}
	return r
}

// two crawls a web in two states, and returns the directories. with changes the options of both
// crawls.
func two(t *testing.T, was, is func(w *crawltest.Web), with func(*crawler.Options)) (a, b string) {
	t.Helper()
	a, b = filepath.Join(t.TempDir(), "a.crawl"), filepath.Join(t.TempDir(), "b.crawl")
	crawl(t, a, was, with)
	crawl(t, b, is, with)
	return a, b
}

// Comparing a crawl with itself finds no changes.
func TestACrawlIsAsItIs(t *testing.T) {
	a := filepath.Join(t.TempDir(), "a.crawl")
	crawl(t, a, func(w *crawltest.Web) {
		w.Site("http://a.example").Robots("User-agent: *\nDisallow: /no").Page("/", "<a href=/b>b</a><a href=/no>no</a><a href=/c>c</a>").Redirect("/b", "/").Status("/c", 404)
	}, nil)
	r := compare(t, a, a, diff.Options{})
	if r.Counts.Changes() != 0 || r.Counts.Of(diff.NotModified) != 2 || r.Counts.Of(diff.Other) != 2 || len(r.Sites)+len(r.Robots)+len(r.Settings) != 0 || r.Seeds.Added+r.Seeds.Removed != 0 {
		t.Errorf("%+v", r.Result)
	}
	if want := (diff.Snapshot{Dir: a, Token: "weeklybot", First: r.Was.First, Last: r.Was.Last, URLs: 4, There: 2}); r.Was != want || r.Is != want || r.Was.First.IsZero() || r.Was.Last.Before(r.Was.First) {
		t.Errorf("%+v, want %+v", r.Was, want)
	}
}

// If a URL has moved, the change has the target, and says whether the target has the same
// content.
func TestWhatHasMovedIsLookedForWhereItIs(t *testing.T) {
	home := `<a href=/same></a><a href=/text></a><a href=/other></a><a href=/out></a><a href=/lost></a><a href=/bounce></a>`
	body := func(noise string) string {
		return "<title>T</title><p>what it says, and more than a few bytes of it<!--" + noise + "-->"
	}
	a, b := two(t, func(w *crawltest.Web) {
		s := w.Site("http://a.example").Robots("").Page("/", home)
		for _, path := range []string{"/same", "/text", "/other", "/out", "/lost", "/bounce"} {
			s.Page(path, body(path))
		}
	}, func(w *crawltest.Web) {
		s := w.Site("http://a.example").Robots("").Page("/", home)
		for path, to := range map[string]string{
			"/same": "/new/same", "/text": "/new/text", "/other": "/new/other", "/out": "http://b.example/", "/lost": "/new/lost", "/bounce": "/new/bounce",
		} {
			s.Func(path, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusPermanentRedirect) })
		}
		s.Page("/new/same", body("/same")).Page("/new/text", body("x")).Page("/new/other", "<p>quite another").Status("/new/lost", 404).Redirect("/new/bounce", "/")
	}, nil)
	r := compare(t, a, b, diff.Options{})
	want := map[string]diff.Target{
		"/same":   {URL: "http://a.example/new/same", Fate: frontier.Fetched, Status: 200, SameBody: true},
		"/text":   {URL: "http://a.example/new/text", Fate: frontier.Fetched, Status: 200, Text: diff.TextSame},
		"/other":  {URL: "http://a.example/new/other", Fate: frontier.Fetched, Status: 200, Text: diff.TextDiffers},
		"/out":    {URL: "http://b.example/"},
		"/lost":   {URL: "http://a.example/new/lost", Fate: frontier.Fetched, Status: 404},
		"/bounce": {URL: "http://a.example/new/bounce", Fate: frontier.Fetched, Status: 302},
	}
	for path, target := range want {
		c := r.changes["http://a.example"+path]
		if c.Kind != diff.Moved || c.Target == nil || *c.Target != target || c.Is.Status != 308 {
			t.Errorf("%s: %+v, %+v; want %+v", path, c, c.Target, target)
		}
	}
	if r.Counts.Of(diff.Moved) != int64(len(want)) {
		t.Errorf("%d have moved", r.Counts.Of(diff.Moved))
	}
}

// Compare knows whether the visible text of a page has changed only if the bodies are archived,
// or if pages.jsonl has digests of the texts.
func TestTheTextOfABodyThatIsNotKeptIsUnknown(t *testing.T) {
	web := func(noise string) func(w *crawltest.Web) {
		return func(w *crawltest.Web) {
			w.Site("http://a.example").Robots("").Page("/", "<p>hello<!--"+noise+"-->")
		}
	}
	for _, c := range []struct {
		with func(*crawler.Options)
		o    diff.Options
		text diff.TextState
		kind diff.Kind
	}{
		{nil, diff.Options{}, diff.TextSame, diff.SameText},
		{nil, diff.Options{NoText: true}, diff.TextUnknown, diff.Modified},
		{func(o *crawler.Options) { o.Output = []crawler.Output{crawler.OutputPages} }, diff.Options{}, diff.TextUnknown, diff.Modified},
		{func(o *crawler.Options) { o.Output, o.TextDigest = []crawler.Output{crawler.OutputPages}, true }, diff.Options{NoText: true}, diff.TextSame, diff.SameText},
		{func(o *crawler.Options) { o.Output = []crawler.Output{} }, diff.Options{}, diff.TextUnknown, diff.Modified},
	} {
		a, b := two(t, web("1"), web("2"), c.with)
		r := compare(t, a, b, c.o)
		got := r.changes["http://a.example/"]
		if got.Text != c.text || got.Kind != c.kind {
			t.Errorf("%+v, want %s, %s", got, c.kind, c.text)
		}
		compared := int64(1)
		if c.text == diff.TextUnknown {
			compared = 0
		}
		if want := (diff.Texts{Compared: compared, Unknown: 1 - compared}); r.Texts != want || r.OtherLines != 0 {
			t.Errorf("%+v, want %+v; %d lines cannot be read", r.Texts, want, r.OtherLines)
		}
		if err := os.RemoveAll(filepath.Join(a, store.ArchiveDir)); err != nil {
			t.Fatal(err)
		}
		if c.text = diff.TextUnknown; c.o.NoText && c.kind == diff.SameText { // known from the digests in pages.jsonl
			c.text = diff.TextSame
		}
		if r := compare(t, a, b, diff.Options{}); r.changes["http://a.example/"].Text != c.text {
			t.Errorf("without its archive: %+v", r.changes)
		}
	}
}

// If one crawl has digests of its texts, it can be compared with a crawl that has the pages
// themselves, in any charset.
func TestADigestOfATextIsComparedWithAnArchivedText(t *testing.T) {
	web := func(kind, plain, page string) func(w *crawltest.Web) {
		return func(w *crawltest.Web) {
			w.Site("http://a.example").Robots("").Page("/", "<a href=/plain></a><a href=/page></a><a href=/picture></a>").
				File("/plain", "text/plain"+kind, plain).File("/page", "text/html"+kind, page).File("/picture", "image/png", kind)
		}
	}
	digests := func(o *crawler.Options) { o.TextDigest = true }
	for i, with := range [][2]func(*crawler.Options){{nil, digests}, {digests, nil}, {nil, nil}, {digests, digests}} {
		a, b := filepath.Join(t.TempDir(), "a.crawl"), filepath.Join(t.TempDir(), "b.crawl")
		crawl(t, a, web(";charset=utf-8", "Gr\u00fc\u00dfe", "<p>Gr\u00fc\u00dfe an alle, die das hier lesen"), with[0])
		crawl(t, b, web(";charset=iso-8859-1", "Gr\xfc\xdfe", "<p>Gr\xfc\xdfe an alle,<br>die das hier lesen"), with[1])
		r := compare(t, a, b, diff.Options{})
		for path, want := range map[string]diff.Kind{"/plain": diff.SameText, "/page": diff.SameText, "/picture": diff.Modified} {
			if c := r.changes["http://a.example"+path]; c.Kind != want {
				t.Errorf("%d, %s: %+v", i, path, c)
			}
		}
	}
}

// If the archive has a body only under another URL, it is used for both URLs.
func TestARevisitHasTheTextOfWhatItRefersTo(t *testing.T) {
	web := func(noise string) func(w *crawltest.Web) {
		body := "<p>" + strings.Repeat("the same ", 20) + "<!--" + noise + "-->"
		return func(w *crawltest.Web) {
			w.Site("http://a.example").Robots("").Page("/", "<a href=/1></a><a href=/2></a>").Page("/1", body).Page("/2", body)
		}
	}
	a, b := two(t, web("1"), web("2"), nil)
	r := compare(t, a, b, diff.Options{})
	for _, url := range []string{"http://a.example/1", "http://a.example/2"} {
		if c := r.changes[url]; c.Kind != diff.SameText {
			t.Errorf("%s: %+v", url, c)
		}
	}
}

// If the settings of the crawls differ, the result says so first. Their effects do not count as
// changes of the web.
func TestWhatTheCrawlsWereAskedForIsToldFirst(t *testing.T) {
	web := func(w *crawltest.Web) {
		w.Site("http://a.example").Robots("User-agent: a\nDisallow: /\nUser-agent: *\nAllow: /\n").Page("/", "<a href=/1></a><a href=/2></a><a href=/3></a>").
			Page("/1", "1").Page("/2", "2").Page("/3", "3")
		w.Site("http://b.example").Robots("").Page("/", "b")
		w.Site("http://c.example").Robots("").Page("/", "c")
	}
	a, b := filepath.Join(t.TempDir(), "a.crawl"), filepath.Join(t.TempDir(), "b.crawl")
	crawl(t, a, web, func(o *crawler.Options) { o.Seeds = append(o.Seeds, "http://b.example/") })
	crawl(t, b, web, func(o *crawler.Options) {
		o.Seeds = append(o.Seeds, "http://c.example/")
		o.Limit, o.Depth, o.Delay = 3, 2, 7*time.Second
		o.Header = http.Header{"Accept-Language": {"de"}}
		o.Identity.Token = "otherweeklybot"
	})
	r := compare(t, a, b, diff.Options{})
	var settings []string
	for _, c := range r.Settings {
		settings = append(settings, c.Name+": "+c.Was+" -> "+c.Is)
	}
	if want := []string{"name: weeklybot -> otherweeklybot", "depth: none -> 2", "limit: none -> 3", "header: none -> Accept-Language#"}; len(settings) != 4 || !strings.HasPrefix(settings[3], want[3]) || !slices.Equal(settings[:3], want[:3]) {
		t.Errorf("%q, want %q", settings, want)
	}
	if want := (diff.Seeds{Added: 1, Removed: 1, First: []string{"-http://b.example/", "+http://c.example/"}}); !reflect.DeepEqual(r.Seeds, want) {
		t.Errorf("%+v", r.Seeds)
	}
	if r.order[0] != "begin" || r.Counts.Of(diff.NotAsked) != 2 || r.Counts.Of(diff.LeftOut) != 1 || r.Counts.Of(diff.New) != 1 {
		t.Errorf("%q: %v", r.order, r.Counts)
	}
	if !slices.IsSorted(r.order[1:]) {
		t.Errorf("not in the order of SURT: %q", r.order)
	}
	// Compare only one host.
	r = compare(t, a, b, diff.Options{Most: 1, Site: func(s frontier.Site) bool { return s.Host() == "a.example" }})
	if r.Counts.Changes() != 2 || len(r.Sites) != 1 || len(r.First[diff.NotAsked]) != 1 || r.Was.URLs != 4 {
		t.Errorf("%+v", r.Result)
	}
}

// URLs that a crawl may still request are counted as waiting.
func TestACrawlThatHasNotEndedSaysSo(t *testing.T) {
	web := func(w *crawltest.Web) {
		w.Site("http://a.example").Robots("").Page("/", "<a href=/1></a><a href=/2></a>").Page("/1", "1").Page("/2", "2")
	}
	a, b := filepath.Join(t.TempDir(), "a.crawl"), filepath.Join(t.TempDir(), "b.crawl")
	crawl(t, a, web, nil)
	crawl(t, b, web, func(o *crawler.Options) { o.Delay, o.MaxTime = 20*time.Second, 30*time.Second })
	r := compare(t, a, b, diff.Options{})
	if r.Was.Waiting != 0 || r.Is.Waiting != 2 || r.Counts.Of(diff.NotAsked) != 2 {
		t.Errorf("%+v, %v", r.Is, r.Counts)
	}
}

// Compare returns the error that has ended it.
func TestWhatEndsAComparison(t *testing.T) {
	web := func(text string) func(w *crawltest.Web) {
		return func(w *crawltest.Web) {
			w.Site("http://a.example").Robots("User-agent: *\nDisallow: /no"+text).Page("/", "<a href=/no"+text+">"+text)
		}
	}
	a, b := two(t, web("1"), web("2"), nil)
	none := t.TempDir()
	for _, dirs := range [][2]string{{none, b}, {a, none}, {filepath.Join(none, "x"), b}} {
		if r, err := diff.Compare(t.Context(), dirs[0], dirs[1], diff.Options{}); r != nil || !errors.Is(err, store.ErrNoCrawl) {
			t.Errorf("%q: %v", dirs, err)
		}
	}
	stop := errors.New("stop")
	for name, o := range map[string]diff.Options{
		"begin":  {Begin: func(*diff.Result) error { return stop }},
		"change": {Change: func(*diff.Change) error { return stop }},
		"effect": {Effect: func(*diff.Effect) error { return stop }},
	} {
		if r, err := diff.Compare(t.Context(), a, b, o); r != nil || !errors.Is(err, stop) {
			t.Errorf("%s: %v, %v", name, r, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := diff.Compare(ctx, a, b, diff.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	for _, dir := range []string{a, b} {
		db, err := store.Open(dir, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var inUse *store.InUseError
		if _, err := diff.Compare(t.Context(), a, b, diff.Options{}); !errors.As(err, &inUse) {
			t.Errorf("in use: %v", err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(filepath.Join(dir, store.StateFile), 5000); err != nil {
			t.Fatal(err)
		}
		var damaged *store.DamagedError
		if _, err := diff.Compare(t.Context(), a, b, diff.Options{}); !errors.As(err, &damaged) {
			t.Errorf("damaged: %v", err)
		}
		if dir == a {
			break // a damaged crawl is in no use
		}
	}
}

// If a state is damaged during a comparison, Compare returns an error and closes both crawls.
// This includes the moment when it looks up the target of a moved page.
func TestAStateThatIsSpoiltMeanwhileIsAnError(t *testing.T) {
	web := func(w *crawltest.Web) { w.Site("http://a.example").Robots("").Page("/", "1") }
	moved := func(w *crawltest.Web) {
		w.Site("http://a.example").Robots("").Page("/b", "2").
			Func("/", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/b", http.StatusMovedPermanently) })
	}
	for name, o := range map[string]func(spoil func() error) diff.Options{
		"before its sites are listed": func(spoil func() error) diff.Options {
			return diff.Options{Begin: func(*diff.Result) error { return spoil() }, Site: func(frontier.Site) bool { return true }}
		},
		"before the place is looked up": func(spoil func() error) diff.Options {
			return diff.Options{Change: func(c *diff.Change) error {
				if c.URL == "http://0.example/" {
					return spoil()
				}
				return nil
			}}
		},
	} {
		a, b := filepath.Join(t.TempDir(), "a.crawl"), filepath.Join(t.TempDir(), "b.crawl")
		crawl(t, a, web, nil)
		crawl(t, b, func(w *crawltest.Web) { moved(w); w.Site("http://0.example").Robots("").Page("/", "0") }, func(o *crawler.Options) { o.Seeds = append(o.Seeds, "http://0.example/") })
		path := filepath.Join(b, store.StateFile)
		spoil := func() error {
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				return err
			}
			info, err := f.Stat()
			if err != nil {
				return err
			}
			const metas = 2 * 4096
			_, err = f.WriteAt(bytes.Repeat([]byte{0xff}, int(info.Size())-metas), metas)
			return errors.Join(err, f.Close())
		}
		var damaged *store.DamagedError
		if r, err := diff.Compare(t.Context(), a, b, o(spoil)); r != nil || !errors.As(err, &damaged) || damaged.Path != path {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		db, err := store.Open(a, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Before returns the previous crawl that the last run has recorded, even if both directories
// were moved.
func TestBefore(t *testing.T) {
	web := func(w *crawltest.Web) { w.Site("http://a.example").Robots("").Page("/", "1") }
	before := func(dir string) string {
		t.Helper()
		r, err := store.OpenReader(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		found, err := diff.Before(r)
		if err != nil {
			t.Error(err)
		}
		return found
	}
	root := t.TempDir()
	a, b, empty := filepath.Join(root, "a.crawl"), filepath.Join(root, "b.crawl"), filepath.Join(root, "empty.crawl")
	crawl(t, a, web, nil)
	crawl(t, b, web, func(o *crawler.Options) { o.Previous = a })
	db, err := store.Open(empty, store.Options{})
	if err == nil {
		err = db.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	r, err := store.OpenReader(b)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	state := filepath.Join(b, store.StateFile)
	whole, err := os.ReadFile(state)
	if err != nil {
		t.Fatal(err)
	}
	spoil(t, b, 2*4096, int64(len(whole)))
	var damaged *store.DamagedError
	if dir, err := diff.Before(r); dir != "" || !errors.As(err, &damaged) {
		t.Errorf("damaged: %q, %v", dir, err)
	}
	if err := os.WriteFile(state, whole, 0o644); err != nil {
		t.Fatal(err)
	}
	if before(a) != "" || before(b) != a || before(empty) != "" {
		t.Errorf("%q, %q, %q", before(a), before(b), before(empty))
	}
}

// A page has not changed if the server answered 304 or sent the same bytes. A changed page is
// compared with its earlier body, however many crawls ago that was fetched.
func TestACrawlThatKnowsTheOneBeforeIsComparedWithIt(t *testing.T) {
	web := func(text, noise string) func(w *crawltest.Web) {
		return func(w *crawltest.Web) {
			answer := func(tag, body string) http.HandlerFunc {
				return func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Type", "text/html")
					if tag != "" {
						w.Header().Set("ETag", tag)
					}
					http.ServeContent(w, r, "", time.Time{}, strings.NewReader(body))
				}
			}
			long := strings.Repeat(" that is long", 20)
			w.Site("http://a.example").Robots("").Page("/", "<a href=/tag></a><a href=/same></a><a href=/text></a><a href=/noise></a>").
				Func("/tag", answer(`"1"`, "<p>tagged"+long)).Func("/same", answer("", "<p>the same"+long)).
				Func("/text", answer(`"`+text+`"`, "<p>"+text+long)).Func("/noise", answer(`"`+noise+`"`, "<p>noise"+long+"<!--"+noise+"-->"))
		}
	}
	dirs := []string{}
	root := t.TempDir()
	for i, version := range [][2]string{{"1", "1"}, {"1", "1"}, {"2", "2"}, {"3", "2"}} {
		dir := filepath.Join(root, fmt.Sprintf("%d.crawl", i))
		crawl(t, dir, web(version[0], version[1]), func(o *crawler.Options) {
			if i > 0 {
				o.Previous = dirs[i-1]
			}
		})
		dirs = append(dirs, dir)
	}
	both := map[string]diff.Kind{"/text": diff.Modified, "/noise": diff.SameText}
	for _, c := range []struct {
		was, is int
		want    map[string]diff.Kind
	}{
		{0, 1, map[string]diff.Kind{}}, {1, 2, both}, {2, 3, map[string]diff.Kind{"/text": diff.Modified}},
		{1, 3, both}, // after its change, /noise was answered with 304
		{3, 1, both},
	} {
		want := c.want
		r := compare(t, dirs[c.was], dirs[c.is], diff.Options{})
		got := map[string]diff.Kind{}
		for url, c := range r.changes {
			got[strings.TrimPrefix(url, "http://a.example")] = c.Kind
		}
		if d := cmp.Diff(want, got); d != "" || len(r.Settings) > 0 || r.Texts.Unknown > 0 || r.Counts.Of(diff.NotModified) != int64(5-len(want)) {
			t.Errorf("%d and %d: %+v, %+v, %v (-want +got)\n%s", c.was, c.is, r.Settings, r.Texts, r.Counts, d)
		}
	}
}

// Lines of pages.jsonl that cannot be read are counted and otherwise ignored.
func TestLinesThatAreNoneAreCounted(t *testing.T) {
	web := func(w *crawltest.Web) { w.Site("http://a.example").Robots("").Page("/", "1") }
	a, b := two(t, web, web, nil)
	f, err := os.OpenFile(filepath.Join(b, store.PagesFile), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString("{\n" + `{"url":"x:","digest":"sha1:A"}` + "\n" + `{"url":"http://a.example/unknown","status":200,"digest":"sha1:A"}` + "\n")
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	if r := compare(t, a, b, diff.Options{}); r.OtherLines != 1 || r.Counts.Changes() != 0 || r.Is.URLs != 1 {
		t.Errorf("%+v", r.Result)
	}
}

// A list has at most Options.Most rows, 25 by default. A negative number means no rows.
func TestListsHaveTheirMost(t *testing.T) {
	t.Parallel()
	web := func(rules, noise string) func(w *crawltest.Web) {
		return func(w *crawltest.Web) {
			home, s := "", w.Site("http://a.example").Robots("User-agent: *\n"+rules)
			for i := range 30 {
				home += fmt.Sprintf("<a href=/no/%02d></a><a href=/page/%02d></a>", i, i)
				s.Page(fmt.Sprintf("/no/%02d", i), "no").Page(fmt.Sprintf("/page/%02d", i), noise)
			}
			s.Page("/", home)
		}
	}
	a, b := two(t, web("Disallow: /no", "1"), web("Disallow: /nothing", "2"), func(o *crawler.Options) { o.Output = []crawler.Output{} })
	for most, want := range map[int]int{0: 25, 7: 7, 29: 29, 30: 30, 31: 30, -1: 0} {
		r := compare(t, a, b, diff.Options{Most: most})
		if r.Counts.Of(diff.Modified) != 30 || len(r.First[diff.Modified]) != want || r.Allowed != 30 || len(r.Robots) != 1 || len(r.Robots[0].First) != want {
			t.Errorf("%d: %+v", most, r.Result)
		}
	}
}

func TestCountsAreToldByKind(t *testing.T) {
	c := diff.Counts{}
	c[1], c[12] = 3, 5
	if c.Of(diff.Modified) != 3 || c.Of(diff.NotModified) != 5 || c.Changes() != 3 || len(diff.Kinds()) != len(c) {
		t.Errorf("%v", c)
	}
	words := map[string]bool{}
	for _, k := range diff.Kinds() {
		if k.Words() == "" || words[k.Words()] {
			t.Errorf("%s has no words of its own: %q", k, k.Words())
		}
		words[k.Words()] = true
	}
	text, err := c.MarshalJSON()
	want := `{"allowed":0,"failing":0,"gone":0,"left-out":0,"modified":3,"moved":0,"new":0,"not-asked":0,"not-modified":5,"other":0,"recovered":0,"redirected":0,"refused":0,"same-text":0}`
	if err != nil || string(text) != want {
		t.Errorf("%v\n%s", err, cmp.Diff(want, string(text)))
	}
}
