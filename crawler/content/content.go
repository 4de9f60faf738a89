package content

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"codeberg.org/readeck/go-readability/v2"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/extract"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxBody is the maximum size of a body, in bytes. Of returns an error for a larger one.
const maxBody = 32 << 20

// ErrNoText is wrapped by the errors for a body that is neither HTML nor plain text.
var ErrNoText = errors.New("no text")

// Options select the parts of a page that [Of] returns.
type Options struct {
	Whole    bool // return the content of the whole page instead of its main content
	Markdown bool // also set Content.Markdown
}

// A Content is the content of a page. All texts are valid UTF-8.
type Content struct {
	// Title is the text of the title element. Each sequence of white space in it is replaced by one
	// space.
	Title string
	// Language is the lang attribute of the html element, such as "de-AT". It is not checked.
	Language string
	// Text is the text without markup. The text of a block element, such as a paragraph, is on a
	// line of its own. Each sequence of white space is replaced by one space, except in pre
	// elements.
	Text string
	// Markdown is Text in the syntax of CommonMark, with tables as in GitHub Flavored Markdown.
	// Its links are absolute. It is empty unless Options.Markdown is set. For plain text, and if
	// Limited is set, it is Text with Markdown's special characters escaped.
	Markdown string
	// Main reports whether Text and Markdown are the main content. It is false if they are the
	// content of the whole page, because the options require that or because no main content was
	// found.
	Main bool
	// Limited is empty, unless the page exceeds a limit of this package. Then it names that limit,
	// and Text and Markdown are the text of the whole page without structure.
	Limited string
}

// Text returns the main text of p. If p has no main content, it returns the text of the whole page.
// It fails like [Of].
func Text(p *crawler.Page) (string, error) {
	c, err := of(p, Options{})
	return c.Text, err
}

// Markdown returns the main content of p as Markdown. If p has no main content, it returns the
// whole page as Markdown. It fails like [Of].
func Markdown(p *crawler.Page) (string, error) {
	c, err := of(p, Options{Markdown: true})
	return c.Markdown, err
}

func of(p *crawler.Page, o Options) (Content, error) {
	return Of(p.Text(), p.Type+"; charset=utf-8", p.URL, o)
}

// Of returns the content of a page. contentType is the value of its Content-Type field. body is the
// body after its content coding, such as gzip, was removed. It is decoded as in extract.Decode.
// Links are resolved against u, or against the base element of the page. Of is safe for concurrent
// use.
//
// The error wraps ErrNoText if the body is neither HTML nor plain text, even if contentType says
// that it is. Of also fails for a body of more than 32 MiB.
func Of(body []byte, contentType string, u frontier.URL, o Options) (Content, error) {
	mediaType := fetch.ParseMediaType([]string{contentType}).Type
	isHTML := extract.IsHTML(mediaType)
	if !isHTML && mediaType != "text/plain" && mediaType != "text/markdown" {
		return Content{}, fmt.Errorf("%w: the media type is %q", ErrNoText, mediaType)
	}
	if len(body) > maxBody {
		return Content{}, fmt.Errorf("the body has %d bytes, at most %d are read", len(body), maxBody)
	}
	body, _ = extract.Decode(body, contentType)
	if is := binaryType(body); is != "" {
		return Content{}, fmt.Errorf("%w: the body is %s, not %s", ErrNoText, is, mediaType)
	}
	if !isHTML {
		c := Content{Text: strings.ToValidUTF8(string(body), "\uFFFD")}
		if o.Markdown {
			c.Markdown = c.Text
			if mediaType == "text/plain" {
				c.Markdown = escape(c.Text)
			}
		}
		return c, nil
	}
	if mediaType == "application/xhtml+xml" {
		body = closeEmpty(body)
	}
	return ofHTML(body, u, o), nil
}

// ofHTML returns the content of an HTML page in UTF-8.
func ofHTML(body []byte, u frontier.URL, o Options) Content {
	whole := readPlain(body)
	c := Content{Title: whole.title, Language: whole.lang, Text: whole.String()}
	if o.Whole && !o.Markdown {
		return c
	}
	main := c
	err := whole.limit(len(body))
	if err == nil {
		err = main.structure(body, u, o)
	}
	if err == nil {
		return main
	}
	c.Limited = err.Error()
	if o.Markdown {
		c.Markdown = escape(c.Text)
	}
	return c
}

// structure sets the parts of c for which the element tree of the page is needed. If a library
// panics, it returns an error.
func (c *Content) structure(body []byte, u frontier.URL, o Options) (err error) {
	defer func() {
		if failed := recover(); failed != nil {
			err = fmt.Errorf("the library that finds the content failed: %v", failed)
		}
	}()
	doc, err := parse(body, u)
	if err != nil {
		return err
	}
	if !o.Whole {
		var text string
		if doc, text, err = findMain(doc, body, u, utf8.RuneCountInString(c.Text)); err != nil {
			return err
		}
		if text != "" {
			c.Main, c.Text = true, text
		}
	}
	if o.Markdown {
		c.Markdown, err = markdownOf(doc)
	}
	return err
}

// leastMain is the minimum number of characters of a plausible main content. Readability has the
// same threshold, but it returns less if it finds nothing better.
const leastMain = 500

// findMain returns the main content of a page and its text. It returns the result of Readability,
// unless that is only a small part of the page, such as a menu or a footer. Otherwise it returns
// the element that the page declares as its main content. If none exists, it returns the whole
// page and an empty text. doc is the tree of body, which findMain changes. whole is the number of
// characters on the whole page.
func findMain(doc *html.Node, body []byte, u frontier.URL, whole int) (*html.Node, string, error) {
	if found, err := readable(doc, u); err == nil && found != nil {
		text, err := textOf(found)
		if n := utf8.RuneCountInString(text); err != nil || n >= leastMain || n > 0 && 2*n >= whole {
			return found, text, err
		}
	}
	doc, err := parse(body, u) // parsed again, because Readability has changed doc
	if err != nil {
		return nil, "", err
	}
	if declared := declaredMain(doc); declared != nil {
		if text, err := textOf(declared); err != nil || text != "" {
			return declared, text, err
		}
	}
	return doc, "", nil
}

// declaredMain returns the element that the page declares as its main content. This is the main
// element (HTML, section 4.4.14), or the element with the role main (WAI-ARIA 1.2). It returns nil
// if there is no such element, or more than one.
func declaredMain(doc *html.Node) (found *html.Node) {
	for n := range doc.Descendants() {
		role := attr(n, "role")
		if n.DataAtom != atom.Main && (role == nil || role.Val != "main") {
			continue
		}
		if found != nil {
			return nil
		}
		found = n
	}
	return found
}

// readable returns the main content that Readability finds in a document, or nil if it finds none.
// It changes the document.
func readable(doc *html.Node, u frontier.URL) (*html.Node, error) {
	at, err := url.Parse(u.String())
	if err != nil {
		return nil, err
	}
	p := readability.NewParser()
	p.Logger, p.KeepClasses = slog.New(slog.DiscardHandler), true // classes are kept, because a class may name the language of code
	p.DisableJSONLD = true
	found, err := p.ParseAndMutate(doc, at)
	if found.Node != nil {
		restoreTables(found.Node)
	}
	return found.Node, err
}

// textOf returns the text of the tree n.
func textOf(n *html.Node) (string, error) {
	var b bytes.Buffer
	if err := html.Render(&b, n); err != nil {
		return "", err
	}
	return readPlain(b.Bytes()).String(), nil
}

// binaryType returns the media type of a body that is not text, or "" for text. Some signatures of
// images, fonts and recordings, such as BM or OTTO, may also be the first word of a text. So they
// count only if the body also has control characters. A body of an unknown type is text unless a
// twentieth of its first bytes are control characters.
func binaryType(body []byte) string {
	is := http.DetectContentType(body)
	if strings.HasPrefix(is, "text/") {
		return ""
	}
	unknown := is == "application/octet-stream"
	if !unknown && strings.HasPrefix(is, "application/") {
		return is
	}
	head := body[:min(len(body), 4<<10)]
	controls := 0
	for _, c := range head {
		if c < ' ' && (c < '\t' || c > '\r') && c != 0x1b {
			controls++
		}
	}
	if controls == 0 || unknown && controls*20 < len(head) {
		return ""
	}
	return is
}
