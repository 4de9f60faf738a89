package crawler

import (
	"fmt"
	"time"

	"github.com/permesso-crawler/permesso/crawler/extract"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/admit"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/robots"
)

// next returns an entry to queue for each URL that the page links to and the crawl wants, each URL
// once. The entries are valid until f is used for another page. The error is a *PanicError if a
// function of the options panicked, or an error of storing tags.
func (j *job) next(p *Page, f *findings) (entries []frontier.Entry, err error) {
	err = safely("Scope, Links, Rewrite, Same or OnSkip", func() { entries = j.wantedOf(p, f, j.onSkip) })
	if err == nil {
		err = j.tags.put(f.tagged)
	}
	return entries, err
}

// wantedOf is like next, but does not recover from panics and stores no tags. It calls tell for
// each link that is not queued.
func (j *job) wantedOf(p *Page, f *findings, tell func(Skip)) []frontier.Entry {
	f.clear()
	s := j.sorting(p, f, tell)
	// The target may be another spelling of the page's URL (see sorting.samePage), but not that URL.
	if p.redirect && j.opts.rewrite(p.Location) != p.URL {
		s.add(&extract.Link{URL: p.Location, Hop: frontier.HopRedirect})
	}
	f.seen[p.URL.Key()] = struct{}{}
	links := p.html.Links
	if p.Entry.Head { // an answer to HEAD has no body that could have links
		links = nil
	}
	for i := range links {
		l := &links[i]
		if j.framed(p, l) {
			shown := *l
			shown.Hop = frontier.HopEmbed
			s.add(&shown)
		} else if s.follows(l) {
			s.add(l)
		}
	}
	s.addFollowed()
	return f.entries
}

// A sorting decides which links of one page are queued.
type sorting struct {
	job  *job
	page *Page
	*findings
	onSkip func(Skip)
	from   admit.Finder
	// tags of the URLs that the handler follows, by the keys of these URLs after Rewrite
	tags    map[string]string
	pageKey string // the key of the page, as returned by ownKey

	// The entry of the last link; while the kind of link (frontier.Hop) stays the same, the next
	// links only replace its URL and tag.
	entry       frontier.Entry
	hop         frontier.Hop
	lastVerdict verdict
}

// A verdict is the decision whether to queue the last link of a page. It is kept because the next
// link often leads to the same site, and then the decision is the same.
type verdict struct {
	site   frontier.Site
	by     frontier.Hop
	reason frontier.Code
}

func (j *job) sorting(p *Page, f *findings, tell func(Skip)) sorting {
	s := sorting{job: j, page: p, findings: f, onSkip: tell, from: admit.NewFinder(p.URL, time.Now()), tags: p.tags, pageKey: j.opts.ownKey(p)}
	if j.opts.Rewrite == nil || len(p.tags) == 0 {
		return s
	}
	s.tags = map[string]string{}
	for _, u := range p.followed {
		tag, tagged := p.tags[u.Key()]
		if u = j.opts.rewrite(u); tagged && !u.IsZero() {
			s.tags[u.Key()] = tag
		}
	}
	return s
}

// addFollowed queues the URLs that the handler has followed.
func (s *sorting) addFollowed() {
	for _, u := range s.page.followed {
		s.add(&extract.Link{URL: u, Hop: frontier.HopLink})
	}
}

// follows reports whether the crawl follows links like l. The target of the link does not matter
// here; add checks it.
func (s *sorting) follows(l *extract.Link) bool {
	o := &s.job.opts
	switch {
	case l.Hop == frontier.HopEmbed: // a resource that the page shows, such as an image
		return o.Requisites && s.page.shows()
	case l.Hop == frontier.HopManifest:
		return o.Sitemaps != SitemapsNone && !o.OnlyFollowed
	case !s.job.follows(s.page):
		return false
	case (l.NoFollow || s.page.Directives.NoFollow) && !o.FollowNoFollow:
		known := len(s.noFollow)
		if s.noFollow[l.URL.Key()] = struct{}{}; len(s.noFollow) > known { // report each URL only once for a page, as add does
			s.onSkip(Skip{URL: l.URL, Via: s.page.URL.String(), Code: frontier.NoFollow, Detail: l.Where})
		}
		return false
	}
	return true
}

// add queues the target of a link if its URL is new on the page and the crawl wants it. Otherwise
// it reports the URL to onSkip.
func (s *sorting) add(l *extract.Link) {
	j, u := s.job, s.job.opts.rewrite(l.URL)
	if u.IsZero() {
		s.onSkip(Skip{URL: l.URL, Via: s.page.URL.String(), Code: frontier.RefusedByProgram, Detail: "Rewrite"})
		return
	}
	key := u.Key()
	known := len(s.seen)
	if s.seen[key] = struct{}{}; len(s.seen) == known {
		if _, led := s.refused[key]; !led || l.Hop != frontier.HopEmbed {
			return
		}
		delete(s.refused, key)
	}
	if l.Hop != s.hop {
		s.entry, s.hop = s.page.Entry.Found(u, l.Hop), l.Hop
	}
	e := &s.entry
	e.URL, e.Tag = u, s.page.Entry.Tag
	tag, tagged := s.tags[key]
	if tagged {
		e.Tag = tag
	}
	if reason := s.unwanted(e); reason != frontier.Undecided {
		if j.opts.Requisites && l.Hop == frontier.HopLink {
			s.refused[key] = struct{}{}
		}
		s.onSkip(Skip{URL: u, Via: e.Via, Code: reason})
	} else if why := j.trapped(s.page, e, &s.from); why != "" {
		s.onSkip(Skip{URL: u, Via: e.Via, Code: frontier.Trap, Detail: why})
	} else if !j.opts.wantsLink(s.page, l, e) {
		s.onSkip(Skip{URL: u, Via: e.Via, Code: frontier.RefusedByProgram, Detail: "Links"})
	} else if s.samePage(e) {
		s.entries = append(s.entries, *e)
		if tagged {
			s.tagged = append(s.tagged, *e)
		}
	}
}

// unwanted returns the reason why e is not queued, or frontier.Undecided. If the reason depends
// only on the site and the kind of link, the result for the previous link is reused when both are
// the same.
func (s *sorting) unwanted(e *frontier.Entry) frontier.Code {
	if !s.job.bySite {
		return s.job.admits.unwanted(e)
	}
	if site := e.URL.Site(); s.lastVerdict.site != site || s.lastVerdict.by != s.hop {
		s.lastVerdict = verdict{site, s.hop, s.job.admits.unwanted(e)}
	}
	return s.lastVerdict.reason
}

// maxBelow is the maximum number of pages with the same body that may be in directories below the
// first of them. Sites without an endless space of URLs have far fewer.
const maxBelow = 8

// trapped reports whether a link on p leads into an endless space of URLs. It returns the pattern
// of the URLs in that space, or "" if the link leads into none.
func (j *job) trapped(p *Page, e *frontier.Entry, f *admit.Finder) (why string) {
	switch {
	case j.opts.FollowTraps, e.Hops[len(e.Hops)-1] == byte(frontier.HopRedirect):
		return ""
	case p.below > maxBelow && e.Page() && deeper(e.URL, p.URL):
		why = fmt.Sprintf("found on one of more than %d pages of one body, below the first", maxBelow)
	default:
		why = j.traps.Judge(e, f)
	}
	if why != "" {
		j.traps.Note(e.URL.Site(), why)
	}
	return why
}

// deeper reports whether the path of u has more segments than the path of the URL than. A link to
// another file of the same directory, such as from /a/ to /a/index.html, is not deeper.
func deeper(u, than frontier.URL) bool {
	_, segments := pathOf(u)
	_, before := pathOf(than)
	return segments > before
}

// maxEmbeds is the maximum number of steps from a page to a resource that it needs. An example with
// three steps: a page names a style sheet, which imports another style sheet, which names a font.
const maxEmbeds = 4

// shows reports whether the crawl fetches the images, scripts and frames of p. If p is itself a
// document in a frame of another page, they are fetched, too, but frames inside p are not: every
// page may have the same ones.
func (p *Page) shows() bool {
	n := p.Entry.Embeds()
	return n < maxEmbeds && (n < 2 || !extract.IsHTML(p.Type))
}

// framed reports whether the link l of p is to a document in a frame that the crawl does not want
// as a page. Such a document is fetched as a resource of p.
func (j *job) framed(p *Page, l *extract.Link) bool {
	if !j.opts.Requisites || !p.shows() {
		return false
	}
	switch l.Where {
	case "iframe/src", "iframe/data-src", "iframe/data-lazy-src", "frame/src", "object/data", "embed/src":
	default:
		return false
	}
	e := p.Entry.Found(l.URL, frontier.HopLink)
	e.Tag = p.tagOf(l.URL.Key())
	return !j.follows(p) || p.Directives.NoFollow && !j.opts.FollowNoFollow || j.admits.unwanted(&e) != frontier.Undecided
}

// follows reports whether the crawl follows the links of p. Options.OnlyFollowed and
// Options.Sitemaps decide this.
func (j *job) follows(p *Page) bool {
	switch o := &j.opts; {
	case o.OnlyFollowed:
		return false
	case o.Sitemaps == SitemapsOnly:
		return p.html.Sitemap
	case o.Sitemaps == SitemapsNone:
		return !p.html.Sitemap
	}
	return true
}

// admit adds the URL of p to the scope if p is the page at which redirects of a seed ended. It also
// stores the URL in db, unless db is nil.
func (j *job) admit(db *store.DB, p *Page) error {
	e := p.Entry
	if p.redirect || e.Hops == "" || !e.FromSeed() {
		return nil
	}
	known := false
	err := safely("Scope", func() {
		if known = j.opts.Scope.Contains(e); !known {
			j.opts.Scope.Admit(e.URL)
		}
	})
	if known || db == nil || err != nil {
		return err
	}
	// The other nodes must know this root of the scope before they get links to its site.
	if j.deps.cluster != nil {
		return j.deps.cluster.Order(keyRoot+e.URL.String(), true, told{Roots: []string{e.URL.String()}})
	}
	return db.Put(keyRoot+e.URL.String(), true)
}

// cleaner returns the Clean-param lines of the robots.txt s, or of the copy that is in force if s is
// unreachable. It returns nil if neither has such lines, or if Options.CleanParam is not set.
func (j *job) cleaner(s *robots.Snapshot) *robots.Cleaner {
	good := s.Good()
	if !j.opts.CleanParam || good == nil {
		return nil
	}
	return good.File(j.opts.Dialect).Cleaner()
}

// samePage sets Entry.Same of e, a link on the page of s, and reports whether e is queued. A link
// that is equivalent to the page itself is not queued. The target of a redirect is queued
// nevertheless, because otherwise the page would be lost; its Entry.Apart is set. But if two URLs
// redirect to each other, neither is requested again.
func (s *sorting) samePage(e *frontier.Entry) bool {
	o, p := &s.job.opts, s.page
	clean := p.clean
	if e.URL.Site() != p.URL.Site() {
		clean = nil // the robots.txt of another site is not known here
	}
	e.Same, e.Apart = o.same(e.URL, clean), false
	if s.hop != frontier.HopRedirect {
		return s.pageKey == "" || e.Key() != s.pageKey
	}
	if key := e.Key(); key == p.Entry.Key() || key == s.pageKey {
		e.Same, e.Apart = frontier.URL{}, true
		return p.Entry.Redirects() == 0 || e.URL.String() != p.Entry.Via
	}
	return true
}
