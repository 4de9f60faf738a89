package warc

import (
	"bytes"
	"crypto/sha1"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"time"

	"github.com/klauspost/compress/flate"
)

// FieldPurged is a field of this package; section 4 permits such fields. It marks a record that
// replaces a removed record.
const FieldPurged = "WARC-Purged"

// A Purged is the replacement of a removed record: a metadata record (section 6.6) whose block
// consists of spaces. It has no URL, so no index lists it.
type Purged struct {
	ID   string    // ID of the removed record, without angle brackets
	Date time.Time // time of the removal
	Was  string    // value of FieldPurged; only visible characters
}

// errNoRoom is the error for a gap that is too small even for a Purged with an empty block.
var errNoRoom = errors.New("the gap is too small for the record that marks a purged one")

const (
	maxStored = 1<<16 - 1 // largest number of bytes of a stored block (RFC 1951, section 3.2.4)
	perStored = 5         // bytes before each stored block in the file

	// The length of a gzip member's header, its extra field with an empty subfield, its
	// checksum and its size (RFC 1952, section 2.3).
	perMember = 10 + 2 + 4 + 8
)

// Fill writes a gzip member of exactly length bytes. So the records after it in the file keep
// their offsets. For the same p and length it always writes the same bytes. If length is too
// small, Fill returns an error and writes nothing. Each record of an Exchange is long enough.
func (p *Purged) Fill(w io.Writer, length int64) error {
	blanks := length - perMember
	for blanks >= 0 {
		header := p.header(blanks)
		packed := pack(header)
		stored := blanks + int64(len(recordEnd))
		left := length - perMember - int64(len(packed)) - stored - perStored*((stored+maxStored-1)/maxStored)
		if left >= 0 {
			return writePurged(w, header, packed, blanks, int(left))
		}
		blanks += left
	}
	return fmt.Errorf("%w: %d bytes", errNoRoom, length)
}

func (p *Purged) header(blanks int64) []byte {
	sum := sha1.New()
	io.Copy(sum, io.LimitReader(spaces{}, blanks)) // no error: neither reading spaces nor writing to sum fails
	return fmt.Appendf(nil, "WARC/1.1\r\n%s: %s\r\n%s: <%s>\r\n%s: %s\r\n%s: %s\r\n%s: sha1:%s\r\n%s: text/plain\r\n%s: %d\r\n\r\n",
		fieldType, Metadata, fieldRecordID, p.ID, FieldDate, p.Date.UTC().Format(time.RFC3339), FieldPurged, p.Was,
		fieldBlockDigest, base32.StdEncoding.EncodeToString(sum.Sum(nil)), FieldContentType, fieldContentLength, blanks)
}

// pack returns b compressed with deflate. The result ends at a byte boundary. None of its
// blocks is marked as the last one, because further blocks follow.
func pack(b []byte) []byte {
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestCompression)
	if err == nil {
		_, err = w.Write(b)
	}
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		panic(err) // impossible: writes to a buffer do not fail, and the level is valid
	}
	return out.Bytes()
}

// writePurged writes a gzip member. packed is its beginning: the compressed header. Then come as
// many spaces as blanks says, uncompressed, so that their length is known in advance. extra is the
// length of the extra field, which makes the member as long as needed.
func writePurged(w io.Writer, header, packed []byte, blanks int64, extra int) error {
	b := []byte{0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 255}
	b = binary.LittleEndian.AppendUint16(b, uint16(4+extra))
	b = binary.LittleEndian.AppendUint16(append(b, "pp"...), uint16(extra))
	b = append(append(b, make([]byte, extra)...), packed...)
	if _, err := w.Write(b); err != nil {
		return err
	}
	sum, size := crc32.ChecksumIEEE(header), int64(len(header))
	text := io.MultiReader(io.LimitReader(spaces{}, blanks), bytes.NewReader(recordEnd))
	block := make([]byte, perStored+maxStored)
	for left := blanks + int64(len(recordEnd)); left > 0; {
		n := min(left, maxStored)
		block = block[:perStored+n]
		if left -= n; left == 0 {
			block[0] = 1
		}
		binary.LittleEndian.PutUint16(block[1:], uint16(n))
		binary.LittleEndian.PutUint16(block[3:], ^uint16(n))
		if _, err := io.ReadFull(text, block[perStored:]); err != nil {
			return err
		}
		sum, size = crc32.Update(sum, crc32.IEEETable, block[perStored:]), size+n
		if _, err := w.Write(block); err != nil {
			return err
		}
	}
	end := binary.LittleEndian.AppendUint32(nil, sum)
	_, err := w.Write(binary.LittleEndian.AppendUint32(end, uint32(size)))
	return err
}

// spaces is an endless reader of spaces.
type spaces struct{}

func (spaces) Read(p []byte) (int, error) { return copy(p, strings.Repeat(" ", len(p))), nil }
