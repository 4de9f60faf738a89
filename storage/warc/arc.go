package warc

import (
	"bytes"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// ARC files, the predecessors of WARC files, are read as if they were WARC files. A record is one
// line, its block, and a line end (https://archive.org/web/researcher/ArcFileFormat.php):
//
//	version 1: URL IP-address date content-type length
//	version 2: URL IP-address date content-type status checksum location offset filename length
//
// One file may contain both versions. URLs may contain unescaped spaces, so a line is parsed from
// its end. A line whose URL has control characters does not count as a line of ARC: it may be
// stored uncompressed in a gzip member, and then the bytes of the gzip header would be parsed as
// its URL.

// arcDate is the layout of the date in an ARC record.
const arcDate = "20060102150405"

// maxARCLine is the length of the longest line before a record's block, in bytes.
const maxARCLine = 16 << 10

// parseARC parses the line before the block of a record. ok is false if line is not such a
// line.
func parseARC(line string) (version string, h Header, ok bool) {
	f := strings.Split(line, " ")
	for _, v := range []struct {
		version string
		behind  int // number of fields from the date to the end
	}{{"ARC/1", 3}, {"ARC/2", 8}} {
		at := len(f) - v.behind
		if at < 2 || len(f[at]) != len(arcDate) {
			continue
		}
		url := strings.Join(f[:at-1], " ")
		date, err := time.Parse(arcDate, f[at])
		length := f[len(f)-1]
		if _, lengthErr := strconv.ParseUint(length, 10, 63); err != nil || lengthErr != nil || !strings.Contains(url, ":") || strings.ContainsFunc(url, control) {
			continue
		}
		h := Header{{FieldTargetURI, url}, {FieldDate, date.Format(time.RFC3339)}, {fieldContentLength, length}}
		if ip, err := netip.ParseAddr(f[at-1]); err == nil && !ip.IsUnspecified() {
			h = append(h, Field{FieldIPAddress, ip.String()})
		}
		kind, blockType := Resource, f[at+1]
		switch scheme, _, _ := strings.Cut(url, ":"); strings.ToLower(scheme) {
		case "filedesc":
			kind = Warcinfo
		case "http", "https":
			kind, blockType = Response, "application/http;msgtype=response"
		}
		return v.version, append(h, Field{fieldType, string(kind)}, Field{FieldContentType, blockType}), true
	}
	return "", nil, false
}

// lineOfARC returns the line at the beginning of b, including its line end. It also reports
// whether this is the line before the block of an ARC record.
func lineOfARC(b []byte) ([]byte, bool) {
	i := bytes.IndexByte(b[:min(len(b), maxARCLine)], '\n')
	if i < 0 {
		return nil, false
	}
	_, _, ok := parseARC(string(bytes.TrimSuffix(b[:i], []byte("\r"))))
	return b[:i+1], ok
}

// readARC is readHeader for a record of an ARC file, which does not begin like a WARC record.
func (r *Reader) readARC(rec *Record) error {
	ahead, err := r.source().Peek(maxARCLine)
	line, ok := lineOfARC(ahead)
	if !ok {
		if err != nil && err != io.EOF {
			return err
		}
		return errVersion
	}
	rec.Version, rec.Header, _ = parseARC(strings.TrimRight(string(line), "\r\n"))
	r.arc, rec.arc = true, true
	r.source().Discard(len(line)) // no error: Peek has read these bytes
	return rec.mandatory()
}

// endARC reads the line ends after the block of an ARC record: one or more, or none at the end of
// the file.
func (r *Reader) endARC() error {
	in := r.source()
	for n := 0; ; n++ {
		switch c, err := in.ReadByte(); {
		case err == io.EOF:
			return nil
		case err != nil:
			return cut(err)
		case c == '\n' || c == '\r':
			continue
		}
		if err := in.UnreadByte(); err != nil {
			return err
		}
		switch {
		case n == 0:
			ahead, _ := in.Peek(4)
			return fmt.Errorf("%w: %q follows", errEnd, ahead)
		case r.inside:
			return errMember
		}
		return nil
	}
}
