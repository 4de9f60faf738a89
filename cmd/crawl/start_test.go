package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/setting"
)

// The first lines of a run print what continues, what differs from before, and whether
// refused links are lost.
func TestTheFirstLinesOfARun(t *testing.T) {
	const rescan = "crawl: links that were refused before come back with --rescan only\n"
	depth := crawler.Change{Setting: "depth", Was: "1", Is: "2", Way: setting.Wider, Effect: setting.SortsURLs}
	tighter := depth
	tighter.Way = setting.Tighter
	links := crawler.Change{Setting: "nofollow", Was: "obey", Is: "ignore", Way: setting.Other, Effect: setting.SortsLink}
	delay := crawler.Change{Setting: "delay", Was: "1s", Is: "2s", Way: setting.Wider, Effect: setting.FromNowOn}
	opts := crawler.Options{Identity: crawler.Identity{Token: "testbot"}, Seeds: []string{"http://a.test/"}, Dir: "a.crawl"}
	two := opts
	two.Seeds, two.Rescan = append(two.Seeds, "http://b.test/"), true
	for _, c := range []struct {
		start crawler.Start
		opts  crawler.Options
		show  screen
		want  string
	}{
		{crawler.Start{}, opts, screen{every: time.Second}, "crawl: 1 seed as testbot into a.crawl; Ctrl-C stops, the same command goes on\n"},
		{crawler.Start{}, two, screen{every: time.Second}, "crawl: 2 seeds as testbot into a.crawl; Ctrl-C stops, the same command goes on\n"},
		{crawler.Start{}, opts, screen{every: time.Second, width: func() int { return 40 }},
			"crawl: 1 seed as testbot into a.crawl;\n       Ctrl-C stops, the same command\n       goes on\n"},
		{crawler.Start{}, opts, screen{}, ""},
		{crawler.Start{Requeued: 1}, opts, screen{}, "crawl: 1 URL was put aside (a narrower scope, a repair), and queued again\n"},
		{crawler.Start{Requeued: 2}, opts, screen{}, "crawl: 2 URLs were put aside (a narrower scope, a repair), and queued again\n"},
		{crawler.Start{Changes: []crawler.Change{depth}}, opts, screen{}, "crawl: not as in the last run: --depth: 1 -> 2 (wider)\n" + rescan},
		{crawler.Start{Changes: []crawler.Change{depth}}, two, screen{}, "crawl: not as in the last run: --depth: 1 -> 2 (wider)\n"},
		{crawler.Start{Changes: []crawler.Change{tighter}}, opts, screen{}, "crawl: not as in the last run: --depth: 1 -> 2 (tighter)\n"},
		{crawler.Start{Changes: []crawler.Change{links}}, opts, screen{}, "crawl: not as in the last run: nofollow: obey -> ignore\n" + rescan},
		{crawler.Start{Changes: []crawler.Change{delay}}, opts, screen{}, "crawl: not as in the last run: --delay: 1s -> 2s (wider)\n"},
		{crawler.Start{Changes: []crawler.Change{depth, delay}}, opts, screen{},
			"crawl: not as in the last run: --depth: 1 -> 2 (wider)\ncrawl: not as in the last run: --delay: 1s -> 2s (wider)\n" + rescan},
	} {
		var said strings.Builder
		(&program{err: &said}).start(c.start, c.opts, c.show)
		if said.String() != c.want {
			t.Errorf("%+v: %q, want %q", c.start, said.String(), c.want)
		}
	}
}

// The reading time is enough for a directory of any size, and finite for one that cannot be
// read.
func TestReadingTimeGrowsWithTheDirectory(t *testing.T) {
	dir := t.TempDir()
	if got := readingTime(dir); got != 10*time.Minute {
		t.Errorf("nothing: %v", got)
	}
	for _, name := range []string{"state.db", filepath.Join("warc", "a.warc.gz")} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, 60<<20); err != nil {
			t.Fatal(err)
		}
	}
	if got := readingTime(dir); got != 12*time.Minute {
		t.Errorf("120 MiB: %v", got)
	}
	if got := readingTime(filepath.Join(dir, "none")); got != 10*time.Minute {
		t.Errorf("none: %v", got)
	}
}
