package robots

import "strings"

const (
	// MaxBytes is how much of a file is read: 500 KiB, the least that RFC
	// 9309, 2.5, permits and what Google's page names. What lies beyond is
	// ignored, the file still counts.
	MaxBytes = 512000

	// MaxLine is how many bytes of a line are read, the limit of
	// google/robotstxt. In dialect RFC9309 a longer line counts only if it
	// is a Disallow, which then blocks more than was written.
	MaxLine = 16663
)

// File is a parsed robots.txt. It is immutable and safe for concurrent use. The
// zero File says nothing: its groups defer.
//
// A File keeps the text and one table of the lines that say something; the
// rules of a crawler are compiled by Group, so what other crawlers are told
// costs nothing.
type File struct {
	text    string
	site    string  // scheme://authority/ the file is for; "" if unknown
	entries []entry // never nil in a file that was parsed
	dialect Dialect
	over    bool // the body was longer than MaxBytes
	cut     bool // the text ends in a line that goes on beyond MaxBytes
	utf16   bool
}

// entry is a line that says something: its value is text[start:end].
type entry struct {
	start, end uint32
	line       int32
	kind       kind
	flags      flag
}

type flag uint8

const (
	misspelt   flag = 1 << iota // the key is a misspelling that is let pass
	noColon                     // white space stands for the colon
	cutLine                     // the line goes on beyond a limit
	cutNUL                      // the line goes on beyond a NUL byte
	joinedLine                  // the record stands in the value of another
)

// Parse reads a robots.txt file. It never fails: a line that cannot be read
// is skipped, never the file (RFC 9309, 2.3.1.5). Body is copied.
//
// Parse reads at most MaxBytes of body; dialect Google reads all of it, as
// the library does, so limit what you pass there.
func Parse(body []byte, d Dialect) *File {
	return parse(body, "", d, false)
}

// ParseFor is Parse for a caller who knows where the file is from: robotsURL
// is its URL, such as Locate returns. Relative Sitemap lines can then be
// resolved, and rules written as absolute URLs count for their own site only.
func ParseFor(robotsURL string, body []byte, d Dialect) *File {
	return parse(body, robotsURL, d, false)
}

func parse(body []byte, robotsURL string, d Dialect, cut bool) *File {
	f := &File{dialect: d, over: cut, cut: cut}
	if robotsURL != "" {
		if loc, err := Locate(robotsURL); err == nil {
			f.site = siteOf(loc)
		}
	}
	if d != Google && len(body) > MaxBytes {
		// A line that ends exactly at the limit is whole.
		f.over, f.cut = true, body[MaxBytes] != '\n' && body[MaxBytes] != '\r'
		body = body[:MaxBytes]
	}
	f.text = f.decode(body)
	f.scan()
	return f
}

// decode returns the text of body, and skips a byte order mark. RFC 9309
// wants UTF-8 (2.3); in that dialect UTF-16 is read, too, with a mark or
// without, since the owner's rules would be lost otherwise.
func (f *File) decode(body []byte) string {
	if unit, mark := utf16Of(body); unit != nil && f.dialect == RFC9309 {
		f.utf16 = true
		return decodeUTF16(body[mark:], unit)
	}
	// Pieces of a UTF-8 mark are skipped like the whole one.
	const mark = "\xEF\xBB\xBF"
	n := 0
	for n < len(mark) && n < len(body) && body[n] == mark[n] {
		n++
	}
	return string(body[n:])
}

// scanner reads the lines of a text.
type scanner struct {
	lines
	file      *File
	nul, hash finder
}

// scan fills the table of lines. Every line that says something has a colon,
// but for the rare one that lacks it, so one allocation is the rule.
func (f *File) scan() {
	f.entries = make([]entry, 0, min(strings.Count(f.text, ":"), len(f.text)/5)+1)
	s := scanner{lines: newLines(f.text), file: f, nul: finder{0, -1}, hash: finder{'#', -1}}
	for {
		start, end, ok := s.next()
		if !ok {
			break
		}
		if start == end && f.dialect != Koster1996 {
			continue
		}
		e := entry{line: int32(s.number)}
		if end-start > MaxLine {
			end = start + MaxLine
			e.flags |= cutLine
		}
		if f.cut && s.done {
			e.flags |= cutLine
		}
		if !s.read(&e, start, end) {
			continue
		}
		if n := len(f.entries); e.kind == blankLine && (n == 0 || f.entries[n-1].kind == blankLine) {
			continue // one blank line separates as well as many
		}
		f.entries = append(f.entries, e)
		if f.dialect == RFC9309 && e.kind != allowLine && e.kind != disallowLine {
			f.addJoined()
		}
	}
}

// read reads text[start:end] into e, and reports whether it says something.
func (s *scanner) read(e *entry, start, end int) bool {
	d, text := s.file.dialect, s.text
	if d == Koster1996 && trim(text[start:end]) == "" {
		e.kind = blankLine
		return true
	}
	// A NUL ends a line as it ends a C string, which is what google/robotstxt
	// has; a comment ends it anyway, and then nothing was lost.
	if i := s.nul.cut(text, start, end); i < end {
		end = i
		e.flags |= cutNUL
	}
	if i := s.hash.cut(text, start, end); i < end {
		end = i
		e.flags &^= cutLine | cutNUL
	}
	for start < end && isSpace(text[start]) {
		start++
	}
	for start < end && isSpace(text[end-1]) {
		end--
	}
	line := text[start:end]
	sep := strings.IndexByte(line, ':')
	if sep < 0 {
		if sep = twoWords(line); sep < 0 || d == Koster1996 {
			return false
		}
		e.flags |= noColon
	}
	k, exact := keyKind(trim(line[:sep]), d)
	if k == unknownLine {
		return false
	}
	if !exact {
		e.flags |= misspelt
	}
	start += sep + 1
	for start < end && isSpace(text[start]) {
		start++
	}
	e.kind, e.start, e.end = k, uint32(start), uint32(end)
	return true
}

// twoWords returns where the blank stands in a line of exactly two words, and
// -1 for any other line. People forget the colon.
func twoWords(s string) int {
	sep := strings.IndexAny(s, " \t")
	if sep < 0 || strings.ContainsAny(strings.TrimLeft(s[sep:], " \t"), " \t") {
		return -1
	}
	return sep
}

func (f *File) value(e *entry) string { return f.text[e.start:e.end] }
