// Package crawllog writes and reads crawl.log: one line per request, including those for
// robots.txt, and one per queued URL that ended without a request. The format is
// Heritrix's, so that its log tools read it; facts for which Heritrix has no field are
// annotations, as key:value.
//
// The twelve fields, separated by spaces:
//
//	 1  time the line is about, UTC, to the millisecond
//	 2  HTTP status, or one of the negative codes below
//	 3  bytes of the body as it came over the wire; - if there was none
//	 4  URL as requested
//	 5  path of hops from the seed; - for a seed
//	 6  URL it was found on; - for a seed
//	 7  media type; "unknown" if there was none
//	 8  worker, as #007
//	 9  start (yyyyMMddHHmmssSSS) + duration in milliseconds; - without a request
//	10  digest of the decoded body, of a page or a robots.txt: sha1: and base 32;
//	    - without one
//	11  tag of the seed; - for none
//	12  annotations, separated by commas; - for none
//
// The annotations of a request:
//
//	start:TIME    start of the request, RFC 3339 to the microsecond; bytes may
//	              have been sent from this time on, connecting included
//	method:HEAD   only the header was requested; absent for GET
//	ttfb:S        seconds from start to the answer; absent if there was none
//	took:S        seconds from start to the end of the answer
//	asked:S       pause that was required, since the last answer of the site
//	              or since the time of since
//	clock:NAME    the clock that required the pause: own, crawl-delay, request-rate,
//	              visit-time, adaptive, retry-after, back-off, failures, robots,
//	              restart, host, domain, ip, machine
//	since:TIME    start of the pause of asked, if that is not the end of the last
//	              answer of the site in the same run
//	retry-after:TIME
//	              when the site may be requested again, by the Retry-After of the answer
//	ip:ADDR       address and port of the connection
//	proto:NAME    h2, http/1.1, http/1.0 or ftp
//	proxy:URL     the proxy that was used
//	for:use       a request for the owner's terms of use: a tdmrep.json, or a license
//	error:STAGE   where it failed: dns, connect, tls, reset, ...
//	trunc:WHY     the body is incomplete: length, time, disconnect, unspecified
//	kept:TYPE     with status 304: the page in the archive counts as the answer;
//	              this is its media type
//	rule:LINE     the line of robots.txt that forbids (status -9998)
//	refused:WHAT  the statement by which the owner refuses the purpose of the crawl,
//	              or requires a license:
//	              with status -5002 the URL was not requested, otherwise the page is
//	              not kept
//	optout:LINE   the matching line of the opt-out list, or "Site: " and why the
//	              program excludes the site (status -5001)
//	robots:TIME   when the robots.txt in force was fetched
//
// A line without a request and with queued:N says that a whole site was given up (status
// -61 or -2), and how many URLs are left in its queue.
//
// Some lines are about the crawl itself: their URL is permesso:run. With begin:clean or
// begin:unclean a run begins. After begin:unclean lines may be missing, and committed:TIME says
// when the state was last committed before the unclean end. With records:2 the lines of the run
// have the digest of each robots.txt, and retry-after; lines of earlier programs have neither.
// lost:BYTES says how many bytes of the log were removed since the run before.
//
// A line with site:SITE says that from there on the site has settings of its own in this run:
// own:SETTING=VALUE for each, or allows:SETTING=VALUE if the value is less strict than for
// other sites. reason:TEXT says why. If the line has none of own, allows and reason, the site
// has no settings of its own any more.
//
// A line with order:WORD is about an order. With pause, resume, slow, exclude, add or limit the
// run received this order while it ran. With lift the run begins by revoking the order of an
// earlier run. Further annotations of such a line:
//
//	of:PLACE      the site or host that the order is about; absent for all
//	what:TEXT     the pause; the seeds; the old and new limits; the order that is
//	              lifted
//	why:TEXT      the reason that was given
package crawllog

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/permesso-crawler/permesso/internal/digest"
)

// Status codes of Heritrix for URLs that ended without an HTTP status.
const (
	DNSFailed         = -1
	ConnectFailed     = -2
	ConnectionLost    = -3
	TimedOut          = -4
	Failed            = -5
	RobotsUnreachable = -61
	TooManyRedirects  = -4001
	OutOfScope        = -5000
	OptedOut          = -5001 // "blocked by user"
	UseRefused        = -5002 // "blocked by a custom processor"
	OverBudget        = -5003
	RobotsDisallowed  = -9998
)

// Records is an annotation of the line where a run begins. It says that the lines of the
// run have the digest of each robots.txt, and retry-after if an answer has a Retry-After.
const Records = "records:2"

// RunURL is the URL of lines about the crawl itself.
const RunURL = "permesso:run"

// A Line is one line of the log.
type Line struct {
	Time        time.Time
	Status      int
	Size        int64 // size of the body as it was sent over the wire, in bytes; -1: there was no body
	URL         string
	Hops        string
	Via         string
	Type        string
	Worker      int
	Start       time.Time // start of the request; zero: there was no request
	Duration    time.Duration
	Digest      string
	Tag         string
	Annotations []string
}

const (
	timeForm  = "2006-01-02T15:04:05.000Z"
	startForm = "20060102150405.000"
	// MicroForm is the format of times in annotations.
	MicroForm = "2006-01-02T15:04:05.000000Z"
)

// Append appends the line to b, with a newline at its end.
func (l *Line) Append(b []byte) []byte {
	b = l.Time.UTC().AppendFormat(b, timeForm)
	b = append(b, ' ')
	b = appendPadded(b, int64(l.Status), 5, ' ')
	b = append(b, ' ')
	if l.Size < 0 {
		b = append(b, "         -"...)
	} else {
		b = appendPadded(b, l.Size, 10, ' ')
	}
	b = appendField(b, l.URL)
	b = appendField(b, l.Hops)
	b = appendField(b, l.Via)
	if l.Type == "" {
		b = append(b, " unknown"...)
	} else {
		b = appendField(b, l.Type)
	}
	b = append(b, " #"...)
	b = appendPadded(b, int64(l.Worker), 3, '0')
	b = append(b, ' ')
	if l.Start.IsZero() {
		b = append(b, '-')
	} else {
		b = l.Start.UTC().AppendFormat(b, startForm)
		dot := len(b) - len(".000")
		b = append(b[:dot], b[dot+1:]...)
		b = append(b, '+')
		b = strconv.AppendInt(b, l.Duration.Milliseconds(), 10)
	}
	b = appendField(b, l.Digest)
	b = appendField(b, l.Tag)
	b = append(b, ' ')
	if len(l.Annotations) == 0 {
		return append(b, '-', '\n')
	}
	for i, a := range l.Annotations {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendText(b, a, true)
	}
	return append(b, '\n')
}

// appendPadded appends n with pad before it, so that it has at least width bytes.
func appendPadded(b []byte, n int64, width int, pad byte) []byte {
	var digits [20]byte
	d := strconv.AppendInt(digits[:0], n, 10)
	for range width - len(d) {
		b = append(b, pad)
	}
	return append(b, d...)
}

// appendField appends a space and s as one field.
func appendField(b []byte, s string) []byte { return appendText(append(b, ' '), s, false) }

// appendText appends s as one field or, if listed is set, as one of several annotations. The
// result is never empty and has no white space.
func appendText(b []byte, s string, listed bool) []byte {
	if s == "" {
		return append(b, '-')
	}
	const hex = "0123456789ABCDEF"
	from := 0
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c == 0x7f || listed && c == ',' {
			b = append(b, s[from:i]...)
			b = append(b, '%', hex[c>>4], hex[c&15])
			from = i + 1
		}
	}
	return append(b, s[from:]...)
}

// Annotation returns the value of the first annotation key:value, and whether there is one.
func (l *Line) Annotation(key string) (string, bool) {
	for _, a := range l.Annotations {
		if rest, is := strings.CutPrefix(a, key); is && (rest == "" || rest[0] == ':') {
			return strings.TrimPrefix(rest, ":"), true
		}
	}
	return "", false
}

// A Writer appends lines to a log. It is safe for concurrent use. Each line is written whole
// and at once, because the log is evidence, and a kill must not lose a request. If a line
// cannot be written, all later calls of Write and Sync fail. A line after an incomplete line
// could not be read, and a missing line must not be acknowledged.
type Writer struct {
	file    *os.File
	buffers sync.Pool // *[]byte buffers in which lines are encoded

	// mu guards the fields below and the end of the file, so that each line is complete before
	// the next one begins. Sync does not hold mu while it waits for the disk.
	mu     sync.Mutex
	size   int64          // length of all complete lines in the file, in bytes
	sum    uint32         // CRC-32C of the first size bytes of the file
	sha    *digest.Digest // SHA-256 of these bytes; nil: not known
	synced int64          // how many bytes at the beginning of the file are synced
	failed error          // error of the first write that failed; nil: none has
}

// Open opens the log at path, creates it if it does not exist, and truncates an incomplete
// last line.
func Open(path string) (*Writer, error) { return OpenAt(path, 0, 0, "") }

// OpenAt is like Open, for a log that was open before. from is its length in bytes at the last
// close, and sum is its CRC-32C. OpenAt does not read these bytes again, unless the log is
// shorter now.
//
// sha is the state of the SHA-256 of these bytes, as Sum has returned it, or "" if it is not
// known. If it is "", and the Writer does not read these bytes, it does not know the SHA-256 of
// the log.
func OpenAt(path string, from int64, sum uint32, sha string) (*Writer, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	end, err := wholeLines(f)
	if err == nil {
		err = f.Truncate(end)
	}
	if err == nil {
		_, err = f.Seek(end, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	w := &Writer{file: f, size: end, sum: sum}
	if from > end {
		from, w.sum, sha = 0, 0, ""
	}
	w.sha = digest.Resume(sha, from)
	if _, err := io.Copy(io.MultiWriter(summing{&w.sum}, w.sha), io.NewSectionReader(f, from, end-from)); err != nil {
		f.Close()
		return nil, err
	}
	return w, nil
}

// A summing is a writer that adds the written bytes to a CRC-32C.
type summing struct{ sum *uint32 }

func (s summing) Write(p []byte) (int, error) {
	*s.sum = crc32.Update(*s.sum, castagnoli, p)
	return len(p), nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// wholeLines returns the length of f up to its last newline, in bytes.
func wholeLines(f *os.File) (int64, error) {
	end, err := f.Seek(0, io.SeekEnd)
	var block [4096]byte
	for end > 0 && err == nil {
		at := max(0, end-int64(len(block)))
		b := block[:end-at]
		if _, err = f.ReadAt(b, at); err != nil {
			break
		}
		if i := bytes.LastIndexByte(b, '\n'); i >= 0 {
			return at + int64(i) + 1, nil
		}
		end = at
	}
	return 0, err
}

// Write appends a line.
func (w *Writer) Write(l *Line) error {
	buf, ok := w.buffers.Get().(*[]byte)
	if !ok {
		buf = new([]byte)
	}
	defer w.buffers.Put(buf)
	*buf = l.Append((*buf)[:0])
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed != nil {
		return w.failed
	}
	n, err := w.file.Write(*buf)
	w.size += int64(n)
	w.sum = crc32.Update(w.sum, castagnoli, (*buf)[:n])
	w.sha.Write((*buf)[:n])
	w.failed = err
	return err
}

// Name returns the path of the log.
func (w *Writer) Name() string { return w.file.Name() }

// Size returns the length of the log in bytes.
func (w *Writer) Size() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.size
}

// Sum returns the arguments with which OpenAt can continue the log: the length of the log in
// bytes, the CRC-32C of these bytes, and the state of their SHA-256. The state is empty if it
// is not known.
func (w *Writer) Sum() (size int64, sum uint32, sha string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.size, w.sum, w.sha.State()
}

// Sync makes all lines survive a power cut that were written before the call. It calls sync,
// such as (*os.File).Sync, if there are new lines. Calls of Write do not wait for it. It
// returns the error of sync, or of a line that could not be written.
func (w *Writer) Sync(sync func(*os.File) error) error {
	w.mu.Lock()
	size, synced, failed := w.size, w.synced, w.failed
	w.mu.Unlock()
	if failed != nil || size == synced {
		return failed
	}
	if err := sync(w.file); err != nil {
		return err
	}
	w.mu.Lock()
	w.synced = max(w.synced, size)
	w.mu.Unlock()
	return nil
}

// Close syncs and closes the log.
func (w *Writer) Close() error { return errors.Join(w.Sync((*os.File).Sync), w.file.Close()) }

// Read calls f for each line of a log. It stops at the first error of f. It also stops at the
// first line that cannot be parsed, and returns an error with its number.
func Read(r io.Reader, f func(*Line) error) error {
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20)
	for n := 1; s.Scan(); n++ {
		l, err := Parse(s.Text())
		if err == nil {
			err = f(l)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	return s.Err()
}
