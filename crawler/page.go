package crawler

import (
	"bytes"
	"crypto/sha1"
	"encoding/base32"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/permesso-crawler/permesso/crawler/extract"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/robots"
)

// A Page is an answer of a server, with any status except one for which the request is tried
// again. The Page is valid while the handler runs, and must be used by one goroutine at a time.
// An answer to HEAD (Link.Head) has no Body; its Exchange.Head is set.
type Page struct {
	URL        frontier.URL
	Entry      frontier.Entry // the queued URL, with how it was found
	Status     int
	Header     http.Header
	Body       []byte            // decompressed
	Truncated  string            // why Body is incomplete, a value of Exchange.Truncated; empty if Body is complete
	Type       string            // media type, lower case, without parameters
	Location   frontier.URL      // target of a redirect, or zero
	Directives robots.Directives // robots directives of X-Robots-Tag fields and meta elements
	Verdict    robots.Verdict    // verdict of robots.txt, with the rule that allows the page, if there is one
	Exchange   *fetch.Exchange   // the request, its times and addresses

	redirect   bool
	sha1       string         // SHA-1 of Body, see digest
	payload    string         // SHA-1 of the body as it was sent, before its content coding was removed; empty if it was not needed
	textDigest string         // result of TextDigest; empty until it is computed
	below      int            // number of pages so far, with this one, that have the same body and are deeper in the directory of the first page with that body
	kept       *store.Capture // the archived answer that has Body, if the server answered 304; nil: the server sent Body
	change     ChangeClass
	content
	statements
	wishes
}

// content is what was parsed from the body of a page. It is parsed when it is first needed.
type content struct {
	texts   bool   // TextDigest is written to the outputs
	text    []byte // Body as UTF-8
	charset string
	html    extract.Document
	how     reading
	read    bool // html is valid
	doc     *goquery.Document
}

// reading says with which options content.html was parsed.
type reading struct {
	embeds, forms, text bool
	header              int // number of links in html that came from the header; they are before the links of the body
}

// statements are the statements about the use of a page.
type statements struct {
	token     string        // the product token by which robots directives may name the crawler
	aliases   []string      // further product tokens, as Robots.Aliases
	rules     *robots.Group // the group of robots.txt that gave the Verdict; nil if robots.txt was not requested
	clean     *robots.Cleaner
	copied    time.Time // when the robots.txt that has the group rules was fetched
	mining    *robots.TDMRep
	licenses  robots.Licenses
	signals   robots.Signals
	signalled bool   // signals is valid
	refused   string // the statement that keeps the page from being stored
}

// wishes are what the handler wants: which URLs to follow, and whether it marks the page as
// fetched itself.
type wishes struct {
	followed []frontier.URL
	tags     map[string]string    // tags of the URLs that were followed under a tag, by URL key; nil: none
	held     func(*frontier.Turn) // set by a handler that marks the page as fetched itself; it is called after the turn was given back. nil: Turn.Finish marks the page
}

// newPage makes the page of res, the result of a request, in p. It overwrites the old content
// of p.
func newPage(p *Page, e frontier.Entry, res *fetch.Result, opts extract.Options) *Page {
	x := res.Page
	opts.Room = p.html.Links
	*p = Page{
		URL: e.URL, Entry: e, Status: x.Status, Header: x.Header, Body: x.Body, Truncated: x.Truncated,
		Verdict: res.Verdict, Exchange: x, statements: statements{token: opts.Token, aliases: opts.Aliases, rules: res.Rules, mining: res.Mining, licenses: res.Licenses},
	}
	if good := res.Snapshot.Good(); good != nil {
		p.copied = good.Fetched
	}
	p.Type = typeOf(x.Header, x.Body)
	if x.Status/100 == 3 {
		if raw := x.Header.Get("Location"); raw != "" {
			if u, err := e.URL.Resolve(raw); err == nil {
				p.Location, p.redirect = u, true
			}
		}
	}
	p.Directives = robots.HeaderDirectives(opts.Token, x.Header.Values("X-Robots-Tag"), opts.Aliases...)
	if x.Status/100 == 2 {
		p.find(opts)
	}
	return p
}

// exchange returns p.Exchange, or a zero Exchange for a Page that a program has made itself.
func (p *Page) exchange() *fetch.Exchange {
	if p.Exchange == nil {
		return new(fetch.Exchange)
	}
	return p.Exchange
}

// digest returns the SHA-1 of the body. It returns "" for an answer to HEAD, and for a page
// whose owner forbids storing it. The first call computes the SHA-1. It is not computed when
// the page is made, because a crawl in memory does not need it.
func (p *Page) digest() string {
	if p.sha1 == "" && !p.Exchange.Head && p.refused == "" {
		p.sha1 = digestOf(p.Body)
	}
	return p.sha1
}

// typeOf returns the media type of a body from its header. If the header has none, typeOf
// guesses from the first bytes of the body.
func typeOf(h http.Header, body []byte) string {
	said := fetch.ParseMediaType(h["Content-Type"]).Type
	if said == "" && len(body) > 0 {
		said, _, _ = strings.Cut(http.DetectContentType(body), ";")
	}
	return said
}

// plain reports whether a body was sent without a content coding such as gzip.
func plain(x *fetch.Exchange) bool {
	return len(x.Body) > 0 && len(x.Wire) > 0 && &x.Wire[0] == &x.Body[0]
}

// digestOf returns the SHA-1 of a body as text, in the form that WARC files use.
func digestOf(body []byte) string {
	const prefix = "sha1:"
	sum := sha1.Sum(body)
	var text [len(prefix) + 32]byte
	copy(text[:], prefix)
	base32.StdEncoding.Encode(text[len(prefix):], sum[:])
	return string(text[:])
}

// find finds the links of the body, and of the header.
func (p *Page) find(opts extract.Options) {
	if opts.Sitemap = p.Entry.Sitemap(); extract.Reads(p.Type, opts) {
		p.how = reading{embeds: opts.Embeds, forms: opts.Forms, text: opts.Text}
		p.html, p.read = p.document(opts)
		p.Directives = p.Directives.Merge(p.html.Directives)
	}
	if values := p.Header["Link"]; len(values) > 0 {
		found := len(p.html.Links)
		p.html.AddHeader(values, p.URL, opts)
		p.how.header = len(p.html.Links) - found
	}
}

// document parses the body as HTML, a sitemap or another type that can have links.
func (p *Page) document(opts extract.Options) (extract.Document, bool) {
	text := p.Text()
	opts.Charset = p.charset
	return extract.Read(text, p.URL, p.Type, opts)
}

// Text returns the body as UTF-8.
func (p *Page) Text() []byte {
	if p.charset == "" {
		said := fetch.ParseMediaType(p.Header["Content-Type"])
		p.text, p.charset = extract.DecodeAs(p.Body, said.Type, said.Charset)
	}
	return p.text
}

// Title returns the title of an HTML page, in which each sequence of white space is replaced by
// one space.
func (p *Page) Title() string { return p.html.Title }

// Canonical returns the URL that the page declares for itself: link rel=canonical of its head
// or of its header (RFC 6596), relative to its base. It is zero if the page declares none. It
// is also zero if the page declares several that differ, because search engines then ignore all
// of them, too. It may be any URL, also one on another site.
func (p *Page) Canonical() frontier.URL { return p.html.Canonical }

// OpenGraphURL returns the URL for sharing the page: the first og:url of its meta elements
// (The Open Graph protocol), or zero.
func (p *Page) OpenGraphURL() frontier.URL { return p.html.OpenGraph }

// Broken returns the references in an HTML page that are no valid URL, such as href="http://".
// It returns at most 1,000, in the order of the page. The page must have been fetched with a
// 2xx status. A reference with a scheme that is not crawled, such as mailto, is not broken.
// Each call parses the page.
func (p *Page) Broken() []*frontier.URLError {
	if !p.read {
		return nil
	}
	d, _ := p.document(extract.Options{Embeds: true, Broken: true})
	return d.Broken
}

// Links returns the links of an HTML page that was fetched with a 2xx status, including those
// that are not followed, and at most extract.MaxLinks. It includes requisites (images, scripts
// and the like), with frontier.HopEmbed, if Options.Requisites or OutputLinks is set. Each link
// has its visible text (extract.Link.Text). If neither Options.Links nor OutputLinks needs the
// text, the first call of Links reads the page once more to get it.
func (p *Page) Links() []extract.Link {
	if p.read && !p.how.text {
		p.how.text = true
		opts := extract.Options{Token: p.token, Aliases: p.aliases, Embeds: p.how.embeds, Forms: p.how.forms, Text: true, Sitemap: p.Entry.Sitemap()}
		d, _ := p.document(opts)
		p.html.Links = append(p.html.Links[:p.how.header:p.how.header], d.Links...)
	}
	return p.html.Links
}

// Doc parses the body as HTML, once. If the elements of the document are nested more than 512
// deep, Doc fails, because the parser of x/net refuses such documents. Links returns their
// links nevertheless.
func (p *Page) Doc() (*goquery.Document, error) {
	if p.doc == nil {
		doc, err := goquery.NewDocumentFromReader(bytes.NewReader(p.Text()))
		if err != nil {
			return nil, err
		}
		p.doc = doc
	}
	return p.doc, nil
}

// Follow queues a URL that the page does not link to, or whose link is marked nofollow. ref is
// parsed by Resolve. Scope, depth and robots.txt apply as for any link. The URL gets the tag of
// the page. The error is a *frontier.URLError.
func (p *Page) Follow(ref string) error {
	u, err := p.Resolve(ref)
	if err == nil {
		p.followed = append(p.followed, u)
	}
	return err
}

func isText(mediaType string) bool {
	if strings.HasPrefix(mediaType, "text/") || strings.HasSuffix(mediaType, "+xml") || strings.HasSuffix(mediaType, "+json") {
		return true
	}
	switch mediaType {
	case "application/json", "application/xml", "application/javascript":
		return true
	}
	return false
}

// tagOf returns the tag of a URL that is found on p. key is the URL's Key.
func (p *Page) tagOf(key string) string {
	if tag, ok := p.tags[key]; ok {
		return tag
	}
	return p.Entry.Tag
}

// Resolve returns the URL of ref, which is a link as the page would write it: it may be
// relative to the base element of the page. The query of the URL is sent in the encoding of the
// page. Nothing is queued. The error is a *frontier.URLError.
func (p *Page) Resolve(ref string) (frontier.URL, error) {
	if p.read {
		return p.html.Resolve(ref)
	}
	return p.URL.Resolve(ref)
}

// A ChangeClass says how a page has changed since the previous crawl (Options.Previous),
// or, with Options.Revisit, since the previous visit.
type ChangeClass string

// The classes. A page has a class only in a crawl with Options.Previous or Options.Revisit, and
// only if it is an answer to GET with a 2xx status. It has no class if the earlier answer
// cannot be read or was cut. If the body of the previous visit is not archived, only its digest
// is known; then a page with other bytes counts as modified even if its text is the same.
const (
	ChangeNew         ChangeClass = "new"          // the page was not fetched before, or the last answer was not a page
	ChangeModified    ChangeClass = "modified"     // the visible text differs
	ChangeSameText    ChangeClass = "same-text"    // the bytes differ, but Page.TextDigest is the same
	ChangeNotModified ChangeClass = "not-modified" // the server says so, or the bytes are the same
)

// ChangeClasses returns all classes, in the order in which figures list them.
func ChangeClasses() []ChangeClass {
	return []ChangeClass{ChangeNew, ChangeModified, ChangeSameText, ChangeNotModified}
}

// TextDigest returns extract.TextDigest of the body. It is empty without a body to read: for
// an answer to HEAD, or with a status other than 2xx.
func (p *Page) TextDigest() string {
	if p.exchange().Head || p.Status/100 != 2 || p.refused != "" {
		return ""
	}
	if p.textDigest == "" {
		body := p.Body
		if extract.IsHTML(p.Type) || p.Type == "text/plain" {
			body = p.Text()
		}
		p.textDigest = extract.TextDigest(body, p.Type)
	}
	return p.textDigest
}

// maxTag is the maximum length of a tag, in bytes.
const maxTag = 64 << 10

// checkTag returns an *OptionError for a tag that is too long.
func checkTag(tag string) error {
	if len(tag) > maxTag {
		return &OptionError{Field: "Tag", Reason: fmt.Sprintf("is %d bytes long; the maximum is %d: give a key of your own data instead", len(tag), maxTag)}
	}
	return nil
}
