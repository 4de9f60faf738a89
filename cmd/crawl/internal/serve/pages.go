package serve

import (
	"bytes"
	"context"
	_ "embed"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/feed"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/report"
)

//go:embed pages.html
var pagesText string

var pages = template.Must(template.New("pages").Parse(pagesText))

// looks make the links from parts of reports. The links are relative to the page of a crawl.
var looks = report.NewLooks(func(kind, text string) string {
	switch kind {
	case report.URLs:
		return explainLink(text)
	case report.Site:
		return listLink(text)
	case report.Fate:
		if fate, ok := fateByWords[text]; ok {
			return listLink("", fate)
		}
	}
	return ""
})

// fateByWords has the codes of URLs, by their words in a report.
var fateByWords = func() map[string]frontier.Code {
	all := map[string]frontier.Code{}
	for _, c := range frontier.Fates() {
		all[c.Words()] = c
	}
	return all
}()

// explainLink returns the address of the page that explains a URL, or "" if the text is not a
// URL of a crawl.
func explainLink(text string) string {
	for _, scheme := range []string{"http://", "https://", "ftp://"} {
		if strings.HasPrefix(text, scheme) {
			return "explain?url=" + url.QueryEscape(text)
		}
	}
	return ""
}

// listLink returns the address of the page that lists URLs of a site with some fates. An empty
// site means all sites, and no fates mean all fates.
func listLink(site string, fates ...frontier.Code) string {
	q := url.Values{}
	if site != "" {
		q.Set("site", site)
	}
	for _, f := range fates {
		q.Add("fate", f.String())
	}
	return "list?" + q.Encode()
}

// A frame is what all pages have.
type frame struct {
	Title string
	Text  string // of a refusal
	Above []link // the pages above this one

	Layout string // of a page whose parts change; the script asks for the stream of its parts
	Parts  map[string]template.HTML
	Plots  []string // identifiers of parts
	Tables []string

	Steers bool   // the page has forms that change a crawl
	Extra  any    // what only this page has
	Noted  string // what the reader has to know
}

// A link is a text with an address.
type link struct{ Href, Text string }

// render writes a page.
func render(w http.ResponseWriter, code int, name string, of frame) {
	var text bytes.Buffer
	if err := pages.ExecuteTemplate(&text, name, of); err != nil {
		plain(w, http.StatusInternalServerError, err.Error())
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write(text.Bytes()) // fails only if the client has left
}

// part renders a part of a page.
func part(id, name string, of any) feed.Part {
	var text strings.Builder
	if err := pages.ExecuteTemplate(&text, name, of); err != nil {
		return feed.Part{ID: id, HTML: template.HTMLEscapeString(err.Error())}
	}
	return feed.Part{ID: id, HTML: text.String()}
}

// maxFirst is how long a page waits for its parts. After that it is shown without them, and its
// script or the browser loads it again.
const maxFirst = 3 * time.Second

// show answers with a page whose parts come from a feed.
func (s *Server) show(w http.ResponseWriter, r *http.Request, name string, of frame, f *feed.Feed) {
	ctx, cancel := context.WithTimeout(r.Context(), maxFirst)
	defer cancel()
	reader := f.Join()
	defer reader.Leave()
	of.Layout, of.Parts = "waiting", map[string]template.HTML{}
	if now, err := reader.Next(ctx); err == nil {
		of.Layout = now.Layout
		for _, p := range now.Parts {
			of.Parts[p.ID] = template.HTML(p.HTML) // made by templates, which have escaped all texts
			switch {
			case strings.HasPrefix(p.ID, "plot-"):
				of.Plots = append(of.Plots, p.ID)
			case strings.HasPrefix(p.ID, "table-"):
				of.Tables = append(of.Tables, p.ID)
			}
		}
	}
	render(w, http.StatusOK, name, of)
}
