// Package demoweb is the small web that crawl demo serves: several sites with the situations
// that a crawler meets. Its answers depend only on the requests and on the week, so that each
// demo is the same.
package demoweb

import (
	"fmt"
	"net/http"
	"strconv"
)

// Seeds returns the URLs that the demo begins with. If apart is true, each site has a registrable
// domain of its own.
func Seeds(apart bool) (seeds []string) {
	for _, name := range []string{"library", "slow", "busy", "moved", "trap", "broken"} {
		seeds = append(seeds, "http://"+site(name, apart)+"/")
	}
	return seeds
}

// sites answers for the hosts of the demo.
type sites struct {
	*http.ServeMux
	apart bool
}

// site returns the name of a host. Only if apart is true, each site has a registrable domain of its
// own, as the nodes of a crawl divide the work by it.
func (w sites) site(name string) string { return site(name, w.apart) }

func site(name string, apart bool) string {
	if apart {
		return name + "-demo.test"
	}
	return name + ".demo.test"
}

func (w sites) html(pattern, title, body string) {
	w.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<!doctype html><title>%s</title>\n<h1>%s</h1>\n%s\n", title, title, body)
	})
}

func (w sites) rules(host, body string) {
	w.HandleFunc(host+"/robots.txt", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprint(w, body)
	})
}

// Handler returns a handler for all hosts of the demo, as they are after the given number of
// weeks. If goesOn is true, the site busy.demo.test does not ask for a pause with 429. The
// handler is for one crawler that sends each site one request at a time. apart is that of Seeds.
func Handler(goesOn bool, week int, apart bool) http.Handler {
	w := sites{http.NewServeMux(), apart}
	w.library(week)

	w.rules(w.site("slow"), "User-agent: *\nCrawl-delay: 1\n")
	w.html(w.site("slow")+"/{$}", "One second, please",
		`<a href="/1">1</a> <a href="/2">2</a> <a href="/3">3</a> <a href="/4">4</a> <a href="/5">5</a>`)
	for i := 1; i <= 5; i++ {
		if at := fmt.Sprint(w.site("slow"), "/", i); i == 5 && week > 0 {
			w.Handle(at, http.RedirectHandler("/4", http.StatusMovedPermanently))
		} else {
			w.html(at, fmt.Sprintf("Page %d", i), "")
		}
	}

	w.html(w.site("busy")+"/{$}", "A busy site", `<a href="/report">The report</a> <a href="/other">Another page</a>`)
	w.html(w.site("busy")+"/other", "Another page", "")
	w.Handle(w.site("busy")+"/report", &busyOnce{asked: goesOn})

	w.Handle(w.site("moved")+"/", http.RedirectHandler("http://"+w.site("www.moved")+"/", http.StatusMovedPermanently))
	w.html(w.site("www.moved")+"/{$}", "The new address", `<a href="/about">About</a>`)
	visits := ""
	if week > 0 {
		visits = fmt.Sprintf("<!-- %d weeks, and no entries -->", week)
	}
	w.html(w.site("www.moved")+"/about", "About", visits)

	// A calendar whose pages link to further pages without end: only the limits of a crawl for
	// pages and depth end it.
	w.HandleFunc(w.site("trap")+"/", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		day, _ := strconv.Atoi(r.URL.Query().Get("day"))
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, `<title>Day %d</title><a href="/?day=%d">Tomorrow</a> <a href="/?day=%d">In a week</a>`, day, day+1, day+7)
	})

	// If robots.txt fails, nothing else of the site is fetched.
	w.HandleFunc(w.site("broken")+"/", func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "the database is away", http.StatusInternalServerError)
	})
	return w
}

// library has paths that robots.txt allows and forbids, a redirect, and links that are not
// followed. From week 1 on, robots.txt forbids the last book and allows the drafts. Each week
// one book is new, another book answers 410, and some books have another edition.
func (w sites) library(week int) {
	rules := "User-agent: *\nDisallow: /private/\nDisallow: /*?sort=\n"
	if week == 0 {
		w.rules(w.site("library"), rules+"Disallow: /drafts\nAllow: /drafts/published\n")
	} else {
		w.rules(w.site("library"), rules+"Disallow: /book/12$\n")
		w.html(w.site("library")+"/drafts/one", "A draft", "")
	}
	const books = 12
	shelves := ""
	for i := 1; i <= books+week; i++ {
		shelves += fmt.Sprintf("<a href=\"/book/%d\">Book %d</a>\n", i, i)
		w.book(i, i%(books+week)+1, week)
	}
	w.html(w.site("library")+"/{$}", "The library", shelves+`
<a href="/drafts/one">A draft</a> <a href="/drafts/published/one">A published draft</a>
<a href="/go">A redirect</a> <a href="/lost">A book that is lost</a> <a href="/ads" rel="nofollow">An advertisement</a>
<a href="http://`+w.site("elsewhere")+`/">Another host</a>`)
	w.html(w.site("library")+"/drafts/published/one", "Published", `<a href="/">Home</a>`)
	// A redirect into a forbidden path: the redirect is requested, its target is not.
	w.Handle(w.site("library")+"/go", http.RedirectHandler("/private/diary", http.StatusFound))
}

// book adds the page of one book to the library. Book 3, for example, is lost from week 3 on.
func (w sites) book(number, next, week int) {
	at := fmt.Sprint(w.site("library"), "/book/", number)
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
	// The crawler sends a site one request at a time, so no lock is needed.
	if !b.asked {
		b.asked = true
		w.Header().Set("Retry-After", "3")
		http.Error(w, "too many guests", http.StatusTooManyRequests)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprint(w, "<title>The report</title>Thank you for waiting.")
}
