package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/crawldir"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/storage"
	"github.com/spf13/cobra"
)

func (p *program) demoCommand() *cobra.Command {
	var dir string
	var asJSON bool
	var week int
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "crawl a small fake web on this machine: no network needed",
		Long: `demo serves a small web of several sites on a loopback address and crawls it,
with the real program. The sites have what a crawler meets: rules, a site that
asks for a pause, one that is busy, one whose robots.txt fails, a redirect into
a forbidden path, a trap. They change from week to week: crawl diff tells how.`,
		Example: `  crawl demo
  crawl demo --dir demo.crawl
  crawl demo --week 1 --dir later.crawl`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if week < 0 {
				return exit.Usagef("--week: %d is out of range: the least value is 0", week)
			}
			return p.demo(cmd.Context(), dir, week, asJSON)
		},
	}
	cmd.Flags().StringVarP(&dir, "dir", "d", "", "`directory` of the crawl (default: a new one for temporary files)")
	cmd.Flags().IntVar(&week, "week", 0, "the web as it is so many weeks later")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the summary as JSON")
	return cmd
}

func (p *program) demo(ctx context.Context, dir string, week int, asJSON bool) error {
	again := ""
	if dir == "" {
		temp, err := os.MkdirTemp("", "permesso-")
		if err != nil {
			return err
		}
		dir = filepath.Join(temp, "demo.crawl")
		again = "crawl demo --dir " + say.ShellQuoted(dir) + " goes on"
	}
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: demoWeb(crawldir.Exists(filepath.Join(dir, storage.StateFile)), week), ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	// Serves the fake web. It ends when the crawl has ended.
	go func() { served <- server.Serve(listen) }()

	show := p.screen("auto", asJSON)
	show.again = again
	show.every = min(show.every, 2*time.Second) // it is over before a line would come
	port := strconv.Itoa(listen.Addr().(*net.TCPAddr).Port)
	err = p.crawl(ctx, crawler.Options{
		Identity: crawler.Identity{Token: "demobot", Contact: "https://example.org/demobot"},
		Seeds:    demoSeeds(), Dir: dir, Output: []crawler.Output{crawler.OutputWARC, crawler.OutputPages, crawler.OutputBodies, crawler.OutputLinks},
		TextDigest: true, Delay: 200 * time.Millisecond, Patience: 8 * time.Second, Depth: 12, MaxHostPages: 25,
		ConnectTo: []fetch.ConnectTo{{ToHost: "127.0.0.1", ToPort: port}},
	}, show)
	if exit.Code(err) == exit.Later {
		err = nil // expected: one of the sites never answers
	}
	return errors.Join(err, closeServer(server, served))
}

func closeServer(server *http.Server, served <-chan error) error {
	err := server.Close()
	if serr := <-served; !errors.Is(serr, http.ErrServerClosed) {
		err = errors.Join(err, serr)
	}
	return err
}

func demoSeeds() []string {
	return []string{
		"http://library.demo.test/", "http://slow.demo.test/", "http://busy.demo.test/",
		"http://moved.demo.test/", "http://trap.demo.test/", "http://broken.demo.test/",
	}
}

// A demoSites answers for the hosts of the demo.
type demoSites struct{ *http.ServeMux }

func (w demoSites) html(pattern, title, body string) {
	w.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<!doctype html><title>%s</title>\n<h1>%s</h1>\n%s\n", title, title, body)
	})
}

func (w demoSites) rules(host, body string) {
	w.HandleFunc(host+"/robots.txt", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprint(w, body)
	})
}

// demoWeb answers for all hosts of the demo, as they are after some weeks. If goesOn is
// true, the busy site does not ask for rest.
func demoWeb(goesOn bool, week int) http.Handler {
	w := demoSites{http.NewServeMux()}
	w.library(week)

	w.rules("slow.demo.test", "User-agent: *\nCrawl-delay: 1\n")
	w.html("slow.demo.test/{$}", "One second, please",
		`<a href="/1">1</a> <a href="/2">2</a> <a href="/3">3</a> <a href="/4">4</a> <a href="/5">5</a>`)
	for i := 1; i <= 5; i++ {
		if at := fmt.Sprintf("slow.demo.test/%d", i); i == 5 && week > 0 {
			w.Handle(at, http.RedirectHandler("/4", http.StatusMovedPermanently))
		} else {
			w.html(at, fmt.Sprintf("Page %d", i), "")
		}
	}

	w.html("busy.demo.test/{$}", "A busy site", `<a href="/report">The report</a> <a href="/other">Another page</a>`)
	w.html("busy.demo.test/other", "Another page", "")
	w.Handle("busy.demo.test/report", &busyOnce{asked: goesOn})

	w.Handle("moved.demo.test/", http.RedirectHandler("http://www.moved.demo.test/", http.StatusMovedPermanently))
	w.html("www.moved.demo.test/{$}", "The new address", `<a href="/about">About</a>`)
	visits := ""
	if week > 0 {
		visits = fmt.Sprintf("<!-- %d weeks, and no entries -->", week)
	}
	w.html("www.moved.demo.test/about", "About", visits)

	// An endless calendar: the budget of pages and the depth end it.
	w.HandleFunc("trap.demo.test/", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		day, _ := strconv.Atoi(r.URL.Query().Get("day"))
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, `<title>Day %d</title><a href="/?day=%d">Tomorrow</a> <a href="/?day=%d">In a week</a>`, day, day+1, day+7)
	})

	// If robots.txt fails, nothing else of the site is fetched.
	w.HandleFunc("broken.demo.test/", func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "the database is away", http.StatusInternalServerError)
	})
	return w
}

// library has paths that robots.txt allows and forbids, a redirect, and links that are not
// followed. From week 1 on the last book is forbidden, and the drafts are allowed. Each
// week one book is new, another one is gone for good, and some have another edition.
func (w demoSites) library(week int) {
	rules := "User-agent: *\nDisallow: /private/\nDisallow: /*?sort=\n"
	if week == 0 {
		w.rules("library.demo.test", rules+"Disallow: /drafts\nAllow: /drafts/published\n")
	} else {
		w.rules("library.demo.test", rules+"Disallow: /book/12$\n")
		w.html("library.demo.test/drafts/one", "A draft", "")
	}
	const books = 12
	shelves := ""
	for i := 1; i <= books+week; i++ {
		shelves += fmt.Sprintf("<a href=\"/book/%d\">Book %d</a>\n", i, i)
		w.book(i, i%(books+week)+1, week)
	}
	w.html("library.demo.test/{$}", "The library", shelves+`
<a href="/drafts/one">A draft</a> <a href="/drafts/published/one">A published draft</a>
<a href="/go">A redirect</a> <a href="/lost">A book that is lost</a> <a href="/ads" rel="nofollow">An advertisement</a>
<a href="http://elsewhere.demo.test/">Another host</a>`)
	w.html("library.demo.test/drafts/published/one", "Published", `<a href="/">Home</a>`)
	// A redirect into a forbidden path: the redirect is requested, its target is not.
	w.Handle("library.demo.test/go", http.RedirectHandler("/private/diary", http.StatusFound))
}

// book is a page of the library. A book is lost in the week of its own number.
func (w demoSites) book(number, next, week int) {
	at := fmt.Sprintf("library.demo.test/book/%d", number)
	if number <= week {
		w.HandleFunc(at, func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, "this book is lost", http.StatusGone)
		})
		return
	}
	edition := ""
	if n := (number+week)/4 - number/4; n > 0 {
		edition = fmt.Sprintf("<p>Edition %d</p> ", n+1)
	}
	w.html(at, fmt.Sprintf("Book %d", number),
		fmt.Sprintf(`%s<a href="/">Home</a> <a href="/book/%d">Next</a> <a href="/book/%d?sort=title">Sorted</a>`, edition, next, number))
}

// busyOnce answers the first request with 429 and three seconds of Retry-After.
type busyOnce struct{ asked bool }

func (b *busyOnce) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// The crawler sends a site one request at a time: no lock is needed.
	if !b.asked {
		b.asked = true
		w.Header().Set("Retry-After", "3")
		http.Error(w, "too many guests", http.StatusTooManyRequests)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprint(w, "<title>The report</title>Thank you for waiting.")
}
