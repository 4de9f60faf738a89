package crawler

import (
	"fmt"

	"github.com/andybalholm/cascadia"

	"github.com/permesso-crawler/permesso/crawler/extract"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// FollowTag is like Follow, but the URL gets the given tag instead of the tag of the page: see
// Tags. The tag also applies if the page itself has a link to the URL, and if the URL is already
// queued, for example because a sitemap names it. If handlers give one URL several tags, the last
// tag before the fetch is used. A seed keeps its tag. The error is a *frontier.URLError, or an
// *OptionError for a tag of more than 64 KiB.
func (p *Page) FollowTag(ref, tag string) error {
	u, err := p.Resolve(ref)
	if err == nil {
		err = checkTag(tag)
	}
	if err == nil {
		p.follow(u, tag)
	}
	return err
}

// FollowLink is like FollowTag for a link that Links has returned: its URL is queued with the tag,
// even if the link is marked nofollow. The error is frontier.ErrNoURL for a Link without a URL, or
// an *OptionError for a tag of more than 64 KiB.
func (p *Page) FollowLink(l extract.Link, tag string) error {
	if l.URL.IsZero() {
		return frontier.ErrNoURL
	}
	if err := checkTag(tag); err != nil {
		return err
	}
	p.follow(l.URL, tag)
	return nil
}

// FollowAll is like FollowTag for each element of the page that has an href and matches the CSS
// selector, such as "a.item" or "ul.pages a". It leaves out links that the owner asks crawlers not
// to follow (rel=nofollow, or a robots directive of the page), and references that are not valid
// URLs (see Broken). It fails if the selector is not valid, if Doc fails, or with an *OptionError
// for a tag of more than 64 KiB.
func (p *Page) FollowAll(selector, tag string) error {
	if err := checkTag(tag); err != nil {
		return err
	}
	matcher, err := cascadia.Compile(selector)
	if err != nil {
		return fmt.Errorf("crawler: the selector %q: %w", selector, err)
	}
	doc, err := p.Doc()
	if err != nil || p.Directives.NoFollow {
		return err
	}
	for _, link := range doc.FindMatcher(matcher).EachIter() {
		ref, ok := link.Attr("href")
		if !ok || robots.RelNoFollow(link.AttrOr("rel", "")) {
			continue
		}
		if u, err := p.Resolve(ref); err == nil {
			p.follow(u, tag)
		}
	}
	return nil
}

// Followed returns an entry for each URL that the handler has followed so far, in the order of the
// calls. It is meant for tests of a handler. Not every entry will be fetched: scope and depth are
// applied only after the handler, and robots.txt may forbid the request.
func (p *Page) Followed() []frontier.Entry {
	var entries []frontier.Entry
	for _, u := range p.followed {
		e := p.Entry.Found(u, frontier.HopLink)
		e.Tag = p.tagOf(u.Key())
		entries = append(entries, e)
	}
	return entries
}

func (p *Page) follow(u frontier.URL, tag string) {
	p.followed = append(p.followed, u)
	if p.tags == nil {
		p.tags = map[string]string{}
	}
	p.tags[u.Key()] = tag
}

// lateEntries returns the entries to queue for the URLs that the program followed on p after the
// end of the visit. It leaves out URLs that the crawl refuses. The error is a *PanicError if a
// function of the options panicked.
func (j *job) lateEntries(p *Page) (entries []frontier.Entry, err error) {
	f := newFindings()
	err = safely("Scope, Links, Rewrite, Same or OnSkip", func() {
		s := j.sorting(p, f, j.onSkip)
		s.addFollowed()
	})
	if err == nil {
		err = j.tags.put(f.tagged)
	}
	return f.entries, err
}
