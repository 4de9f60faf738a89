package corpus

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/internal/export"
)

func TestNamesOfFiles(t *testing.T) {
	t.Parallel()
	var n names
	for _, c := range []struct{ url, want string }{
		{"http://a.test/", "a.test/index.md"},
		{"http://a.test/b", "a.test/b.md"},
		{"http://a.test/b/", "a.test/b/index.md"},
		{"http://a.test/b/c.html", "a.test/b/c.html.md"},
		{"https://a.test/b", "a.test/b~????????????????.md"}, // the name is in use
		{"http://a.test/B", "a.test/B~????????????????.md"},  // the name is in use, except for its case
		{"http://a.test/b?x=1", "a.test/b_x=1~????????.md"},
		{"http://a.test:8080/b", "a.test_8080/b~????????.md"},
		{"http://a.test/%2e%2e/x", "a.test/_2e_2e/x~????????.md"},
		{"http://a.test/../../x", "a.test/__/__/x~????????.md"},
		{"http://a.test/.git/config", "a.test/_.git/config~????????.md"},
		{"http://a.test/con", "a.test/_con~????????.md"},
		{"http://a.test/aux.txt/LPT1", "a.test/_aux.txt/_LPT1~????????.md"},
		{"http://a.test/-rf", "a.test/_-rf~????????.md"},
		{"http://a.test/a:b\\c|d", "a.test/a_b_c_d~????????.md"},
		{"http://a.test/d.md/e", "a.test/d.md_/e~????????.md"},
		{"http://a.test/d", "a.test/d.md"},
		{"http://a.test//x", "a.test/_/x~????????.md"},
		{"http://point.md/x", "point.md/x.md"}, // no hash, because only hosts are next to index.jsonl
		{"http://index.jsonl/x", "index.jsonl_/x~????????.md"},
		{"http://a.test/dot.", "a.test/dot_~????????.md"},
		{"http://[2001:db8::1]/x", "_2001_db8__1_/x~????????.md"},
		{"http://a.test/" + strings.Repeat("x", 200), "a.test/" + strings.Repeat("x", 80) + "~????????.md"},
		{"http://a.test/" + strings.Repeat("x/", 200), "a.test/long/index~????????.md"},
		{"http://a.test/ü\xff", "a.test/__~????????.md"},
	} {
		got := n.of(&export.Row{URL: c.url})
		if ok, err := filepath.Match(strings.NewReplacer("[", "\\[").Replace(c.want), got); !ok || err != nil {
			t.Errorf("%s: %s, want %s", c.url, got, c.want)
		}
		if !filepath.IsLocal(got) || strings.Contains(got, "..") {
			t.Errorf("%s: %s is not local", c.url, got)
		}
	}
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	if got := n.of(&export.Row{URL: "http://a.test/", Snapshot: at}); got != "20300102T030405Z/a.test/index.md" {
		t.Errorf("in a series: %s", got)
	}
}

func FuzzNames(f *testing.F) {
	for _, seed := range []string{"http://a.test/b?c", "http://a.test/../..", "x", "http://", "http://a/NUL/.."} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, url string) {
		var n names
		first, second := n.of(&export.Row{URL: url}), n.of(&export.Row{URL: url})
		if strings.EqualFold(first, second) {
			t.Errorf("two documents have the file %s", first)
		}
		for _, name := range []string{first, second} {
			if !filepath.IsLocal(name) || len(name) > 300 || strings.ContainsAny(name, `\:*?"<>|`) {
				t.Errorf("%q: %q", url, name)
			}
		}
	})
}
