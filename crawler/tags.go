package crawler

import (
	"context"
	"fmt"
)

// Tags is a Handler that passes each page to the Handler for the page's tag. So a program can
// handle list pages and item pages differently without patterns for their URLs: when it follows
// a link, it says with a tag what the link leads to (Page.FollowTag, Page.FollowLink). A page
// has the tag of the page on which it was found, unless another one was given, and a seed has
// the tag after its tab (see Options.Seeds). The first link to a URL decides its tag: URLs in a
// sitemap of robots.txt have no tag, unless Options.Links sets one or Options.Sitemaps is
// SitemapsNone, so that they are found on pages.
//
// The Handler of "" is for the pages without a tag, and for those whose tag has no Handler. A
// nil Handler ignores its pages. A page whose tag has no Handler, if there is none for ""
// either, causes a *TagError: counted, logged and passed to Options.OnError like an error of
// any Handler, so that a misspelled tag does not lose pages silently.
//
// The map must not be changed while a crawl runs.
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

// A TagError says that a Tags has no Handler for a page.
type TagError struct {
	Tag string // tag of the page
}

func (e *TagError) Error() string {
	return fmt.Sprintf(`crawler: the tags have no handler for the tag %q, and none for "" that would take its pages`, e.Tag)
}
