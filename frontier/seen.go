package frontier

import (
	"encoding/binary"
	"hash/maphash"
	"strings"
)

// A seenSet is the set of keys that Memory has seen. It is exact. Most of what a page names
// is known, in places all over the set, so that what a look costs is the wait for memory: a
// number of eight bytes says where the text of a key stands, and the texts stand side by
// side, so that several are waited for at once (see look), and the garbage collector has
// nothing to follow. The zero value is empty.
type seenSet struct {
	seed  maphash.Seed // who writes links does not know it
	parts []seenPart   // by the first byte of the hash; nil: nothing was added yet
	texts seenTexts
}

// seenParts are so many that all who use the backlog wait for one to grow, not for all.
const seenParts = 256

// A seenPart is a table of which a quarter is free, at least. A slot is 0, which is free, or
// the place of a text, and before that a part of its hash. From the slot that a hash begins
// at, its keys stand before the first that is free.
type seenPart struct {
	slots []uint64 // a power of two of them
	n     int
}

const (
	leastSlots = 8
	placeBits  = 40
	placeMask  = 1<<placeBits - 1
)

// A look is a key that is looked for.
type look struct {
	key    string
	hash   uint64
	place  uint64 // of a text that is likely to be key; 0: none is
	likely string // that
	known  bool
}

// maxLooks is how many keys are looked for at once.
const maxLooks = 64

// look finds out which keys are known. Each step is taken for all of them before the next
// one is: what they wait for does not depend on each other.
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

// knows reports whether a key is there that may be l.likely.
func (s *seenSet) knows(l *look) bool {
	return l.place != 0 && (l.likely == l.key || s.has(l.hash, l.key))
}

func (s *seenSet) part(hash uint64) *seenPart { return &s.parts[hash>>56] }

// tag is what a slot has of a hash: bits that neither the part nor the first slot is by.
func tag(hash uint64) uint64 { return hash >> 32 << placeBits }

// likely is the place of the first key whose slot has the tag of a hash; 0: there is none.
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

// has reports whether a key is there.
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

// add adds a key that was looked for, if it is still not there, and returns it as the set
// keeps it.
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

// put takes the first slot that is free.
func (p *seenPart) put(hash, place uint64) {
	mask := uint64(len(p.slots) - 1)
	i := hash & mask
	for p.slots[i] != 0 {
		i = (i + 1) & mask
	}
	p.slots[i] = tag(hash) | place
}

// grow doubles a part.
func (s *seenSet) grow(p *seenPart) {
	old := p.slots
	p.slots = make([]uint64, max(leastSlots, 2*len(old)))
	for _, slot := range old {
		if slot != 0 {
			p.put(maphash.String(s.seed, s.texts.at(slot&placeMask)), slot&placeMask)
		}
	}
}

// seenTexts are strings behind each other, in pieces of memory that are small, since who
// keeps one text for long keeps its piece; one that is long has its own. Before each stands
// its length. A place is the number of a piece, and where in it the length begins; none is 0.
type seenTexts struct {
	pieces []string
	open   strings.Builder // the piece that is written, and
	number int             // its number
}

const (
	pieceBits = 12
	seenPiece = 1 << pieceBits // bytes
)

// at is the text at a place, and that of none is empty.
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

// add returns where a text stands, and the text in the memory of that.
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
