package crawler

import (
	"slices"
	"strings"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/admit"
	"github.com/permesso-crawler/permesso/robots"
)

// Together combines several functions for Options.Same, or for Options.Rewrite. Each function is
// called with the result of the function before it, again and again until no function changes the
// URL. If a function returns the zero URL, Together returns it.
func Together(rules ...func(frontier.URL) frontier.URL) func(frontier.URL) frontier.URL {
	return func(u frontier.URL) frontier.URL {
		for range mostRounds {
			before := u
			for _, rule := range rules {
				if u = rule(u); u.IsZero() {
					return u
				}
			}
			if u == before {
				break
			}
		}
		return u
	}
}

// mostRounds is the maximum number of times that Together calls each function. Without this limit,
// functions that undo each other's changes would be called for ever.
const mostRounds = 16

// SortQuery sorts the parameters of a query by name. It is a function for Options.Same or
// Options.Rewrite. Parameters of the same name keep their order. It is safe for concurrent use.
func SortQuery(u frontier.URL) frontier.URL {
	path, query, _ := strings.Cut(u.Target(), "?")
	if strings.IndexByte(query, '&') < 0 {
		return u
	}
	byName := func(a, b string) int {
		a, _, _ = strings.Cut(a, "=")
		b, _, _ = strings.Cut(b, "=")
		return strings.Compare(a, b)
	}
	pairs := strings.Split(query, "&")
	if slices.IsSortedFunc(pairs, byName) {
		return u
	}
	slices.SortStableFunc(pairs, byName)
	return within(u, path+"?"+strings.Join(pairs, "&"))
}

// indexPages lists file names, in lower case, for which servers usually send the same page as for
// their directory.
var indexPages = map[string]bool{
	"index.html": true, "index.htm": true, "index.xhtml": true, "index.shtml": true, "index.php": true, "index.asp": true,
	"index.aspx": true, "index.jsp": true, "index.cgi": true, "default.html": true, "default.htm": true, "default.asp": true, "default.aspx": true,
}

// StripIndex removes the name of an index page, such as index.html, index.php or default.asp, from
// the end of a path. It is a function for Options.Same or Options.Rewrite. Upper case makes no
// difference. The query stays. It is safe for concurrent use.
func StripIndex(u frontier.URL) frontier.URL {
	target := u.Target()
	end := strings.IndexByte(target, '?')
	if end < 0 {
		end = len(target)
	}
	begin := strings.LastIndexByte(target[:end], '/') + 1
	if end-begin > len("default.aspx") || !indexPages[strings.ToLower(target[begin:end])] {
		return u
	}
	return within(u, target[:begin]+target[end:])
}

// within returns the URL on the site of u with the given target, a path and query. It returns u if
// that is not a valid URL.
func within(u frontier.URL, target string) frontier.URL {
	if v, err := frontier.ParseURL(string(u.Site()) + target); err == nil {
		return v
	}
	return u
}

// same returns Entry.Same for u: the URL that represents all URLs equivalent to u. To find it, same
// applies the Clean-param lines in clean, which may be nil, and then Options.Same. It returns the
// zero URL if u does not change. URLs with equal keys have equal results.
func (o *Options) same(u frontier.URL, clean *robots.Cleaner) frontier.URL {
	if o.Same == nil && clean == nil {
		return frontier.URL{}
	}
	key := u.Key()
	v := u
	if key != u.String() {
		if normal, err := frontier.ParseURL(key); err == nil {
			v = normal
		}
	}
	if clean != nil {
		if target := clean.Clean(v.Target()); target != v.Target() {
			v = within(v, target)
		}
	}
	if o.Same != nil {
		v = o.Same(v)
	}
	if v.Site() != u.Site() || v.Key() == key {
		return frontier.URL{}
	}
	return v
}

// sameSeeds sets Entry.Same of each seed. The error is an *OptionError if Options.Same panics.
func (o *Options) sameSeeds(seeds []frontier.Entry) error {
	for i := range seeds {
		e := &seeds[i]
		if err := safely("Same", func() { e.Same = o.same(e.URL, nil) }); err != nil {
			return &OptionError{Field: "Same", Reason: err.Error(), Err: err}
		}
	}
	return nil
}

// ownKey returns the key (Entry.Key) of the page's URL under the current Options.Same and
// Options.CleanParam. It returns "" if neither applies to the page.
func (o *Options) ownKey(p *Page) string {
	if o.Same == nil && p.clean == nil {
		return ""
	}
	e := frontier.Entry{URL: p.URL, Same: o.same(p.URL, p.clean)}
	return e.Key()
}

// trackers lists query parameters that say where a visitor came from. An entry that ends with *
// matches all names with that prefix.
var trackers = []string{
	"utm_*", "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "_ga", "_gl", // Google
	"fbclid", "igshid", "igsh", // Meta
	"msclkid", "yclid", "ysclid", "twclid", "ttclid", "li_fat_id", // Microsoft, Yandex, X, TikTok, LinkedIn
	"mc_cid", "mc_eid", "mkt_tok", "_hsenc", "_hsmi", "vero_id", "oly_anon_id", "oly_enc_id", // newsletters
	"pk_*", "mtm_*", "matomo_*", "piwik_*", // Matomo
}

// StripTracking removes parameters that identify a visitor, or say where the visitor came from. It
// is a function for Options.Rewrite or Options.Same. It removes utm_source and similar parameters
// (of Google, Meta, Microsoft, Yandex, X, TikTok, LinkedIn, Matomo and of newsletters). It also
// removes session ids (jsessionid, PHPSESSID, sid ...) that have at least 12 characters and no
// slash. The rest of the query stays unchanged and in order. It is safe for concurrent use.
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

// stripSession removes a session id such as ;jsessionid=... from a path.
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
