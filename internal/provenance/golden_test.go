package provenance_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/places"
	"github.com/permesso-crawler/permesso/internal/provenance"
	"github.com/permesso-crawler/permesso/internal/purge"
	"github.com/permesso-crawler/permesso/robots"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files again")

// unavailable returns a handler that answers 503 with a Retry-After of the given length.
func unavailable(pause time.Duration) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Retry-After", fmt.Sprint(int(pause.Seconds())))
		rw.WriteHeader(http.StatusServiceUnavailable)
	}
}

// goldenWeb returns a web with a site for each way in which a URL can end.
func goldenWeb(t *testing.T) *crawltest.Web {
	w := crawltest.New(t)
	w.Site("http://a.example").Robots("User-agent: *\nDisallow: /no\nContent-Signal: search=no\n").
		Page("/", `<a href=/moved>1</a><a href=/no/1>2</a><a href=/gone>3</a><a href=/ai>4</a><a href=/broken>5</a><a href=/long>6</a><a href=http://elsewhere.example/x>7</a><a rel=nofollow href=/ad>8</a>`).
		Page("/1", `<meta name=robots content="noindex, noarchive">1`).Page("/ai", `<meta name=robots content=noai>1`).
		Page("/long", strings.Repeat("0123456789", 200)).
		Redirect("/moved", "/1").Status("/gone", http.StatusNotFound).
		Func("/broken", func(rw http.ResponseWriter, r *http.Request) {
			rw.WriteHeader(http.StatusInternalServerError)
			io.WriteString(rw, "broken")
		})
	w.Site("http://busy.example").Func("/", unavailable(4*time.Hour))
	w.Site("http://out.example").Page("/", "out")
	w.Site("http://agreed.example").Redirect("/robots.txt", "/rules.txt").File("/rules.txt", "text/plain", "User-agent: *\nDisallow: /x\n").Page("/", "agreed")
	w.Site("http://purged.example").Page("/", "purged")
	w.Site("http://down.example").Status("/robots.txt", http.StatusServiceUnavailable).Page("/", "down")
	w.Site("http://reserved.example").Page("/", `<a href=/p>1</a><a href=/free>2</a>`).Page("/p", "p").
		Func("/free", func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("TDM-Reservation", "0")
			rw.Header().Set("TDM-Policy", "http://reserved.example/terms")
			rw.Header().Set("Content-Type", "text/html")
			io.WriteString(rw, "free")
		}).
		File(robots.TDMRepPath, "application/json", `[{"location": "/p", "tdm-reservation": 1}]`)
	return w
}

// goldenCrawl makes a crawl in two runs, with a previous crawl and with a purge after it. The
// robots.txt of moody.example fails in the first run, succeeds, and then fails again.
func goldenCrawl(t *testing.T) (dir string) {
	root := t.TempDir()
	w := goldenWeb(t)
	moody := w.Site("http://moody.example").Page("/", "moody").Page("/2", "2")
	fails := unavailable(time.Minute)
	tries := 0
	moody.Func("/robots.txt", func(rw http.ResponseWriter, r *http.Request) {
		if tries++; tries == 1 {
			fails(rw, r)
			return
		}
		fmt.Fprint(rw, "User-agent: *\nDisallow: /x\n")
	})
	run := func(name string, change func(o *crawler.Options)) {
		dir = filepath.Join(root, name)
		o := crawler.Options{
			Identity: testIdentity, Wire: crawler.Wire{Network: w, MaxSize: 1000}, Dir: dir, Hooks: crawler.Hooks{Logger: slog.New(slog.DiscardHandler)}, Pace: crawler.Pace{Concurrency: 1}, Budget: crawler.Budget{Patience: 10 * time.Minute}, Robots: crawler.Robots{Purpose: robots.PurposeAITrain},
			Keep: crawler.Keep{Output: []crawler.Output{crawler.OutputWARC, crawler.OutputPages, crawler.OutputLinks}},
			OptOut: func(u frontier.URL) string {
				if u.Host() == "out.example" {
					return "mail of 3 May"
				}
				return ""
			},
			Site: func(s frontier.Site) crawler.SiteOptions {
				if s.Host() == "agreed.example" {
					return crawler.SiteOptions{AllowForbidden: true, Reason: "agreed by mail, 4 May"}
				}
				return crawler.SiteOptions{}
			},
		}
		change(&o)
		c, err := crawler.New(o)
		if err != nil {
			t.Fatal(err)
		}
		if o.AllowPrivate {
			if err := errors.Join(c.Exclude("shy.example", "they wrote \u202e"), c.Slow("a.example", 3*time.Second, "they asked")); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Run(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	day := func(n int) { time.Sleep(time.Until(time.Date(2000, 1, 1+n, 6, 0, 0, 0, time.UTC))) }
	gone := w.Site("http://gone.example").Page("/", "there")
	run("before.crawl", func(o *crawler.Options) { o.Seeds = []string{"http://gone.example/"} })
	write(t, dir, provenance.Options{Now: time.Now()})
	gone.Status("/", http.StatusGone)
	previous := dir
	day(1)
	seeds := []string{"http://a.example/\tnews", "http://busy.example/", "http://gone.example/", "http://moody.example/", "http://nowhere.example/", "http://out.example/", "http://purged.example/", "http://reserved.example/", "http://down.example/", "http://agreed.example/"}
	run("paper.crawl", func(o *crawler.Options) { o.Previous, o.Seeds = previous, seeds })
	moody.Func("/robots.txt", fails)
	day(3)
	run("paper.crawl", func(o *crawler.Options) {
		o.Previous, o.Seeds, o.Delay, o.AllowPrivate = previous, append(seeds, "http://moody.example/2"), 2*time.Second, true
	})
	places, err := places.Read(strings.NewReader("purged.example\n"), "places")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (&purge.Purge{Dir: dir, Places: places}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// varied has texts that differ between runs, machines or versions, and their replacements. Only
// the hour of a time stays, because retries happen after a random delay.
var varied = []struct {
	from *regexp.Regexp
	to   string
}{
	{regexp.MustCompile(`(\d{4}-\d\d-\d\dT\d\d):\d\d:\d\d(\.\d+)?Z`), "$1:MM:SSZ"},
	// Lengths and digests differ between runs if a file has such times or is compressed.
	{regexp.MustCompile(`"bytes": [1-9]\d*,\n(\s*)"sha256": "[0-9a-f]{64}"`), "\"bytes\": 1,\n$1\"sha256\": \"SHA-256\""},
	{regexp.MustCompile(`"((?:settings|log|robots_copies|provenance|file)_sha256)": "[0-9a-f]{64}"`), `"$1": "SHA-256"`},
	{regexp.MustCompile("\\| \\d+ \\| `[0-9a-f]{64}` \\|"), "| N | `SHA-256` |"},
	{regexp.MustCompile(`files, \d+ bytes`), "files, N bytes"},
	{regexp.MustCompile(`"offset":[1-9]\d*`), `"offset":1`},
	// These depend on the machine.
	{regexp.MustCompile(`"(zone|clock|synchronised|go|os|arch)": "[^"]+"`), `"$1": "OF THE MACHINE"`},
	{regexp.MustCompile(`"utc_offset": -?\d+`), `"utc_offset": 0`},
	{regexp.MustCompile("`permesso/V [a-z0-9]+/[a-z0-9]+` \\| `[^`]*` \\| `(yes|no|unknown)`"), "`permesso/V OS/ARCH` | `CLOCK` | `SYNCHRONISED`"},
	{regexp.MustCompile(`("build": |(?m:^    ))"[0-9a-f]{64}"`), `$1"BUILD"`},
	// Settings with their defaults are left out, because each version has more of them.
	{regexp.MustCompile(`(?m)^    \{\n      "name": .*\n      "value": .*\n      "given": false,\n.*\n    \},?\n`), ""},
	{regexp.MustCompile(`\},\n  \]`), "}\n  ]"},
}

// Each file that Write has written equals its golden file.
func TestGoldenProvenance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := goldenCrawl(t)
		write(t, dir, provenance.Options{Now: time.Now()})
		for _, name := range []string{provenance.File, provenance.AbsencesFile, provenance.RobotsFile, provenance.DatasheetFile} {
			is, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			text := strings.ReplaceAll(string(is), filepath.Dir(dir), "DIR")
			text = strings.ReplaceAll(text, crawler.Version, "V")
			for _, v := range varied {
				text = v.from.ReplaceAllString(text, v.to)
			}
			goldenText(t, name, text)
		}
	})
}

// goldenText compares a text with the golden file of this name.
func goldenText(t *testing.T, name, text string) {
	t.Helper()
	golden := filepath.Join("testdata", "golden", name)
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
		t.Errorf("%s: %s", golden, d)
	}
}

// valued adds to all the paths of those fields of a JSON value that are not empty.
func valued(v any, path string, all map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for name, of := range v {
			valued(of, path+"."+name, all)
		}
	case []any:
		for _, of := range v {
			valued(of, path, all)
		}
	case nil:
	default:
		if !reflect.ValueOf(v).IsZero() {
			all[path] = true
		}
	}
}

// unset returns the paths of the fields of a type that are not in has.
func unset(of reflect.Type, path string, has map[string]bool) (all []string) {
	switch {
	case of == reflect.TypeFor[time.Time](), of.Kind() == reflect.Map:
	case of.Kind() == reflect.Pointer, of.Kind() == reflect.Slice:
		return unset(of.Elem(), path, has)
	case of.Kind() == reflect.Struct:
		for f := range of.NumField() {
			name, _, _ := strings.Cut(of.Field(f).Tag.Get("json"), ",")
			all = append(all, unset(of.Field(f).Type, path+"."+name, has)...)
		}
		return all
	}
	for at := range has {
		if at == path || strings.HasPrefix(at, path+".") {
			return nil
		}
	}
	return []string{path}
}

// Each field has a value in one of the golden files, so that a lost field is noticed.
func TestTheGoldenProvenanceHasAValueOfEachField(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		types []reflect.Type
		but   []string
	}{
		provenance.File: {[]reflect.Type{reflect.TypeFor[provenance.Provenance]()}, []string{
			// A test program has no such values.
			".writer.revision", ".writer.revision_time", ".writer.modified", ".writer.modules.path", ".writer.modules.version", ".writer.modules.sum",
			// Only crawls have these that have more seeds than are listed, or are damaged, were
			// killed or broke a rule.
			".seeds.file", ".killed", ".log_lost", ".figures.other_lines", ".audit.reason", ".audit.violations", ".audit.unproven_lines", ".audit.checks.violations",
			".absences.skipped_links", // only for a crawl without links.jsonl
			".runs.list.utc_offset",   // left out because it differs between machines
		}},
		provenance.AbsencesFile: {[]reflect.Type{reflect.TypeFor[provenance.Absence](), reflect.TypeFor[provenance.Refusal]()}, nil},
		provenance.RobotsFile:   {[]reflect.Type{reflect.TypeFor[provenance.Copy]()}, nil},
	} {
		raw, err := os.ReadFile(filepath.Join("testdata", "golden", name))
		if err != nil {
			t.Fatal(err)
		}
		has := map[string]bool{}
		for in := json.NewDecoder(bytes.NewReader(raw)); in.More(); {
			var v any
			if err := in.Decode(&v); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			valued(v, "", has)
		}
		for _, r := range of.types {
			for _, path := range unset(r, "", has) {
				if !slices.Contains(of.but, path) {
					t.Errorf("%s: %s has no value", name, path)
				}
			}
		}
	}
}
