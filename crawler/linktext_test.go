package crawler_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/crawler/extract"
)

// linksWeb returns a web with a page in another encoding than UTF-8. It has links in its header and
// body.
func linksWeb(t *testing.T) *crawltest.Web {
	w := crawltest.New(t)
	w.Site("http://a.example").Func("/", func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		rw.Header().Set("Link", "</0>; rel=next")
		io.WriteString(rw, "<meta charset=latin1><a href=/1>Caf\xe9</a><form action=/2></form><img src=/3><a rel=nofollow href=/4>four<p>Four</a>")
	}).Page("/0", "x").Page("/1", "x")
	return w
}

func linesOf(links []extract.Link) (lines []string) {
	for _, l := range links {
		lines = append(lines, strings.TrimSpace(fmt.Sprint(l.Where, " ", l.URL.Target(), " ", l.Text())))
	}
	return lines
}

// With any other options Page.Links returns links with their text, and the crawl queues the same
// URLs.
func TestLinksHaveTheirText(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*crawler.Options)
		want   []string
	}{
		{"no hook, no output", nil, []string{"header/link /0", "a/href /1 Café", "a/href /4 four Four"}},
		{"forms and requisites", func(o *crawler.Options) { o.Forms, o.Requisites = true, true }, []string{"header/link /0", "a/href /1 Café", "form/action /2", "img/src /3", "a/href /4 four Four"}},
		{"the hook asks", func(o *crawler.Options) { o.Links = func(*crawler.Page, *crawler.Link) bool { return true } }, []string{"header/link /0", "a/href /1 Café", "a/href /4 four Four"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := linksWeb(t)
			opts := crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: w}}
			if test.change != nil {
				test.change(&opts)
			}
			c, err := crawler.New(opts)
			if err != nil {
				t.Fatal(err)
			}
			var got, again []string
			err = c.Run(t.Context(), crawler.HandlerFunc(func(_ context.Context, p *crawler.Page) error {
				if p.URL.Target() == "/" {
					got, again = linesOf(p.Links()), linesOf(p.Links())
				}
				return nil
			}))
			if err != nil || !slices.Equal(got, test.want) || !slices.Equal(again, test.want) {
				t.Errorf("%s: %q, then %q, %v, want %q", test.name, got, again, err, test.want)
			}
			for _, target := range []string{"/0", "/1"} {
				if w.Fetched("http://a.example"+target) != 1 {
					t.Errorf("%s: %s was not requested", test.name, target)
				}
			}
			w.AssertNeverFetched("http://a.example/4")
		})
	}
}

// Options.Links gets the text of each link. A loop can read the text after the visit, too.
func TestTheTextOfLinksIsThereForHooksAndLoops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := linksWeb(t)
		var hooked, looped []string
		for _, hook := range []bool{true, false} {
			opts := crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: w}}
			if hook {
				opts.Links = func(p *crawler.Page, l *crawler.Link) bool {
					hooked = append(hooked, linesOf([]extract.Link{l.Link})...)
					return true
				}
			}
			c, err := crawler.New(opts)
			if err != nil {
				t.Fatal(err)
			}
			for p, err := range c.Pages(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				if p.URL.Target() == "/" && !hook {
					looped = linesOf(p.Links())
				}
			}
		}
		if want := []string{"header/link /0", "a/href /1 Café"}; !slices.Equal(hooked, want) {
			t.Errorf("the hook saw %q, want %q", hooked, want)
		}
		if want := []string{"header/link /0", "a/href /1 Café", "a/href /4 four Four"}; !slices.Equal(looped, want) {
			t.Errorf("the loop saw %q, want %q", looped, want)
		}
	})
}
