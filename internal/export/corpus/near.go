package corpus

import (
	"math/bits"
	"strings"
	"unicode"

	"github.com/zeebo/xxh3"
)

// Near-duplicates are found by SimHash: M. Charikar, "Similarity estimation techniques from
// rounding algorithms" (2002). Two pages are near-duplicates if at most 3 of the 64 bits of
// their hashes differ: G. Manku, A. Jain, A. Das Sarma, "Detecting near-duplicates for web
// crawling" (2007).
const (
	maxDistance = 3
	shingle     = 3       // number of words in a feature
	leastWords  = 16      // a text with fewer words is a near-duplicate only of an equal text
	maxFirsts   = 1 << 18 // number of texts with which later texts are compared
)

// shapeOf returns the SimHash of a text, and the number of its words. The features are all
// sequences of three words. Case, punctuation and white space do not count.
func shapeOf(text string) (shape uint64, words int) {
	var counts [64]int32
	var last [shingle]uint64
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		copy(last[:], last[1:])
		last[shingle-1] = xxh3.HashString(strings.ToLower(word))
		if words++; words < shingle {
			continue
		}
		h := uint64(14695981039346656037)
		for _, w := range last {
			h = (h ^ w) * 0x9e3779b97f4a7c15
			h ^= h >> 32
		}
		for i := range counts {
			counts[i] += int32(h>>i&1)*2 - 1
		}
	}
	if words < shingle { // the text is so short that it is its only feature
		return xxh3.HashString(strings.ToLower(strings.Join(strings.Fields(text), " "))), words
	}
	for i, n := range counts {
		if n > 0 {
			shape |= 1 << i
		}
	}
	return shape, words
}

// A near finds the first text that is nearly the same as a given text. It compares the text
// with the first maxFirsts texts that were no near-duplicates. Each of these needs some 40
// bytes and its URL.
type near struct {
	firsts []first
	blocks [4]map[uint16][]int32 // texts by 16 bits of their hash; if two hashes differ in 3 bits, at least one of the four blocks is equal
}

type first struct {
	shape uint64
	words int32
	url   string
}

func newNear() *near {
	n := &near{}
	for i := range n.blocks {
		n.blocks[i] = map[uint16][]int32{}
	}
	return n
}

// of returns the URL of the first text that is nearly the same. If no text is, it returns ""
// and adds the text to those with which later texts are compared.
func (n *near) of(shape uint64, words int, url string) string {
	if words == 0 {
		return ""
	}
	found := int32(-1)
	for i, block := range n.blocks {
		for _, k := range block[uint16(shape>>(16*i))] {
			if (found < 0 || k < found) && n.firsts[k].like(shape, words) {
				found = k
			}
		}
	}
	if found >= 0 {
		return n.firsts[found].url
	}
	if len(n.firsts) < maxFirsts {
		k := int32(len(n.firsts))
		n.firsts = append(n.firsts, first{shape, int32(words), url})
		for i, block := range n.blocks {
			key := uint16(shape >> (16 * i))
			block[key] = append(block[key], k)
		}
	}
	return ""
}

// like reports whether a text with the given hash and number of words is a near-duplicate of f.
func (f *first) like(shape uint64, words int) bool {
	distance := bits.OnesCount64(f.shape ^ shape)
	return distance == 0 || distance <= maxDistance && words >= leastWords && f.words >= leastWords
}
