package robots

import (
	"strings"
	"unsafe"
)

// stackTarget is the length of the longest target that is normalised in buffers on the stack. The
// buffers are three times as long, because the normal form may be.
const stackTarget = 500

// Match returns the verdict for a target: the path and query of a URL in the form that a request
// and Target have. Match needs time linear in the length of the rules and of target. It does not
// allocate unless target is unusually long and not in normal form.
//
// In dialect RFC9309 the longest matching rule decides. If an Allow and a Disallow are equally
// long, the Allow decides. A target that no rule matches is allowed. The target /robots.txt is
// always allowed (RFC 9309, 2.2.2). "*" matches any octets, and a final "$" matches the end of the
// target (2.2.3). Rule and target are compared in one normal form: see the package documentation.
// A Disallow rule also matches if reserved octets of the query are escaped only in the rule or
// only in the target, as in the table of RFC 9309.
//
// In dialect Koster1996 the first matching rule decides, and only the path is matched (3.2.2).
//
// A target begins with a slash. Any other string, such as a whole URL or an empty string, is
// disallowed with the reason NoTarget: use MatchURL for a URL. The zero Group gives the verdict
// Defer.
func (g *Group) Match(target string) Verdict {
	if target == "" || target[0] != '/' {
		return Verdict{Access: Disallow, Reason: NoTarget}
	}
	if g.fixed != nil {
		return g.matchFixed(target)
	}
	if g.file == nil {
		return Verdict{}
	}
	if g.rules.dialect == RFC9309 && isNormal(target) {
		if target == robotsPath {
			return Verdict{Access: Allow, Reason: RobotsFile}
		}
		return g.verdict(g.rules.match(target, false))
	}
	if len(target) <= stackTarget {
		var buf, spare [3 * stackTarget]byte
		return g.matchRaw(target, buf[:0], spare[:0])
	}
	return g.matchRaw(target, make([]byte, 0, 3*len(target)), nil)
}

// MatchURL returns the verdict for a URL, or for a path and query: the verdict of Match for the
// result of Target. If Target returns an error, the URL is disallowed with the reason NoTarget.
// If the site of the robots.txt is known (from ParseFor or a Snapshot), a URL of another site
// is disallowed with the reason OtherSite. Sites are compared in the form that Locate returns.
func (g *Group) MatchURL(rawURL string) Verdict {
	target, err := Target(rawURL)
	if err != nil {
		return Verdict{Access: Disallow, Reason: NoTarget}
	}
	if rawURL[0] == '/' && !strings.HasPrefix(rawURL, "//") {
		return g.Match(target)
	}
	if rawURL[0] == '/' {
		scheme, _, ok := strings.Cut(g.site, "//")
		if !ok {
			scheme = "https:"
		}
		rawURL = scheme + rawURL
	}
	at, err := Locate(rawURL)
	switch {
	case err != nil:
		return Verdict{Access: Disallow, Reason: NoTarget}
	case g.site != "" && siteOf(at) != g.site:
		return Verdict{Access: Disallow, Reason: OtherSite}
	}
	return g.Match(target)
}

const robotsPath = "/robots.txt"

func (g *Group) matchFixed(target string) Verdict {
	if g.rules.dialect == RFC9309 && target == robotsPath {
		return Verdict{Access: Allow, Reason: RobotsFile}
	}
	return *g.fixed
}

// matchRaw matches a target that may not be in the normal form of the dialect. It writes the
// normal form to buf, and may use spare for a second form.
func (g *Group) matchRaw(target string, buf, spare []byte) Verdict {
	switch g.rules.dialect {
	case Google:
		// google/robotstxt keeps the path in a C string, which ends at the first NUL.
		if i := strings.IndexByte(target, 0); i >= 0 {
			target = target[:i]
		}
		return g.verdict(g.rules.match(target, false))
	case Koster1996:
		if i := strings.IndexByte(target, '?'); i >= 0 {
			target = target[:i]
		}
		return g.verdict(g.rules.match(view(appendKoster(buf, target)), false))
	}
	buf = appendNormal(buf, target, false)
	if hasDots(view(buf)) {
		buf = removeDots(buf, true)
	}
	if view(buf) == robotsPath {
		return Verdict{Access: Allow, Reason: RobotsFile}
	}
	best := g.rules.match(view(buf), false)
	// The query may have escaped octets that a Disallow rule has unescaped. So the Disallow rules
	// are matched once more, with the reserved octets of the query unescaped.
	if q := strings.IndexByte(view(buf), '?'); q >= 0 && strings.IndexByte(view(buf[q:]), '%') >= 0 {
		if spare == nil {
			spare = make([]byte, 0, len(buf))
		}
		if loose, changed := appendLoose(spare, view(buf)); changed {
			best = max(best, g.rules.match(view(loose), true))
		}
	}
	return g.verdict(best)
}

// view returns b as a string without copying it. The string must not be used
// after b is changed.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// verdict returns the verdict for the rank of the rule that decided. Rank 0 means that no rule
// matched.
func (g *Group) verdict(best rank) Verdict {
	if best == 0 {
		if g.line == 0 {
			return Verdict{Access: Allow, Reason: NoGroup}
		}
		return Verdict{Access: Allow, Reason: NoRule}
	}
	e := &g.file.entries[best.index()]
	v := Verdict{
		Access: Disallow,
		Rule:   Rule{Allow: e.kind == allowLine, Pattern: g.file.value(e), Line: int(e.line)},
		Reason: RuleMatched,
	}
	if v.Rule.Allow {
		v.Access = Allow
	}
	return v
}

// match returns the highest rank of the rules that match target, or 0 if no rule matches (see
// the type rank). If disallow is true, only Disallow rules are considered.
func (s *ruleSet) match(target string, disallow bool) rank {
	best := s.matchLiteral(target, disallow)
	n := len(s.wilds)
	if n == 0 {
		return best
	}
	if s.filters != nil {
		return s.matchFiltered(target, disallow, best)
	}
	for i := range s.wilds {
		w := &s.wilds[i]
		if w.rank < best {
			break
		}
		if !(disallow && w.rank.allow()) && s.matches(w, target) {
			return w.rank
		}
	}
	return best
}

func (s *ruleSet) matchLiteral(target string, disallow bool) (best rank) {
	i := s.longest(target)
	if i < 0 {
		return 0
	}
	if !disallow {
		return s.literals[i].best
	}
	for ; i >= 0; i = s.literals[i].up {
		if l := &s.literals[i]; !l.rank.allow() {
			best = max(best, l.rank)
		}
	}
	return best
}

// longest returns the index of the longest literal (a rule without wildcards) that target begins
// with, or -1 if none exists.
//
// Let last be the last literal that sorts at or before target. Every literal that target begins
// with is a prefix of last. So the up links, which lead from last to its prefixes, find the
// longest one.
func (s *ruleSet) longest(target string) int32 {
	key := keyOf(target)
	lo, hi := 0, len(s.keys)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if k := s.keys[mid]; k < key || k == key && s.literals[mid].text <= target {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 {
		return -1
	}
	i := int32(lo - 1)
	l := &s.literals[i]
	if strings.HasPrefix(target, l.text) {
		return i
	}
	// Only the first n octets of this literal and of target are equal. Follow the up links to the
	// longest prefix of at most n octets.
	n := 0
	for n < len(l.text) && l.text[n] == target[n] {
		n++
	}
	for i >= 0 && len(s.literals[i].text) > n {
		i = s.literals[i].up
	}
	return i
}

// matches reports whether w matches target. Each segment is matched at its first occurrence,
// which leaves the most octets for the following segments. So there is no backtracking.
func (s *ruleSet) matches(w *wildcard, target string) bool {
	segs := s.segments[w.first:w.last]
	if !strings.HasPrefix(target, segs[0]) {
		return false
	}
	target = target[len(segs[0]):]
	if len(segs) == 1 {
		return !w.anchored || target == ""
	}
	for _, seg := range segs[1 : len(segs)-1] {
		i := strings.Index(target, seg)
		if i < 0 {
			return false
		}
		target = target[i+len(seg):]
	}
	last := segs[len(segs)-1]
	if w.anchored {
		return strings.HasSuffix(target, last)
	}
	return strings.Contains(target, last)
}
