package extract

import (
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// A collector collects the links of a document that is not HTML, up to a maximum number and size.
type collector struct {
	doc                Document
	size               int // total bytes of the links' URLs
	maxLinks, maxBytes int // maximum number of links, and maximum total bytes of their URLs
}

// A found is a reference as written in the document, before it is resolved to a URL.
type found struct {
	raw, where, rel, lang string
	hop                   frontier.Hop
}

// newCollector returns a collector of references that are relative to base. encode converts the
// queries of the references to the encoding of the document; if it is nil, they stay in UTF-8.
func newCollector(base frontier.URL, encode func(string) string) collector {
	return collector{doc: Document{base: base, encode: encode}, maxLinks: MaxLinks, maxBytes: maxLinkBytes}
}

// add adds a reference of the document. It returns false if a limit is reached.
func (c *collector) add(f found) bool { return c.addTo(c.doc.base, f) }

// addTo is like add for a reference that is relative to another base. It ignores a URL that cannot
// be crawled.
func (c *collector) addTo(base frontier.URL, f found) bool {
	target, err := base.ResolveQuery(f.raw, c.doc.encode)
	if err != nil {
		return true
	}
	lang := langOf(f.lang)
	return c.take(Link{URL: target, Hop: f.hop, Where: f.where, Rel: f.rel, NoFollow: robots.RelNoFollow(f.rel), said: lang, lang: uint8(len(lang))})
}

// take adds a link. It returns false if a limit is reached.
func (c *collector) take(l Link) bool {
	c.size += len(l.URL.String())
	if len(c.doc.Links) == c.maxLinks || c.size > c.maxBytes {
		c.doc.Cut = true
		return false
	}
	c.doc.Links = append(c.doc.Links, l)
	return true
}

func (c *collector) document() Document { return c.doc }
