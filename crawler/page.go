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

// A Page is the final answer of a server to the request for a URL. Answers after which the request
// is tried again, such as 503, are not pages. The Page is valid while the handler runs, and must be
// used by one goroutine at a time. An answer to HEAD (Link.Head) has no Body; its Exchange.Head is
// set.
type Page struct {
	URL        frontier.URL
	Entry      frontier.Entry // the queued entry of the URL, which says how the URL was found
	Status     int
	Header     http.Header
	Body       []byte            // the body without its content coding, such as gzip
	Truncated  string            // why Body is incomplete, a value of Exchange.Truncated; empty if Body is complete
	Type       string            // media type in lower case, without parameters
	Location   frontier.URL      // target of a redirect; zero if the page is not a redirect
	Directives robots.Directives // robots directives of X-Robots-Tag header fields and meta elements
	// The verdict of robots.txt, with the rule that allows the page, if there is one.
	Verdict  robots.Verdict
	Exchange *fetch.Exchange // the request with its times and addresses

	redirect bool
	sha1     string // SHA-1 of Body; empty until digest computes it
	// SHA-1 of the body before its content coding was removed; empty if it was not needed
	payload    string
	textDigest string // result of TextDigest; empty until it is computed
	// Number of pages so far, including this one, that have the same body and are deeper in the
	// directory of the first page with that body.
	below int
	// The archived answer that Body comes from, if the server answered 304; nil if the server sent
	// Body.
	kept   *store.Capture
	change ChangeClass
	content
	statements
	wishes
}

// content is the parsed body of a page. Each part is parsed when it is first needed.
type content struct {
	texts   bool   // the outputs need TextDigest
	text    []byte // Body as UTF-8
	charset string
	html    extract.Document
	how     reading
	read    bool // html is valid
	doc     *goquery.Document
}

// reading records the options with which content.html was parsed.
type reading struct {
	embeds, forms, text bool
	// Number of links in html that came from the header; they precede the links of the body.
	header int
}

// statements holds the statements of its owner about the use of a page.
type statements struct {
	token   string   // the product token of the crawler, which robots directives may name
	aliases []string // further product tokens, like Robots.Aliases
	// The group of robots.txt that gave the Verdict; nil if robots.txt was not requested.
	rules     *robots.Group
	clean     *robots.Cleaner
	copied    time.Time // when the robots.txt with the group rules was fetched
	mining    *robots.TDMRep
	licenses  robots.Licenses
	signals   robots.Signals
	signalled bool   // signals is valid
	refused   string // the statement that forbids to store the page; empty if none does
}

// wishes holds the requests of the handler: URLs to follow, and whether the handler marks the page
// as fetched itself.
type wishes struct {
	followed []frontier.URL
	// tags of the URLs that were followed with a tag, by URL key; nil if there are none
	tags map[string]string
	// Set by a handler that marks the page as fetched itself; the visit calls it after it has given
	// back its turn, the right to send a request to the site. nil: Turn.Finish marks the page.
	held func(*frontier.Turn)
}

// newPage overwrites p with the page of res, the result of a request for e, and returns p.
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

// exchange returns p.Exchange, or a zero Exchange if it is nil. It is nil in a Page that a program
// has made itself.
func (p *Page) exchange() *fetch.Exchange {
	if p.Exchange == nil {
		return new(fetch.Exchange)
	}
	return p.Exchange
}

// digest returns the SHA-1 of the body. It returns "" for an answer to HEAD, and for a page whose
// owner forbids to store it. The first call computes the SHA-1, because a crawl in memory does not
// need it.
func (p *Page) digest() string {
	if p.sha1 == "" && !p.Exchange.Head && p.refused == "" {
		p.sha1 = digestOf(p.Body)
	}
	return p.sha1
}

// typeOf returns the media type of a body. It reads the type from the header h, or, if h has none,
// guesses it from the first bytes of the body.
func typeOf(h http.Header, body []byte) string {
	said := fetch.ParseMediaType(h["Content-Type"]).Type
	if said == "" && len(body) > 0 {
		said, _, _ = strings.Cut(http.DetectContentType(body), ";")
	}
	return said
}

// isUncoded reports whether the body of x was sent without a content coding such as gzip.
func isUncoded(x *fetch.Exchange) bool {
	return len(x.Body) > 0 && len(x.Wire) > 0 && &x.Wire[0] == &x.Body[0]
}

// digestOf returns the SHA-1 of a body as text, in the form that WARC files use: "sha1:" and
// Base32.
func digestOf(body []byte) string {
	const prefix = "sha1:"
	sum := sha1.Sum(body)
	var text [len(prefix) + 32]byte
	copy(text[:], prefix)
	base32.StdEncoding.Encode(text[len(prefix):], sum[:])
	return string(text[:])
}

// find reads the links and robots directives of the body, and the links of the header.
func (p *Page) find(opts extract.Options) {
	if opts.Sitemap = p.Entry.Sitemap(); extract.Reads(p.Type, opts) {
		p.how = reading{embeds: opts.Embeds, forms: opts.Forms, text: opts.Text}
		p.html, p.read = p.document(opts)
		p.Directives = p.Directives.Merge(p.html.Directives)
	}
	if len(p.Header["Link"])+len(p.Header["Refresh"]) > 0 {
		found := len(p.html.Links)
		p.html.AddHeader(p.Header, p.URL, opts)
		p.how.header = len(p.html.Links) - found
	}
}

// document parses the body as HTML, a sitemap or another type that can have links. The result is
// false if the type cannot have links.
func (p *Page) document(opts extract.Options) (extract.Document, bool) {
	text := p.Text()
	opts.Charset = p.charset
	return extract.Read(text, p.URL, p.Type, opts)
}

// Text returns the body converted to UTF-8.
func (p *Page) Text() []byte {
	if p.charset == "" {
		said := fetch.ParseMediaType(p.Header["Content-Type"])
		p.text, p.charset = extract.DecodeAs(p.Body, said.Type, said.Charset)
	}
	return p.text
}

// Title returns the title of an HTML page. Each sequence of white space in it is replaced by one
// space.
func (p *Page) Title() string { return p.html.Title }

// Canonical returns the URL that the page declares for itself with link rel=canonical, in its head
// or in its header (RFC 6596). A relative URL is resolved. It is zero if the page declares none,
// and also if it declares several different ones, because search engines ignore them then. It may
// be on another site.
func (p *Page) Canonical() frontier.URL { return p.html.Canonical }

// OpenGraphURL returns the URL that the page gives for sharing it: the first og:url of its meta
// elements (The Open Graph protocol). It is zero if none exists.
func (p *Page) OpenGraphURL() frontier.URL { return p.html.OpenGraph }

// Broken returns the references in an HTML page that are not valid URLs, such as href="http://". It
// returns at most 1,000, in the order of the page. The page must have been fetched with a 2xx
// status. A reference with a scheme that is not crawled, such as mailto, is not broken. Each call
// parses the page.
func (p *Page) Broken() []*frontier.URLError {
	if !p.read {
		return nil
	}
	d, _ := p.document(extract.Options{Embeds: true, Broken: true})
	return d.Broken
}

// Links returns the links of an HTML page that was fetched with a 2xx status, at most
// extract.MaxLinks. It includes links that are not followed. If Options.Requisites or OutputLinks
// is set, it includes images, scripts and the like, with frontier.HopEmbed. Each link has its
// visible text (extract.Link.Text). If neither Options.Links nor OutputLinks needs the text, the
// first call of Links parses the page again to get it.
func (p *Page) Links() []extract.Link {
	if p.read && !p.how.text {
		p.how.text = true
		opts := extract.Options{Token: p.token, Aliases: p.aliases, Embeds: p.how.embeds, Forms: p.how.forms, Text: true, Sitemap: p.Entry.Sitemap()}
		d, _ := p.document(opts)
		p.html.Links = append(p.html.Links[:p.how.header:p.how.header], d.Links...)
	}
	return p.html.Links
}

// Doc returns the body parsed as HTML. The first call parses it. Doc fails if the elements of the
// document are nested more than 512 deep, because the parser of x/net refuses such documents. Links
// returns their links nevertheless.
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

// Follow queues the URL ref even if the page does not link to it, or if its link is marked
// nofollow. ref is parsed by Resolve. Scope, depth and robots.txt apply as for any link. The URL
// gets the tag of the page. The error is a *frontier.URLError.
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

// tagOf returns the tag for a URL that was found on p: the tag that the handler gave it, or the tag
// of p. key is the URL's Key.
func (p *Page) tagOf(key string) string {
	if tag, ok := p.tags[key]; ok {
		return tag
	}
	return p.Entry.Tag
}

// Resolve returns the URL of ref, a reference as in an href of the page: it may be relative to the
// base element of the page. The query of the URL is sent in the encoding of the page. Resolve
// queues nothing. The error is a *frontier.URLError.
func (p *Page) Resolve(ref string) (frontier.URL, error) {
	if p.read {
		return p.html.Resolve(ref)
	}
	return p.URL.Resolve(ref)
}

// A ChangeClass says how a page has changed since the previous crawl (Options.Previous). With
// Options.Revisit it says how the page has changed since the previous visit.
type ChangeClass string

// The classes. A page has a class only in a crawl with Options.Previous or Options.Revisit, and
// only if it is an answer to GET with a 2xx status. It has no class if the earlier answer cannot be
// read or was cut. If the body of the previous visit is not archived, only its digest is known.
// Then a page with other bytes is modified even if its text is the same.
const (
	ChangeNew         ChangeClass = "new"          // the page was not fetched before, or the last answer was not a page
	ChangeModified    ChangeClass = "modified"     // the visible text differs
	ChangeSameText    ChangeClass = "same-text"    // the bytes differ, but Page.TextDigest is the same
	ChangeNotModified ChangeClass = "not-modified" // the server answered 304, or the bytes are the same
)

// ChangeClasses returns all classes, in the order in which figures list them.
func ChangeClasses() []ChangeClass {
	return []ChangeClass{ChangeNew, ChangeModified, ChangeSameText, ChangeNotModified}
}

// TextDigest returns extract.TextDigest of the body. It returns "" if there is no body to read: for
// an answer to HEAD, for a status other than 2xx, and for a page whose owner forbids to store it.
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

// maxTag is the maximum length of a tag in bytes.
const maxTag = 64 << 10

// checkTag returns an *OptionError if tag is longer than maxTag.
func checkTag(tag string) error {
	if len(tag) > maxTag {
		return &OptionError{Field: "Tag", Reason: fmt.Sprintf("is %d bytes long; the maximum is %d: give a key of your own data instead", len(tag), maxTag)}
	}
	return nil
}
