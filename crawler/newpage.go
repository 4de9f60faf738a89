package crawler

import (
	"github.com/permesso-crawler/permesso/crawler/extract"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
)

// NewPage returns the Page that a visit would make of x, the answer to a request for e. It is
// for testing a Handler (see crawltest.Page), and for passing an archived answer to a Handler.
// It uses the fields Status, Header, Body and Truncated of x. token is the product token by
// which robots directives may name the crawler. Nothing is fetched, and the verdict of
// robots.txt is not known. URLs that the Handler follows are not queued: Followed returns them.
func NewPage(e frontier.Entry, x *fetch.Exchange, token string) *Page {
	return newPage(new(Page), e, &fetch.Result{Page: x}, extract.Options{Token: token})
}
