package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/settings"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/spf13/pflag"
)

// Two crawls of one user are no faster at a site than one.
//
// For site owners: "All crawls of a user on one machine share the clocks of hosts and
// addresses, so two crawls are no faster at your site than one."
func TestTwoCrawlsShareTheClocksOfASite(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_STATE_HOME", "")
	// The goroutine that waits for signals must not belong to the bubble.
	first := make(chan os.Signal, 1)
	signal.Notify(first, os.Interrupt)
	defer signal.Stop(first)
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		links := ""
		for i := range 8 {
			links += fmt.Sprintf(`<a href="/%d">x</a>`, i)
			w.Site("http://a.example").Page(fmt.Sprintf("/%d", i), "x")
		}
		w.Site("http://a.example").Latency(50*time.Millisecond).Page("/", links)
		var both sync.WaitGroup
		for i := range 2 {
			both.Go(func() {
				f := settings.Usual()
				fs := pflag.NewFlagSet("run", pflag.ContinueOnError)
				f.Register(fs)
				if err := fs.Parse([]string{
					"--name", "testbot", "--contact", "https://example.org/testbot", "--dir", filepath.Join(home, fmt.Sprint(i, ".crawl")), "--progress", "none",
				}); err != nil {
					t.Error(err)
					return
				}
				var out, said bytes.Buffer
				p := &program{out: &out, err: &said, network: w}
				if err := p.runCrawl(t.Context(), f, func(string) bool { return false }, []string{"http://a.example/"}); err != nil {
					t.Errorf("%v: %s%s", err, out.String(), said.String())
				}
			})
		}
		both.Wait()
		if n := w.Fetched("http://a.example/7"); n != 2 {
			t.Errorf("the last page was fetched %d times, want once by each crawl", n)
		}
		w.AssertDelay("http://a.example", time.Second)
		w.AssertPolite()
	})
}

// Commands that fetch one robots.txt keep the pauses of the crawls, too.
func TestRobotsCommandsShareTheClocksOfASite(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_STATE_HOME", "")
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Robots("User-agent: *\nDisallow: /no\n")
		p := &program{out: &bytes.Buffer{}, err: &bytes.Buffer{}, network: w}
		ask := siteFlags{site: "http://a.example/", name: "testbot", contact: []string{"https://example.org/testbot"}}
		for range 3 {
			if _, err := p.snapshot(t.Context(), &ask); err != nil {
				t.Fatal(err)
			}
		}
		w.AssertDelay("http://a.example", time.Second)

		shared := sharedClocks(slog.Default())
		defer shared.Close()
		if _, ok := shared.Reserve("host a.example", time.Now().Add(time.Second), time.Now().Add(time.Hour)); !ok {
			t.Fatal("not to be had")
		}
		_, err := p.snapshot(t.Context(), &ask)
		if exit.Code(err) != exit.Later || w.Fetched("http://a.example/robots.txt") != 3 {
			t.Errorf("asked %d times; %v", w.Fetched("http://a.example/robots.txt"), err)
		}
	})
}
