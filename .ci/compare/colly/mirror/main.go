// Command mirror copies a site to a directory, so that it can be browsed without a network:
// pages with their images, style sheets and scripts. Pages with noarchive have no copy.
package main

import (
	"bytes"
	"log"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/PuerkitoBio/goquery"
	"github.com/gocolly/colly/v2"
)

var inStyle = regexp.MustCompile(`url\(\s*["']?([^"')\s]+)`)

// A file is the copy of a URL, which is written when all copies are known.
type file struct {
	url        *url.URL
	name, kind string
	body       []byte
}

// A mirror has the copies and the redirects of a site, by URL.
type mirror struct {
	files     map[string]file
	redirects map[string]string
}

func main() {
	m := mirror{map[string]file{}, map[string]string{}}
	// With a cache, a collector that is restarted requests no page twice.
	c := colly.NewCollector(colly.AllowedDomains("shop.test"), colly.CacheDir("cache"))
	c.IgnoreRobotsTxt = false
	c.SetRedirectHandler(func(req *http.Request, via []*http.Request) error {
		m.redirects[via[0].URL.String()] = req.URL.String()
		return nil
	})
	c.OnResponse(func(r *colly.Response) {
		kind, _, _ := strings.Cut(r.Headers.Get("Content-Type"), ";")
		if doc, err := goquery.NewDocumentFromReader(bytes.NewReader(r.Body)); err == nil && kind == "text/html" {
			if strings.Contains(doc.Find("meta[name=robots]").AttrOr("content", ""), "noarchive") {
				return
			}
		}
		if kind == "text/css" {
			for _, found := range inStyle.FindAllSubmatch(r.Body, -1) {
				r.Request.Visit(string(found[1]))
			}
		}
		m.files[r.Request.URL.String()] = file{r.Request.URL, nameOf(r.Request.URL, kind), kind, r.Body}
	})
	for selector, attr := range map[string]string{
		"a[href]": "href", "link[rel=stylesheet]": "href", "script[src]": "src", "img[src]": "src",
	} {
		c.OnHTML(selector, func(e *colly.HTMLElement) {
			e.Request.Visit(e.Attr(attr))
		})
	}
	if err := c.Visit("http://shop.test/"); err != nil {
		log.Fatal(err)
	}
	for _, f := range m.files {
		if err := m.write("mirror", f); err != nil {
			log.Fatal(err)
		}
	}
}

func nameOf(u *url.URL, kind string) string {
	name := strings.TrimPrefix(u.Path, "/")
	if u.RawQuery != "" {
		name += "_" + strings.ReplaceAll(u.RawQuery, "/", "_")
	}
	if kind == "text/html" && !strings.HasSuffix(name, ".html") {
		name = path.Join(name, "index.html")
	}
	return name
}

// link returns a relative link to the copy of a URL, or the URL if there is no copy.
func (m mirror) link(from file, ref string) string {
	to, err := from.url.Parse(ref)
	if err != nil || strings.HasPrefix(ref, "#") {
		return ref
	}
	fragment := to.EscapedFragment()
	to.Fragment, to.RawFragment = "", ""
	target := to.String()
	if moved := m.redirects[target]; moved != "" {
		target = moved
	}
	f, ok := m.files[target]
	if rel, err := filepath.Rel(path.Dir(from.name), f.name); ok && err == nil {
		target = filepath.ToSlash(rel)
	}
	if fragment != "" {
		target += "#" + fragment
	}
	return target
}

func (m mirror) write(dir string, f file) error {
	body := f.body
	switch f.kind {
	case "text/html":
		doc, err := goquery.NewDocumentFromReader(bytes.NewReader(body))
		if err != nil {
			return err
		}
		for _, attr := range []string{"href", "src"} {
			doc.Find("[" + attr + "]").Each(func(_ int, s *goquery.Selection) {
				s.SetAttr(attr, m.link(f, s.AttrOr(attr, "")))
			})
		}
		text, err := doc.Html()
		if err != nil {
			return err
		}
		body = []byte(text)
	case "text/css":
		body = inStyle.ReplaceAllFunc(body, func(part []byte) []byte {
			ref := inStyle.FindSubmatch(part)[1]
			return bytes.Replace(part, ref, []byte(m.link(f, string(ref))), 1)
		})
	}
	name := filepath.Join(dir, filepath.FromSlash(f.name))
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	return os.WriteFile(name, body, 0o666)
}
