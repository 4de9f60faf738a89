package diff_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
)

var testIdentity = crawler.Identity{Token: "weeklybot", Contact: "https://example.org/weeklybot"}

// crawl crawls a web into dir, in virtual time. with changes the options.
func crawl(t *testing.T, dir string, web func(w *crawltest.Web), with func(*crawler.Options)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		web(w)
		o := crawler.Options{
			Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: w}, Dir: dir, Budget: crawler.Budget{Patience: 24 * time.Hour},
		}
		if with != nil {
			with(&o)
		}
		c, err := crawler.New(o)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Run(t.Context(), crawler.HandlerFunc(func(context.Context, *crawler.Page) error { return nil })); err != nil {
			t.Fatal(err)
		}
	})
}

// The answers that a page of a model may give.
const (
	isPage = iota
	isMoved
	isFound // answers with a temporary redirect
	isMissing
	isBroken
	answers // number of the kinds of answers
)

// A modelPage is a page of a model.
type modelPage struct {
	answer    int
	text      int // number of the visible text
	noise     int // number in a comment of the page; another number changes the bytes, and not the visible text
	to        int // number of the page to which the page redirects
	linked    bool
	forbidden bool
}

// A model is a site whose pages have numbers. The page "/" links to some of them.
type model []modelPage

// change returns a copy of m in which some pages differ.
func (m model) change(r *rand.Rand) model {
	next := append(model(nil), m...)
	for i := range next {
		p := &next[i]
		switch r.IntN(12) {
		case 0:
			p.answer = r.IntN(answers)
		case 1:
			p.text = r.IntN(3)
		case 2, 3:
			p.noise = r.IntN(3)
		case 4:
			p.to = r.IntN(len(m))
		case 5:
			p.linked = !p.linked
		case 6:
			p.forbidden = !p.forbidden
		}
	}
	return next
}

func newModel(r *rand.Rand) model {
	m := make(model, 2+r.IntN(14))
	for i := range m {
		m[i] = modelPage{r.IntN(answers), r.IntN(3), r.IntN(3), r.IntN(len(m)), r.IntN(4) > 0, r.IntN(5) == 0}
		if r.IntN(2) == 0 {
			m[i].answer = isPage
		}
	}
	return m
}

// links returns the numbers of the pages that "/" links to.
func (m model) links() (all []int) {
	for i, p := range m {
		if p.linked {
			all = append(all, i)
		}
	}
	return all
}

// robots returns the robots.txt of the model.
func (m model) robots() string {
	text := "User-agent: *\nAllow: /\n"
	for i, p := range m {
		if p.forbidden {
			text += fmt.Sprintf("Disallow: /p%d$\n", i)
		}
	}
	return text
}

// web adds the site of the model to w.
func (m model) web(w *crawltest.Web) {
	home := "<title>Home</title>"
	for _, i := range m.links() {
		home += fmt.Sprintf("<a href=/p%d></a>", i)
	}
	s := w.Site("http://a.example").Robots(m.robots()).Page("/", home)
	for i, p := range m {
		at, to := fmt.Sprintf("/p%d", i), fmt.Sprintf("/p%d", p.to)
		switch p.answer {
		case isPage:
			s.Page(at, fmt.Sprintf("<title>Page</title><p>page %d says  %d<!-- %d -->%s", i, p.text, p.noise, strings.Repeat("<br>", 1+p.noise)))
		case isMoved:
			s.Func(at, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusMovedPermanently) })
		case isFound:
			s.Redirect(at, to)
		case isMissing:
			s.Status(at, http.StatusNotFound)
		case isBroken:
			s.Status(at, http.StatusNotImplemented)
		}
	}
}

// known returns the codes of the pages that a crawl of the model finds, by number. It computes
// them without the code of the crawler.
func (m model) known() map[int]string {
	all := map[int]string{}
	next := m.links()
	for len(next) > 0 {
		i := next[0]
		next = next[1:]
		if all[i] != "" {
			continue
		}
		p := m[i]
		switch {
		case p.forbidden:
			all[i] = "refused"
		case p.answer == isPage:
			all[i] = "page"
		case p.answer == isMissing:
			all[i] = "missing"
		case p.answer == isBroken:
			all[i] = "failing"
		default:
			all[i] = "redirect"
			next = append(next, p.to)
		}
	}
	return all
}
