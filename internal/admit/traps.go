package admit

import (
	"cmp"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/zeebo/xxh3"
)

// The bounds above which a URL counts as part of an endless space. Each is far above the values
// of ordinary sites.
const (
	maxSegments  = 32      // number of segments of a path
	maxRounds    = 3       // number of times that a segment, or a sequence of segments, may occur in a row in a path
	maxPairs     = 4       // number of times that a query may have the same name with the same value
	maxShapes    = 128     // number of combinations of parameter names under one path of a site
	maxSessions  = 8       // number of session ids under one path of a site
	futureYears  = 3       // number of years from now to the month of a calendar page that was found on the page of another month
	maxMonths    = 240     // number of months of one calendar, if each was found on the page of the month before or after it
	maxTraps     = 1 << 10 // number of Traps that are remembered for the Summary
	maxSpaces    = 1 << 12 // number of paths whose parameter names and session ids are remembered
	longestQuery = 4 << 10 // length of the part of a query that is examined, in bytes
)

// A Trap is an endless space of URLs at one site, such as a calendar without end. Links into it
// were refused.
type Trap struct {
	Site    frontier.Site
	Pattern string // the pattern of the URLs in words, such as "the path repeats /a/b"
	URLs    int    // number of links that were refused
}

// Traps refuses links into endless spaces of URLs, which it recognises by patterns. It counts
// the values that it has seen in one run. Its memory is bounded: if it has to forget a count,
// the count begins again at zero.
type Traps struct {
	mu     sync.Mutex // guards all fields; locked only for links that have a pattern or a query
	spaces map[uint64][]uint64
	found  map[Trap]int // number of refused links for each Trap; the keys have URLs = 0
}

// A Finder describes the page on which links are found. It saves checks of their paths: endless
// paths grow from page to page, so the links of a page with an ordinary path need no check.
type Finder struct {
	Grown       bool // the path of the page is long, or begins to repeat itself
	year, month int  // the month in the URL of the page; valid if dated is set
	dated       bool // the URL of the page has a month
	far         int  // first year that is too far in the future
}

// NewFinder returns the Finder of the page at u. It compares years with the year of now.
func NewFinder(u frontier.URL, now time.Time) Finder {
	target := u.Target()
	path, _, _ := strings.Cut(target, "?")
	y, m, at := month(target)
	return Finder{
		Grown: strings.Count(path, "/") > maxSegments/2 || repeatedIn(path, maxRounds-1) != "",
		year:  y, month: m, dated: at >= 0, far: now.Year() + futureYears,
	}
}

// Judge returns the pattern of an endless space that the URL of e has, or "". f describes the
// page with the link.
func (t *Traps) Judge(e *frontier.Entry, f *Finder) string {
	path, query, _ := strings.Cut(e.URL.Target(), "?")
	why := ""
	if f.Grown {
		why = endlessPath(path)
	}
	if why == "" && f.dated {
		why = t.endlessCalendar(e.URL, f)
	}
	if why == "" && query != "" {
		why = t.endlessQuery(e.URL.Site(), path, query[:min(len(query), longestQuery)])
	}
	if at := strings.IndexByte(path, ';'); why == "" && at >= 0 {
		if _, id, _ := strings.Cut(strings.ToLower(path[at:]), ";jsessionid="); id != "" {
			why = t.session(e.URL.Site(), path[:at], id)
		}
	}
	return why
}

// Note counts a link that Judge has refused. why is the pattern.
func (t *Traps) Note(site frontier.Site, why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.found == nil {
		t.found = map[Trap]int{}
	}
	key := Trap{Site: site, Pattern: why}
	if _, known := t.found[key]; !known {
		if len(t.found) >= maxTraps {
			key = Trap{Pattern: "others"}
		}
		key.Site = frontier.Site(strings.Clone(string(key.Site))) // copy the name, because otherwise the whole URL would stay in memory
	}
	t.found[key]++
}

// List returns the traps, beginning with the one with the most links.
func (t *Traps) List() []Trap {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]Trap, 0, len(t.found))
	for trap, n := range maps.All(t.found) {
		trap.URLs = n
		all = append(all, trap)
	}
	slices.SortFunc(all, func(a, b Trap) int {
		return cmp.Or(cmp.Compare(b.URLs, a.URLs), cmp.Compare(a.Site, b.Site), cmp.Compare(a.Pattern, b.Pattern))
	})
	return all
}

// endlessPath returns the pattern of a path with too many or repeated segments, or "". Paths
// with repeated segments arise if a page in a directory has a relative link to that directory.
func endlessPath(path string) string {
	if strings.Count(path, "/") > maxSegments {
		return fmt.Sprintf("the path has more than %d segments", maxSegments)
	}
	if s := repeatedIn(path, maxRounds); s != "" {
		return "the path repeats " + Short(s)
	}
	return ""
}

// repeatedIn returns the first segment, or sequence of segments, that occurs at least rounds
// times in a row in a path. It returns "" if nothing is repeated so often, or if the path has
// too many segments to check.
func repeatedIn(path string, rounds int) string {
	var ends [maxSegments + 1]uint16 // positions of the slashes; they fit in 16 bits, because a URL is shorter than 64 KiB
	n := 0
	for i := 0; ; n++ {
		at := strings.IndexByte(path[i:], '/')
		if at < 0 {
			break
		}
		if n == maxSegments {
			return ""
		}
		ends[n] = uint16(i + at)
		i += at + 1
	}
	ends[n] = uint16(len(path))
	for period := 1; period*rounds <= n; period++ {
		for i := 0; i+period*rounds <= n; i++ {
			if s := path[ends[i]:ends[i+period]]; again(path[ends[i+period]:], s, rounds-1) && hasLetter(s) {
				return s
			}
		}
	}
	return ""
}

// again reports whether rest begins with s, repeated times times, and then ends or continues
// with a slash. s is one or several whole segments.
func again(rest, s string, times int) bool {
	for range times {
		if !strings.HasPrefix(rest, s) {
			return false
		}
		rest = rest[len(s):]
	}
	return rest == "" || rest[0] == '/'
}

// hasLetter reports whether s has a character other than digits and slashes. A path of digits
// only, such as /0/0/0, may be the address of a map tile, where repetition is normal.
func hasLetter(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r != '/' && (r < '0' || r > '9') }) >= 0
}

// endlessCalendar returns the pattern of a calendar without end, or "". It looks only at links
// from the page of a month to the next or the previous month. It returns a pattern if the month
// of the link is far in the future, or if more than maxMonths months of the calendar were found
// by such links.
func (t *Traps) endlessCalendar(u frontier.URL, f *Finder) string {
	y, m, at := month(u.Target())
	step := 12*y + m - 12*f.year - f.month
	switch {
	case at < 0 || step < -1 || step > 1:
		return ""
	case y >= f.far:
	case step == 0: // a link to the page's own month, as on each page of a blog's archive
		return ""
	case !t.many(u.Site(), u.Target()[:at]+"month", uint64(12*y+m), maxMonths):
		return ""
	}
	return fmt.Sprintf("a calendar under %s", Short(u.Target()[:at]))
}

// month returns the first year in text that has a month after it, that month, and the position
// of the year. Examples are 2031-05, 2031/5, 203105, 20310531 and year=2031&month=5. at is -1
// if there is no such year.
func month(text string) (year, month, at int) {
	for i := 0; i < len(text); i++ {
		if text[i] < '0' || text[i] > '9' {
			continue
		}
		start := i
		for i < len(text) && text[i] >= '0' && text[i] <= '9' {
			i++
		}
		digits := text[start:i]
		switch {
		case len(digits) == 4 && digits < lastYear:
			behind := text[i:]
			if behind = strings.TrimPrefix(behind, "&month="); behind == text[i:] {
				if behind == "" || strings.IndexByte("-/._", behind[0]) < 0 {
					continue
				}
				behind = behind[1:]
			}
			if m := number(behind[:digitsOf(behind)]); m >= 1 && m <= 12 && digitsOf(behind) <= 2 {
				return number(digits), m, start
			}
		case (len(digits) == 6 || len(digits) == 8) && digits >= firstDate && digits < lastDate:
			day := cmp.Or(digits[6:], "01")
			if m := number(digits[4:6]); m >= 1 && m <= 12 && day >= "01" && day <= "31" {
				return number(digits[:4]), m, start
			}
		}
	}
	return 0, 0, -1
}

// The ranges of years that are taken for dates. With a separator after the year, the year is
// below lastYear. Without one, it is at least firstDate and below lastDate, because only the
// size of such a number shows that it is a date. So 79010203, the number of a question, is not
// a date, and neither is 9075-1, the number of a standard.
const (
	lastYear  = "2200"
	firstDate = "1900"
	lastDate  = "2100"
)

func digitsOf(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// number returns the value of a few digits. It returns 0 for "".
func number(digits string) int {
	n := 0
	for i := 0; i < len(digits) && i < 9; i++ {
		n = 10*n + int(digits[i]-'0')
	}
	return n
}

// sessionNames has the names, in lower case, of parameters that identify a visitor and not the
// content.
var sessionNames = map[string]bool{
	"jsessionid": true, "phpsessid": true, "sessionid": true, "session_id": true, "sid": true, "sessid": true,
	"oscsid": true, "zenid": true, "cfid": true, "cftoken": true, "aspsessionid": true,
}

// minSession is the least length of a session id. A shorter value may be the number of a
// document.
const minSession = 12

// endlessQuery returns the pattern of an endless space that a query has, or "". The patterns
// are a repeated parameter, a new session id in each link, and parameters in many combinations.
func (t *Traps) endlessQuery(site frontier.Site, path, query string) string {
	var names uint64
	first := true
	for pair := range strings.SplitSeq(query, "&") {
		name, value, named := strings.Cut(pair, "=")
		if IsSession(name, value) {
			return t.session(site, path+"?"+strings.ToLower(name), value)
		}
		if first && !named {
			name = "" // a part without "=" is a value, such as the name of a wiki page
		}
		first = false
		names = bits.RotateLeft64(names, 1) ^ xxh3.HashString(name)
	}
	if pair := repeatedPair(query); pair != "" {
		return "the query repeats " + Short(pair)
	}
	if t.many(site, path, names, maxShapes) {
		return fmt.Sprintf("more than %d combinations of parameters under %s", maxShapes, Short(path))
	}
	return ""
}

// repeatedPair returns a parameter with its value (name=value) that occurs more than maxPairs
// times in the query, or "".
func repeatedPair(query string) string {
	if strings.Count(query, "&") < maxPairs-1 {
		return ""
	}
	pairs := strings.Split(query, "&")
	slices.Sort(pairs)
	for i := maxPairs - 1; i < len(pairs); i++ {
		if pairs[i] != "" && pairs[i] == pairs[i-maxPairs+1] {
			return pairs[i]
		}
	}
	return ""
}

// session counts the session id of a link under a path. It returns a pattern if the links under
// the path have more than maxSessions session ids, and otherwise "".
func (t *Traps) session(site frontier.Site, path, id string) string {
	if t.many(site, path, xxh3.HashString(id), maxSessions) {
		return fmt.Sprintf("more than %d session ids under %s", maxSessions, Short(path))
	}
	return ""
}

// many counts a value under a path of a site. It returns true if the path then has more than
// most different values; in this case it does not remember the value.
func (t *Traps) many(site frontier.Site, path string, value uint64, most int) bool {
	key := bits.RotateLeft64(xxh3.HashString(string(site)), 1) ^ xxh3.HashString(path)
	t.mu.Lock()
	defer t.mu.Unlock()
	seen := t.spaces[key]
	switch {
	case slices.Contains(seen, value):
		return false
	case len(seen) >= most:
		return true
	case t.spaces == nil || seen == nil && len(t.spaces) >= maxSpaces:
		t.spaces = map[uint64][]uint64{}
	}
	t.spaces[key] = append(seen, value)
	return false
}

// IsSession reports whether a parameter of a query is a session id. It returns false for a
// value with a slash, because some sites use the name sid for the id of a story, such as
// 24/05/12/1234567.
func IsSession(name, value string) bool {
	return len(value) >= minSession && sessionNames[strings.ToLower(name)] &&
		!strings.Contains(value, "/") && !strings.Contains(strings.ToLower(value), "%2f")
}

// MaxShort is the largest length in bytes of a URL in messages and summaries.
const MaxShort = 256

// Short returns the first MaxShort bytes of a URL, for messages and summaries.
func Short(url string) string { return url[:min(len(url), MaxShort)] }
