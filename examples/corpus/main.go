// Command corpus writes the texts of sections of sites as JSON lines, for the training of a
// model. It leaves out pages whose owners refuse that use.
//
//	go run ./examples/corpus corpus news=https://example.org/news/ docs=https://example.org/docs/
//
// A line in corpus/pages.jsonl has the URL, title and visible text of a page, the time of the
// request, the owner's statements about the use of the page, and its tag: the name of the
// section, and the text of the link by which the page was found.
//
// After a kill the same command continues: no page is missing. A page may be written twice,
// because a file and the state of a crawl cannot be changed at once. Readers should use the last
// line of a URL. examples/postgres writes each page exactly once.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/extract"
	"github.com/permesso-crawler/permesso/robots"
)

func main() {
	if len(os.Args) < 3 {
		log.Fatal("usage: corpus DIRECTORY SECTION=URL...")
	}
	opts := crawler.Options{Identity: crawler.Identity{Token: "corpusbot", Contact: "https://example.org/corpusbot"}}
	for _, arg := range os.Args[2:] {
		section, url, _ := strings.Cut(arg, "=")
		opts.Seeds = append(opts.Seeds, url+"\t"+data{Section: section}.tag())
	}
	if err := write(context.Background(), os.Args[1], opts); err != nil {
		log.Fatal(err)
	}
}

// data is the tag of a page, as JSON.
type data struct {
	Section string `json:"section"`
	Link    string `json:"link,omitempty"`
}

func (d data) tag() string {
	raw, err := json.Marshal(d)
	if err != nil {
		panic(err) // strings can always be encoded
	}
	return string(raw)
}

type line struct {
	URL   string          `json:"url"`
	Title string          `json:"title"`
	Text  string          `json:"text"`
	Time  time.Time       `json:"time"`
	Tag   json.RawMessage `json:"tag"`
	Usage []string        `json:"usage,omitempty"`
}

// write crawls, and appends the lines of the pages to a file in dir.
func write(ctx context.Context, dir string, opts crawler.Options) error {
	opts.Dir, opts.Scope, opts.Purpose = filepath.Join(dir, "crawl"), crawler.SamePrefix(), robots.PurposeAITrain
	opts.Sitemaps = crawler.SitemapsNone // a sitemap does not say to which section a page belongs
	opts.Links = func(p *crawler.Page, l *crawler.Link) bool {
		var d data
		if json.Unmarshal([]byte(p.Entry.Tag), &d) != nil {
			return false
		}
		d.Link = l.Text()
		l.Tag = d.tag()
		return true
	}
	c, err := crawler.New(opts)
	if err == nil {
		err = os.MkdirAll(dir, 0o777)
	}
	if err != nil {
		return err
	}
	file, err := open(filepath.Join(dir, "pages.jsonl"))
	if err != nil {
		return err
	}
	defer file.Close()
	for lines, err := range crawler.Batches(ctx, c, 100, 0, parse) {
		if err != nil {
			return err
		}
		var text bytes.Buffer
		for _, l := range lines {
			if err := json.NewEncoder(&text).Encode(l); err != nil {
				return err
			}
		}
		if _, err := file.Write(text.Bytes()); err != nil {
			return err // these lines are not lost: the next run delivers them again
		}
		if err := file.Sync(); err != nil {
			return err
		}
	}
	return file.Close()
}

// open opens a file to append lines. It removes an incomplete last line, which a kill may have
// left.
func open(name string) (*os.File, error) {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o666)
	if err != nil {
		return nil, err
	}
	var whole int64 // length of the complete lines
	for in := bufio.NewReader(file); err == nil; {
		var line string
		if line, err = in.ReadString('\n'); err == nil {
			whole += int64(len(line))
		}
	}
	if err == io.EOF {
		err = file.Truncate(whole)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// parse returns the line of an HTML page.
func parse(_ context.Context, p *crawler.Page) ([]line, error) {
	if p.Status != 200 || !extract.IsHTML(p.Type) {
		return nil, nil
	}
	doc, err := p.Doc()
	if err != nil {
		return nil, nil // the elements are nested so deep that there is no text to train with
	}
	l := line{URL: p.URL.String(), Title: p.Title(), Text: visible(doc), Time: p.Exchange.Started.UTC(), Tag: json.RawMessage(p.Entry.Tag)}
	for _, s := range p.Signals().Deciding() {
		l.Usage = append(l.Usage, s.String())
	}
	return []line{l}, nil
}

// visible returns the text that a reader of the document sees, in one line.
func visible(doc *goquery.Document) string {
	doc.Find("script, style, noscript, template, iframe").Remove()
	doc.Find("address, article, aside, blockquote, br, caption, dd, details, div, dl, dt, figcaption, figure, footer, form, h1, h2, h3, h4, h5, h6, header, hr, " +
		"li, main, nav, ol, option, p, pre, section, summary, table, td, th, tr, ul").BeforeHtml("\n").AfterHtml("\n")
	return strings.Join(strings.Fields(doc.Find("body").Text()), " ")
}
