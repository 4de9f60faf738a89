package robots

import (
	"slices"
	"strconv"
	"time"
)

// maxDelay is the upper bound of the delays of a robots.txt, so that sums of delays do not
// overflow time.Duration. It is longer than any crawl.
const maxDelay = 100 * 365 * 24 * time.Hour

// Window is a part of each day, in UTC. Start and End are minutes after midnight. If End is before
// Start, the window spans midnight.
type Window struct {
	Start, End int // 0 to 1440
}

// contains reports whether t is in the window. Both ends belong to the window.
func (w Window) contains(t time.Time) bool {
	t = t.UTC()
	d := time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute +
		time.Duration(t.Second())*time.Second + time.Duration(t.Nanosecond())
	start, end := time.Duration(w.Start)*time.Minute, time.Duration(w.End)*time.Minute
	if start <= end {
		return start <= d && d <= end
	}
	return d >= start || d <= end
}

// addDelay adds the value of a Crawl-delay, Request-rate or Visit-time line. It ignores a value
// that it cannot parse.
func (g *Group) addDelay(k kind, value string) {
	switch k {
	case delayLine:
		if d, ok := parseDelay(value); ok {
			g.delay, g.hasDelay = max(g.delay, d), true
		}
	case rateLine:
		if d, ok := parseRate(value); ok {
			g.gap, g.hasGap = max(g.gap, d), true
		}
	case visitLine:
		if w, ok := parseWindow(value); ok {
			g.windows = append(g.windows, w)
		}
	}
}

// CrawlDelay returns the least time between two requests that the Crawl-delay lines set, and
// whether there is such a line. If there are several delays, the largest counts. The delay is
// never negative, and it is at most a hundred years.
//
// Crawl-delay is not part of RFC 9309, which lets crawlers interpret other records (section
// 2.2.4). Google's documentation of robots.txt says that Google ignores Crawl-delay.
func (g *Group) CrawlDelay() (time.Duration, bool) { return g.delay, g.hasDelay }

// RequestRate returns the time between two requests that the Request-rate lines set, and whether
// there is such a line. "1/5" and "12/1m" both mean five seconds. If there are several rates, the
// longest time counts. Text after a rate is ignored, such as the part of the day in "1/10s
// 0600-0845".
func (g *Group) RequestRate() (gap time.Duration, ok bool) { return g.gap, g.hasGap }

// VisitTime returns the parts of the day, in UTC, in which the file permits visits. It returns
// false if the file has no valid Visit-time line.
func (g *Group) VisitTime() ([]Window, bool) { return slices.Clone(g.windows), len(g.windows) > 0 }

// NextVisit returns the first time, at or after now, at which VisitTime permits a visit. It
// returns now if the file sets no such times.
func (g *Group) NextVisit(now time.Time) time.Time {
	var next time.Time
	for _, w := range g.windows {
		if w.contains(now) {
			return now
		}
		u := now.UTC()
		start := time.Date(u.Year(), u.Month(), u.Day(), 0, w.Start, 0, 0, time.UTC)
		if !start.After(u) {
			start = start.AddDate(0, 0, 1)
		}
		if next.IsZero() || start.Before(next) {
			next = start
		}
	}
	if next.IsZero() {
		return now
	}
	return next
}

// parseDelay returns the delay that value begins with: a number of seconds, or a number and a
// unit (s, m or h in the usual spellings). It ignores the text after the delay. It reports
// false if value does not begin with a number.
func parseDelay(value string) (time.Duration, bool) {
	n, rest, ok := leadingNumber(value)
	if !ok {
		return 0, false
	}
	return seconds(n, unit(rest)), true
}

func seconds(n, unit float64) time.Duration {
	d := n * unit * float64(time.Second)
	if !(d < float64(maxDelay)) {
		return maxDelay
	}
	return time.Duration(d)
}

// unit returns the length, in seconds, of the unit that s begins with. It returns 1 if s begins
// with a unit for seconds, with an unknown unit or with no unit.
func unit(s string) float64 {
	s = trim(s)
	n := 0
	for n < len(s) && isAlpha(s[n]) {
		n++
	}
	for _, u := range [...]struct {
		name string
		sec  float64
	}{
		{"m", 60}, {"min", 60}, {"mins", 60}, {"minute", 60}, {"minutes", 60},
		{"h", 3600}, {"hr", 3600}, {"hour", 3600}, {"hours", 3600}, {"ms", 0.001},
	} {
		if equalFold(s[:n], u.name) {
			return u.sec
		}
	}
	return 1
}

// leadingNumber reads the number at the beginning of s: a decimal number without a sign. A comma
// usually counts as the decimal point. A comma between digits is skipped if exactly three digits
// follow it: it may separate thousands, and this reading gives the longer delay.
func leadingNumber(s string) (n float64, rest string, ok bool) {
	i, digits, point := 0, 0, false
	buf := make([]byte, 0, 32)
loop:
	for ; i < len(s); i++ {
		switch c := s[i]; {
		case isDigit(c):
			digits++
			buf = append(buf, c)
		case c == ',' && !point && digits > 0 && countDigits(s[i+1:]) == 3:
		case (c == '.' || c == ',') && !point:
			point = true
			buf = append(buf, '.')
		default:
			break loop
		}
	}
	if digits == 0 {
		return 0, s, false
	}
	if e := exponent(s[i:]); e > 0 {
		buf = append(buf, s[i:i+e]...)
		i += e
	}
	// For a number out of range ParseFloat returns infinity and an error. Infinity can be used:
	// the function seconds limits the delay to maxDelay.
	n, _ = strconv.ParseFloat(string(buf), 64)
	return n, s[i:], true
}

func countDigits(s string) int {
	n := 0
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return n
}

// exponent returns the length of the exponent that s begins with, such as 3 for "e+5". It returns
// 0 if s begins with no exponent.
func exponent(s string) int {
	if s == "" || lower(s[0]) != 'e' {
		return 0
	}
	n := 1
	if n < len(s) && (s[n] == '+' || s[n] == '-') {
		n++
	}
	if d := countDigits(s[n:]); d > 0 {
		return n + d
	}
	return 0
}

// parseRate reads "requests/period", for example "1/5", "30/1m" or
// "1/10s 0600-0845", and returns the time between two requests.
func parseRate(value string) (time.Duration, bool) {
	n, rest, ok := leadingNumber(value)
	rest = trim(rest)
	if !ok || !(n > 0) || rest == "" || rest[0] != '/' {
		return 0, false
	}
	rest = trim(rest[1:])
	period, tail, ok := leadingNumber(rest)
	if !ok {
		period, tail = 1, rest
		if tail == "" || !isAlpha(tail[0]) {
			return 0, false
		}
	}
	if !(period > 0) {
		return 0, false
	}
	return seconds(period/n, unit(tail)), true
}

// parseWindow parses "HHMM-HHMM", with or without colons. It reports false for any other value.
func parseWindow(value string) (Window, bool) {
	start, rest, ok := clock(value)
	if !ok {
		return Window{}, false
	}
	rest = trim(rest)
	if rest == "" || rest[0] != '-' {
		return Window{}, false
	}
	end, _, ok := clock(trim(rest[1:]))
	return Window{start, end}, ok
}

// clock parses the time of day that s begins with, and returns it as minutes after midnight. 2400
// is the end of the day.
func clock(s string) (minutes int, rest string, ok bool) {
	h := countDigits(s)
	var hh, mm string
	switch {
	case h == 4:
		hh, mm, s = s[:2], s[2:4], s[4:]
	case (h == 1 || h == 2) && len(s) > h && s[h] == ':' && countDigits(s[h+1:]) == 2:
		hh, mm, s = s[:h], s[h+1:h+3], s[h+3:]
	default:
		return 0, s, false
	}
	hour, _ := strconv.Atoi(hh)
	minute, _ := strconv.Atoi(mm)
	if minute > 59 || hour > 24 || hour == 24 && minute > 0 {
		return 0, s, false
	}
	return hour*60 + minute, s, true
}
