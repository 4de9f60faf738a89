package robots

import (
	"strings"
	"unsafe"
)

// stackTarget is the length of a target up to which its normal form, at worst
// three times as long, fits into buffers on the stack.
const stackTarget = 500

// Match returns the verdict for a target: the path and query of a URL as it
// goes over the wire, as Target returns it. It needs time linear in the
// length of the rules and of target, and does not allocate unless target is
// unusually long and not in normal form.
//
// In dialect RFC9309 the longest matching rule decides, Allow where two are
// equally long, and what no rule matches is allowed; /robots.txt always is
// (RFC 9309, 2.2.2). "*" matches any octets and a final "$" the end (2.2.3).
// Rule and target are compared in one normal form, see the package
// documentation. For a Disallow rule the form that RFC 9309 gives in its table,
// with the reserved octets of the query escaped, counts as the same.
//
// In dialect Koster1996 the first matching rule decides and only the path is
// matched (3.2.2).
//
// A target begins with a slash. What does not, such as a whole URL or an empty
// string, is disallowed with the reason NoTarget, whatever the rules are: use
// MatchURL for a URL. The zero Group defers.
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

// MatchURL returns the verdict for a URL, or for a path and query: Match of what
// Target makes of it. What Target refuses is disallowed with the reason
// NoTarget. So is, with the reason OtherSite, a URL of another site than the
// one whose robots.txt this is, as far as that is known: to ParseFor or to a
// Snapshot. Sites are compared as Locate writes them.
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

// matchRaw brings target into the form of the dialect. Buf has room for it.
func (g *Group) matchRaw(target string, buf, spare []byte) Verdict {
	switch g.rules.dialect {
	case Google:
		// The library has the path in a C string.
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
	// What the query escapes may be what a Disallow rule writes plainly.
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
// after b is written again, nor kept.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// verdict makes a verdict of the rank that decided; 0 means none.
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

// match returns the highest rank of the rules that match target, of the
// Disallow rules only if asked; 0 if none does.
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

// longest returns the index of the longest literal that target begins with,
// -1 if there is none.
//
// The last literal that sorts at or before target has every literal that
// target begins with among its own prefixes, so their chain is all there is to
// look at.
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
	// The two differ somewhere, so their common part is what counts.
	n := 0
	for n < len(l.text) && l.text[n] == target[n] {
		n++
	}
	for i >= 0 && len(s.literals[i].text) > n {
		i = s.literals[i].up
	}
	return i
}

// matches reports whether w matches target. Each segment is taken where it is
// found first, which leaves the most for the rest, so nothing is ever tried
// twice.
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
