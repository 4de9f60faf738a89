package robots

import "strings"

// A joined record is a record in the value of another one: "User-agent: * Disallow: /". An editor
// or a transfer has removed the line ends. RFC 9309 does not describe such lines, and read
// literally they allow the whole site. So a Disallow inside the value of another record counts for
// the crawlers that are named before it. Joined records only add rules. A crawler that only a
// joined record names still uses the "*" groups, and an Allow in a joined record is ignored. The
// value of a rule is not searched, because a path may contain anything.

// joinedKeys are the keys that findJoined searches for inside a value. "disallow" must come before
// "allow", because it ends with "allow".
var joinedKeys = [...]struct {
	name string
	kind kind
}{
	{"disallow", disallowLine}, {"allow", allowLine}, {"user-agent", agentLine},
	{"crawl-delay", delayLine}, {"sitemap", sitemapLine},
}

// findJoined finds the first of joinedKeys, followed by a colon, in text[from:end]. It returns the
// offsets of the key and of its value. If there is no such key, it returns end, end and
// unknownLine.
func findJoined(text string, from, end int) (key, value int, k kind) {
	for i := from; i < end; {
		n := strings.IndexByte(text[i:end], ':')
		if n < 0 {
			break
		}
		i += n + 1
		head := strings.TrimRight(text[from:i-1], " \t")
		for _, j := range joinedKeys {
			if at := len(head) - len(j.name); at >= 0 && equalFold(head[at:], j.name) {
				return from + at, i, j.kind
			}
		}
	}
	return end, end, unknownLine
}

// addJoined finds the joined records in the value of the last entry of f.entries, and adds them to
// f.entries.
func (f *File) addJoined() {
	e := f.entries[len(f.entries)-1]
	key, value, k := findJoined(f.text, int(e.start), int(e.end))
	if k == unknownLine {
		return
	}
	cut := e.flags & (cutLine | cutNUL)
	head := entry{line: e.line, kind: e.kind, flags: joinedLine}
	head.start, head.end = f.span(int(e.start), key)
	if cut == 0 && key > int(e.start) && isSpace(f.text[key-1]) {
		f.entries[len(f.entries)-1].end = head.end
	} else if e.kind == agentLine {
		f.entries = append(f.entries, head) // now the line names two crawlers: the whole value, and the part before the first key
	}
	for k != unknownLine {
		next, nextValue, nextKind := findJoined(f.text, value, int(e.end))
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

// span narrows f.text[start:end] to the part without white space at both ends, and returns its
// bounds.
func (f *File) span(start, end int) (uint32, uint32) {
	for start < end && isSpace(f.text[start]) {
		start++
	}
	for start < end && isSpace(f.text[end-1]) {
		end--
	}
	return uint32(start), uint32(end)
}
