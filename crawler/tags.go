package crawler

import (
	"context"
	"fmt"
)

// Tags is a Handler that passes each page to the Handler for its tag: list pages and item
// pages need no patterns, since the program that follows a link says what it leads to
// (Page.FollowTag, Page.FollowLink). A page has the tag of the page on which it was found,
// unless another one was given, and a seed the tag after its tab. The first link to a URL
// decides: URLs in a sitemap of robots.txt have no tag, unless Options.Links sets one or
// SitemapsNone leaves them to the pages.
//
// The Handler of "" is for the pages without a tag, and for those whose tag has no Handler. A
// nil Handler ignores its pages. A page without any Handler is a *TagError: counted, logged
// and passed to Options.OnError like an error of any Handler, so that a misspelled tag does
// not lose pages silently.
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
