package same

import (
	"fmt"
	"slices"
	"strings"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/admit"
)

// A named rule returns one URL for all URLs that it counts as one page.
type named struct {
	name string
	rule func(frontier.URL) frontier.URL
}

// all has the rules in the order in which they are applied.
var all = []named{{"index", StripIndex}, {"query-order", SortQuery}, {"tracking", StripTracking}}

// Names returns the names of all rules.
func Names() (names []string) {
	for _, r := range all {
		names = append(names, r.name)
	}
	return names
}

// ByNames returns a function that applies the rules with the given names, and the names without
// duplicates, in an order that does not depend on the argument. Without names, the function is
// nil.
func ByNames(wanted []string) (rule func(frontier.URL) frontier.URL, names []string, err error) {
	for _, name := range wanted {
		if !slices.Contains(Names(), name) {
			return nil, nil, fmt.Errorf("%q is not one of %s", name, strings.Join(Names(), ", "))
		}
	}
	var rules []func(frontier.URL) frontier.URL
	for _, r := range all {
		if slices.Contains(wanted, r.name) {
			names, rules = append(names, r.name), append(rules, r.rule)
		}
	}
	if rules != nil {
		rule = Together(rules...)
	}
	return rule, names, nil
}

// Together implements crawler.Together.
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

// SortQuery implements crawler.SortQuery.
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

// StripIndex implements crawler.StripIndex.
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

// trackers lists query parameters that say where a visitor came from. An entry that ends with *
// matches all names with that prefix.
var trackers = []string{
	"utm_*", "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "_ga", "_gl", // Google
	"fbclid", "igshid", "igsh", // Meta
	"msclkid", "yclid", "ysclid", "twclid", "ttclid", "li_fat_id", // Microsoft, Yandex, X, TikTok, LinkedIn
	"mc_cid", "mc_eid", "mkt_tok", "_hsenc", "_hsmi", "vero_id", "oly_anon_id", "oly_enc_id", // newsletters
	"pk_*", "mtm_*", "matomo_*", "piwik_*", // Matomo
}

// StripTracking implements crawler.StripTracking.
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
