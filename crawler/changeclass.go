package crawler

import "github.com/permesso-crawler/permesso/crawler/extract"

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
