package robots

import (
	"cmp"
	"slices"
	"strings"
)

// ruleSet holds the compiled rules of a group in two parts. The field literals has the rules
// without wildcards, sorted for a binary search. The field wilds has the rules with wildcards, by
// falling rank, so that the first one that matches has the highest rank.
type ruleSet struct {
	dialect  Dialect
	literals []literal // the rules without wildcards, sorted by text
	keys     []uint64  // keys[i] is the result of keyOf for literals[i].text
	wilds    []wildcard
	filters  []filter // one filter for each element of wilds, in the same order; nil if wilds has fewer than manyWilds
	segments []string // texts between the stars of all wilds; each wildcard uses a range of them
}

// rank orders rules: of the rules that match a URL, the rule with the highest rank decides. The
// bits of a rank are:
//
//	63..33  length of the pattern in octets, in normal form (RFC 9309, 2.2.2)
//	32      1 for Allow: at equal length allow wins
//	31..0   the earlier line wins
//
// In dialect Koster1996 only bits 31..0 are set, because the first rule that matches decides
// (draft of 1996, 3.2.2).
type rank uint64

func newRank(length int, allow bool, index int) rank {
	r := rank(length)<<33 | rank(^uint32(index))
	if allow {
		r |= 1 << 32
	}
	return r
}

func (r rank) allow() bool { return r&(1<<32) != 0 }

// index returns the index of the rule in File.entries.
func (r rank) index() int { return int(^uint32(r)) }

// literal is a rule without wildcards. It matches targets that begin with text.
type literal struct {
	text string
	rank rank
	best rank  // highest rank of this literal and of all shorter literals that text begins with
	up   int32 // index of the longest other literal that text begins with; -1 if none exists
}

// wildcard is a rule with "*" or a final "$". Its segments are the texts between its stars. They
// must occur in a target from left to right, with any octets between them. A ruleSet sorts
// wildcards by falling rank.
type wildcard struct {
	rank     rank
	first    int32 // ruleSet.segments[first:last] are the segments; a target must begin with the first of them
	last     int32
	anchored bool // the rule had a final "$": a target must end with the last segment
}

// keyOf returns the eight octets after the first slash of a path as a number. Comparing two
// such numbers gives the same result as comparing the octets.
func keyOf(path string) uint64 {
	if len(path) >= 9 {
		b := path[1:9]
		return uint64(b[0])<<56 | uint64(b[1])<<48 | uint64(b[2])<<40 | uint64(b[3])<<32 |
			uint64(b[4])<<24 | uint64(b[5])<<16 | uint64(b[6])<<8 | uint64(b[7])
	}
	var k uint64
	for i := 1; i < len(path); i++ {
		k |= uint64(path[i]) << (64 - 8*i)
	}
	return k
}

// build compiles the rules that b has collected, for dialect d.
func (b *builder) build(d Dialect) ruleSet {
	set := ruleSet{dialect: d}
	arena := string(b.arena)
	wilds, stars := 0, 0
	for i := range b.patterns {
		p := &b.patterns[i]
		if p.text == "" {
			p.text = arena[p.start:p.end]
		}
		if p.wild {
			wilds++
			stars += strings.Count(p.text, "*")
		}
	}
	set.literals = make([]literal, 0, len(b.patterns)-wilds)
	if wilds > 0 {
		set.wilds = make([]wildcard, 0, wilds)
		set.segments = make([]string, 0, stars+wilds)
	}
	for i := range b.patterns {
		p := &b.patterns[i]
		if !p.wild {
			continue
		}
		w := wildcard{rank: p.rank, first: int32(len(set.segments)), anchored: p.anchored}
		set.segments = appendSegments(set.segments, p.text)
		w.last = int32(len(set.segments))
		set.wilds = append(set.wilds, w)
	}
	slices.SortFunc(set.wilds, func(a, b wildcard) int { return cmp.Compare(b.rank, a.rank) })
	set.addLiterals(b.patterns)
	set.filter()
	return set
}

// appendSegments splits the pattern text at its stars and appends the segments to segs. It leaves
// out empty segments, because they match everywhere. It keeps the first and the last segment even
// if they are empty, because they anchor the pattern.
func appendSegments(segs []string, text string) []string {
	seg, text, more := strings.Cut(text, "*")
	segs = append(segs, seg)
	for more {
		text = strings.TrimLeft(text, "*")
		if seg, text, more = strings.Cut(text, "*"); seg != "" || !more {
			segs = append(segs, seg)
		}
	}
	return segs
}

// addLiterals adds the patterns without wildcards to s.literals and sorts them. It links each
// literal to the longest other literal that it begins with (literal.up).
func (s *ruleSet) addLiterals(patterns []pattern) {
	type item struct {
		key   uint64
		index int32
	}
	var few [32]item
	items := few[:0]
	if cap(s.literals) > len(few) {
		items = make([]item, 0, cap(s.literals))
	}
	for i := range patterns {
		if !patterns[i].wild {
			items = append(items, item{keyOf(patterns[i].text), int32(i)})
		}
	}
	slices.SortFunc(items, func(a, b item) int {
		if a.key != b.key {
			return cmp.Compare(a.key, b.key)
		}
		p, q := &patterns[a.index], &patterns[b.index]
		if c := strings.Compare(p.text, q.text); c != 0 {
			return c
		}
		return cmp.Compare(p.rank, q.rank)
	})
	s.keys = make([]uint64, 0, len(items))
	for _, it := range items {
		p := &patterns[it.index]
		i := int32(len(s.literals))
		l := literal{text: p.text, rank: p.rank, best: p.rank, up: i - 1}
		for l.up >= 0 && !strings.HasPrefix(l.text, s.literals[l.up].text) {
			l.up = s.literals[l.up].up
		}
		if l.up >= 0 {
			up := &s.literals[l.up]
			if up.text == l.text && up.rank.allow() == l.rank.allow() {
				// The file has this rule twice: the earlier line has the higher rank.
				up.rank = max(up.rank, l.rank)
				up.best = max(up.best, l.best)
				continue
			}
			l.best = max(l.best, up.best)
		}
		s.literals = append(s.literals, l)
		s.keys = append(s.keys, it.key)
	}
}
