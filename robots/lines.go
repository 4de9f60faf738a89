package robots

import "strings"

// lines splits a text into lines at CR, LF or CRLF (RFC 9309, 2.2; Google's documentation of
// robots.txt names the same three). Nothing else ends a line.
type lines struct {
	text   string
	pos    int // offset at which the next line begins
	lf, cr int // offsets of the next LF and CR at or after pos; len(text) if there are no more
	number int // number of the line that next returned last, from 1
	done   bool
}

func newLines(text string) lines {
	return lines{text: text, lf: find(text, 0, '\n'), cr: find(text, 0, '\r')}
}

// find returns the index of the first c at or after from, or len(text) if there
// is no c.
func find(text string, from int, c byte) int {
	if i := strings.IndexByte(text[from:], c); i >= 0 {
		return from + i
	}
	return len(text)
}

// next returns the start and the end of the next line, without its line end. It reads each byte
// a constant number of times, even if the text mixes line ends.
func (l *lines) next() (start, end int, ok bool) {
	if l.done {
		return 0, 0, false
	}
	l.number++
	start, end = l.pos, min(l.lf, l.cr)
	if end == len(l.text) {
		l.done = true
		return start, end, true
	}
	l.pos = end + 1
	if l.cr == end {
		if l.lf == end+1 && l.lf < len(l.text) {
			l.pos = end + 2
			l.lf = find(l.text, l.pos, '\n')
		}
		l.cr = find(l.text, l.pos, '\r')
	} else {
		l.lf = find(l.text, l.pos, '\n')
	}
	return start, end, true
}

// finder finds the next occurrence of an octet that is rare in a text.
type finder struct {
	c    byte
	next int // offset of the first c at or after the start of the last search
}

// cut returns the index of the first c in text[start:end], or end if there is no c. start must
// not be smaller than in the previous call.
func (f *finder) cut(text string, start, end int) int {
	if f.next < start {
		f.next = find(text, start, f.c)
	}
	return min(f.next, end)
}
