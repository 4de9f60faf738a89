package botpage

import (
	"bytes"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// relation is the relation of a link from the page of a crawler to its IP list
// (draft-illyes-webbotauth-cbcp-01, section 2.5).
const relation = "client-ranges"

// Read is what a page says that site owners and programs need.
type Read struct {
	Text  string   // the visible text, and the robots.txt examples in it
	Mails []string // e-mail addresses that the page links to
	IPs   string   // URL of the IP list; empty: the page names no list
}

// ReadPage reads a page at the URL base. links are the Link fields of its answer (RFC 8288).
func ReadPage(body []byte, base string, links []string) (r Read) {
	var text strings.Builder
	ips := ""
	for t, skip := html.NewTokenizer(bytes.NewReader(body)), ""; ; {
		switch t.Next() {
		case html.ErrorToken:
			if r.Text = text.String(); ips == "" {
				ips = linked(links)
			}
			if at, err := url.Parse(base); err == nil && ips != "" {
				if to, err := at.Parse(ips); err == nil {
					r.IPs = to.String()
				}
			}
			return r
		case html.TextToken:
			if skip == "" {
				text.Write(t.Text())
				text.WriteByte(' ')
			}
		case html.EndTagToken:
			if name, _ := t.TagName(); string(name) == skip {
				skip = ""
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			token := t.Token()
			href := attribute(token, "href")
			switch {
			case token.DataAtom == atom.Style || token.DataAtom == atom.Script:
				skip = token.Data
			case token.DataAtom == atom.Link && ips == "" && slices.Contains(strings.Fields(strings.ToLower(attribute(token, "rel"))), relation):
				ips = href
			case token.DataAtom == atom.A && strings.HasPrefix(href, "mailto:") && strings.Contains(href, "@"):
				r.Mails = append(r.Mails, strings.TrimPrefix(href, "mailto:"))
			}
		}
	}
}

func attribute(t html.Token, name string) string {
	for _, a := range t.Attr {
		if a.Key == name {
			return strings.TrimSpace(a.Val)
		}
	}
	return ""
}

// linkField is a link with the relation in a Link field. Names of parameters and relations ignore
// case (RFC 8288, sections 3 and 2.1.1).
var linkField = regexp.MustCompile(`(?i)<([^>]*)>[^<]*;\s*rel="?(?:[^"<;]*\s)?` + relation + `(?:["\s;,]|$)`)

// linked returns the target of the first link to an IP list in Link fields, or "".
func linked(fields []string) string {
	for _, f := range fields {
		if m := linkField.FindStringSubmatch(f); m != nil {
			return m[1]
		}
	}
	return ""
}
