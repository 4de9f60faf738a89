package crawler_test

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
)

// With the smallest BodyBudget no page and no byte is lost, and no temporary file is left.
func TestTheLeastBudgetForBodies(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		long := strings.Repeat("x", 300<<10)
		var seeds []string
		for _, host := range []string{"http://a.example", "http://b.example", "http://c.example", "http://d.example"} {
			w.Site(host).Page("/", long+`<a href="/1">1</a>`).Page("/1", long)
			seeds = append(seeds, host+"/")
		}
		_, sum := crawl(t, w, func(o *crawler.Options) { o.Dir, o.BodyBudget = dir, 1 }, seeds...)
		if sum.Pages != 8 {
			t.Errorf("summary: %+v", sum)
		}
		w.AssertPolite()
	})
	for _, r := range records(t, dir) {
		if r.Size < 300<<10 || r.Truncated != "" {
			t.Errorf("%s: %d bytes, %s", r.URL, r.Size, r.Truncated)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".body*")); len(left) > 0 {
		t.Errorf("files are left: %v", left)
	}
}
