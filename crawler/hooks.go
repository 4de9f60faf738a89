package crawler

import (
	"fmt"
	"strings"

	"github.com/permesso-crawler/permesso/crawler/extract"
	"github.com/permesso-crawler/permesso/frontier"
)

// A Link is a link that is about to be queued, as Options.Links sees it.
type Link struct {
	extract.Link // as it was found; its URL is the one that Options.Rewrite has made of it

	// Rank orders the queue of a site: what is lower is asked for first, of equals what
	// was found first. It is the depth if nothing is said, up to 255, so that what is
	// near a seed comes first; 255 minus a score crawls the best first, 255 minus the
	// depth goes deep first. What a page is shown with has frontier.RequisiteRank, whatever
	// is said: it comes with its page. It never makes a site be asked faster.
	Rank uint8

	// Tag is that of the page that it leads to: that of the page that it was found on,
	// if nothing is said. See Tags.
	Tag string

	// Head asks for the page with HEAD (RFC 9110, section 9.3.2): whether it is there, not
	// what it says. The handler gets it without a body; it leads nowhere but where it
	// redirects, which is asked for so, too. Where the server refuses the method (405 or
	// 501) the next turn of the site asks with GET; over FTP, which has no HEAD, the
	// file is retrieved. Robots.txt, pauses and limits count as for any page. A URL is
	// asked for once, as the link says that enters first: a link to what is to be
	// followed must never have Head, for one without comes too late.
	Head bool
}

// programmed reports whether a function of the options is called with what is found on
// pages, and who knows how long it takes.
func (o *Options) programmed() bool {
	return o.Links != nil || o.Rewrite != nil || o.OnSkip != nil || !isOurs(o.Scope)
}

// takes asks Options.Links what becomes of a link.
func (o *Options) takes(p *Page, l *extract.Link, e *frontier.Entry) bool {
	if o.Links == nil || l.Hop == frontier.HopRedirect {
		return true
	}
	link := Link{Link: *l, Rank: frontier.RankOf(e.Depth), Tag: e.Tag}
	link.URL = e.URL
	ok := o.Links(p, &link)
	e.Rank, e.Tag, e.Head = link.Rank, link.Tag, link.Head
	if e.Requisite() {
		e.Rank = frontier.RequisiteRank
	}
	return ok
}

// rewrite is what Options.Rewrite makes of a URL.
func (o *Options) rewrite(u frontier.URL) frontier.URL {
	if o.Rewrite == nil {
		return u
	}
	return o.Rewrite(u)
}

// rewriteSeeds rewrites seeds in place, and says what pages they are taken for. The error
// is an *OptionError.
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

// readAhead is how many entries of a site are held in memory: ranks order what is not.
func (o *Options) readAhead() int {
	if o.Links != nil {
		return 1
	}
	return o.bounds.readAhead
}

// trackers are parameters that say where a visitor came from: the beginnings of their
// names if they end with a *.
var trackers = []string{
	"utm_*", "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "_ga", "_gl", // Google
	"fbclid", "igshid", "igsh", // Meta
	"msclkid", "yclid", "ysclid", "twclid", "ttclid", "li_fat_id", // Microsoft, Yandex, X, TikTok, LinkedIn
	"mc_cid", "mc_eid", "mkt_tok", "_hsenc", "_hsmi", "vero_id", "oly_anon_id", "oly_enc_id", // letters
	"pk_*", "mtm_*", "matomo_*", "piwik_*", // Matomo
}

// StripTracking is an Options.Rewrite that takes parameters out of a URL that say who
// comes, or where from, and nothing about the page: utm_source and its kin (trackers of
// Google, Meta, Microsoft, Yandex, X, TikTok, LinkedIn, Matomo and of letters), and
// session ids (jsessionid, PHPSESSID, sid ...) of at least 12 characters, none a slash.
// The rest of the query stays as it is, in its order. It is safe for concurrent use.
func StripTracking(u frontier.URL) frontier.URL {
	path, query, has := strings.Cut(u.Target(), "?")
	stripped := stripSession(path)
	if has {
		var kept []string
		for pair := range strings.SplitSeq(query, "&") {
			if name, value, _ := strings.Cut(pair, "="); !tracks(name) && !isSession(name, value) {
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

// stripSession takes ;jsessionid=... out of a path.
func stripSession(path string) string {
	for at := strings.IndexByte(path, ';'); at >= 0; {
		name, rest, _ := strings.Cut(path[at+1:], "=")
		end := strings.IndexAny(rest, "/;")
		if end < 0 {
			end = len(rest)
		}
		if !isSession(name, rest[:end]) {
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

// isSession is false for what has a slash, such as 24/05/12/1234567: the sid of a story.
func isSession(name, value string) bool {
	return len(value) >= minSession && sessionNames[strings.ToLower(name)] &&
		!strings.Contains(value, "/") && !strings.Contains(strings.ToLower(value), "%2f")
}
