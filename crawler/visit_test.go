package crawler_test

import (
	"context"
	"errors"
	"log"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/crawler/revisit"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
)

// A job makes the visits, and the program hands out the turns. A turn is the right to make one
// request to a site.
func ExampleJob() {
	front, err := frontier.New(frontier.NewMemory(), frontier.Options{})
	if err != nil {
		log.Fatal(err)
	}
	job, err := crawler.NewJob(crawler.Options{
		Identity: crawler.Identity{Token: "titlebot", Contact: "me@example.org"},
		Seeds:    []string{"https://example.org/"},
	}, nil, crawler.JobDeps{Stop: front.Stop})
	if err != nil {
		log.Fatal(err)
	}
	defer job.Close()
	seed, err := frontier.ParseURL("https://example.org/")
	if err != nil {
		log.Fatal(err)
	}
	if err := front.Add(frontier.Entry{URL: seed}); err != nil {
		log.Fatal(err)
	}
	for {
		turn, err := front.Next(context.Background())
		if errors.Is(err, frontier.ErrEnd) {
			break
		}
		if err == nil {
			err = job.Visit(context.Background(), turn)
		}
		if err != nil {
			log.Fatal(err)
		}
	}
}

// visits makes all visits of a frontier, several at the same time.
func visits(t *testing.T, job *crawler.Job, f *frontier.Frontier) {
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for {
				turn, err := f.Next(t.Context())
				if errors.Is(err, frontier.ErrEnd) || errors.Is(err, frontier.ErrStopped) {
					return
				}
				if err == nil {
					err = job.Visit(t.Context(), turn)
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

// One job serves two frontiers, each with a directory of its own.
func TestAJobOfTwoDirectories(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		hosts := []string{"a.example", "b.example"}
		var seeds []string
		for _, host := range hosts {
			w.Site("http://"+host).Page("/", `<a href="/1">1</a>`).Page("/1", "x")
			seeds = append(seeds, "http://"+host+"/")
		}
		dbs := map[frontier.Site]*store.DB{}
		job, err := crawler.NewJob(crawler.Options{Identity: testIdentity, Seeds: seeds, Wire: crawler.Wire{Network: w}}, nil,
			crawler.JobDeps{DB: func(s frontier.Site) *store.DB { return dbs[s] }})
		if err != nil {
			t.Fatal(err)
		}
		var fronts []*frontier.Frontier
		for i, host := range hosts {
			db, err := store.Open(filepath.Join(dir, host), store.Options{})
			if err != nil {
				t.Fatal(err)
			}
			f, err := frontier.New(db, frontier.Options{})
			if err != nil {
				t.Fatal(err)
			}
			u := mustURL(t, seeds[i])
			if err := f.Add(frontier.Entry{URL: u}); err != nil {
				t.Fatal(err)
			}
			dbs[u.Site()], fronts = db, append(fronts, f)
		}
		var all sync.WaitGroup
		for _, f := range fronts {
			all.Go(func() { visits(t, job, f) })
		}
		all.Wait()
		job.Close()
		for _, db := range dbs {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		}
		if n := job.Counts(); n.Pages != 4 || n.Requests != 6 {
			t.Errorf("%+v", n)
		}
		w.AssertPolite()
	})
	for _, host := range []string{"a.example", "b.example"} {
		for _, file := range []string{"pages.jsonl", "crawl.log"} {
			text, err := os.ReadFile(filepath.Join(dir, host, file))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(text), "http://"+host+"/1") || strings.Count(string(text), ".example/1") != strings.Count(string(text), host+"/1") {
				t.Errorf("%s of %s:\n%s", file, host, text)
			}
		}
	}
}

// A visit calls JobDeps.DB once, with any result: a robots.txt, a redirect of a seed, a page of
// a new host, a page that is fetched again, or a refused page.
func TestAVisitCallsDBOnce(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Redirect("/", "http://b.example/").Robots("User-agent: *\nDisallow: /no")
		w.Site("http://b.example").Page("/", `<a href="/1">1</a><a href="http://a.example/no">no</a>`).Page("/1", "x")
		db, err := store.Open(dir, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		asked, visits := 0, 0
		job, err := crawler.NewJob(crawler.Options{
			Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: w}, Revisit: revisit.Fixed{Every: 24 * time.Hour},
		}, nil, crawler.JobDeps{DB: func(frontier.Site) *store.DB { asked++; return db }})
		if err != nil {
			t.Fatal(err)
		}
		defer job.Close()
		f, err := frontier.New(db, frontier.Options{Revisits: true, Patience: frontier.Forever})
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Add(frontier.Entry{URL: mustURL(t, "http://a.example/")}); err != nil {
			t.Fatal(err)
		}
		for ; visits < 20; visits++ {
			turn, err := f.Next(t.Context())
			if err == nil {
				err = job.Visit(t.Context(), turn)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		f.Stop()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		if n := job.Counts(); asked != visits || n.Pages < 6 || n.Status[302] == 0 || n.SkippedURLs[frontier.RobotsDisallowed] == 0 {
			t.Errorf("%d visits have called DB %d times: %+v", visits, asked, n)
		}
	})
}

// If the handler returns ErrStop, JobDeps.Stop is called before the turn is given back. NewJob
// returns an error for invalid options.
func TestAJobCallsStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", `<a href="/1">1</a>`).Page("/1", "x")
		f, err := frontier.New(frontier.NewMemory(), frontier.Options{})
		if err != nil {
			t.Fatal(err)
		}
		opts := crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: w}}
		stop := crawler.HandlerFunc(func(context.Context, *crawler.Page) error { return crawler.ErrStop })
		out := 0
		job, err := crawler.NewJob(opts, stop, crawler.JobDeps{Stop: func() { out += f.Stats().Out; f.Stop() }})
		if err != nil {
			t.Fatal(err)
		}
		defer job.Close()
		if err := f.Add(frontier.Entry{URL: mustURL(t, "http://a.example/")}); err != nil {
			t.Fatal(err)
		}
		visits(t, job, f)
		if st := f.Stats(); out != 1 || st.Out != 0 || st.Entries != 1 {
			t.Errorf("%d turns were out; now %+v", out, st)
		}
		opts.Seeds = []string{"no seed"}
		var bad *crawler.OptionError
		if _, err := crawler.NewJob(opts, nil, crawler.JobDeps{}); !errors.As(err, &bad) || bad.Field != "Seeds" {
			t.Error(err)
		}
	})
}

// If the log cannot be written, Visit returns the error, whatever the result of the visit, and
// gives the turn back.
func TestAVisitWhoseLogCannotBeWritten(t *testing.T) {
	for after, what := range []string{"a request for robots.txt", "a page, or that it is forbidden"} {
		for _, path := range []string{"/", "/forbidden"} {
			t.Run(what+path, func(t *testing.T) {
				dir := t.TempDir()
				synctest.Test(t, func(t *testing.T) {
					w := crawltest.New(t)
					w.Site("http://a.example").Robots("User-agent: *\nDisallow: /forbidden").Page("/", "x")
					db, err := store.Open(dir, store.Options{})
					if err != nil {
						t.Fatal(err)
					}
					defer db.Close()
					f, err := frontier.New(db, frontier.Options{})
					if err != nil {
						t.Fatal(err)
					}
					seed := "http://a.example" + path
					job, err := crawler.NewJob(crawler.Options{Identity: testIdentity, Seeds: []string{seed}, Wire: crawler.Wire{Network: w}}, nil,
						crawler.JobDeps{DB: func(frontier.Site) *store.DB { return db }})
					if err != nil {
						t.Fatal(err)
					}
					defer job.Close()
					if err := f.Add(frontier.Entry{URL: mustURL(t, seed)}); err != nil {
						t.Fatal(err)
					}
					for visit := range after + 1 {
						if visit == after {
							db.Log().Close()
						}
						turn, err := f.Next(t.Context())
						if err != nil {
							t.Fatal(err)
						}
						if err := job.Visit(t.Context(), turn); (err != nil) != (visit == after) {
							t.Errorf("visit %d: %v", visit, err)
						}
					}
					if n := f.Stats().Out; n != 0 {
						t.Errorf("%d turns are out", n)
					}
				})
			})
		}
	}
}
