package warc

import (
	"encoding/binary"
	"hash/crc32"
	"math/bits"
)

// Most records are short: requests and metadata with a few hundred bytes of header fields each. A
// compressor makes a new Huffman code for each record, which takes longer than the rest of its
// work, and writes this code before the text, in about 60 bytes. But short records contain nearly
// the same letters. So at the fastest level all short records share one code, which was made once
// for such fields. It has fewer different code lengths than the best code, so it takes only 33
// bytes. This makes up for the worse compression.

// maxShort is the length of the longest short record, in bytes.
const maxShort = 2 << 10

// A run is a range of symbols whose codes have the same length. It begins after the last symbol of
// the previous run. If bits is 0, the symbols have no code.
type run struct {
	last int
	bits uint8
}

// The shared code has three parts (RFC 1951, sections 3.2.5 and 3.2.7). The first part is for
// single bytes, the end of the block, and lengths of matches. The second is for distances. The
// third is for the code lengths of the first two. The code is complete, as decoders require. Bytes
// that do not occur in header fields have no code.
var (
	shortSymbols = []run{
		{9, 0}, {'\n', 6}, {12, 0}, {'\r', 6}, {31, 0},
		{' ', 6}, {',', 10}, {'-', 5}, {'9', 6}, {':', 5}, {'P', 8}, {'U', 7}, {'`', 8}, {'e', 5}, {'u', 6}, {'z', 8}, {'~', 11}, {255, 0},
		{endOfBlock + 1, 11}, {262, 7}, {275, 8}, {285, 11},
	}
	shortDistances = []run{{7, 6}, {21, 4}}
	shortLengths   = []run{{0, 5}, {3, 0}, {4, 5}, {5, 4}, {6, 3}, {7, 5}, {8, 4}, {9, 0}, {10, 5}, {11, 4}, {15, 0}, {16, 1}, {18, 5}}
)

// expand returns the number of bits of each symbol.
func expand(runs []run) (all []uint8) {
	for _, r := range runs {
		for len(all) <= r.last {
			all = append(all, r.bits)
		}
	}
	return all
}

// A huffman is the code of a symbol. It has n bits, and its lowest bit is written first. If the
// symbol is always followed by the same extra bits, the code includes them.
type huffman struct {
	code uint32
	n    uint8
}

// then returns h followed by the n bits of more.
func (h huffman) then(more uint32, n int) huffman {
	return huffman{h.code | more<<h.n, h.n + uint8(n)}
}

// huffmans returns the codes of symbols, given the lengths of the codes (RFC 1951, section
// 3.2.2).
func huffmans(lengths []uint8) []huffman {
	all := make([]huffman, len(lengths))
	code := uint32(0)
	for n := uint8(1); n <= 15; n++ {
		for symbol, of := range lengths {
			if of == n {
				all[symbol] = huffman{bits.Reverse32(code) >> (32 - n), n}
				code++
			}
		}
		code <<= 1
	}
	return all
}

const (
	endOfBlock         = 256
	minMatch, maxMatch = 4, 258
)

// A shortCode compresses short records. It is safe for concurrent use.
type shortCode struct {
	begin     []huffman             // beginning of a block, which contains the code itself
	literals  [endOfBlock]huffman   // codes of single bytes
	matches   [maxMatch + 1]huffman // codes of matches, by the length of the match
	distances []huffman             // codes of distances, by symbol, without the extra bits that follow a symbol
	end       huffman
}

func newShortCode() *shortCode {
	symbols, distances := expand(shortSymbols), expand(shortDistances)
	c := &shortCode{begin: beginning(symbols, distances), distances: huffmans(distances)}
	all := huffmans(symbols)
	copy(c.literals[:], all)
	c.end = all[endOfBlock]
	for n := minMatch; n < maxMatch; n++ {
		symbol, more, extra := spread(uint32(n-3), 3)
		c.matches[n] = all[endOfBlock+1+symbol].then(more, extra)
	}
	c.matches[maxMatch] = all[len(all)-1] // the longest match has a symbol of its own
	return c
}

// spread returns the symbol of v, the extra bits after it, and their number. v is the length of
// a match less 3, or a distance less 1. For a length, the second parameter must be 3: eight
// symbols have no extra bits, then four symbols have one, four have two, and so on. For a
// distance, it must be 2: four symbols have no extra bits, then two symbols have one, two have
// two, and so on (RFC 1951, section 3.2.5).
func spread(v uint32, of int) (symbol int, more uint32, extra int) {
	extra = max(0, bits.Len32(v)-of)
	return extra<<(of-1) + int(v>>extra), v & (1<<extra - 1), extra
}

// beginning returns the header of the only block of a member, which contains the code (RFC
// 1951, section 3.2.7).
func beginning(symbols, distances []uint8) []huffman {
	order := [...]int{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}
	lengths := expand(shortLengths)
	last := len(order) - 1
	for lengths[order[last]] == 0 {
		last--
	}
	all := []huffman{{1, 1}, {2, 2}, {uint32(len(symbols) - 257), 5}, {uint32(len(distances) - 1), 5}, {uint32(last - 3), 4}}
	for _, symbol := range order[:last+1] {
		all = append(all, huffman{uint32(lengths[symbol]), 3})
	}
	codes := huffmans(lengths)
	for _, list := range [][]uint8{symbols, distances} {
		for len(list) > 0 {
			n := 1
			for n < len(list) && list[n] == list[0] {
				n++
			}
			all = appendRun(all, codes, list[0], n)
			list = list[n:]
		}
	}
	return all
}

// appendRun appends a part of the header. It says that the codes of the next n symbols have the
// same length. The parameter of is this length, in bits. codes has the codes for code lengths.
func appendRun(all, codes []huffman, of uint8, n int) []huffman {
	const before, zeros, manyZeros = 16, 17, 18 // repeat the last length 3 to 6 times; repeat 0 3 to 10 times; repeat 0 11 to 138 times
	if of > 0 {
		all, n = append(all, codes[of]), n-1
	}
	for n > 0 {
		switch {
		case n < 3:
			all, n = append(all, codes[of]), n-1
		case of > 0:
			k := min(n, 6)
			all, n = append(all, codes[before].then(uint32(k-3), 2)), n-k
		case n < 11:
			all, n = append(all, codes[zeros].then(uint32(n-3), 3)), 0
		default:
			k := min(n, 138)
			all, n = append(all, codes[manyZeros].then(uint32(k-11), 7)), n-k
		}
	}
	return all
}

// A bitWriter appends codes to a slice of bytes, the lowest bit of each code first.
type bitWriter struct {
	to   []byte
	bits uint64
	n    uint8 // number of bits in the incomplete last byte and after it, less than 32
}

func (w *bitWriter) write(h huffman) {
	w.bits |= uint64(h.code) << w.n
	if w.n += h.n; w.n >= 32 {
		w.to = binary.LittleEndian.AppendUint32(w.to, uint32(w.bits))
		w.bits >>= 32
		w.n -= 32
	}
}

// rest appends the remaining bits, padded to a whole byte, and returns all bytes.
func (w *bitWriter) rest() []byte {
	for ; w.n > 0; w.n -= min(w.n, 8) {
		w.to = append(w.to, byte(w.bits))
		w.bits >>= 8
	}
	return w.to
}

// append appends text, of at most maxShort bytes, as a gzip member (RFC 1952). It returns false
// if text has a byte without a code, or if compression saves less than an eighth of the bytes.
func (c *shortCode) append(to, text []byte) ([]byte, bool) {
	from := len(to)
	w := bitWriter{to: append(to, 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 0xff)} // gzip header: method deflate; no name, no time; fastest compression; unknown system
	for _, h := range c.begin {
		w.write(h)
	}
	if !c.compress(&w, text) {
		return to, false
	}
	w.write(c.end)
	to = binary.LittleEndian.AppendUint32(w.rest(), crc32.ChecksumIEEE(text))
	to = binary.LittleEndian.AppendUint32(to, uint32(len(text)))
	return to, len(to)-from <= len(text)-len(text)/8
}

// compress writes text as single bytes and as matches with earlier parts of text, of at least
// four bytes. It returns false if a byte has no code.
func (c *shortCode) compress(w *bitWriter, text []byte) bool {
	const tableBits = 10
	var table [1 << tableBits]uint16 // for each hash of four bytes, the last offset at which they were found
	at := func(word uint32) *uint16 { return &table[word*2654435761>>(32-tableBits)] }
	for i := 0; i < len(text); {
		n := 0
		if i+minMatch <= len(text) {
			word := binary.LittleEndian.Uint32(text[i:])
			last := at(word)
			before := int(*last)
			*last = uint16(i)
			if before < i && binary.LittleEndian.Uint32(text[before:]) == word {
				n = alike(text[before:], text[i:])
				symbol, more, extra := spread(uint32(i-before-1), 2)
				w.write(c.matches[n])
				w.write(c.distances[symbol].then(more, extra))
			}
		}
		if n == 0 {
			h := c.literals[text[i]]
			if h.n == 0 {
				return false
			}
			w.write(h)
			i++
			continue
		}
		for end := i + n; i < end; i++ {
			if i+minMatch <= len(text) {
				*at(binary.LittleEndian.Uint32(text[i:])) = uint16(i)
			}
		}
	}
	return true
}

// alike returns how many bytes at the beginning of a and b are equal, at most maxMatch. The
// first minMatch bytes must be equal. b is a suffix of a.
func alike(a, b []byte) int {
	n, most := minMatch, min(len(b), maxMatch)
	for n < most && a[n] == b[n] {
		n++
	}
	return n
}
