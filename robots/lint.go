package robots

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Problem is a mistake in a file, or a line that its owner may not have meant.
type Problem struct {
	Line    int    // number of the line, from 1; 1 if the problem concerns the whole file
	Column  int    // position in the line in bytes, from 1; 1 if the problem concerns the whole line
	Code    string // name of the kind of problem, for example "misspelt-key"; it never changes
	Message string // what is wrong
	Hint    string // how to correct it; may be empty
}

// String returns the problem as "line:column: message (code)".
func (p Problem) String() string {
	return fmt.Sprintf("%d:%d: %s (%s)", p.Line, p.Column, p.Message, p.Code)
}

// maxProblems is the largest number of problems that Problems returns.
const maxProblems = 1000

// Problems returns the mistakes in the file and the lines that its owner may not
// have meant, in file order, at most 1,000. The codes are:
//
//	file-too-long       the file is longer than MaxBytes, the rest is ignored
//	line-too-long       a line is longer than 16,663 bytes, its rest is ignored
//	utf16               the file is in UTF-16, which few crawlers read
//	not-utf8            a value is not UTF-8
//	nul-byte            the rest of the line is ignored
//	stray-mark          a byte order mark that is not at the beginning
//	html                a page and not a robots.txt file
//	unreadable-line     neither a key with a colon nor a comment
//	unknown-key         a key that no dialect knows
//	misspelt-key        a misspelling, or a key that not every crawler accepts
//	lines-joined        a record in the value of another: a line end is missing
//	missing-colon       white space in place of the colon
//	rule-outside        a rule before the first User-agent line
//	empty-agent         a User-agent line without a name
//	bad-agent           a name that no product token can equal
//	agent-repeated      several groups name the same crawler, and are combined
//	agent-without-rule  a group that ends without a rule: everything is allowed
//	no-slash            a path that does not begin with a slash
//	absolute-url        a URL in place of a path
//	blank-in-path       white space inside a path
//	bad-escape          a per cent sign without two hexadecimal digits
//	dot-segment         "/./" or "/../", which no URL has when it is requested
//	cut-by-comment      a "#" inside a value
//	star-at-end         a final "*" does nothing
//	star-repeated       "**" is the same as "*"
//	dollar-inside       a "$" that is not last matches a dollar sign
//	duplicate-rule      the same rule again
//	overruled           an Allow of the same path wins
//	redundant           a shorter rule has the same effect
//	bad-delay           a Crawl-delay that is not a number
//	long-delay          a Crawl-delay of more than a day
//	bad-rate            a Request-rate that cannot be read
//	bad-window          a Visit-time that cannot be read
//	bad-sitemap         a Sitemap that is not an absolute URL
//	bad-usage           a Content-Usage that is not a dictionary of preferences
//	bad-signal          a Content-Signal without a statement
//	bad-license         a License without a URL
//	many-licenses       the ninth License: it and those after it are not read
//	unsupported         a key that crawlers no longer obey
//
// The problems are those of dialect RFC9309, even if f has another dialect:
// Differences returns the rules that another dialect reads differently.
func (f *File) Problems() []Problem {
	if f.dialect != RFC9309 {
		over, site := f.over, f.site
		f = parse([]byte(f.text), "", RFC9309, f.cut)
		f.over, f.site = f.over || over, site
	}
	l := linter{file: f, line: 1, seen: map[string]int{}, named: map[string]int{}}
	l.wholeFile()
	l.lines()
	l.groups()
	slices.SortStableFunc(l.list, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return l.list
}

// linter collects the problems of a file in one pass.
type linter struct {
	file *File
	list []Problem

	line  int // number of the current line, from 1
	begin int // offset in the text at which the current line begins

	agents int            // number of User-agent lines so far in the current group
	last   int            // number of the line that has the last User-agent of the group
	ruled  bool           // a rule has come after these User-agent lines
	early  bool           // rule-outside was reported
	html   bool           // the file is an HTML page
	seen   map[string]int // for each name of a crawler, the number of the first line with this name
	named  map[string]int // for each name of a crawler, how many groups have this name
	names  []string       // names of crawlers in the current group
	rules  []int          // indexes in file.entries of the rules of the current group
	ended  []lintGroup

	licenses []string // values of the License lines, up to the first one beyond MaxLicensesRead
}

// A lintGroup is a group that has more than one rule.
type lintGroup struct {
	names []string
	rules []int
}

// wholeLine is passed to report instead of an offset, for a problem of a whole line.
const wholeLine = -1

// report adds a problem of the current line. The parameter at is the offset of the problem in the
// text of the file, or wholeLine.
func (l *linter) report(at int, code, message, hint string) {
	if len(l.list) >= maxProblems {
		return
	}
	column := 1
	if at >= 0 {
		column = at - l.begin + 1
	}
	l.list = append(l.list, Problem{l.line, column, code, message, hint})
}

func (l *linter) wholeFile() {
	f := l.file
	if f.over {
		l.report(wholeLine, "file-too-long", "the file is longer than "+strconv.Itoa(MaxBytes)+" bytes; crawlers may ignore the rest",
			"combine rules, or put what is blocked into a directory of its own")
	}
	if f.utf16 {
		l.report(wholeLine, "utf16", "the file is in UTF-16, which most crawlers cannot read", "save it as UTF-8")
	}
	if head := trim(f.text[:min(len(f.text), 1000)]); hasPrefixFold(head, "<!doctype") || hasPrefixFold(head, "<html") {
		l.html = true
		l.report(wholeLine, "html", "this is an HTML page, not a robots.txt file", "serve a text file, or answer 404 if there are no rules")
	}
}

// lines checks all lines of the file, including those that have no entry in File.entries because
// their key is not known.
func (l *linter) lines() {
	f, next := l.file, 0
	for s := newLines(f.text); len(l.list) < maxProblems; {
		start, end, ok := s.next()
		if !ok {
			break
		}
		l.line, l.begin = s.number, start
		if end-start > maxLine {
			l.report(maxLine+start, "line-too-long", "the line is longer than "+strconv.Itoa(maxLine)+" bytes; the rest is ignored", "")
		}
		if i := strings.IndexByte(f.text[start:end], 0); i >= 0 {
			l.report(start+i, "nul-byte", "a NUL byte ends the line for many crawlers", "remove it")
		}
		for next < len(f.entries) && int(f.entries[next].line) < s.number {
			next++
		}
		if next < len(f.entries) && int(f.entries[next].line) == s.number {
			l.entry(next, end)
			continue
		}
		l.other(start, end)
	}
	l.endGroup()
}

// other checks text[start:end], a line without a known key.
func (l *linter) other(start, end int) {
	text := l.file.text[start:end]
	text, _, _ = strings.Cut(text, "#")
	if trim(text) == "" || l.html {
		return
	}
	if strings.HasPrefix(text, "\xEF\xBB\xBF") {
		l.report(start, "stray-mark", "a byte order mark inside the file spoils the line", "remove it")
		return
	}
	at := start + len(text) - len(strings.TrimLeft(text, " \t\v\f"))
	key, _, colon := strings.Cut(text, ":")
	key = trim(key)
	if !colon {
		l.report(at, "unreadable-line", fmt.Sprintf("%s is neither a key with a colon nor a comment", quote(trim(text))),
			`write "Key: value", or put "#" before a remark`)
		return
	}
	hint := ""
	if k := nearestKey(key); k != "" {
		hint = "did you mean " + k + "?"
	}
	l.report(at, "unknown-key", quote(key)+" is not a key that crawlers know; the line is ignored", hint)
}

// entry checks f.entries[i], a line with a known key, which ends at offset end.
func (l *linter) entry(i, end int) {
	f := l.file
	e := &f.entries[i]
	value := f.value(e)
	l.key(e)
	at := int(e.start)
	switch e.kind {
	case agentLine, allowLine, disallowLine:
		l.encoding(e)
		if int(e.end) < end && f.text[e.end] == '#' && e.start < e.end {
			l.report(int(e.end), "cut-by-comment", `"#" begins a comment even inside a value`, `write %23 for a "#" that is part of a path`)
		}
	}
	switch e.kind {
	case agentLine:
		l.agent(e)
	case allowLine, disallowLine:
		l.rule(i)
	case delayLine:
		l.delay(at, value)
	case rateLine:
		if _, ok := parseRate(value); !ok {
			l.report(at, "bad-rate", quote(value)+" is not a rate of requests", `write requests/seconds, for example "1/5"`)
		}
	case visitLine:
		if _, ok := parseWindow(value); !ok {
			l.report(at, "bad-window", quote(value)+" is not a part of the day", `write it in UTC as "0600-0845"`)
		}
	case sitemapLine:
		l.sitemap(at, value)
	case licenseLine:
		l.license(at, value)
	case usageLine:
		_, list := cutPath(value)
		if p, ok := parseUsage(list, 0); !ok || len(p) == 0 {
			l.report(at, "bad-usage", quote(value)+" states no preference", `write for example "train-ai=n, search=y"`)
		}
	case signalLine:
		if _, list := cutPath(value); len(parseSignal(list, 0)) == 0 {
			l.report(at, "bad-signal", quote(value)+" states no preference", `write for example "search=yes, ai-train=no"`)
		}
	case noindexLine:
		l.report(wholeLine, "unsupported", "crawlers do not obey Noindex in robots.txt", "send X-Robots-Tag: noindex with the page, or a meta element")
	}
	l.joined(i, end)
}

// joined reports the joined records inside the value of entry i: the entries that follow entry i
// (see joined.go).
func (l *linter) joined(i, end int) {
	f := l.file
	e := &f.entries[i]
	next := i + 1
	for ; next < len(f.entries) && f.entries[next].flags&joinedLine != 0; next++ {
		l.ruled = l.ruled || f.entries[next].kind == disallowLine
	}
	if next == i+1 {
		return
	}
	at, _, _ := findJoined(f.text, int(e.start), end)
	l.report(at, "lines-joined", quote(trim(f.text[at:end]))+" is on the line of another record; few crawlers see it there", "put each record on a line of its own")
}

// key checks the spelling of the key of e.
func (l *linter) key(e *entry) {
	key := l.keyText(e)
	at := l.begin
	for at < int(e.start) && isSpace(l.file.text[at]) {
		at++
	}
	if e.flags&noColon != 0 {
		hint := "write " + keyName(e.kind) + ": " + clip(l.file.value(e))
		if e.kind == allowLine {
			hint += "; as it is, the line is ignored"
		}
		l.report(at+len(key), "missing-colon", "the colon after "+quote(key)+" is missing", hint)
	}
	if e.flags&misspelt != 0 {
		l.report(at, "misspelt-key", quote(key)+" is a misspelling of "+keyName(e.kind)+"; not every crawler understands it", "write "+keyName(e.kind))
	}
}

func (l *linter) keyText(e *entry) string {
	s := l.file.text[l.begin:e.start]
	if i := strings.IndexByte(s, ':'); i >= 0 {
		s = s[:i]
	}
	return trim(s)
}

func (l *linter) encoding(e *entry) {
	value := l.file.value(e)
	for i := 0; i < len(value); {
		r, n := utf8.DecodeRuneInString(value[i:])
		if r == utf8.RuneError && n == 1 {
			l.report(int(e.start)+i, "not-utf8", "the value is not in UTF-8, and crawlers read it differently", "save the file as UTF-8, or write the octet as %"+strings.ToUpper(strconv.FormatUint(uint64(value[i]), 16)))
			return
		}
		i += n
	}
}

func (l *linter) delay(at int, value string) {
	d, ok := parseDelay(value)
	switch {
	case !ok:
		l.report(at, "bad-delay", quote(value)+" is not a number of seconds", `write for example "10" or "0.5"`)
	case d > maxKeep:
		l.report(at, "long-delay", "at a delay of "+d.String()+" hardly anything can be crawled", `to exclude a crawler write "Disallow: /"`)
	}
}

func (l *linter) sitemap(at int, value string) {
	if value == "" {
		l.report(wholeLine, "bad-sitemap", "the Sitemap line has no value", "write an absolute URL")
	} else if _, err := Locate(value); err != nil {
		l.report(at, "bad-sitemap", quote(value)+" is not an absolute URL", "write it with https:// and the host")
	}
}

func (l *linter) license(at int, value string) {
	switch {
	case policyOf(value) == "":
		l.report(at, "bad-license", "the License line names no document", "write the URL of an RSL document, without blanks")
	case len(l.licenses) > MaxLicensesRead || slices.Contains(l.licenses, value):
	default:
		if l.licenses = append(l.licenses, value); len(l.licenses) > MaxLicensesRead {
			l.report(at, "many-licenses", "permesso reads the first "+strconv.Itoa(MaxLicensesRead)+" license documents, not this one or later ones", "put the terms into fewer documents")
		}
	}
}

// keyName returns the usual spelling of a key.
func keyName(k kind) string {
	for _, n := range keyNames {
		if n.kind == k {
			return n.name
		}
	}
	return ""
}

var keyNames = [...]struct {
	kind kind
	name string
}{
	{agentLine, "User-agent"}, {allowLine, "Allow"}, {disallowLine, "Disallow"}, {sitemapLine, "Sitemap"},
	{delayLine, "Crawl-delay"}, {rateLine, "Request-rate"}, {visitLine, "Visit-time"}, {hostLine, "Host"},
	{cleanParamLine, "Clean-param"}, {noindexLine, "Noindex"}, {usageLine, "Content-Usage"},
	{signalLine, "Content-Signal"}, {licenseLine, "License"},
}

// nearestKey returns the known key that is most similar to key, or "" if no
// key is similar.
func nearestKey(key string) string {
	if len(key) > 20 {
		return ""
	}
	best, name := 3, ""
	for _, n := range keyNames {
		if d := distance(strings.ToLower(key), strings.ToLower(n.name)); d < best && d*2 < len(n.name) {
			best, name = d, n.name
		}
	}
	return name
}

// distance returns how many changes turn a into b. A change inserts, deletes or replaces an
// octet, or swaps an octet with the next octet.
func distance(a, b string) int {
	prev, row, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next[j+1] = min(row[j]+cost, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], prev[j-1]+1)
			}
		}
		prev, row, next = row, next, prev
	}
	return row[len(b)]
}

// quote returns s, a part of the file, in quotes. It clips a long s.
func quote(s string) string { return strconv.Quote(clip(s)) }

func clip(s string) string {
	if len(s) > 60 {
		return strings.ToValidUTF8(s[:57], "") + "..."
	}
	return s
}
