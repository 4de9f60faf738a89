package crawler

import (
	"context"
	"fmt"
)

// Tags is a Handler that gives each page to the one for its tag: list pages and item
// pages need no patterns, since who follows a link says what it leads to
// (Page.FollowTag, Page.FollowLink). A page has the tag of the page on which it was
// found, where nobody gave it another one, and a seed the one behind its tab. Who finds
// a URL first counts: what a sitemap of robots.txt names comes without a tag, unless
// Options.Links gives it one or SitemapsNone leaves it to the pages.
//
// The Handler of "" is for the pages without a tag, and for those whose tag has none.
// A nil Handler is one for pages with which nothing is to be done. A page whose tag
// has none, where there is none for "" either, is a *TagError: counted, logged and
// given to Options.OnError as an error of any Handler is, so that a tag that is
// spelled wrong does not lose pages without a word.
//
// It must not be changed while a crawl runs.
type Tags map[string]Handler

// Handle implements Handler.
func (t Tags) Handle(ctx context.Context, p *Page) error {
	h, ok := t[p.Entry.Tag]
	if !ok {
		h, ok = t[""]
	}
	switch {
	case !ok:
		return &TagError{p.Entry.Tag}
	case h == nil:
		return nil
	}
	return h.Handle(ctx, p)
}

// A TagError says that Tags have no Handler for a page.
type TagError struct {
	Tag string // of the page
}

func (e *TagError) Error() string {
	return fmt.Sprintf(`crawler: the tags have no handler for the tag %q, and none for "" that would take its pages`, e.Tag)
}
