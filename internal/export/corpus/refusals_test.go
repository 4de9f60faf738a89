package corpus_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/internal/export"
	"github.com/permesso-crawler/permesso/internal/export/corpus"
	"github.com/permesso-crawler/permesso/robots"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// A source is a place in which an owner refuses uses of the page /p. The page /free of the same
// site has no such statement, unless whole is set.
type source struct {
	name  string
	uses  []robots.Use // the uses that the owner refuses
	whole bool         // the statement is about all pages of the site
	put   func(s *crawltest.Site)
}

const body = "<p>Text of the page, long enough to be told from the text of others.</p>"

func header(name, value string) func(*crawltest.Site) {
	return func(s *crawltest.Site) {
		s.Func("/p", func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "text/html")
			rw.Header().Set(name, value)
			io.WriteString(rw, body)
		})
	}
}

func inPage(head string) func(*crawltest.Site) {
	return func(s *crawltest.Site) { s.Page("/p", "<head>"+head+"</head>"+body) }
}

func inRobots(lines string) func(*crawltest.Site) {
	return func(s *crawltest.Site) { s.Robots(lines + "\n") }
}

const rsl = `<rsl xmlns="https://rslstandard.org/rsl"><content url="/p"><license><prohibits type="usage">all</prohibits></license></content></rsl>`

func withLicense(s *crawltest.Site) {
	s.Robots("License: /terms.xml\n").Func("/terms.xml", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/rsl+xml")
		io.WriteString(rw, rsl)
	})
}

var all = []robots.Use{robots.UseSearch, robots.UseAITrain, robots.UseAIInput, robots.UseTDM, robots.UseArchive}

var sources = []source{
	{"Content-Signal in robots.txt", []robots.Use{robots.UseAITrain}, true, inRobots("User-agent: *\nContent-Signal: ai-train=no, search=yes")},
	{"Content-Usage in robots.txt", []robots.Use{robots.UseAITrain}, false, inRobots("User-agent: *\nContent-Usage: /p train-ai=n")},
	{"Noindex in robots.txt", []robots.Use{robots.UseSearch}, false, inRobots("User-agent: *\nNoindex: /p")},
	{"License in robots.txt", all, false, withLicense},
	{"tdmrep.json", []robots.Use{robots.UseTDM}, false, func(s *crawltest.Site) {
		s.File("/.well-known/tdmrep.json", "application/json", `[{"location": "/p", "tdm-reservation": 1}]`)
	}},
	{"Content-Usage", []robots.Use{robots.UseAIInput}, false, header("Content-Usage", "ai-use=n")},
	{"Content-Signal", []robots.Use{robots.UseSearch}, false, header("Content-Signal", "search=no")},
	{"X-Robots-Tag: noai", []robots.Use{robots.UseAITrain, robots.UseAIInput}, false, header("X-Robots-Tag", "noai")},
	{"X-Robots-Tag: noarchive", []robots.Use{robots.UseArchive}, false, header("X-Robots-Tag", "noarchive")},
	{"X-Robots-Tag for us", []robots.Use{robots.UseAITrain, robots.UseAIInput}, false, header("X-Robots-Tag", "testbot: noai")},
	{"tdm-reservation", []robots.Use{robots.UseTDM}, false, header("tdm-reservation", "1")},
	{"Link to a license document", all, false, header("Link", `</terms.xml>; rel="license"; type="application/rsl+xml"`)},
	{"meta robots: noai", []robots.Use{robots.UseAITrain, robots.UseAIInput}, false, inPage(`<meta name=robots content=noai>`)},
	{"meta robots: noindex", []robots.Use{robots.UseSearch}, false, inPage(`<meta name=robots content=noindex>`)},
	{"meta robots: nosnippet", []robots.Use{robots.UseAIInput}, false, inPage(`<meta name=robots content=nosnippet>`)},
	{"meta tdm-reservation", []robots.Use{robots.UseTDM}, false, inPage(`<meta name=tdm-reservation content=1>`)},
	{"link element", all, false, inPage(`<link rel=license type="application/rsl+xml" href="/terms.xml">`)},
	{"RSL in the page", all, false, inPage(`<script type="application/rsl+xml">` + strings.Replace(rsl, "/p", "", 1) + `</script>`)},
	{"a license for people", nil, false, header("Link", `<https://creativecommons.example/by>; rel="license"`)},
	{"nothing", nil, false, inPage("")},
}

// crawled crawls one site for each source, with the given purpose, and returns the directory.
func crawled(t *testing.T, purpose robots.Purpose) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "a.crawl")
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		o := crawler.Options{
			Identity: crawler.Identity{Token: "testbot", Contact: "https://example.org/testbot"},
			Wire:     crawler.Wire{Network: w}, Dir: dir, Robots: crawler.Robots{Purpose: purpose},
		}
		o.Output = []crawler.Output{crawler.OutputPages, crawler.OutputWARC}
		for i, s := range sources {
			origin := fmt.Sprintf("http://s%d.example", i)
			site := w.Site(origin).Page("/", `<a href=/p>p</a> <a href=/free>free</a>`).Page("/p", body).Page("/free", body)
			s.put(site)
			o.Seeds = append(o.Seeds, origin+"/")
		}
		c, err := crawler.New(o)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Run(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	})
	return dir
}

// exported returns the URLs of the pages in an export with the given format.
func exported(t *testing.T, dir, format string, o corpus.Options) (urls []string) {
	t.Helper()
	s, err := export.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	o.Markdown = format != "wet" && format != "text"
	docs := corpus.Documents(t.Context(), s, s.Rows(t.Context()), o)
	var out bytes.Buffer
	switch format {
	case "text", "markdown":
		_, err = corpus.WriteLines(&out, docs)
	case "wet":
		_, err = corpus.WET{Name: "a.warc.wet.gz", Date: time.Now()}.Write(&out, docs)
	case "tree":
		to := filepath.Join(t.TempDir(), "tree")
		var end func(bool) error
		if _, end, err = corpus.WriteTree(to, false, io.Discard, docs); err == nil {
			err = end(true)
		}
		if err == nil {
			err = filepath.WalkDir(to, func(path string, d os.DirEntry, err error) error {
				if err == nil && !d.IsDir() {
					text, _ := os.ReadFile(path)
					out.Write(text)
				}
				return err
			})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	text := out.String()
	if format == "wet" {
		text = ""
		for in := warc.NewReader(&out); ; {
			rec, err := in.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if rec.Type == warc.Conversion {
				text += `"` + rec.TargetURI() + `"` + "\n"
			}
		}
	}
	for i := range sources {
		for _, page := range []string{"p", "free"} {
			url := fmt.Sprintf("http://s%d.example/%s", i, page)
			if strings.Contains(text, `"url":"`+url+`"`) || strings.Contains(text, "\nurl: "+url+"\n") || strings.Contains(text, `"`+url+`"`+"\n") {
				urls = append(urls, url)
			}
		}
	}
	return urls
}

// For each source, each purpose and each format: no page whose owner refuses a purpose is in an
// export for that purpose, even if the crawl had another purpose or none.
func TestNoPageWhoseOwnerRefusesIsExported(t *testing.T) {
	t.Parallel()
	crawls := map[robots.Purpose]string{"": crawled(t, ""), robots.PurposeResearch: crawled(t, robots.PurposeResearch)}
	cases := 0
	for _, purpose := range robots.Purposes() {
		declared := robots.Purpose("")
		if slices.Contains(purpose.Uses(), robots.UseTDM) {
			declared = robots.PurposeResearch // tdmrep.json is requested only by crawls with this purpose
		}
		for _, format := range []string{"text", "markdown", "tree", "wet"} {
			var refused []string
			got := exported(t, crawls[declared], format, corpus.Options{
				Purpose: purpose, Declared: []robots.Purpose{declared},
				Refused: func(r *corpus.Refusal) error {
					if r.Refused == "" {
						t.Errorf("%s: refused without a statement: %+v", r.URL, r)
					}
					refused = append(refused, r.URL)
					return nil
				},
			})
			for i, s := range sources {
				refuses := slices.ContainsFunc(purpose.Uses(), func(u robots.Use) bool { return slices.Contains(s.uses, u) })
				mines := declared == robots.PurposeResearch && slices.Contains(s.uses, robots.UseTDM) // the crawl itself has left out the page
				for _, page := range []string{"p", "free"} {
					url := fmt.Sprintf("http://s%d.example/%s", i, page)
					// A license that was not read applies to the whole site.
					unread := declared == "" && s.name == "License in robots.txt" && len(purpose.Uses()) > 0
					want := page == "p" && (refuses || mines) || page == "free" && (refuses && s.whole || unread)
					if is := !slices.Contains(got, url); is != want {
						t.Errorf("%s, %s, %s, %s: left out is %v, want %v", s.name, purpose, format, page, is, want)
					}
					if slices.Contains(refused, url) && slices.Contains(got, url) {
						t.Errorf("%s is refused and exported", url)
					}
					if page == "p" && refuses {
						cases++
					}
				}
			}
		}
	}
	if cases < 120 {
		t.Errorf("%d cases in which an owner refuses, want 120", cases)
	}
	t.Logf("%d cases in which an owner refuses", cases)
}
