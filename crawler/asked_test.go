package crawler_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/internal/kept"
	"github.com/permesso-crawler/permesso/internal/store"
)

func TestLastRunReturnsItsSettings(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", "")
		for _, delay := range []time.Duration{0, 3 * time.Second} {
			crawl(t, w, func(o *crawler.Options) { o.Dir, o.Delay = dir, delay }, "http://a.example/")
		}
	})
	r, err := store.OpenReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	id, settings, err := kept.Asked(r)
	if err != nil || id.Token != "benchbot" || settings["delay"] != "3s" || settings["ip-delay"] != "250ms" {
		t.Errorf("%+v, %v, %v", id, settings, err)
	}
}
