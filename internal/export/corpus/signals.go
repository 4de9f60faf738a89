package corpus

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/crawler/extract"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/export"
	"github.com/permesso-crawler/permesso/robots"
)

// A Refusal is a page that was left out because its owner refuses Options.Purpose.
type Refusal struct {
	URL     string    `json:"url"`
	Time    time.Time `json:"time"` // when the page was requested
	Refused string    `json:"refused"`
	Usage   string    `json:"usage,omitempty"` // all statements of the owner about uses
	License string    `json:"license,omitempty"`
}

func refusal(r *export.Row, by string) *Refusal {
	return &Refusal{URL: r.URL, Time: r.Time, Refused: by, Usage: r.Usage, License: r.License}
}

// refusedBy returns the statement in a row that refuses the purpose p, or "" if no statement
// does.
func refusedBy(r *export.Row, p robots.Purpose) string {
	if r.Fate == export.Refused {
		return r.Refused // the crawl has not stored the body
	}
	for _, use := range p.Uses() {
		granted := map[robots.Use]*bool{
			robots.UseSearch: r.UseSearch, robots.UseAITrain: r.UseAITrain, robots.UseAIInput: r.UseAIInput,
			robots.UseTDM: r.UseTDM, robots.UseArchive: r.UseArchive,
		}[use]
		if granted != nil && !*granted {
			return cmp.Or(statementAbout(r.Usage, use), string(use)+"=n")
		}
	}
	return ""
}

// statementAbout returns the statement about a use from a list in the form of Row.Usage. It
// returns "" if the list has none.
func statementAbout(usage string, use robots.Use) string {
	_, text, _ := strings.Cut("; "+usage, "; "+string(use)+"=n by ")
	for _, next := range [...]robots.Use{robots.UseSearch, robots.UseAITrain, robots.UseAIInput, robots.UseTDM, robots.UseArchive} {
		text, _, _ = strings.Cut(text, "; "+string(next)+"=")
	}
	return text
}

// unread returns a text about a license that the site or the page names and that the crawl has
// not read. The terms of such a license are not known, so it counts as a refusal. unread
// returns "" if there is no such license, or if the crawl had the same purpose, because it has
// then judged the page itself.
func (w *work) unread(r *export.Row, body []byte, header http.Header, u frontier.URL) string {
	judged := !slices.ContainsFunc(w.o.Declared, func(p robots.Purpose) bool { return p != w.o.Purpose })
	if r.License == "" || len(w.o.Purpose.Uses()) == 0 || judged {
		return ""
	}
	named, documents := extract.HeaderLicenses(header["Link"], u)
	if extract.IsHTML(r.Type) {
		text, _ := extract.Decode(body, strings.Join(header["Content-Type"], ","))
		d := extract.HTML(text, u, r.Type, extract.Options{})
		documents = append(documents, d.Licenses...)
		named = append(named, d.Licenses...)
	}
	const unread = "RSL: the crawl has not read the license "
	if len(documents) > 0 {
		return unread + documents[0].String()
	}
	if !slices.ContainsFunc(w.o.Declared, func(p robots.Purpose) bool { return len(p.Uses()) == 0 }) {
		return "" // the crawl has read the licenses that robots.txt names
	}
	for _, l := range strings.Fields(r.License) {
		if !slices.ContainsFunc(named, func(u frontier.URL) bool { return u.String() == l }) {
			return unread + l
		}
	}
	return ""
}
