package crawler

import (
	"fmt"
	"time"

	"github.com/permesso-crawler/permesso/crawler/extract"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/storage"
)

// findings are what a worker has found on one page. Their memory is used again
// for the next one.
type findings struct {
	seen    map[string]struct{} // keys
	leads   map[string]struct{} // keys of links that are not wanted: the page may be shown with them, too
	marked  map[string]struct{} // keys of links that are marked nofollow
	entries []frontier.Entry
}

// maxFindings is how many are kept room for.
const maxFindings = 1024

func newFindings() *findings {
	return &findings{seen: map[string]struct{}{}, leads: map[string]struct{}{}, marked: map[string]struct{}{}}
}

// clear forgets the last page.
func (f *findings) clear() {
	if len(f.seen) > maxFindings {
		*f = *newFindings()
		return
	}
	clear(f.seen)
	clear(f.leads)
	clear(f.marked)
	clear(f.entries)
	f.entries = f.entries[:0]
}

// next are the entries that a page leads to, each once, in scope. They are valid
// until f is used for another page.
func (j *Job) next(p *Page, f *findings) (entries []frontier.Entry, err error) {
	err = safely("Scope, Links, Rewrite, Same or OnSkip", func() { entries = j.wantedOf(p, f, j.tell) })
	return entries, err
}

// wantedOf tells of each link that is not wanted.
func (j *Job) wantedOf(p *Page, f *findings, tell func(Skip)) []frontier.Entry {
	f.clear()
	f.seen[p.URL.Key()] = struct{}{}
	s := j.sorting(p, f, tell)
	if p.redirect {
		s.add(&extract.Link{URL: p.Location, Hop: frontier.HopRedirect})
	}
	links := p.html.Links
	if p.Entry.Head { // nothing more is wanted of it
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

// A sorting finds out which links of a page become entries.
type sorting struct {
	job  *Job
	page *Page
	*findings
	tell func(Skip)
	from finder
	tags map[string]string // of the page, by the keys that Rewrite makes of them
	own  string            // key of the page, as ownKey says it

	found frontier.Entry // on page, by that hop
	by    frontier.Hop
	last  verdict
}

// A verdict is what was said of the last link: mostly the next one is to the same site.
type verdict struct {
	site   frontier.Site
	by     frontier.Hop
	reason Reason
}

func (j *Job) sorting(p *Page, f *findings, tell func(Skip)) sorting {
	s := sorting{job: j, page: p, findings: f, tell: tell, from: newFinder(p.URL, time.Now()), tags: p.tags, own: j.opts.ownKey(p)}
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

// addFollowed adds what the handler has followed.
func (s *sorting) addFollowed() {
	for _, u := range s.page.followed {
		s.add(&extract.Link{URL: u, Hop: frontier.HopLink})
	}
}

// follows reports whether a link that was read is one for the crawl, wherever it
// leads.
func (s *sorting) follows(l *extract.Link) bool {
	o := &s.job.opts
	switch {
	case l.Hop == frontier.HopEmbed: // no link that a robot could follow: the page is shown with it
		return o.Requisites && s.page.shows()
	case l.Hop == frontier.HopManifest:
		return o.Sitemaps != SitemapsNone
	case !s.job.follows(s.page):
		return false
	case (l.NoFollow || s.page.Directives.NoFollow) && !o.FollowNoFollow:
		known := len(s.marked)
		if s.marked[l.URL.Key()] = struct{}{}; len(s.marked) > known { // each once a page, as in add
			s.tell(Skip{URL: l.URL, Via: s.page.URL.String(), Reason: SkipNoFollow, Detail: l.Where})
		}
		return false
	}
	return true
}

// add makes an entry of a link that was not on the page before, if it is wanted.
func (s *sorting) add(l *extract.Link) {
	j, u := s.job, s.job.opts.rewrite(l.URL)
	if u.IsZero() {
		s.tell(Skip{URL: l.URL, Via: s.page.URL.String(), Reason: SkipHook, Detail: "Rewrite"})
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
	if tag, tagged := s.tags[key]; tagged {
		e.Tag = tag
	}
	if reason := s.unwanted(e); reason != "" {
		if j.opts.Requisites && l.Hop == frontier.HopLink {
			s.leads[key] = struct{}{}
		}
		s.tell(Skip{URL: u, Via: e.Via, Reason: reason})
	} else if why := j.trapped(s.page, e, &s.from); why != "" {
		s.tell(Skip{URL: u, Via: e.Via, Reason: SkipTrap, Detail: why})
	} else if !j.opts.takes(s.page, l, e) {
		s.tell(Skip{URL: u, Via: e.Via, Reason: SkipHook, Detail: "Links"})
	} else if s.samePage(e) {
		s.entries = append(s.entries, *e)
	}
}

// unwanted is Job.unwanted of a link of the page.
func (s *sorting) unwanted(e *frontier.Entry) Reason {
	if !s.job.bySite {
		return s.job.unwanted(e)
	}
	if site := e.URL.Site(); s.last.site != site || s.last.by != s.by {
		s.last = verdict{site, s.by, s.job.unwanted(e)}
	}
	return s.last.reason
}

// bySite reports whether what is wanted of the links of a page that were found by one hop
// depends on nothing but the site that they lead to.
func (o *Options) bySite() bool {
	return o.OptOut == nil && o.Exclude == nil && o.Include == nil && o.Site == nil && scopeBySite(o.Scope)
}

// trapped says of what trap a link that was found on p is one; empty if of none.
func (j *Job) trapped(p *Page, e *frontier.Entry, f *finder) (why string) {
	switch {
	case j.opts.FollowTraps, e.Hops[len(e.Hops)-1] == byte(frontier.HopRedirect):
		return ""
	case p.below > maxBelow && e.Page() && deeper(e.URL, p.URL):
		why = fmt.Sprintf("found on one of more than %d pages of one body, below the first", maxBelow)
	default:
		why = j.traps.judge(e, f)
	}
	if why != "" {
		j.traps.note(e.URL.Site(), why)
	}
	return why
}

// deeper is false for what a page of a body that many have may well name, each in its
// own directory: as version/ does that is refreshed to index.html.
func deeper(u, than frontier.URL) bool {
	_, segments := pathOf(u)
	_, before := pathOf(than)
	return segments > before
}

// MaxEmbeds is how many hops from its page what it is shown with may be: a font is
// named by a style sheet that another one imports.
const MaxEmbeds = 4

// shows reports whether what p is shown with belongs to the crawl. A document that is
// shown within another one is shown whole, but not what is shown within it: it may be
// a page that every page shows.
func (p *Page) shows() bool {
	n := p.Entry.Embeds()
	return n < MaxEmbeds && (n < 2 || !extract.IsHTML(p.Type))
}

// framed reports whether p is shown with the document that a link of it leads to, and
// that is no page of the crawl by itself: then it is fetched as an image is.
func (j *Job) framed(p *Page, l *extract.Link) bool {
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
	return !j.follows(p) || p.Directives.NoFollow && !j.opts.FollowNoFollow || j.unwanted(&e) != ""
}

// follows reports whether the links of p are followed.
func (j *Job) follows(p *Page) bool {
	switch j.opts.Sitemaps {
	case SitemapsOnly:
		return p.html.Sitemap
	case SitemapsNone:
		return !p.html.Sitemap
	}
	return true
}

// unwanted says why an entry that was found does not enter the frontier; empty
// if it does.
func (j *Job) unwanted(e *frontier.Entry) Reason {
	reason := j.unwantedAnywhere(e)
	if reason == "" && j.sites.of(e.URL.Site()).Exclude {
		return SkipOptOut
	}
	return reason
}

// unwantedAnywhere is unwanted but for sites that are excluded.
func (j *Job) unwantedAnywhere(e *frontier.Entry) Reason {
	switch {
	case j.opts.OptOut != nil && j.opts.OptOut(e.URL) != "":
		return SkipOptOut
	case e.Redirects() > frontier.MaxRedirects:
		return SkipRedirects
	case e.FromSeed():
		// A seed's redirects are followed wherever they lead, but to what is
		// excluded: its host is often not the one that is meant.
		if j.excluded(e) {
			return SkipFilter
		}
		return ""
	}
	return j.narrowed(e)
}

func (j *Job) excluded(e *frontier.Entry) bool {
	return j.opts.Exclude != nil && j.opts.Exclude.MatchString(e.URL.String())
}

// narrowed says why e is not in scope; empty if it is.
func (j *Job) narrowed(e *frontier.Entry) Reason {
	o := &j.opts
	switch {
	case o.Depth > 0 && e.Depth > o.Depth:
		return SkipDepth
	case j.excluded(e):
		return SkipFilter
	}
	if e.Hops != "" && e.Hops[len(e.Hops)-1] != byte(frontier.HopLink) && !e.Page() {
		switch {
		case e.Sitemap() && (o.Sitemaps == SitemapsNone || nested(e) > maxNested):
			return SkipDepth
		case o.Requisites && e.Requisite() || named(e):
			// Beyond the scope, so that the page can be shown, or the list be read.
			return ""
		}
	}
	switch {
	case !o.Scope.Contains(*e):
		return SkipScope
	case o.Include != nil && !o.Include.MatchString(e.URL.String()):
		return SkipFilter
	case !j.sites.contains(e):
		return SkipScope
	}
	return ""
}

// admit brings the host into scope on which a chain of redirects from a seed
// ends, and keeps it with the crawl, if db is not nil.
func (j *Job) admit(db *storage.DB, p *Page) error {
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
	return db.Put(keyRoot+e.URL.String(), true)
}
