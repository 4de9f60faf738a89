package state

import (
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// A siteRecord is the row of a site in bucketStates.
type siteRecord struct {
	Site    frontier.Site
	Clocks  frontier.Clocks
	Given   frontier.Fate
	Merged  uint64 // rows of the journal up to this number are merged for this site
	Entries uint32 // number of entries that have got a number
	Queued  int    // number of entries that have not ended: Ready + Waiting
	Ready   int    // number of entries with kindReady
	Waiting int    // number of entries with kindWaiting
	Again   int    // number of waiting entries that will be fetched again
	Head    uint8  // lowest rank of an entry with kindReady, at the last merge
	Spent   frontier.Spent
}

// append appends the encoded record: site, Merged, Entries, Ready, Waiting, Again, Head, Spent
// (pages, bytes, time), Clocks, Given.
func (r *siteRecord) append(b []byte) []byte {
	b = appendString(b, string(r.Site))
	for _, n := range [...]uint64{r.Merged, uint64(r.Entries), uint64(r.Ready), uint64(r.Waiting), uint64(r.Again), uint64(r.Head)} {
		b = binary.AppendUvarint(b, n)
	}
	return appendFate(appendClocks(appendSpent(b, r.Spent), &r.Clocks), &r.Given)
}

// value returns the encoded record after room for the checksum. It uses the memory of b.
func (r *siteRecord) value(b []byte) []byte { return r.append(b[:checksumSize]) }

func (r *siteRecord) decode(key, value []byte) error {
	raw, err := unseal(bucketStates, key, value)
	if err != nil {
		return err
	}
	d := decoder{b: raw}
	r.Site = frontier.Site(d.string())
	r.Merged, r.Entries = d.uvarint(), uint32(d.uvarint())
	r.Ready, r.Waiting, r.Again = int(d.uvarint()), int(d.uvarint()), int(d.uvarint())
	r.Head = uint8(d.uvarint())
	r.Queued = r.Ready + r.Waiting
	r.Spent = d.spent()
	r.Clocks, r.Given = d.clocks(), d.fate()
	if err := d.err(); err != nil {
		return recordError(bucketStates, key, err)
	}
	return nil
}

// decodeOf decodes the record of a site, and checks that the record has the name of the site.
func (r *siteRecord) decodeOf(site frontier.Site, n siteNum, value []byte) error {
	if err := r.decode(n.key(), value); err != nil {
		return err
	}
	if r.Site != site {
		return recordError(bucketStates, n.key(), fmt.Errorf("it is of %s, not of %s", r.Site, site))
	}
	return nil
}

func appendSpent(b []byte, s frontier.Spent) []byte {
	b = binary.AppendUvarint(b, uint64(s.Pages))
	b = binary.AppendUvarint(b, uint64(s.Bytes))
	return binary.AppendUvarint(b, uint64(s.Time))
}

func (d *decoder) spent() frontier.Spent {
	return frontier.Spent{Pages: int(d.uvarint()), Bytes: int64(d.uvarint()), Time: time.Duration(d.uvarint())}
}

// clockCodes are the clocks by their number in files. New clocks must be added at the end,
// because existing files have the numbers. A clock that is not in the list is encoded as 0 and
// a string.
var clockCodes = [...]frontier.Clock{
	1: frontier.OwnClock, frontier.CrawlDelayClock, frontier.RateClock, frontier.VisitTimeClock,
	frontier.AdaptiveClock, frontier.RetryAfterClock, frontier.BackOffClock, frontier.RobotsClock,
	frontier.IPClock, frontier.SiteClock, frontier.RestartClock, frontier.RetryClock, frontier.DomainClock,
	frontier.MachineClock, frontier.FailuresClock, frontier.HostClock, frontier.AgainClock,
}

func appendClock(b []byte, c frontier.Clock) []byte {
	for code := 1; code < len(clockCodes); code++ {
		if clockCodes[code] == c {
			return append(b, byte(code))
		}
	}
	return appendString(append(b, 0), string(c))
}

func (d *decoder) clock() frontier.Clock {
	code := int(d.byte())
	if code == 0 {
		return frontier.Clock(d.string())
	}
	if code >= len(clockCodes) {
		d.bad, d.b = true, nil
		return ""
	}
	return clockCodes[code]
}

// Flags in encoded clocks, which say which parts follow.
const (
	hasGap = 1 << iota
	hasTrouble
	hasRetryAfter
	isPublic
	hasClocks
)

// appendClocks appends flags, Due, By, Ended, TTFB, LastTTFB, Good. With hasGap follow Gap and
// GapBy; with hasTrouble Strikes, Refusals and Failures; with hasRetryAfter RetryAfter. Clocks
// that were never set are encoded as one zero byte.
func appendClocks(b []byte, c *frontier.Clocks) []byte {
	if *c == (frontier.Clocks{}) {
		return append(b, 0)
	}
	flags := byte(hasClocks)
	if c.Gap != 0 || c.GapBy != "" {
		flags |= hasGap
	}
	if c.Strikes != 0 || c.Refusals != 0 || c.Failures != 0 {
		flags |= hasTrouble
	}
	if !c.RetryAfter.IsZero() {
		flags |= hasRetryAfter
	}
	if c.Public {
		flags |= isPublic
	}
	b = append(b, flags)
	b = appendTime(appendClock(appendTime(b, c.Due), c.By), c.Ended)
	b = binary.AppendUvarint(b, uint64(c.TTFB))
	b = binary.AppendUvarint(b, uint64(c.LastTTFB))
	b = binary.AppendUvarint(b, uint64(c.Good))
	if flags&hasGap != 0 {
		b = appendClock(binary.AppendUvarint(b, uint64(c.Gap)), c.GapBy)
	}
	if flags&hasTrouble != 0 {
		for _, n := range [...]int{c.Strikes, c.Refusals, c.Failures} {
			b = binary.AppendUvarint(b, uint64(n))
		}
	}
	if flags&hasRetryAfter != 0 {
		b = appendTime(b, c.RetryAfter)
	}
	return b
}

func (d *decoder) clocks() (c frontier.Clocks) {
	flags := d.byte()
	if flags == 0 {
		return c
	}
	c.Due, c.By, c.Ended = d.time(), d.clock(), d.time()
	c.TTFB, c.LastTTFB, c.Good = time.Duration(d.uvarint()), time.Duration(d.uvarint()), int(d.uvarint())
	if flags&hasGap != 0 {
		c.Gap, c.GapBy = time.Duration(d.uvarint()), d.clock()
	}
	if flags&hasTrouble != 0 {
		c.Strikes, c.Refusals, c.Failures = int(d.uvarint()), int(d.uvarint()), int(d.uvarint())
	}
	if flags&hasRetryAfter != 0 {
		c.RetryAfter = d.time()
	}
	c.Public = flags&isPublic != 0
	return c
}

// Flags in an encoded fate, which say which parts follow.
const (
	hasStatus = 1 << iota
	hasDetail
	hasSHA1   // a digest follows as 20 bytes
	hasDigest // a digest follows as a string
	hasRules
	hasUntil
	hasTime
	hasAnswer // used only in the journal; see places.go for rows of ended entries
)

const sha1Prefix = "sha1:"

// appendFate appends a fate: its code, and, if the code is not Undecided, flags and the parts
// that are set: Status, Detail, Digest (20 bytes, or a string), Rules, Until, Time, and the
// file and the offset of Answer.
func appendFate(b []byte, f *frontier.Fate) []byte {
	b = append(b, byte(f.Code))
	if f.Code == frontier.Undecided {
		return b
	}
	at := len(b)
	b = append(b, 0)
	flags := byte(0)
	if f.Status != 0 {
		flags |= hasStatus
		b = binary.AppendUvarint(b, uint64(f.Status))
	}
	if f.Detail != "" {
		flags |= hasDetail
		b = appendString(b, f.Detail)
	}
	if f.Digest != "" {
		if long, err := appendSHA1(b, f.Digest); err == nil {
			flags |= hasSHA1
			b = long
		} else {
			flags |= hasDigest
			b = appendString(b, f.Digest)
		}
	}
	if !f.Rules.IsZero() {
		flags |= hasRules
		b = appendTime(b, f.Rules)
	}
	if !f.Until.IsZero() {
		flags |= hasUntil
		b = appendTime(b, f.Until)
	}
	if !f.Time.IsZero() {
		flags |= hasTime
		b = appendTime(b, f.Time)
	}
	if f.Answer != (frontier.Place{}) {
		flags |= hasAnswer
		b = binary.AppendUvarint(appendString(b, f.Answer.File), uint64(f.Answer.Offset))
	}
	b[at] = flags
	return b
}

// appendSHA1 appends the 20 bytes of a digest. It returns an error if the digest is not
// "sha1:" and 32 digits of base 32.
func appendSHA1(b []byte, digest string) ([]byte, error) {
	text, ok := strings.CutPrefix(digest, sha1Prefix)
	if !ok || len(text) != 32 {
		return nil, errRecord
	}
	var text32 [32]byte
	copy(text32[:], text)
	var sum [20]byte
	if _, err := base32.StdEncoding.Decode(sum[:], text32[:]); err != nil {
		return nil, err
	}
	return append(b, sum[:]...), nil
}

func (d *decoder) fate() (f frontier.Fate) {
	f.Code = frontier.Code(d.byte())
	if f.Code == frontier.Undecided {
		return f
	}
	flags := d.byte()
	if flags&hasStatus != 0 {
		f.Status = int(d.uvarint())
	}
	if flags&hasDetail != 0 {
		f.Detail = d.string()
	}
	if flags&hasSHA1 != 0 {
		f.Digest = sha1Prefix + base32.StdEncoding.EncodeToString(d.bytes(20))
	}
	if flags&hasDigest != 0 {
		f.Digest = d.string()
	}
	if flags&hasRules != 0 {
		f.Rules = d.time()
	}
	if flags&hasUntil != 0 {
		f.Until = d.time()
	}
	if flags&hasTime != 0 {
		f.Time = d.time()
	}
	if flags&hasAnswer != 0 {
		f.Answer = frontier.Place{File: d.string(), Offset: int64(d.uvarint())}
	}
	return f
}

// Flags in an encoded entry. They say which parts follow, and which properties the entry has.
const (
	hasVia  = 1 << iota // Via is a URL of another site
	hasNear             // Via is a URL of the same site
	hasTag
	isHead
	isByGet
	hasSame
	isApart
	hasVisits
)

// appendEntry appends an entry without its site and number, which are in the key of its row:
// Tries, Depth, Rank (1), flags, Hops, the target of URL; then the parts that are set:
//   - Via; if it is of the same site, its target as appendNear writes it
//   - Tag
//   - the target of Same, as appendNear writes it
//   - Visits, and the fate of the last visit
func appendEntry(b []byte, e *frontier.Entry, tries int) []byte {
	b = binary.AppendUvarint(b, uint64(tries))
	b = append(binary.AppendUvarint(b, uint64(e.Depth)), e.Rank)
	at := len(b)
	b = append(b, 0)
	flags := byte(0)
	target := e.URL.Target()
	b = appendString(appendString(b, e.Hops), target)
	site := string(e.URL.Site())
	if near, ok := strings.CutPrefix(e.Via, site); ok && strings.HasPrefix(near, "/") {
		flags |= hasNear
		b = appendNear(b, target, near)
	} else if e.Via != "" {
		flags |= hasVia
		b = appendString(b, e.Via)
	}
	if e.Tag != "" {
		flags |= hasTag
		b = appendString(b, e.Tag)
	}
	if !e.Same.IsZero() && e.Same.Site() == e.URL.Site() {
		flags |= hasSame
		b = appendNear(b, target, e.Same.Target())
	}
	if e.Visits != nil {
		flags |= hasVisits
		b = appendFate(appendVisits(b, e.Visits), &e.Visits.Last)
	}
	if e.Head {
		flags |= isHead
	}
	if e.ByGet {
		flags |= isByGet
	}
	if e.Apart {
		flags |= isApart
	}
	b[at] = flags
	return b
}

// appendNear appends the target near in a short form: the length of the beginning that near has
// in common with target, and the rest of near.
func appendNear(b []byte, target, near string) []byte {
	same := 0
	for same < len(near) && same < len(target) && near[same] == target[same] {
		same++
	}
	return appendString(binary.AppendUvarint(b, uint64(same)), near[same:])
}

// near reads a target that appendNear has encoded. It returns the part that it has in common
// with target, and the rest.
func (d *decoder) near(target []byte) (same, rest []byte) {
	n := d.uvarint()
	rest = d.lengthed()
	if n > uint64(len(target)) {
		d.bad, d.b = true, nil
		return nil, nil
	}
	return target[:n], rest
}

// entry reads an encoded entry of a site. The encoding does not contain the entry's number, so
// ID is not set. Hops and Via of the result share the memory of one string.
func (d *decoder) entry(site frontier.Site) (e frontier.Entry, err error) {
	e.Tries, e.Depth, e.Rank = int(d.uvarint()), int(d.uvarint()), d.byte()
	flags := d.byte()
	hops, target := d.lengthed(), d.lengthed()
	near, via := frontier.Site(""), [2][]byte{}
	if flags&hasNear != 0 {
		near = site
		via[0], via[1] = d.near(target)
	}
	if flags&hasVia != 0 {
		near, via = "", [2][]byte{d.lengthed()}
	}
	if flags&hasTag != 0 {
		e.Tag = d.string()
	}
	var same [2][]byte
	if flags&hasSame != 0 {
		same[0], same[1] = d.near(target)
	}
	if flags&hasVisits != 0 {
		e.Visits = d.visits()
		e.Visits.Last = d.fate()
	}
	e.Head, e.ByGet, e.Apart = flags&isHead != 0, flags&isByGet != 0, flags&isApart != 0
	if err := d.err(); err != nil {
		return e, err
	}
	var b strings.Builder
	b.Grow(len(hops) + len(near) + len(via[0]) + len(via[1]))
	b.Write(hops)
	b.WriteString(string(near))
	b.Write(via[0])
	b.Write(via[1])
	text := b.String()
	e.Hops, e.Via = text[:len(hops)], text[len(hops):]
	if e.URL, err = site.URL(string(target)); err == nil && flags&hasSame != 0 {
		if e.Same, err = frontier.ParseURL(string(site) + string(same[0]) + string(same[1])); err == nil && e.Same.Site() != e.URL.Site() {
			err = errRecord
		}
	}
	return e, err
}

// skipEntry reads an encoded entry without using it.
func (d *decoder) skipEntry() {
	d.uvarint()
	d.uvarint()
	d.byte()
	flags := d.byte()
	d.lengthed()
	d.lengthed()
	if flags&hasNear != 0 {
		d.uvarint()
		d.lengthed()
	}
	if flags&hasVia != 0 {
		d.lengthed()
	}
	if flags&hasTag != 0 {
		d.lengthed()
	}
	if flags&hasSame != 0 {
		d.uvarint()
		d.lengthed()
	}
	if flags&hasVisits != 0 {
		d.visits()
		d.fate()
	}
}

// appendVisits appends First, Seen, Changes, and the file and the offset of Body.
func appendVisits(b []byte, v *frontier.Visits) []byte {
	b = binary.AppendUvarint(appendTime(b, v.First), uint64(v.Seen))
	b = appendString(binary.AppendUvarint(b, uint64(v.Changes)), v.Body.File)
	return binary.AppendUvarint(b, uint64(v.Body.Offset))
}

func (d *decoder) visits() *frontier.Visits {
	v := &frontier.Visits{First: d.time(), Seen: int(d.uvarint()), Changes: int(d.uvarint())}
	v.Body = frontier.Place{File: d.string(), Offset: int64(d.uvarint())}
	return v
}

// visited appends the encoded entry raw to b, with Visits replaced by v, and with Tries 0.
func visited(b, raw []byte, site frontier.Site, v *frontier.Visits) ([]byte, error) {
	d := decoder{b: raw}
	e, err := d.entry(site)
	e.Visits = v
	return appendEntry(b, &e, 0), err
}

// entryRank returns the rank in an encoded entry.
func entryRank(raw []byte) uint8 {
	d := decoder{b: raw}
	d.uvarint()
	d.uvarint()
	return d.byte()
}

// waitsAgain reports whether raw, the encoded entry of a waiting row, waits to be fetched again
// (frontier.Entry.Again).
func waitsAgain(raw []byte) bool {
	d := decoder{b: raw}
	return d.uvarint() == 0 && wasVisited(raw)
}

// wasVisited reports whether an encoded entry has Visits.
func wasVisited(raw []byte) bool {
	d := decoder{b: raw}
	d.uvarint()
	d.uvarint()
	d.byte()
	return d.byte()&hasVisits != 0
}

// retried appends the encoded entry raw to b, with Tries replaced by tries. If byGet is set, it
// also sets isByGet, because the server has refused HEAD.
func retried(b, raw []byte, tries int, byGet bool) []byte {
	d := decoder{b: raw}
	d.uvarint()
	b = append(binary.AppendUvarint(b, uint64(tries)), d.b...)
	d.uvarint() // skip the depth
	d.byte()    // skip the rank
	if byGet && len(d.b) > 0 {
		b[len(b)-len(d.b)] |= isByGet
	}
	return b
}
