package store

import (
	"os"
	"path/filepath"
	"testing"
)

// The previous crawl is found at its path, or beside the later one, with any name; a crawl
// is never its own previous one.
func TestThePreviousCrawlIsFoundBesideTheLaterOne(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"now/is.crawl", "now/was.crawl", "then/old.crawl"} {
		if err := os.MkdirAll(filepath.Join(root, filepath.FromSlash(dir)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	at := func(parts ...string) string { return filepath.Join(append([]string{root}, parts...)...) }
	t.Chdir(at("now", "is.crawl"))
	for name, c := range map[string]struct {
		dir, previous, want string
		ok                  bool
	}{
		"where it was":        {at("now", "is.crawl"), at("then", "old.crawl"), at("then", "old.crawl"), true},
		"beside":              {at("now", "is.crawl"), at("gone", "was.crawl"), at("now", "was.crawl"), true},
		"of the directory":    {".", at("gone", "was.crawl"), at("now", "was.crawl"), true},
		"with a slash":        {at("now", "is.crawl") + string(filepath.Separator), at("gone", "was.crawl"), at("now", "was.crawl"), true},
		"nowhere":             {at("now", "is.crawl"), at("gone", "old.crawl"), at("gone", "old.crawl"), false},
		"of the same name":    {at("now", "is.crawl"), at("gone", "is.crawl"), at("gone", "is.crawl"), false},
		"as the one it is in": {".", at("gone", "is.crawl"), at("gone", "is.crawl"), false},
	} {
		got, ok := LocatePrevious(c.dir, c.previous)
		if ok {
			is, err := filepath.EvalSymlinks(got)
			want, err2 := filepath.EvalSymlinks(c.want)
			if err != nil || err2 != nil || is != want {
				t.Errorf("%s: %s, want %s", name, got, c.want)
			}
		}
		if ok != c.ok || !ok && got != c.want {
			t.Errorf("%s: %s, %t", name, got, ok)
		}
	}
}
