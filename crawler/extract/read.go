package extract

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/permesso-crawler/permesso/frontier"
)

// Read parses a document of any kind with links: HTML, SVG, style sheets, feeds, and sitemaps. body
// is in UTF-8, as returned by Decode. The links of a sitemap index have the hop
// frontier.HopManifest, those of a sitemap the hop frontier.HopLink. The media type determines the
// kind of the document, for XML together with the root element. A feed that is sent as HTML is read
// as a feed (MIME Sniffing, section 7.3). Read returns false if the document is of another kind.
//
// With opts.Sitemap a sitemap may have any media type, including plain text and gzip, and as many
// entries as sitemaps.org permits.
func Read(body []byte, u frontier.URL, mediaType string, opts Options) (Document, bool) {
	if opts.Sitemap {
		if d, ok := readSitemap(body, u, opts); ok {
			return d, true
		}
	}
	root := rootName(body)
	switch {
	case IsHTML(mediaType):
		if !isFeed(root) {
			return HTML(body, u, mediaType, opts), true
		}
	case mediaType == "text/css":
		if !opts.Embeds {
			return Document{base: u}, true
		}
		return CSS(body, u, opts), true
	case mediaType == "application/feed+json", mediaType == "application/json" && bytes.Contains(body, []byte("jsonfeed.org/version/")):
		return Feed(body, u, mediaType, opts), true
	case mediaType != "text/xml" && mediaType != "application/xml" && !strings.HasSuffix(mediaType, "+xml"):
		return Document{}, false
	}
	switch {
	case isFeed(root):
		return Feed(body, u, mediaType, opts), true
	case root == "html", root == "svg":
		return HTML(body, u, "application/xhtml+xml", opts), true
	case isSitemap(root):
		return readSitemap(body, u, opts)
	}
	return Document{}, false
}

// Reads reports whether documents of a media type may have links that Read finds with opts. It
// looks only at the media type, not at the document.
func Reads(mediaType string, opts Options) bool {
	switch {
	case opts.Sitemap, IsHTML(mediaType):
		return true
	case mediaType == "text/css":
		return opts.Embeds
	}
	return mediaType == "text/xml" || strings.HasSuffix(mediaType, "/xml") || strings.HasSuffix(mediaType, "+xml") || strings.HasSuffix(mediaType, "/json") || strings.HasSuffix(mediaType, "+json")
}

func isFeed(root string) bool { return root == "rss" || root == "feed" || root == "rdf" }

func isSitemap(root string) bool { return root == "urlset" || root == "sitemapindex" }

// maxRootName is the maximum number of bytes of the root element's name that are read, including
// its prefix.
const maxRootName = 64

// rootNames are the names of root elements that determine the kind of a document.
var rootNames = []string{"html", "rss", "feed", "rdf", "svg", "urlset", "sitemapindex"}

// rootName returns the name of the root element of a document, without its prefix, if it is one of
// rootNames. It returns "" if the root element has another name, or if text precedes it.
func rootName(body []byte) string {
	for {
		body = bytes.TrimLeft(body, blanks)
		end := ">"
		switch {
		case bytes.HasPrefix(body, []byte("<!--")):
			end = "-->"
		case bytes.HasPrefix(body, []byte("<?")):
			end = "?>"
		case bytes.HasPrefix(body, []byte("<!")):
			head, _, _ := bytes.Cut(body, []byte(">"))
			if bytes.IndexByte(head, '[') >= 0 {
				_, body, _ = bytes.Cut(body, []byte("]"))
			}
		case len(body) > 1 && body[0] == '<' && startsXMLName(body[1]):
			body = body[1:]
			if i := bytes.IndexAny(body, blanks+"/>"); i >= 0 {
				body = body[:i]
			}
			name := body[bytes.LastIndexByte(body[:min(len(body), maxRootName)], ':')+1:]
			for _, known := range rootNames {
				if strings.EqualFold(string(name[:min(len(name), maxRootName)]), known) {
					return known
				}
			}
			return ""
		default:
			return ""
		}
		_, body, _ = bytes.Cut(body, []byte(end))
	}
}

// readSitemap reads a sitemap. It returns false if body is not a sitemap.
func readSitemap(body []byte, u frontier.URL, opts Options) (Document, bool) {
	c := newCollector(u, nil)
	c.maxLinks, c.maxBytes = maxSitemapURLs, maxSitemapLinkBytes
	var failed error
	s := sitemap{u: u, yield: func(e SitemapEntry, err error) bool {
		if err != nil {
			failed = err
			return false
		}
		return c.entry(e, opts)
	}}
	if isGzip(body) {
		in, err := unzip(bytes.NewReader(body))
		if err != nil {
			return Document{}, false
		}
		s.read(toUTF8(in))
	} else {
		s.read(bufio.NewReaderSize(bytes.NewReader(body), bufferSize))
	}
	if errors.Is(failed, errNotSitemap) {
		return Document{}, false
	}
	d := c.document()
	d.Sitemap = true
	d.Cut = d.Cut || failed != nil && !errors.Is(failed, io.ErrUnexpectedEOF)
	return d, true
}

// entry adds the links of one entry of a sitemap. It returns false if a limit is reached.
func (c *collector) entry(e SitemapEntry, opts Options) bool {
	hop := frontier.HopLink
	if e.Index {
		hop = frontier.HopManifest
	}
	if !c.take(Link{URL: e.URL, Hop: hop, Where: e.where}) {
		return false
	}
	if opts.Changes && !e.LastMod.IsZero() {
		c.doc.Changes = append(c.doc.Changes, Change{e.URL, e.LastMod})
	}
	for _, l := range e.Alternates {
		if !c.take(l) {
			return false
		}
	}
	for _, l := range e.Embeds {
		if opts.Embeds && !c.take(l) {
			return false
		}
	}
	return true
}
