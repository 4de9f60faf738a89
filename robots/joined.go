package robots

import "strings"

// A file that lost its line ends, in an editor or on its way, has its rules
// where a value is expected: "User-agent: * Disallow: /". RFC 9309 knows no such
// line, and read as it stands it opens the site. So a Disallow that stands in
// the value of another record counts, for the crawlers named before it. It
// takes nothing away: what such a line names falls back to "*" as before, and
// an Allow in it does not count. A rule's own value is left alone, since a path
// may hold anything.

// joints are the keys that are looked for inside a value. Longer ones that end
// in another come first.
var joints = [...]struct {
	name string
	kind kind
}{
	{"disallow", disallowLine}, {"allow", allowLine}, {"user-agent", agentLine},
	{"crawl-delay", delayLine}, {"sitemap", sitemapLine},
}

// joint finds the first of them, with its colon, in text[from:end], and returns
// where the key and where its value begins; end and unknownLine if there is
// none.
func joint(text string, from, end int) (key, value int, k kind) {
	for i := from; i < end; {
		n := strings.IndexByte(text[i:end], ':')
		if n < 0 {
			break
		}
		i += n + 1
		head := strings.TrimRight(text[from:i-1], " \t")
		for _, j := range joints {
			if at := len(head) - len(j.name); at >= 0 && equalFold(head[at:], j.name) {
				return from + at, i, j.kind
			}
		}
	}
	return end, end, unknownLine
}

// addJoined adds what stands in the value of the last entry.
func (f *File) addJoined() {
	e := f.entries[len(f.entries)-1]
	key, value, k := joint(f.text, int(e.start), int(e.end))
	if k == unknownLine {
		return
	}
	cut := e.flags & (cutLine | cutNUL)
	head := entry{line: e.line, kind: e.kind, flags: joinedLine}
	head.start, head.end = f.span(int(e.start), key)
	if cut == 0 && key > int(e.start) && isSpace(f.text[key-1]) {
		f.entries[len(f.entries)-1].end = head.end
	} else if e.kind == agentLine {
		f.entries = append(f.entries, head) // the whole value named somebody else
	}
	for k != unknownLine {
		next, nextValue, nextKind := joint(f.text, value, int(e.end))
		p := entry{line: e.line, kind: k, flags: joinedLine}
		p.start, p.end = f.span(value, next)
		if nextKind == unknownLine {
			p.flags |= cut
		}
		switch k {
		case agentLine, disallowLine, delayLine:
			f.entries = append(f.entries, p)
		}
		value, k = nextValue, nextKind
	}
}

// span returns text[start:end] without the white space at both ends.
func (f *File) span(start, end int) (uint32, uint32) {
	for start < end && isSpace(f.text[start]) {
		start++
	}
	for start < end && isSpace(f.text[end-1]) {
		end--
	}
	return uint32(start), uint32(end)
}
