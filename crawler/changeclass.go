package crawler

import "github.com/permesso-crawler/permesso/crawler/extract"

// A ChangeClass says what became of a page since the crawl before, which
// Options.Previous names, or since the visit before, with Options.Revisit.
type ChangeClass string

// The classes. A page has none where there is no crawl before, and none that fetches pages
// again, where what there is of it cannot be read, or was cut, and where the page is no
// answer to GET with a 2xx status. Of a visit before whose body is not archived the bytes
// are known to be the same or not: with others the page counts as modified.
const (
	ChangeNew         ChangeClass = "new"          // it was not fetched before, or its last answer was no page
	ChangeModified    ChangeClass = "modified"     // what readers see of it is another text
	ChangeSameText    ChangeClass = "same-text"    // it has other bytes, and the same Page.TextDigest
	ChangeNotModified ChangeClass = "not-modified" // the server says so, or it has the same bytes
)

// ChangeClasses are all classes, in the order in which figures list them.
func ChangeClasses() []ChangeClass {
	return []ChangeClass{ChangeNew, ChangeModified, ChangeSameText, ChangeNotModified}
}

// TextDigest is what extract.TextDigest says of the body; empty for a page that has none
// to be looked at: an answer to HEAD, or with another status than 2xx.
func (p *Page) TextDigest() string {
	if p.Exchange.Head || p.Status/100 != 2 || p.refused != "" {
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
