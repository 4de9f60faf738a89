package crawler

import (
	"context"
	"fmt"
)

// maxTag is the maximum length of a tag, in bytes.
const maxTag = 64 << 10

// checkTag returns an *OptionError for a tag that is too long.
func checkTag(tag string) error {
	if len(tag) > maxTag {
		return &OptionError{Field: "Tag", Reason: fmt.Sprintf("is %d bytes long; the maximum is %d: give a key of your own data instead", len(tag), maxTag)}
	}
	return nil
}

// Tags is a Handler that passes each page to the Handler for the page's tag. So a program can
// handle list pages and item pages differently without patterns for their URLs: when it follows
// a link, it says with a tag what the link leads to (Page.FollowTag, Page.FollowLink). A seed
// has the tag that follows its tab (see Options.Seeds). Any other page has the tag of the page
// on which it was found, unless it was given another one before it is fetched. So a page that is
// first found in a sitemap has the tag of the sitemap if it is fetched before any handler
// follows a link to it. If that matters, set Options.Sitemaps to SitemapsNone.
//
// The Handler for "" gets the pages without a tag, and those whose tag has no Handler. A nil
// Handler ignores its pages. If neither the tag of a page nor "" has a Handler, the error is a
// *TagError. It is counted, logged and passed to Options.OnError like an error of any Handler,
// so that no page is lost silently because a tag is misspelled.
//
// A tag is any text of at most 64 KiB. It may be data about the page, such as JSON with the price
// that the list says; then a program reads p.Entry.Tag itself, in place of Tags.
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
