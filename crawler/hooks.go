package crawler

import (
	"fmt"
	"strings"

	"github.com/permesso-crawler/permesso/crawler/extract"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/admit"
)

// A Link is a link that is about to be queued, as passed to Options.Links.
type Link struct {
	extract.Link // the link as the page has it, but its URL is already the result of Options.Rewrite

	// Rank orders the queue of a site: URLs with a lower rank are fetched first, those with
	// equal ranks in the order in which they were found. The default is the depth, up to 255,
	// so that URLs near a seed come first. To fetch the best first, set Rank to 255 minus a
	// score; to fetch the deepest first, set it to 255 minus the depth. Requisites (images,
	// scripts and other resources that a page includes) always have frontier.RequisiteRank,
	// because they are fetched with their page. The rank never makes requests to a site more
	// frequent.
	Rank uint8

	// Tag is the tag of the target page; the default is that of the page with the link. See
	// Tags. A link with a tag of more than 64 KiB is not queued.
	Tag string

	// Head requests the page with HEAD (RFC 9110, section 9.3.2), to learn whether it exists.
	// The handler gets the page without a body. The page has at most one link, the target of a
	// redirect, which is also requested with HEAD. If the server refuses the method (405 or
	// 501), the next request to the site repeats the request with GET. FTP has no HEAD: over
	// FTP the file is retrieved. Robots.txt, pauses and limits apply as for any page. A URL is
	// requested once, in the way that the first link to it says: a later link without Head has
	// no effect. So never set Head on a link to a page whose links the crawl should follow.
	Head bool
}

// programmed reports whether some function of the options is called with the links of pages.
// Such a function may be slow.
func (o *Options) programmed() bool {
	return o.Links != nil || o.Rewrite != nil || o.OnSkip != nil || !isOurs(o.Scope)
}

// takes asks Options.Links whether to queue a link.
func (o *Options) takes(p *Page, l *extract.Link, e *frontier.Entry) bool {
	if o.Links == nil || l.Hop == frontier.HopRedirect {
		return true
	}
	link := Link{Link: *l, Rank: frontier.RankOf(e.Depth), Tag: e.Tag}
	link.URL = e.URL
	ok := o.Links(p, &link) && len(link.Tag) <= maxTag
	e.Rank, e.Tag, e.Head = link.Rank, link.Tag, link.Head
	if e.Requisite() {
		e.Rank = frontier.RequisiteRank
	}
	return ok
}

// rewrite returns the result of Options.Rewrite.
func (o *Options) rewrite(u frontier.URL) frontier.URL {
	if o.Rewrite == nil {
		return u
	}
	return o.Rewrite(u)
}

// rewriteSeeds replaces each seed by the result of Options.Rewrite, and sets its Entry.Same by
// Options.Same. The error is an *OptionError.
func (o *Options) rewriteSeeds(seeds []frontier.Entry) error {
	for i, e := range seeds {
		if err := tried("Rewrite", func() { seeds[i].URL = o.rewrite(e.URL) }); err != nil {
			return err
		}
		if seeds[i].URL.IsZero() {
			return &OptionError{Field: "Seeds", Reason: fmt.Sprintf("%s is refused by Rewrite: take it out, or let it pass", e.URL)}
		}
	}
	return o.sameSeeds(seeds)
}

// readAhead returns how many entries of a site the frontier reads into memory in advance.
// Entries that are found later do not overtake those in memory, even if their rank is lower. So
// it returns 1 with Options.Links, which may set ranks.
func (o *Options) readAhead() int {
	if o.Links != nil {
		return 1
	}
	return o.bounds.readAhead
}

// trackers are names of query parameters that say where a visitor came from. A name that ends
// with * means all names that begin with the part before the *.
var trackers = []string{
	"utm_*", "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "_ga", "_gl", // Google
	"fbclid", "igshid", "igsh", // Meta
	"msclkid", "yclid", "ysclid", "twclid", "ttclid", "li_fat_id", // Microsoft, Yandex, X, TikTok, LinkedIn
	"mc_cid", "mc_eid", "mkt_tok", "_hsenc", "_hsmi", "vero_id", "oly_anon_id", "oly_enc_id", // newsletters
	"pk_*", "mtm_*", "matomo_*", "piwik_*", // Matomo
}

// StripTracking is an Options.Rewrite. It removes parameters that say nothing about the page,
// but who a visitor is or where the visitor came from. They are utm_source and similar ones
// (trackers of Google, Meta, Microsoft, Yandex, X, TikTok, LinkedIn, Matomo and of
// newsletters), and session ids (jsessionid, PHPSESSID, sid ...) that have at least 12
// characters and no slash. The rest of the query is unchanged and in order. StripTracking is
// safe for concurrent use.
func StripTracking(u frontier.URL) frontier.URL {
	path, query, has := strings.Cut(u.Target(), "?")
	stripped := stripSession(path)
	if has {
		var kept []string
		for pair := range strings.SplitSeq(query, "&") {
			if name, value, _ := strings.Cut(pair, "="); !tracks(name) && !admit.IsSession(name, value) {
				kept = append(kept, pair)
			}
		}
		if stripped += "?" + strings.Join(kept, "&"); len(kept) == 0 {
			stripped = strings.TrimSuffix(stripped, "?")
		}
	}
	if stripped == u.Target() {
		return u
	}
	return within(u, stripped)
}

// stripSession removes ;jsessionid=... from a path.
func stripSession(path string) string {
	for at := strings.IndexByte(path, ';'); at >= 0; {
		name, rest, _ := strings.Cut(path[at+1:], "=")
		end := strings.IndexAny(rest, "/;")
		if end < 0 {
			end = len(rest)
		}
		if !admit.IsSession(name, rest[:end]) {
			break
		}
		path = path[:at] + rest[end:]
		at = strings.IndexByte(path, ';')
	}
	return path
}

func tracks(name string) bool {
	name = strings.ToLower(name)
	for _, t := range trackers {
		if beginning, any := strings.CutSuffix(t, "*"); name == t || any && strings.HasPrefix(name, beginning) {
			return true
		}
	}
	return false
}
