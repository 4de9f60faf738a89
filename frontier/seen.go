package frontier

import (
	"encoding/binary"
	"hash/maphash"
	"strings"
)

// A seenSet is the exact set of the keys of all entries that a Memory has seen.
//
// Most links of a page are known, and their keys are at random places of the set, so a lookup
// mostly waits for memory. Therefore several keys are looked up at once (see look). For each key
// the set has a slot of eight bytes, which says where the key's text is. The texts are stored back
// to back. A slot is not a pointer, so the garbage collector need not follow the slots. The zero
// value is empty.
type seenSet struct {
	seed  maphash.Seed // random and secret, so that a page cannot choose links whose keys have equal hashes
	parts []seenPart   // indexed by the first byte of the hash; nil: no key was added yet
	texts seenTexts
}

// seenParts is the number of parts. Parts grow one at a time, so each growth is short.
const seenParts = 256

// A seenPart is a hash table with linear probing. At least a quarter of its slots is free. A free
// slot is 0. In any other slot, the low bits are the place of a text, and the high bits are part
// of the hash of this text. The low bits of a key's hash select its first slot. The key is in this
// slot, or in a later one before the next free slot.
type seenPart struct {
	slots []uint64 // their number is a power of two
	n     int
}

const (
	leastSlots = 8
	placeBits  = 40
	placeMask  = 1<<placeBits - 1
)

// A look is the lookup of one key, with its result.
type look struct {
	key    string
	hash   uint64
	place  uint64 // the place in seenTexts of a text that is probably equal to key; 0: no such text
	likely string // the text at place
	known  bool
}

// maxLooks is the largest number of keys in one call of look.
const maxLooks = 64

// look sets the field known of each of looks: it is true if the set has the key. look does each
// step for all keys before the next step, so that the accesses to memory overlap.
func (s *seenSet) look(looks []look) {
	if s.parts == nil {
		s.seed, s.parts = maphash.MakeSeed(), make([]seenPart, seenParts)
	}
	for i := range looks {
		looks[i].hash = maphash.String(s.seed, looks[i].key)
	}
	for i := range looks {
		looks[i].place = s.part(looks[i].hash).likely(looks[i].hash)
	}
	for i := range looks {
		looks[i].likely = s.texts.at(looks[i].place)
	}
	for i := range looks {
		looks[i].known = s.knows(&looks[i])
	}
}

// knows reports whether the set has l.key, which is probably equal to l.likely.
func (s *seenSet) knows(l *look) bool {
	return l.place != 0 && (l.likely == l.key || s.has(l.hash, l.key))
}

func (s *seenSet) part(hash uint64) *seenPart { return &s.parts[hash>>56] }

// tag returns the part of a hash that a slot stores. These bits differ from those that select the
// part and the first slot.
func tag(hash uint64) uint64 { return hash >> 32 << placeBits }

// likely returns the place of the first key whose slot has the same tag as hash, or 0.
func (p *seenPart) likely(hash uint64) uint64 {
	if len(p.slots) == 0 {
		return 0
	}
	mask, tag := uint64(len(p.slots)-1), tag(hash)
	for i := hash & mask; ; i = (i + 1) & mask {
		if slot := p.slots[i]; slot == 0 {
			return 0
		} else if slot&^placeMask == tag {
			return slot & placeMask
		}
	}
}

// has reports whether the set has key, whose hash is given.
func (s *seenSet) has(hash uint64, key string) bool {
	p := s.part(hash)
	if len(p.slots) == 0 {
		return false
	}
	mask, tag := uint64(len(p.slots)-1), tag(hash)
	for i := hash & mask; p.slots[i] != 0; i = (i + 1) & mask {
		if slot := p.slots[i]; slot&^placeMask == tag && s.texts.at(slot&placeMask) == key {
			return true
		}
	}
	return false
}

// add adds l.key, unless the set already has this key. It returns the copy of the key that the set
// keeps.
func (s *seenSet) add(l *look) (kept string, added bool) {
	if l.known || s.has(l.hash, l.key) {
		return "", false
	}
	p := s.part(l.hash)
	if 4*(p.n+1) > 3*len(p.slots) {
		s.grow(p)
	}
	place, kept := s.texts.add(l.key)
	p.put(l.hash, place)
	p.n++
	return kept, true
}

// put writes place to the first free slot for hash.
func (p *seenPart) put(hash, place uint64) {
	mask := uint64(len(p.slots) - 1)
	i := hash & mask
	for p.slots[i] != 0 {
		i = (i + 1) & mask
	}
	p.slots[i] = tag(hash) | place
}

// grow doubles the number of slots of p.
func (s *seenSet) grow(p *seenPart) {
	old := p.slots
	p.slots = make([]uint64, max(leastSlots, 2*len(old)))
	for _, slot := range old {
		if slot != 0 {
			p.put(maphash.String(s.seed, s.texts.at(slot&placeMask)), slot&placeMask)
		}
	}
}

// seenTexts stores strings back to back in small pieces of memory, each string after its length. A
// string that a caller keeps prevents its whole piece from being freed. So pieces are small, and a
// long string has a piece of its own. A place consists of the number of a piece and the offset of
// the string's length in this piece; no place is 0.
type seenTexts struct {
	pieces []string
	open   strings.Builder // the piece that add writes to
	number int             // number of the piece that add writes to
}

const (
	pieceBits = 12
	seenPiece = 1 << pieceBits // size of a piece in bytes
)

// at returns the text that is stored at place, or "" for place 0.
func (t *seenTexts) at(place uint64) string {
	if place == 0 {
		return ""
	}
	rest := t.pieces[place>>pieceBits][place&(seenPiece-1):]
	if n := int(rest[0]); n < 0x80 {
		return rest[1 : 1+n]
	}
	n, i, shift := 0, 0, 0
	for ; rest[i] >= 0x80; i++ {
		n |= int(rest[i]&0x7f) << shift
		shift += 7
	}
	n |= int(rest[i]) << shift
	return rest[i+1 : i+1+n]
}

// add stores a text. It returns the place of the text and the stored copy.
func (t *seenTexts) add(text string) (place uint64, kept string) {
	var b [binary.MaxVarintLen64]byte
	length := binary.AppendUvarint(b[:0], uint64(len(text)))
	n := len(length) + len(text)
	if t.pieces == nil {
		t.pieces = []string{""}
	}
	number, to := t.number, &t.open
	if n > seenPiece/4 {
		number, to = len(t.pieces), new(strings.Builder)
		t.pieces = append(t.pieces, "")
		to.Grow(n)
	} else if t.open.Cap()-t.open.Len() < n {
		t.number = len(t.pieces)
		number = t.number
		t.pieces = append(t.pieces, "")
		t.open.Reset()
		t.open.Grow(seenPiece)
	}
	start := to.Len()
	to.Write(length)
	to.WriteString(text)
	t.pieces[number] = to.String()
	return uint64(number)<<pieceBits | uint64(start), t.pieces[number][start+len(length):]
}
