package warc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
)

// Limits of the memory of a Reader. If a record exceeds a limit, the Reader returns an error, and
// Skip finds the next record.
const (
	// maxHeader is the longest header of a record, in bytes.
	maxHeader = 64 << 10
	// maxHead is the longest head of an HTTP message in a block, in bytes.
	maxHead = 1 << 20
)

// Errors that an [*Error] wraps, besides those of gzip and of the underlying reader.
var (
	errVersion   = errors.New("the record does not begin with WARC/1.0 or WARC/1.1, nor as one of an ARC file: this is no WARC file, or the offset is not that of a record")
	errHeader    = errors.New("the record's header is malformed")
	errTooLong   = fmt.Errorf("the record's header is longer than %d bytes", maxHeader)
	ErrCut       = errors.New("the file ends within the record: it was cut; the records before it are whole")
	errEnd       = errors.New("the block is not followed by two line ends (one in an ARC file): Content-Length is wrong; Skip looks for the next record")
	errMember    = errors.New("the gzip member holds more than one record, so none can be read by its offset: compress each record on its own")
	ErrDigest    = errors.New("the digest does not fit")
	errAlgorithm = errors.New("the digest's algorithm is not one of md5, sha1, sha256 and sha512")
)

// An Error says which record cannot be read, and why.
type Error struct {
	Offset int64 // position of the record in the file, in bytes
	Err    error
}

func (e *Error) Error() string {
	return fmt.Sprintf("WARC record at byte %d: %v", e.Offset, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// A Record is one record of a file that is being read. Its block can be read only once, in
// order, by the method Read.
type Record struct {
	Version string // "1.0" or "1.1" for WARC; "ARC/1" or "ARC/2" for ARC, whose records get the corresponding WARC fields
	Header  Header
	Type    Type
	ID      string // ID of the record, without angle brackets
	Date    time.Time
	Size    int64 // size of the block, in bytes
	Offset  int64 // position of the record in the file as stored, in bytes

	r      *Reader
	arc    bool
	left   int64
	length int64  // length of the record as stored, in bytes; 0 before its end is reached
	start  []byte // bytes that were read from the start of the block: the head of its HTTP message
	err    error
}

// A Reader reads a WARC file from its beginning to its end. It is not safe for
// concurrent use.
type Reader struct {
	count   counter
	in      *bufio.Reader
	zip     *gzip.Reader
	member  *bufio.Reader // reads the uncompressed bytes from zip
	inside  bool          // the current record is in a gzip member
	arc     bool          // the file is an ARC file
	before  uint32        // last four bytes that were read of an uncompressed block
	current *Record
	err     error // error that Next returns until Skip is called; nil if none exists
	line    []byte
	scratch []byte
}

// A counter counts the bytes that were read from the reader r.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// NewReader returns a Reader of a file. r must return the file from its first byte on.
func NewReader(r io.Reader) *Reader {
	rd := &Reader{count: counter{r: r}}
	rd.in = bufio.NewReaderSize(&rd.count, maxHeader)
	return rd
}

// Reset makes r read another file, but keeps its buffers. from must be at the first byte of a
// record, which has the given offset in the file. Records that r has returned before can no longer
// be used. The zero Reader can be used after Reset.
func (r *Reader) Reset(from io.Reader, offset int64) {
	*r = Reader{count: counter{from, offset}, in: r.in, zip: r.zip, member: r.member, line: r.line, scratch: r.scratch}
	if r.in == nil {
		r.in = bufio.NewReaderSize(&r.count, maxHeader)
	}
	r.in.Reset(&r.count)
}

// ReadAt reads the record at offset bytes. The error is an *Error, even if no record begins there.
// Several goroutines may call ReadAt with the same io.ReaderAt.
func ReadAt(r io.ReaderAt, offset int64) (*Record, error) {
	if offset < 0 {
		return nil, &Error{offset, errors.New("an offset cannot be negative")}
	}
	rd := NewReader(io.NewSectionReader(r, offset, math.MaxInt64-offset))
	rd.count.n = offset
	rec, err := rd.Next()
	if err == io.EOF {
		return nil, &Error{offset, ErrCut}
	}
	return rec, err
}

// offset returns how many bytes of the file r has used so far.
func (r *Reader) offset() int64 { return r.count.n - int64(r.in.Buffered()) }

// Next skips the rest of the current record, and returns the next one. At the end of the file the
// error is io.EOF. Any other error is an *Error, and is returned again until Skip is called.
func (r *Reader) Next() (*Record, error) {
	if r.current != nil && r.err == nil {
		if _, err := r.current.Close(); err != nil {
			return nil, err
		}
	}
	if r.err != nil {
		return nil, r.err
	}
	r.current, r.before = nil, 0
	start := r.offset()
	magic, err := r.in.Peek(2)
	if len(magic) == 0 && err == io.EOF {
		return nil, io.EOF
	}
	if len(magic) < 2 {
		return nil, r.fail(start, cut(err))
	}
	r.inside = magic[0] == 0x1f && magic[1] == 0x8b
	if r.inside {
		if err := r.openMember(); err != nil {
			return nil, r.fail(start, cut(err))
		}
	}
	rec := &Record{r: r, Offset: start}
	if err := r.readHeader(rec); err != nil {
		if r.inside && err == io.EOF {
			err = fmt.Errorf("%w: the gzip member ends within it", errHeader)
		}
		return nil, r.fail(start, cut(err))
	}
	rec.left = rec.Size
	r.current = rec
	return rec, nil
}

func (r *Reader) fail(offset int64, err error) error {
	r.err = &Error{offset, err}
	return r.err
}

// cut returns ErrCut if err says that the file has ended. It returns any other err unchanged.
func cut(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return ErrCut
	}
	return err
}

func (r *Reader) openMember() error {
	if r.zip == nil {
		zip, err := gzip.NewReader(r.in)
		if err != nil {
			return err
		}
		r.zip, r.member = zip, bufio.NewReaderSize(zip, maxARCLine)
	} else if err := r.zip.Reset(r.in); err != nil {
		return err
	}
	r.zip.Multistream(false)
	r.member.Reset(r.zip)
	return nil
}

// source returns the reader for the bytes of the current record: member if it is compressed.
func (r *Reader) source() *bufio.Reader {
	if r.inside {
		return r.member
	}
	return r.in
}

// readLine reads a line of the header and returns it without its end, which must be CRLF (section
// 4). *left is the number of bytes that the header may still have; readLine reduces it.
func (r *Reader) readLine(left *int) ([]byte, error) {
	r.line = r.line[:0]
	for {
		part, err := r.source().ReadSlice('\n')
		if *left -= len(part); *left < 0 {
			return nil, errTooLong
		}
		r.line = append(r.line, part...)
		if err == nil {
			break
		}
		if err != bufio.ErrBufferFull {
			return nil, err
		}
	}
	line, ok := bytes.CutSuffix(r.line, []byte("\r\n"))
	if !ok {
		return nil, fmt.Errorf("%w: the line %q ends in LF instead of CRLF", errHeader, clip(string(r.line)))
	}
	return line, nil
}

func (r *Reader) readHeader(rec *Record) error {
	start, err := r.source().Peek(len("WARC/1.1"))
	if !bytes.HasPrefix(start, []byte("WARC/")) && len(start) >= len("WARC/") {
		return r.readARC(rec)
	}
	if err != nil {
		return err
	}
	left := maxHeader
	line, err := r.readLine(&left)
	if err != nil {
		return err
	}
	switch v := string(line); v {
	case "WARC/1.0", "WARC/1.1":
		rec.Version = v[len("WARC/"):]
	default:
		return fmt.Errorf("%w: it begins with %q", errVersion, clip(v))
	}
	for {
		line, err := r.readLine(&left)
		if err != nil {
			return err
		}
		if len(line) == 0 {
			break
		}
		if line[0] == ' ' || line[0] == '\t' {
			if len(rec.Header) == 0 {
				return fmt.Errorf("%w: its first line is folded", errHeader)
			}
			last := &rec.Header[len(rec.Header)-1]
			last.Value = strings.TrimSpace(last.Value + " " + strings.Trim(string(line), " \t"))
			continue
		}
		name, value, ok := strings.Cut(string(line), ":")
		if !ok || !isToken(name) {
			return fmt.Errorf("%w: the line %q is no field", errHeader, clip(string(line)))
		}
		rec.Header = append(rec.Header, Field{name, strings.Trim(value, " \t")})
	}
	return rec.mandatory()
}

// mandatory parses the four fields that every record must have (section 5).
func (rec *Record) mandatory() error {
	for _, name := range [...]string{fieldType, fieldRecordID, FieldDate, fieldContentLength} {
		if rec.arc && name == fieldRecordID {
			continue
		}
		switch n := len(rec.Header.Values(name)); {
		case n == 0:
			return fmt.Errorf("%w: %s is missing", errHeader, name)
		case n > 1:
			return fmt.Errorf("%w: %s is there %d times", errHeader, name, n)
		}
	}
	rec.Type = Type(rec.Header.Get(fieldType))
	rec.ID = bare(rec.Header.Get(fieldRecordID))
	text := rec.Header.Get(fieldContentLength)
	size, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return fmt.Errorf("%w: %s %q is no length", errHeader, fieldContentLength, clip(text))
	}
	rec.Size = int64(size)
	rec.Date, err = parseDate(rec.Header.Get(FieldDate))
	if err != nil {
		return fmt.Errorf("%w: %w", errHeader, err)
	}
	return nil
}

// bare returns s without the angle brackets around a URI.
func bare(s string) string {
	if len(s) >= 2 && s[0] == '<' && s[len(s)-1] == '>' {
		return s[1 : len(s)-1]
	}
	return s
}

// TargetURI returns the value of WARC-Target-URI, without the angle brackets that some
// writers of WARC 1.0 put around it.
func (rec *Record) TargetURI() string { return bare(rec.Header.Get(FieldTargetURI)) }

// Read reads the block. It returns io.EOF at the end of the block. If the file ends earlier, it
// returns an *Error that wraps ErrCut.
func (rec *Record) Read(p []byte) (int, error) {
	switch {
	case rec.err != nil:
		return 0, rec.err
	case rec.r.current != rec:
		return 0, &Error{rec.Offset, errors.New("the reader has gone on to another record: read a block before Next")}
	case rec.left == 0:
		return 0, io.EOF
	}
	if int64(len(p)) > rec.left {
		p = p[:rec.left]
	}
	n, err := rec.r.source().Read(p)
	rec.left -= int64(n)
	if !rec.r.inside {
		for _, c := range p[max(0, n-4):n] {
			rec.r.before = rec.r.before<<8 | uint32(c)
		}
	}
	if err != nil {
		if rec.r.inside && err == io.EOF {
			err = fmt.Errorf("%w: the gzip member ends %d bytes before the block does", errEnd, rec.left)
		}
		rec.err = rec.r.fail(rec.Offset, cut(err))
		if n > 0 {
			return n, nil
		}
		return 0, rec.err
	}
	return n, nil
}

// Close skips the rest of the block and checks the end of the record, including the checksum of
// its gzip member. It returns the length of the record as stored, in bytes. Later calls return the
// same.
func (rec *Record) Close() (int64, error) {
	if rec.err != nil || rec.length > 0 {
		return rec.length, rec.err
	}
	r := rec.r
	if err := r.drain(io.Discard, rec); err != nil {
		return 0, err
	}
	end := r.end
	if rec.arc {
		end = r.endARC
	}
	if err := end(); err != nil {
		rec.err = r.fail(rec.Offset, err)
		return 0, rec.err
	}
	rec.length = r.offset() - rec.Offset
	return rec.length, nil
}

// drain reads in to its end and writes the bytes to out, whose Write must not fail. It uses a
// buffer of r.
func (r *Reader) drain(out io.Writer, in io.Reader) error {
	if r.scratch == nil {
		r.scratch = make([]byte, 16<<10)
	}
	for {
		n, err := in.Read(r.scratch)
		out.Write(r.scratch[:n])
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// end reads the end of a record. If it finds other bytes, it leaves them for Skip, because the
// next record may begin there.
func (r *Reader) end() error {
	b, err := r.source().Peek(len(recordEnd))
	if err != nil {
		if n := len(b); r.inside && err == io.EOF && !errors.Is(r.memberErr(), io.ErrUnexpectedEOF) {
			return fmt.Errorf("%w: %d bytes follow instead of 4", errEnd, n)
		}
		return cut(err)
	}
	if !bytes.Equal(b, recordEnd) {
		return fmt.Errorf("%w: %q follows", errEnd, b)
	}
	r.source().Discard(len(recordEnd)) // no error: Peek has read these bytes
	if !r.inside {
		return nil
	}
	switch _, err := r.member.ReadByte(); err {
	case io.EOF:
		return nil
	case nil:
		return errMember
	default:
		return cut(err)
	}
}

// memberErr is called at the end of a gzip member. It reads once more, which returns io.EOF unless
// the member was cut off.
func (r *Reader) memberErr() error {
	var b [1]byte
	_, err := r.zip.Read(b[:])
	return err
}
