package robots

import "sort"

// filter holds the hashes of two sequences of three octets that occur in a wildcard rule. The rule
// cannot match a target (path and query) that lacks one of these sequences.
type filter struct{ a, b uint16 }

// manyWilds is the smallest number of wildcard rules for which filters make matching faster.
const manyWilds = 8

// signature is the set of the hashes of all three-octet sequences in a target. The hash 0 stands
// for no sequence, and is in every signature.
type signature [64]uint64

func gramHash(gram uint32) uint16 { return uint16(gram * 0x9E3779B1 >> 20) }

func (sig *signature) has(h uint16) bool { return sig[h>>6&63]>>(h&63)&1 != 0 }

func (sig *signature) add(text string) {
	sig[0] |= 1
	var gram uint32
	for i := 0; i < len(text); i++ {
		gram = gram<<8&0xFFFFFF | uint32(text[i])
		h := gramHash(gram)
		sig[h>>6&63] |= 1 << (h & 63)
	}
}

// filter sets s.filters. For each wildcard rule it chooses the two of its three-octet sequences
// that are rarest in all wildcard rules.
func (s *ruleSet) filter() {
	if len(s.wilds) < manyWilds {
		return
	}
	var count [1 << 12]uint16
	s.eachGram(0, int32(len(s.segments)), func(h uint16) {
		if count[h] < 1<<16-1 {
			count[h]++
		}
	})
	s.filters = make([]filter, len(s.wilds))
	for i := range s.wilds {
		f := &s.filters[i]
		s.eachGram(s.wilds[i].first, s.wilds[i].last, func(h uint16) {
			switch {
			case f.a == 0 || count[h] < count[f.a]:
				f.a, f.b = h, f.a
			case h != f.a && (f.b == 0 || count[h] < count[f.b]):
				f.b = h
			}
		})
	}
}

func (s *ruleSet) eachGram(first, last int32, visit func(h uint16)) {
	for _, seg := range s.segments[first:last] {
		var gram uint32
		for i := 0; i < len(seg); i++ {
			gram = gram<<8&0xFFFFFF | uint32(seg[i])
			if i >= 2 {
				if h := gramHash(gram); h != 0 {
					visit(h)
				}
			}
		}
	}
}

func (s *ruleSet) matchFiltered(target string, disallow bool, best rank) rank {
	n := sort.Search(len(s.wilds), func(i int) bool { return s.wilds[i].rank < best })
	if n == 0 {
		return best
	}
	var sig signature
	sig.add(target)
	for i, f := range s.filters[:n] {
		if !sig.has(f.a) || !sig.has(f.b) {
			continue
		}
		w := &s.wilds[i]
		if !(disallow && w.rank.allow()) && s.matches(w, target) {
			return w.rank
		}
	}
	return best
}
