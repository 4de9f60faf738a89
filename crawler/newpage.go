package crawler

import (
	"github.com/permesso-crawler/permesso/crawler/extract"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
)

// NewPage is the page that a visit makes of an answer to a request for e: to test a
// Handler with (see crawltest.Page), or to give it what an archive has. Of x those fields
// count that the answer has: Status, Header, Body and Truncated. token is the product
// token that robots directives may name. Nothing is fetched; the verdict of robots.txt
// is not known, and what is followed is queued by nobody: Followed has it.
func NewPage(e frontier.Entry, x *fetch.Exchange, token string) *Page {
	return newPage(new(Page), e, &fetch.Result{Page: x}, extract.Options{Token: token})
}
