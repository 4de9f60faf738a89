package robots

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Directives holds the directives of a page, from X-Robots-Tag header fields and from meta
// elements. The zero value has none.
//
// Directives never change whether a URL may be requested. A crawler reads them together with the
// page, and obeys them when it uses the page and follows its links.
type Directives struct {
	NoIndex      bool // set by noindex and none
	NoFollow     bool // set by nofollow and none
	NoArchive    bool // set by noarchive and nocache
	NoSnippet    bool // set by nosnippet and max-snippet: 0
	NoImageIndex bool
	NoTranslate  bool
	NoAI         bool
	NoImageAI    bool

	UnavailableAfter time.Time // no use of the page after this time, in UTC; zero if not set
	MaxSnippet       Limit     // longest text to show, in characters
	MaxVideoPreview  Limit     // longest video to show, in seconds
	MaxImagePreview  string    // largest image to show: "none", "standard" or "large"; "" if not set
}

// Limit is an upper bound that a page sets. The zero Limit means that the page does not mention
// the bound.
type Limit struct {
	Set bool
	N   int // the bound; -1: the page permits any size
}

func (l Limit) merge(o Limit) Limit {
	switch {
	case !o.Set:
		return l
	case !l.Set, l.N < 0, o.N >= 0 && o.N < l.N:
		return o
	}
	return l
}

// HeaderDirectives parses the X-Robots-Tag fields of an answer for the crawler named token. Each
// element of values is the value of one field line. Aliases are further names of the same crawler.
//
// A field may contain the name of a robot and a colon. The directives from there to the next name
// are only for that robot. A word that takes a value after a colon, such as unavailable_after, is
// a directive and not a name. HeaderDirectives merges the directives for all robots and those for
// this crawler: the most restrictive counts. It ignores unknown directives, and those that permit
// something. The source is Google's page on X-Robots-Tag. There is no RFC.
func HeaderDirectives(token string, values []string, aliases ...string) Directives {
	var d Directives
	for _, v := range values {
		d = d.Merge(parseDirectives(token, aliases, v, true))
	}
	return d
}

// MetaDirectives parses the content of a meta element for the crawler named token. Aliases are
// further names of the same crawler. The parameter name is the name of the element: "robots", a
// name of the crawler, or a comma-separated list that contains one of these. For any other name
// MetaDirectives returns the zero value. The case of ASCII letters in names does not matter.
func MetaDirectives(token, name, content string, aliases ...string) Directives {
	for one := range strings.SplitSeq(name, ",") {
		if one = trim(one); equalFold(one, "robots") || isNameOf(one, token, aliases) {
			return parseDirectives(token, aliases, content, false)
		}
	}
	return Directives{}
}

// RelNoFollow reports whether the value of a rel attribute, a list of words
// separated by white space, contains "nofollow".
func RelNoFollow(rel string) bool {
	for word := range strings.FieldsSeq(rel) {
		if equalFold(word, "nofollow") {
			return true
		}
	}
	return false
}

// Merge returns the directives of d and o combined. If d and o differ in a directive, the more
// restrictive value counts.
func (d Directives) Merge(o Directives) Directives {
	d.NoIndex = d.NoIndex || o.NoIndex
	d.NoFollow = d.NoFollow || o.NoFollow
	d.NoArchive = d.NoArchive || o.NoArchive
	d.NoSnippet = d.NoSnippet || o.NoSnippet
	d.NoImageIndex = d.NoImageIndex || o.NoImageIndex
	d.NoTranslate = d.NoTranslate || o.NoTranslate
	d.NoAI = d.NoAI || o.NoAI
	d.NoImageAI = d.NoImageAI || o.NoImageAI
	if d.UnavailableAfter.IsZero() || !o.UnavailableAfter.IsZero() && o.UnavailableAfter.Before(d.UnavailableAfter) {
		d.UnavailableAfter = o.UnavailableAfter
	}
	d.MaxSnippet = d.MaxSnippet.merge(o.MaxSnippet)
	d.MaxVideoPreview = d.MaxVideoPreview.merge(o.MaxVideoPreview)
	if d.MaxImagePreview == "" || o.MaxImagePreview != "" && previewSize(o.MaxImagePreview) < previewSize(d.MaxImagePreview) {
		d.MaxImagePreview = o.MaxImagePreview
	}
	return d
}

func previewSize(name string) int {
	switch name {
	case "none":
		return 0
	case "standard":
		return 1
	}
	return 2
}

// IsZero reports whether d has no directives.
func (d Directives) IsZero() bool { return d == Directives{} }

// String returns the directives as the content of a meta element, in a fixed
// order, or "" if there are none.
func (d Directives) String() string {
	var list []string
	for _, f := range [...]struct {
		set  bool
		name string
	}{
		{d.NoIndex, "noindex"},
		{d.NoFollow, "nofollow"},
		{d.NoArchive, "noarchive"},
		{d.NoSnippet, "nosnippet"},
		{d.NoImageIndex, "noimageindex"},
		{d.NoTranslate, "notranslate"},
		{d.NoAI, "noai"},
		{d.NoImageAI, "noimageai"},
		{d.MaxSnippet.Set, "max-snippet:" + strconv.Itoa(d.MaxSnippet.N)},
		{d.MaxVideoPreview.Set, "max-video-preview:" + strconv.Itoa(d.MaxVideoPreview.N)},
		{d.MaxImagePreview != "", "max-image-preview:" + d.MaxImagePreview},
		{!d.UnavailableAfter.IsZero(), "unavailable_after: " + d.UnavailableAfter.Format("2006-01-02T15:04:05Z07:00")},
	} {
		if f.set {
			list = append(list, f.name)
		}
	}
	return strings.Join(list, ", ")
}

// parseDirectives parses a list of directives. If named is true, the list may contain names of
// robots, and directives for other robots are left out.
func parseDirectives(token string, aliases []string, list string, named bool) Directives {
	var d Directives
	ours := true
	for list != "" {
		item, rest, _ := strings.Cut(list, ",")
		name, arg, valued := strings.Cut(item, ":")
		if named && valued && !takesValue(trim(name)) {
			robot := trim(name)
			ours = isStar(robot) || isNameOf(tokenOf(robot), token, aliases)
			item = arg
			name, arg, valued = strings.Cut(item, ":")
		}
		if valued && equalFold(trim(name), "unavailable_after") {
			// The date may contain a comma: "Wed, 25 Jun 2025 15:00:00 GMT".
			more, after, _ := strings.Cut(rest, ",")
			if _, ok := pageTime(arg + "," + more); ok {
				item, rest = item+","+more, after
			}
		}
		if ours {
			d.add(item)
		}
		list = rest
	}
	return d
}

// isNameOf reports whether name is token or one of the aliases.
func isNameOf(name, token string, aliases []string) bool {
	return name != "" && (equalFold(name, token) || slices.ContainsFunc(aliases, func(a string) bool { return equalFold(name, a) }))
}

// takesValue reports whether name is a directive that has a value after a colon.
func takesValue(name string) bool {
	return equalFold(name, "unavailable_after") || equalFold(name, "max-snippet") ||
		equalFold(name, "max-image-preview") || equalFold(name, "max-video-preview")
}

// add adds the directives of one item of a list, which ends at a comma. Site owners also write
// blanks and semicolons between directives, so an item may contain several.
func (d *Directives) add(item string) {
	name, arg, valued := strings.Cut(item, ":")
	if valued {
		d.addValue(trim(name), trim(arg))
		return
	}
	for word := range strings.FieldsFuncSeq(item, func(r rune) bool { return r == ';' || r < 0x80 && isSpace(byte(r)) }) {
		d.addWord(word)
	}
}

func (d *Directives) addWord(word string) {
	switch strings.ToLower(word) {
	case "noindex":
		d.NoIndex = true
	case "nofollow":
		d.NoFollow = true
	case "none":
		d.NoIndex, d.NoFollow = true, true
	case "noarchive", "nocache":
		d.NoArchive = true
	case "nosnippet":
		d.NoSnippet = true
	case "noimageindex":
		d.NoImageIndex = true
	case "notranslate":
		d.NoTranslate = true
	case "noai":
		d.NoAI = true
	case "noimageai":
		d.NoImageAI = true
	}
}

func (d *Directives) addValue(name, arg string) {
	switch {
	case equalFold(name, "unavailable_after"):
		if t, ok := pageTime(arg); ok {
			*d = d.Merge(Directives{UnavailableAfter: t})
		}
	case equalFold(name, "max-snippet"):
		if n, err := strconv.Atoi(arg); err == nil && n >= -1 {
			*d = d.Merge(Directives{MaxSnippet: Limit{true, n}, NoSnippet: n == 0})
		}
	case equalFold(name, "max-video-preview"):
		if n, err := strconv.Atoi(arg); err == nil && n >= -1 {
			*d = d.Merge(Directives{MaxVideoPreview: Limit{true, n}})
		}
	case equalFold(name, "max-image-preview"):
		if arg = strings.ToLower(arg); arg == "none" || arg == "standard" || arg == "large" {
			*d = d.Merge(Directives{MaxImagePreview: arg})
		}
	}
}

// pageTime parses the date of unavailable_after. Site owners use all common forms (RFC 822, RFC
// 850, ISO 8601). A date without a zone is in UTC.
func pageTime(s string) (time.Time, bool) {
	s = trim(s)
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t.UTC(), true
	}
	if day, rest, ok := strings.Cut(s, ","); ok && tokenOf(day) == day {
		s = trim(rest)
	}
	var offset time.Duration
	if i := strings.LastIndexByte(s, ' '); i > 0 {
		if hours, ok := zone(s[i+1:]); ok {
			s, offset = trim(s[:i]), time.Duration(hours)*time.Hour
		}
	}
	for _, date := range [...]string{"2 Jan 2006", "2006-01-02", "2-Jan-2006", "2-Jan-06", "2 Jan 06"} {
		for _, clock := range [...]string{" 15:04:05", "", " 15:04", "T15:04:05", "T15:04", " 15:04:05 -0700", " 15:04 -0700"} {
			if t, err := time.Parse(date+clock, s); err == nil {
				return t.UTC().Add(-offset), true
			}
		}
	}
	return time.Time{}, false
}

// zone returns the offset from UTC, in hours, of a time zone that RFC 822 names. time.Parse
// knows only UTC and the names of the machine's own zone.
func zone(name string) (hours int, ok bool) {
	switch strings.ToUpper(name) {
	case "GMT", "UTC", "UT", "Z":
		return 0, true
	case "EDT":
		return -4, true
	case "EST", "CDT":
		return -5, true
	case "CST", "MDT":
		return -6, true
	case "MST", "PDT":
		return -7, true
	case "PST":
		return -8, true
	}
	return 0, false
}
