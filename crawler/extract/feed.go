package extract

import (
	"bytes"
	"strings"

	"github.com/permesso-crawler/permesso/frontier"
)

// Feed parses a feed in UTF-8 that was fetched from u. A feed is RSS 0.9 to 2.0, Atom (RFC 4287),
// or JSON Feed. JSON Feed is recognised by its media type or by a brace at its beginning. Feed
// applies xml:base. Queries are in UTF-8 even if the feed was not (RFC 3987, section 3.1).
//
// The links are items, their comments and sources, authors, and other pages of the feed.
// Enclosures, such as recordings, are links, too, because showing a feed does not load them.
// Pictures have HopEmbed, and are found only if opts.Embeds is set. The HTML in items is not read,
// because the pages of the items usually contain it, too. URLs of the feed itself, of hubs and for
// editing are left out, because they lead to no page.
//
// The time of an item's change is its updated (RFC 4287), modified or date_modified. If it has none
// of these, the time is its pubDate or date. Document.Every is the ttl of RSS 2.0, or is computed
// from updatePeriod and updateFrequency (RDF Site Summary 1.0, module Syndication).
func Feed(body []byte, u frontier.URL, mediaType string, opts Options) Document {
	f := feed{c: newCollector(u, nil), embeds: opts.Embeds, dates: dates{changes: opts.Changes}, part: "feed", base: u}
	f.c.doc.Feed = true
	if isJSON(mediaType) || bytes.HasPrefix(bytes.TrimLeft(body, blanks), []byte("{")) {
		f.json(body)
	} else {
		f.xml(newXMLScanner(bytes.NewReader(body), u))
	}
	f.c.doc.Every = f.every()
	return f.c.document()
}

// isJSON reports whether mediaType is one of JSON Feed (version 1.1, "Discovery").
func isJSON(mediaType string) bool {
	return mediaType == "application/feed+json" || mediaType == "application/json"
}

type feed struct {
	c            collector
	embeds       bool
	limitReached bool // a limit is reached, and no more links are accepted
	dates
	part string // the part of the feed that is being read: "feed", "item" or "entry"

	x *xmlScanner
	// Name of the open element if it describes an image or a person; otherwise "".
	within string
	textOf string       // name of the element whose text is being collected; otherwise ""
	base   frontier.URL // base URL for the references of the element that began last
}

func (f *feed) xml(x *xmlScanner) {
	f.x = x
	for !f.limitReached {
		token := x.next()
		f.handleText()
		switch token {
		case xmlEOF:
			return
		case xmlStart:
			f.start(x.name)
		case xmlEnd:
			f.end(x.name)
		}
	}
}

func (f *feed) start(name string) {
	f.base = f.x.base()
	switch name {
	case "item", "entry":
		f.endItem()
		f.part, f.within = name, ""
		f.beginItem()
	case "author", "contributor":
		f.within = name
	case "image":
		// RSS 1.0 has two elements named image. The image element of iTunes podcasts has its URL in
		// href.
		if f.within = name; f.x.attr("href") != "" {
			f.embed(f.x.attr("href"), name)
		}
	case "link":
		if href := f.x.attr("href"); href == "" {
			f.collect(name)
		} else if rel := f.x.attr("rel"); leadsOn(rel) {
			f.add(found{raw: href, where: f.part + "/" + name, rel: rel, lang: f.x.attr("hreflang"), hop: frontier.HopLink})
		}
	case "guid":
		if !strings.EqualFold(f.x.attr("ispermalink"), "false") {
			f.collect(name)
		}
	case "comments", "commentrss", "origlink", "new-feed-url", "logo", "icon":
		f.collect(name)
	case "url", "uri": // Atom 0.3 uses url for persons, too
		if f.within != "" {
			f.collect(name)
		}
	case "pubdate", "date", "updated", "modified":
		if f.changes && f.part != "feed" {
			f.collect(name)
		}
	case "ttl", "updateperiod", "updatefrequency":
		if f.part == "feed" {
			f.collect(name)
		}
	case "title":
		if f.part == "feed" && f.within == "" && f.c.doc.Title == "" {
			f.collect(name)
		}
	case "enclosure", "player":
		f.link(f.x.attr("url"), name, "")
	case "thumbnail":
		f.embed(f.x.attr("url"), name)
	case "content":
		f.content()
	case "source":
		f.link(f.x.attr("url"), name, "")
		f.skip()
	case "textinput", "description", "encoded", "summary":
		f.skip()
	}
}

// content adds the URL of an entry's content in another file (RFC 4287, section 4.1.3.2), or of a
// file of Media RSS.
func (f *feed) content() {
	f.link(f.x.attr("src"), "content", "")
	url := f.x.attr("url")
	if f.x.attr("medium") == "image" || strings.HasPrefix(f.x.attr("type"), "image/") {
		f.embed(url, "content")
	} else {
		f.link(url, "content", "")
	}
	if url == "" {
		f.skip()
	}
}

// skip skips the content of an element that may contain HTML.
func (f *feed) skip() { f.x.skip("item", "entry", "channel", "feed", "rss", "rdf") }

func (f *feed) end(name string) {
	switch name {
	case "item", "entry":
		f.endItem()
		f.part, f.within = "feed", ""
	case "author", "contributor", "image":
		f.within = ""
	}
}

func (f *feed) collect(name string) {
	f.textOf = name
	f.x.collect()
}

// handleText reads the text of the element f.textOf, which has ended.
func (f *feed) handleText() {
	name := f.textOf
	if name == "" {
		return
	}
	f.textOf = ""
	text, whole := f.x.collected()
	if !whole || f.x.eof {
		return
	}
	switch name {
	case "title":
		f.c.doc.Title = strings.Join(strings.Fields(strings.ToValidUTF8(text, "\ufffd")), " ")
	case "logo", "icon":
		f.embed(text, name)
	case "pubdate", "date", "updated", "modified":
		f.date(text, name == "updated" || name == "modified")
	case "ttl", "updateperiod", "updatefrequency":
		f.rhythm(name, text)
	case "url":
		if f.within == "image" {
			f.embed(text, name)
		} else {
			f.link(text, name, "")
		}
	case "link", "uri":
		f.link(text, name, "")
	default:
		// The text may also be a number or a name, so only a URL is a link.
		if u, err := frontier.ParseURL(text); err == nil {
			f.link(u.String(), name, "")
		}
	}
}

func (f *feed) link(raw, name, rel string) {
	f.add(found{raw: raw, where: f.part + "/" + name, rel: rel, hop: frontier.HopLink})
}

func (f *feed) embed(raw, name string) {
	if f.embeds {
		f.add(found{raw: raw, where: f.part + "/" + name, hop: frontier.HopEmbed})
	}
}

func (f *feed) add(r found) {
	if r.raw == "" || f.limitReached {
		return
	}
	f.limitReached = !f.c.addTo(f.base, r)
}

// leadsOn reports whether a link of Atom with this rel leads to a document. It knows the link types
// of HTML and of feeds (RFC 4287, section 4.2.7.2; RFC 4685, section 4; RFC 5005, sections 3 and
// 4).
func leadsOn(rel string) bool {
	rel = strings.ToLower(rel)
	for _, registry := range []string{"http://www.iana.org/assignments/relation/", "http://www.iana.org/assignments/link-relations/"} {
		rel = strings.TrimPrefix(rel, registry)
	}
	switch rel {
	case "", "related", "via", "enclosure", "replies", "current", "prev-archive", "next-archive":
		return true
	}
	return linked(rel)
}
