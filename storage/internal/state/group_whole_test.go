package state_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/storage"
	"github.com/permesso-crawler/permesso/storage/internal/state"
)

// The groups of a real crawl, grouped differently and with reads and kills in between, make
// the same state as the crawl. PERMESSO_SEEDS names a file of seeds to crawl instead of
// three local servers, and PERMESSO_CONNECT where they are (as --connect-to of the
// command).
func TestGroupsOfARealCrawl(t *testing.T) {
	opts := crawler.Options{
		Identity: crawler.Identity{Token: "permessotest", Contact: "mailto:ci@example.org"},
		Pace:     crawler.Pace{Delay: crawler.NoDelay}, Wire: crawler.Wire{AllowPrivate: true}, Follow: crawler.Follow{Exclude: regexp.MustCompile("^ftp:")}, Keep: crawler.Keep{Output: []crawler.Output{crawler.OutputWARC, crawler.OutputLinks}},
	}
	least := 100
	if file := os.Getenv("PERMESSO_SEEDS"); file != "" {
		to, err := fetch.ParseConnectTo(os.Getenv("PERMESSO_CONNECT"))
		if err != nil {
			t.Fatal(err)
		}
		opts.Seeds, opts.ConnectTo, least = seedsOf(t, file), []fetch.ConnectTo{to}, 3000
	} else {
		opts.Seeds = servers(t, 3)
	}
	dir, log := t.TempDir(), &state.Tape{}
	db, err := storage.Open(dir, storage.Options{Gather: -1, NoPages: true, Links: true, Archive: &storage.Archive{MaxSize: 1 << 20}, Seed: state.TestSeed, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	if pages := crawled(t, db, opts); pages < least {
		t.Errorf("%d pages, less than %d", pages, least)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	state.Checks(t, dir)
	ended, want := time.Now(), state.DumpOf(t, dir)
	t.Logf("%d groups make a state of %d lines", len(log.Groups()), len(want))
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(ended)) // times in the future are ignored
		for seed := range uint64(2) {
			again := state.Replay(t, rand.New(rand.NewPCG(seed, 12)), log.Groups(), time.Now())
			state.Checks(t, again)
			state.SameDump(t, state.DumpOf(t, again), want)
		}
	})
}

// crawled crawls into db until nothing is left, and returns the number of pages.
func crawled(t *testing.T, db *storage.DB, opts crawler.Options) int {
	job, err := crawler.NewJob(opts, nil, crawler.JobDeps{Snapshots: db, DB: func(frontier.Site) *storage.DB { return db }})
	if err != nil {
		t.Fatal(err)
	}
	defer job.Close()
	f, err := frontier.New(db, frontier.Options{Delay: opts.Delay})
	if err != nil {
		t.Fatal(err)
	}
	for _, seed := range opts.Seeds {
		u, err := frontier.ParseURL(seed)
		if err == nil {
			err = f.Add(frontier.Entry{URL: u})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var workers sync.WaitGroup
	for range 16 {
		workers.Go(func() {
			for {
				turn, err := f.Next(ctx)
				if errors.Is(err, frontier.ErrEnd) || errors.Is(err, frontier.ErrPatience) {
					return
				}
				if err == nil {
					err = job.Visit(ctx, turn)
				}
				if err != nil {
					t.Error(err)
					cancel()
					return
				}
			}
		})
	}
	workers.Wait()
	return job.Counts().Pages
}

// servers starts n servers with 50 pages each that link to each other. Some pages are
// refused, missing, redirected or failing, and one robots.txt demands a pause.
func servers(t *testing.T, n int) (seeds []string) {
	origins := make([]string, n)
	for i := range n {
		mux := http.NewServeMux()
		mux.HandleFunc("/robots.txt", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, "User-agent: *\nDisallow: /9\nCrawl-delay: %v\n", 0.001*float64(i))
		})
		mux.HandleFunc("/7", http.NotFound)
		mux.HandleFunc("/8", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/18", http.StatusFound) })
		mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
			var at int
			fmt.Sscanf(r.URL.Path, "/%d", &at)
			w.Header().Set("Content-Type", "text/html")
			for j := range 12 {
				fmt.Fprintf(w, `<a href="%s/%d">x</a>`, origins[(i+j)%n], (at*7+j)%50)
			}
			io.WriteString(w, strings.Repeat("text ", 200))
		})
		server := httptest.NewServer(mux)
		t.Cleanup(server.Close)
		origins[i] = server.URL
	}
	for _, origin := range origins {
		seeds = append(seeds, origin+"/0")
	}
	return seeds
}

func seedsOf(t *testing.T, file string) (seeds []string) {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if line := strings.TrimSpace(lines.Text()); line != "" && !strings.HasPrefix(line, "#") {
			seeds = append(seeds, line)
		}
	}
	if lines.Err() != nil {
		t.Fatal(lines.Err())
	}
	return seeds
}
