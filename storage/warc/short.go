package warc

import (
	"encoding/binary"
	"hash/crc32"
	"math/bits"
)

// Most records are short: those of requests and metadata, a few hundred bytes of header
// fields each. A compressor makes a Huffman code for each of them, which takes longer
// than all else that it does to them, and writes that down before the text, in some 60 bytes.
// But their letters are much the same: where the level is that of speed, one code, made
// once for such fields, serves all of them. It has fewer different lengths than the best
// code, so that 33 bytes say it, and that makes up for what it does worse.

// maxShort is the length of a record, in bytes, up to which it is short.
const maxShort = 2 << 10

// A run says that symbols up to last, from that of the run before on, have codes of so
// many bits; 0: they have none.
type run struct {
	last int
	bits uint8
}

// The code: of literals, the end and lengths of matches, of distances, and of the
// lengths of all these (RFC 1951, sections 3.2.5 and 3.2.7). It is complete, as
// decoders want it. Bytes that header fields do not have are not in it.
var (
	shortSymbols = []run{
		{9, 0}, {'\n', 6}, {12, 0}, {'\r', 6}, {31, 0},
		{' ', 6}, {',', 10}, {'-', 5}, {'9', 6}, {':', 5}, {'P', 8}, {'U', 7}, {'`', 8}, {'e', 5}, {'u', 6}, {'z', 8}, {'~', 11}, {255, 0},
		{endOfBlock + 1, 11}, {262, 7}, {275, 8}, {285, 11},
	}
	shortDistances = []run{{7, 6}, {21, 4}}
	shortLengths   = []run{{0, 5}, {3, 0}, {4, 5}, {5, 4}, {6, 3}, {7, 5}, {8, 4}, {9, 0}, {10, 5}, {11, 4}, {15, 0}, {16, 1}, {18, 5}}
)

// expand returns the bits of each symbol.
func expand(runs []run) (all []uint8) {
	for _, r := range runs {
		for len(all) <= r.last {
			all = append(all, r.bits)
		}
	}
	return all
}

// A huffman is the code of a symbol: its bits in the order in which they are written, the
// first one lowest, with those that follow it where they are known, and how many.
type huffman struct {
	code uint32
	n    uint8
}

// then is h with n more bits behind it.
func (h huffman) then(more uint32, n int) huffman {
	return huffman{h.code | more<<h.n, h.n + uint8(n)}
}

// huffmans gives symbols their codes by the lengths of these (RFC 1951, section 3.2.2).
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
	begin     []huffman             // of a block, with the code in it
	literals  [endOfBlock]huffman   // by byte
	matches   [maxMatch + 1]huffman // by length
	distances []huffman             // by symbol, without the bits that follow it
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
	c.matches[maxMatch] = all[len(all)-1] // which has a symbol of its own
	return c
}

// spread finds the symbol of a length less 3, or of a distance less 1: with 3 or 2 as of,
// there are 8 or 4 of them without a bit behind them, and then 4 or 2 with each number of
// bits (RFC 1951, section 3.2.5).
func spread(v uint32, of int) (symbol int, more uint32, extra int) {
	extra = max(0, bits.Len32(v)-of)
	return extra<<(of-1) + int(v>>extra), v & (1<<extra - 1), extra
}

// beginning is the header of the only block, with the code (RFC 1951, section 3.2.7).
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

// appendRun writes that n symbols have codes of so many bits.
func appendRun(all, codes []huffman, of uint8, n int) []huffman {
	const before, zeros, manyZeros = 16, 17, 18 // repeat that 3 to 6 times, 3 to 10, 11 to 138
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

// bitWriter appends bits, the lowest of each first.
type bitWriter struct {
	to   []byte
	bits uint64
	n    uint8 // of bits, less than 32
}

func (w *bitWriter) write(h huffman) {
	w.bits |= uint64(h.code) << w.n
	if w.n += h.n; w.n >= 32 {
		w.to = binary.LittleEndian.AppendUint32(w.to, uint32(w.bits))
		w.bits >>= 32
		w.n -= 32
	}
}

// rest writes what is left, filled up to a whole byte.
func (w *bitWriter) rest() []byte {
	for ; w.n > 0; w.n -= min(w.n, 8) {
		w.to = append(w.to, byte(w.bits))
		w.bits >>= 8
	}
	return w.to
}

// append appends text, of maxShort bytes at most, as a gzip member (RFC 1952). It
// reports false where that is not what the code is for: there is a byte in text that the
// code has none for, or little was gained.
func (c *shortCode) append(to, text []byte) ([]byte, bool) {
	from := len(to)
	w := bitWriter{to: append(to, 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 0xff)} // deflate; no name, no time; fast; any system
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

// compress writes each byte, or that it and those behind it are as those so far before
// it, as soon as four of them are.
func (c *shortCode) compress(w *bitWriter, text []byte) bool {
	const tableBits = 10
	var table [1 << tableBits]uint16 // where four bytes stood last, by their hash
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

// alike counts the bytes in which a and b, the end of a, begin alike, maxMatch at most.
func alike(a, b []byte) int {
	n, most := minMatch, min(len(b), maxMatch)
	for n < most && a[n] == b[n] {
		n++
	}
	return n
}
