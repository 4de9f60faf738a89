package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/robots"
)

// Each task has a program for each tool, and its records are different.
func TestTheTasksAreComplete(t *testing.T) {
	for _, task := range tasks {
		for _, source := range []string{filepath.Join("../..", task.ours, "main.go"), "colly/" + task.name + "/main.go", "scrapy/" + task.name + ".py"} {
			if _, err := os.Stat(source); err != nil {
				t.Error(err)
			}
		}
		want := task.want()
		if sites[task.name] == nil && !task.alone {
			t.Errorf("%s has no site", task.name)
		}
		if slices.Sort(want); len(want) == 0 || len(slices.Compact(slices.Clone(want))) != len(want) {
			t.Errorf("%s: %q", task.name, want)
		}
	}
}

// The records of tasks are found on their sites: by what a site serves, nothing is missing.
func TestTheSitesHaveTheRecords(t *testing.T) {
	get := func(task, target string, phase int) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		(&shop{site: sites[task], phase: phase}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://shop.test"+target, nil))
		return w
	}
	for _, page := range []struct {
		task, target string
		phase        int
		status       int
		part         string
	}{
		{"api", "/items", 0, 200, `{"name": "item-1"}`},
		{"api", "/items?page=5", 0, 200, `{"name": "item-20"}]}`},
		{"api", "/items?page=3", 0, 429, ""},
		{"api", "/items?page=6", 0, 404, ""},
		{"feeds", "/feed/1", 0, 200, "/item/1-3"},
		{"feeds", "/feed/1", 1, 200, "/item/1-4"},
		{"feeds", "/feed/4", 1, 200, "/item/4-3"},
		{"feeds", "/feed/5", 0, 404, ""},
		{"changes", "/sitemap.xml", 0, 200, "/page/4<"},
		{"changes", "/sitemap.xml", 1, 200, "/page/13<"},
		{"changes", "/page/4", 0, 200, "Text 0 of page 4."},
		{"changes", "/page/4", 1, 404, ""},
		{"changes", "/page/2", 1, 200, "Text 1 of page 2."},
		{"changes", "/page/3", 1, 200, `class="c1">Text 0 of page 3.`},
		{"corpus", "/docs/", 0, 200, `<a href="/docs/8">link 8</a>`},
		{"corpus", "/docs/3", 0, 200, "noai"},
		{"corpus", "/news/9", 0, 404, ""},
		{"policy", "/topic/4", 0, 200, "/new-4-15"},
		{"mirror", "/private", 0, 200, "noarchive"},
		{"mirror", "/style.css", 0, 200, "copy-of:/style.css "},
		{"mirror", "/old", 0, 301, ""},
		{"media", "/set/3", 0, 200, "/image/3-4.png"},
		{"media", "/image/double.png?again", 0, 200, "copy-of:/image/double.png "},
		{"ownfetcher", "/page/12", 0, 200, "/page/1\""},
		{"ownfetcher", "/offer", 0, 302, ""},
		{"customers", "/busy", 0, 503, ""},
	} {
		w := get(page.task, page.target, page.phase)
		if w.Code != page.status || !strings.Contains(w.Body.String(), page.part) {
			t.Errorf("%s in phase %d of %s: %d\n%s", page.target, page.phase, page.task, w.Code, w.Body)
		}
	}
}

// The verdicts of the task robotscheck are those of package robots, which has tests for each
// sentence of RFC 9309.
func TestTheVerdicts(t *testing.T) {
	for _, line := range verdicts {
		want, url, _ := strings.Cut(line, " ")
		at, err := robots.Locate(url)
		if err != nil {
			t.Fatal(err)
		}
		body, ok := rulesOf[strings.TrimSuffix(strings.TrimPrefix(at, "http://"), "/robots.txt")]
		got := robots.ParseFor(at, []byte(body), robots.RFC9309).Group("examplebot").MatchURL(url)
		if !ok || got.Access.String() != want {
			t.Errorf("%s: %v, want %s", url, got.Access, want)
		}
	}
}

// A copy of a site is read by relative links. Links to nothing are records, too.
func TestACopyIsBrowsed(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"site/index.html":      `copy-of:/ <a href="sub/index.html#top">a</a> <link href="s.css"> <a href="http://shop.test/old">b</a> <a href="none.html">c</a>`,
		"site/sub/index.html":  `copy-of:/sub <a href="../index.html">home</a>`,
		"site/s.css":           `/* copy-of:/s.css */ url("bg.png")`,
		"site/bg.png":          "copy-of:/bg.png ",
		"site/unlinked.html":   "copy-of:/unlinked ",
		"crawl/deep/other.txt": "copy-of:/other ",
	} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	r := run{Items: map[string]int{}}
	if err := browse(dir, r.Items); err != nil {
		t.Fatal(err)
	}
	if missing, wrong := r.compare([]string{"/", "/sub", "/s.css", "/bg.png", "/unlinked"}); missing != 1 || wrong != 2 {
		t.Errorf("%d missing, %d wrong: %v", missing, wrong, r.Items)
	}
}

// The store counts the uploads of each file with its license.
func TestTheStoreKeepsRecords(t *testing.T) {
	s := &store{names: map[string]bool{}, records: map[string]int{}}
	do := func(method, target, body string) int {
		r, w := httptest.NewRequest(method, target, strings.NewReader(body)), httptest.NewRecorder()
		r.Header.Set("X-Amz-Meta-License", "http://shop.test/license/2")
		s.ServeHTTP(w, r)
		return w.Code
	}
	for i, step := range []struct {
		method, target, body string
		status               int
	}{
		{"HEAD", "/bucket/a", "", 404},
		{"PUT", "/bucket/a", "PNG copy-of:/image/2-1.png ", 200},
		{"HEAD", "/bucket/a", "", 200},
		{"PUT", "/bucket/b", "PNG copy-of:/image/double.png ", 200},
	} {
		if status := do(step.method, step.target, step.body); status != step.status {
			t.Errorf("step %d: status %d", i, status)
		}
	}
	if s.records["/image/2-1.png /license/2"] != 1 || s.records["/image/double.png"] != 1 || len(s.records) != 2 {
		t.Errorf("%v", s.records)
	}
}
