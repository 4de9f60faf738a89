package main

import (
	"regexp"
	"strings"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"

	"github.com/permesso-crawler/permesso/crawler"
)

// Each of these expressions matches a part of a text with a link. The link is the first group.
var (
	whole     = regexp.MustCompile(`^\s*(.*?)\s*$`)
	inStyle   = regexp.MustCompile(`(?i)(?:url\(\s*["']?|@import\s+["'])([^"')\s]+)`)
	inSrcset  = regexp.MustCompile(`([^\s,](?:\S*[^\s,])?)(?:\s+[^,]*)?`)
	inRefresh = regexp.MustCompile(`(?i)^[^;]*;\s*url\s*=\s*["']?([^"'\s]+)`)
)

// linked has the expressions for the values of attributes that have links.
var linked = map[string]*regexp.Regexp{
	"href": whole, "src": whole, "action": whole, "poster": whole, "data": whole, "background": whole,
	"srcset": inSrcset, "imagesrcset": inSrcset, "style": inStyle,
	"data-src": whole, "data-srcset": inSrcset, // of images that a script loads late
}

// rewrite returns the page in UTF-8, with each link replaced by the result of the function
// link. A page that cannot be parsed is returned as it is.
func rewrite(p *crawler.Page, link func(string) string) []byte {
	doc, err := p.Doc()
	if err != nil {
		return p.Body
	}
	doc.Find("base").RemoveAttr("href")
	doc.Find("*").RemoveAttr("integrity").Each(func(_ int, s *goquery.Selection) {
		for i, a := range s.Nodes[0].Attr {
			if re := linked[a.Key]; re != nil {
				s.Nodes[0].Attr[i].Val = replace(re, a.Val, link)
			}
		}
	})
	doc.Find("meta[http-equiv=refresh i]").Each(func(_ int, s *goquery.Selection) {
		s.SetAttr("content", replace(inRefresh, s.AttrOr("content", ""), link))
	})
	doc.Find("style").Each(func(_ int, s *goquery.Selection) {
		if text := s.Nodes[0].FirstChild; text != nil {
			text.Data = replace(inStyle, text.Data, link)
		}
	})
	doc.Find("head").PrependHtml(`<meta charset="utf-8">`)
	var out strings.Builder
	if html.Render(&out, doc.Nodes[0]) != nil {
		return p.Body
	}
	return []byte(out.String())
}

// replace replaces the link in each match of re.
func replace(re *regexp.Regexp, text string, link func(string) string) string {
	var out strings.Builder
	end := 0
	for _, m := range re.FindAllStringSubmatchIndex(text, -1) {
		out.WriteString(text[end:m[2]] + link(text[m[2]:m[3]]))
		end = m[3]
	}
	return out.String() + text[end:]
}

// plain returns a name without characters that are special in names of files or in URLs, except
// slashes.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-=~/", r) {
			return r
		}
		return '_'
	}, name)
}
