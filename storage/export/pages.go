package export

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/permesso-crawler/permesso/storage"
)

// maxLine is the longest line of pages.jsonl, without its body.
const maxLine = 8 << 20

// pages calls f for each line of pages.jsonl, in its order.
func (s *Source) pages(ctx context.Context, f func(*storage.PageRecord) error) error {
	if s.Pages == "" {
		return nil
	}
	file, err := s.open(s.Pages)
	if err != nil {
		return err
	}
	defer file.Close()
	return readPages(ctx, file, s.Pages, f, s.damaged)
}

func readPages(ctx context.Context, r io.Reader, name string, f func(*storage.PageRecord) error, damaged func(*Damage) error) error {
	lines := &lineReader{r: bufio.NewReaderSize(r, 64<<10)}
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		line, err := lines.next()
		if err == io.EOF {
			return nil
		}
		if err != nil && err != errLong {
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
		if err == nil && len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var p storage.PageRecord
		if err == nil {
			err = parsePage(line, &p)
		}
		if err != nil && lines.torn {
			err = fmt.Errorf("the last line is not whole, as in a crawl that still runs or was killed (crawl run on it mends that): %w", err)
		}
		if err != nil {
			err = damaged(&Damage{File: name, Line: n, Err: err})
		} else {
			err = f(&p)
		}
		if err != nil {
			return err
		}
	}
}

func parsePage(line []byte, p *storage.PageRecord) error {
	if err := json.Unmarshal(line, p); err != nil {
		return err
	}
	p.Body, p.Base64 = nil, nil
	switch {
	case p.URL == "":
		return errors.New("the line has no url")
	case !goodTime(p.Time):
		return errors.New("the line has no time that could be one of a request")
	case p.Status < 0 || p.Status > 999:
		return fmt.Errorf("status %d is none of HTTP", p.Status)
	case !p.Robots.IsZero() && !goodTime(p.Robots):
		return errors.New("robots is no time of a request")
	}
	for _, field := range []struct {
		name string
		n    int64
		most int64
	}{{"size", p.Size, math.MaxInt64}, {"links", int64(p.Links), math.MaxInt32}, {"depth", int64(p.Depth), math.MaxInt32}} {
		if field.n < 0 || field.n > field.most {
			return fmt.Errorf("%s %d is out of range", field.name, field.n)
		}
	}
	return nil
}

// goodTime reports whether t can be written in RFC 3339.
func goodTime(t time.Time) bool { return t.UTC().Year() >= 1 && t.UTC().Year() <= 9999 && !t.IsZero() }

var errLong = fmt.Errorf("the line is longer than %d bytes, its body not counted", maxLine)

// A lineReader reads JSON lines without the strings of the members body and
// base64, which become empty: they are most of the file, may be as large as a
// page may be, and are not needed.
type lineReader struct {
	r    *bufio.Reader
	line []byte
	torn bool // the line that was read had no end
}

// next is the next line, without its end, valid until the next call. The error
// is errLong for a line that was read over, and io.EOF where there is no more.
func (l *lineReader) next() ([]byte, error) {
	l.line = l.line[:0]
	var scan bodyScanner
	read, long := false, false
	for {
		part, err := l.r.ReadSlice('\n')
		read = read || len(part) > 0
		body := bytes.TrimSuffix(part, []byte("\n"))
		for len(body) > 0 {
			n, keep := scan.step(body)
			if keep && len(l.line)+n > maxLine {
				long = true
			}
			if keep && !long {
				l.line = append(l.line, body[:n]...)
			}
			body = body[n:]
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && !read:
			return nil, io.EOF
		case err != nil && err != io.EOF:
			return nil, err
		}
		l.torn = err == io.EOF
		if long {
			return nil, errLong
		}
		return l.line, nil
	}
}

// A bodyScanner follows JSON as far as is needed to find the value of a member
// of the outermost object.
type bodyScanner struct {
	depth   int
	value   bool   // in the outermost object, behind the colon
	text    bool   // within a string
	escaped bool   // behind a backslash
	drop    bool   // within the string that is dropped
	name    []byte // of the member, as far as it may be one of a body
}

// step says how many bytes of b belong together, and whether they are kept.
func (s *bodyScanner) step(b []byte) (n int, keep bool) {
	if s.drop {
		for n < len(b) {
			c := b[n]
			if c == '"' && !s.escaped {
				s.drop = false
				return n, false
			}
			s.escaped = c == '\\' && !s.escaped
			n++
		}
		return n, false
	}
	for n < len(b) {
		c := b[n]
		n++
		if s.text {
			if c == '"' && !s.escaped {
				s.text = false
				continue
			}
			s.escaped = c == '\\' && !s.escaped
			if s.depth == 1 && !s.value && len(s.name) <= len("base64") {
				s.name = append(s.name, c)
			}
			continue
		}
		switch c {
		case '"':
			if s.depth == 1 && s.value && (string(s.name) == "body" || string(s.name) == "base64") {
				// The closing quotation mark is not dropped, and is taken for
				// the end of a string.
				s.drop, s.text = true, true
				return n, true
			}
			s.text = true
			if s.depth == 1 && !s.value {
				s.name = s.name[:0]
			}
		case '{', '[':
			s.depth++
		case '}', ']':
			s.depth--
		case ':':
			s.value = s.value || s.depth == 1
		case ',':
			s.value = s.value && s.depth != 1
		}
	}
	return n, true
}
