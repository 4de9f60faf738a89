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

// next returns an entry to queue for each URL that the page links to and the crawl wants, each
// URL once. The entries are valid until f is used for another page.
func (j *job) next(p *Page, f *findings) (entries []frontier.Entry, err error) {
	err = safely("Scope, Links, Rewrite, Same or OnSkip", func() { entries = j.wantedOf(p, f, j.onSkip) })
	if err == nil {
		err = j.tags.put(f.tagged)
	}
	return entries, err
}

// wantedOf is like next, but does not recover from panics. It calls tell for each link that is
// not queued.
func (j *job) wantedOf(p *Page, f *findings, tell func(Skip)) []frontier.Entry {
	f.clear()
	f.seen[p.URL.Key()] = struct{}{}
	s := j.sorting(p, f, tell)
	if p.redirect {
		s.add(&extract.Link{URL: p.Location, Hop: frontier.HopRedirect})
	}
	links := p.html.Links
	if p.Entry.Head { // the page was requested with HEAD, so its body is empty
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

// A sorting decides which links of a page become entries.
type sorting struct {
	job  *job
	page *Page
	*findings
	onSkip func(Skip)
	from   admit.Finder
	tags   map[string]string // tags of the URLs that the handler follows, by the keys that the URLs have after Rewrite
	own    string            // key of the page, see ownKey

	found frontier.Entry // the entry of the last link; only its URL and tag are replaced as long as the links that follow have the same hop (frontier.Hop)
	by    frontier.Hop
	last  verdict
}

// A verdict is the decision whether to queue the last link of a page. It is kept because the
// next link often leads to the same site and then has the same result.
type verdict struct {
	site   frontier.Site
	by     frontier.Hop
	reason frontier.Code
}

func (j *job) sorting(p *Page, f *findings, tell func(Skip)) sorting {
	s := sorting{job: j, page: p, findings: f, onSkip: tell, from: admit.NewFinder(p.URL, time.Now()), tags: p.tags, own: j.opts.ownKey(p)}
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

// addFollowed adds the URLs that the handler has followed.
func (s *sorting) addFollowed() {
	for _, u := range s.page.followed {
		s.add(&extract.Link{URL: u, Hop: frontier.HopLink})
	}
}

// follows reports whether the crawl follows links of this kind, independent of their target.
func (s *sorting) follows(l *extract.Link) bool {
	o := &s.job.opts
	switch {
	case l.Hop == frontier.HopEmbed: // not a link to follow, but a requisite of the page, such as an image
		return o.Requisites && s.page.shows()
	case l.Hop == frontier.HopManifest:
		return o.Sitemaps != SitemapsNone && !o.OnlyFollowed
	case !s.job.follows(s.page):
		return false
	case (l.NoFollow || s.page.Directives.NoFollow) && !o.FollowNoFollow:
		known := len(s.marked)
		if s.marked[l.URL.Key()] = struct{}{}; len(s.marked) > known { // report each URL once for a page, as add does
			s.onSkip(Skip{URL: l.URL, Via: s.page.URL.String(), Code: frontier.NoFollow, Detail: l.Where})
		}
		return false
	}
	return true
}

// add adds an entry for a link if its URL is new on the page and the crawl wants it.
func (s *sorting) add(l *extract.Link) {
	j, u := s.job, s.job.opts.rewrite(l.URL)
	if u.IsZero() {
		s.onSkip(Skip{URL: l.URL, Via: s.page.URL.String(), Code: frontier.RefusedByProgram, Detail: "Rewrite"})
		return
	}
	key := u.Key()
	known := len(s.seen)
	if s.seen[key] = struct{}{}; len(s.seen) == known {
		if _, led := s.leads[key]; !led || l.Hop != frontier.HopEmbed {
			return
		}
		delete(s.leads, key)
	}
	if l.Hop != s.by {
		s.found, s.by = s.page.Entry.Found(u, l.Hop), l.Hop
	}
	e := &s.found
	e.URL, e.Tag = u, s.page.Entry.Tag
	tag, tagged := s.tags[key]
	if tagged {
		e.Tag = tag
	}
	if reason := s.unwanted(e); reason != frontier.Undecided {
		if j.opts.Requisites && l.Hop == frontier.HopLink {
			s.leads[key] = struct{}{}
		}
		s.onSkip(Skip{URL: u, Via: e.Via, Code: reason})
	} else if why := j.trapped(s.page, e, &s.from); why != "" {
		s.onSkip(Skip{URL: u, Via: e.Via, Code: frontier.Trap, Detail: why})
	} else if !j.opts.takes(s.page, l, e) {
		s.onSkip(Skip{URL: u, Via: e.Via, Code: frontier.RefusedByProgram, Detail: "Links"})
	} else if s.samePage(e) {
		s.entries = append(s.entries, *e)
		if tagged {
			s.tagged = append(s.tagged, *e)
		}
	}
}

// unwanted is admission.unwanted for a link of the page. If the decision depends only on the
// site and the hop, it is reused while successive links have the same site and hop.
func (s *sorting) unwanted(e *frontier.Entry) frontier.Code {
	if !s.job.bySite {
		return s.job.admits.unwanted(e)
	}
	if site := e.URL.Site(); s.last.site != site || s.last.by != s.by {
		s.last = verdict{site, s.by, s.job.admits.unwanted(e)}
	}
	return s.last.reason
}

// maxBelow is how many pages with the same body may be below the directory of the first of them. A
// site with ordinary documents has far fewer.
const maxBelow = 8

// trapped returns the pattern of the endless space of URLs that a link on p leads into, or ""
// if it leads into none.
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

// deeper reports whether the path of u, the first URL, has more segments than the path of the
// second. A link to another file of the same directory, such as from /a/ to
// /a/index.html, is not deeper.
func deeper(u, than frontier.URL) bool {
	_, segments := pathOf(u)
	_, before := pathOf(than)
	return segments > before
}

// maxEmbeds is the largest number of hops from a page to its requisites. There may be several
// hops: a page names a style sheet, which imports another one, which names a font.
const maxEmbeds = 4

// shows reports whether the requisites of p (images, scripts, frames ...) belong to the crawl.
// A framed document is fetched with its requisites, but without the frames in it: every page
// may show the same documents in these frames.
func (p *Page) shows() bool {
	n := p.Entry.Embeds()
	return n < maxEmbeds && (n < 2 || !extract.IsHTML(p.Type))
}

// framed reports whether a link of p is to a framed document that the crawl does not fetch
// as a page. Such a document is fetched as a requisite.
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

// follows reports whether the links of p are followed.
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

// admit adds the URL of p to the scope if redirects of a seed have ended there. It also stores
// the URL in db, unless db is nil.
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
	if j.deps.cluster != nil { // the other nodes must hear of it before they get its links
		return j.deps.cluster.Order(keyRoot+e.URL.String(), true, told{Roots: []string{e.URL.String()}})
	}
	return db.Put(keyRoot+e.URL.String(), true)
}

// cleaner returns the Clean-param lines of s, a robots.txt. It returns nil if s is nil, or if
// Options.CleanParam is not set.
func (j *job) cleaner(s *robots.Snapshot) *robots.Cleaner {
	if !j.opts.CleanParam || s == nil {
		return nil
	}
	return s.File(j.opts.Dialect).Cleaner()
}

// samePage sets Entry.Same of e, a link on the page of s, and reports whether e is queued. It
// is not queued if it is equivalent to the page itself. An exception is the target of a
// redirect: it must be requested, since otherwise the page would be lost, so the entry gets
// Entry.Apart. But if two URLs redirect to each other, neither is requested again.
func (s *sorting) samePage(e *frontier.Entry) bool {
	o, p := &s.job.opts, s.page
	clean := p.clean
	if e.URL.Site() != p.URL.Site() {
		clean = nil // the robots.txt of another site is not known here
	}
	e.Same, e.Apart = o.same(e.URL, clean), false
	if s.by != frontier.HopRedirect {
		return s.own == "" || e.Key() != s.own
	}
	if key := e.Key(); key == p.Entry.Key() || key == s.own {
		e.Same, e.Apart = frontier.URL{}, true
		return p.Entry.Redirects() == 0 || e.URL.String() != p.Entry.Via
	}
	return true
}
