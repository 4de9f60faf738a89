package crawler

import (
	"github.com/permesso-crawler/permesso/crawler/extract"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
)

// NewPage returns the Page that a visit makes of an answer to a request for e: to test a
// Handler (see crawltest.Page), or to pass it an archived answer. It uses the fields Status,
// Header, Body and Truncated of x. token is the product token that robots directives may name.
// Nothing is fetched; the verdict of robots.txt is not known, and followed URLs are not queued:
// Followed returns them.
func NewPage(e frontier.Entry, x *fetch.Exchange, token string) *Page {
	return newPage(new(Page), e, &fetch.Result{Page: x}, extract.Options{Token: token})
}
