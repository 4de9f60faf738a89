package robots

import "strings"

const (
	// MaxBytes is the number of bytes of a file that are read: 500 KiB. RFC 9309, 2.5, permits no
	// smaller limit, and Google's documentation of robots.txt has the same one. The rest of a
	// longer file is ignored.
	MaxBytes = 512000

	// maxLine is the number of bytes of a line that are read. google/robotstxt has the same limit.
	// In dialect RFC9309 a longer line counts only if it is a Disallow: the cut path then blocks
	// more than the full path would.
	maxLine = 16663
)

// File is a parsed robots.txt. It is immutable and safe for concurrent use. The groups of the
// zero File give the verdict Defer.
//
// A File keeps the text and one table of the lines with a known key. Group compiles the rules
// of one crawler. The rules of other crawlers are not compiled.
type File struct {
	text    string
	site    string  // scheme://authority/ of the file; "" if unknown
	entries []entry // lines with a known key, in file order; nil only in a File that was not parsed
	dialect Dialect
	over    bool // the body was longer than MaxBytes
	cut     bool // the last line continues beyond MaxBytes
	utf16   bool
}

// entry is a line with a known key. Its value is text[start:end].
type entry struct {
	start, end uint32
	line       int32
	kind       kind
	flags      flag
}

type flag uint8

const (
	misspelt   flag = 1 << iota // the key is an accepted misspelling
	noColon                     // white space in place of the colon
	cutLine                     // the line continues beyond a limit
	cutNUL                      // the line continues after a NUL byte
	joinedLine                  // the record is inside the value of another record
)

// Parse parses a robots.txt file. It never fails: it skips lines that it cannot parse, and
// reads the others (RFC 9309, 2.3.1.5). It copies body.
//
// Parse reads at most MaxBytes of body. In dialect Google it reads all of body, as the
// google/robotstxt library does: limit the length of body before the call.
func Parse(body []byte, d Dialect) *File {
	return parse(body, "", d, false)
}

// ParseFor is like Parse for a file whose URL is known. robotsURL must have the form that Locate
// returns. Relative URLs in Sitemap lines are then resolved, and a rule with an absolute URL
// counts only if it is a URL of this site.
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
		// A line that ends exactly at the limit is not cut.
		f.over, f.cut = true, body[MaxBytes] != '\n' && body[MaxBytes] != '\r'
		body = body[:MaxBytes]
	}
	f.text = f.decode(body)
	f.scan()
	return f
}

// decode returns the text of body without a byte order mark. RFC 9309 requires UTF-8 (2.3).
// Dialect RFC9309 also reads UTF-16, with or without a byte order mark, because the owner's rules
// would otherwise be lost.
func (f *File) decode(body []byte) string {
	if unit, mark := utf16Of(body); unit != nil && f.dialect == RFC9309 {
		f.utf16 = true
		return decodeUTF16(body[mark:], unit)
	}
	// A part of a UTF-8 byte order mark is also skipped.
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

// scan fills f.entries, the table of lines with a known key. Nearly every such line has a colon,
// so the number of colons is a good size for the table.
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
		if end-start > maxLine {
			end = start + maxLine
			e.flags |= cutLine
		}
		if f.cut && s.done {
			e.flags |= cutLine
		}
		if !s.read(&e, start, end) {
			continue
		}
		if n := len(f.entries); e.kind == blankLine && (n == 0 || f.entries[n-1].kind == blankLine) {
			continue // several blank lines count as one
		}
		f.entries = append(f.entries, e)
		if f.dialect == RFC9309 && e.kind != allowLine && e.kind != disallowLine {
			f.addJoined()
		}
	}
}

// read reads text[start:end] into e, and reports whether the line has a known key.
func (s *scanner) read(e *entry, start, end int) bool {
	d, text := s.file.dialect, s.text
	if d == Koster1996 && trim(text[start:end]) == "" {
		e.kind = blankLine
		return true
	}
	// A NUL ends the line, as in google/robotstxt, which keeps the line in a C string. The line is
	// marked as cut, unless a comment begins before the NUL.
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

// twoWords returns the index of the first blank in a line of exactly two words, or -1 for any
// other line. Such a line may be a record whose owner forgot the colon.
func twoWords(s string) int {
	sep := strings.IndexAny(s, " \t")
	if sep < 0 || strings.ContainsAny(strings.TrimLeft(s[sep:], " \t"), " \t") {
		return -1
	}
	return sep
}

func (f *File) value(e *entry) string { return f.text[e.start:e.end] }
