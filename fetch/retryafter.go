package fetch

import (
	"strings"
	"time"
	"unicode"
)

// Limits of Retry-After fields.
const (
	maxRetryAfter  = 29 * 365 * 24 * time.Hour
	maxRetryValue  = 1 << 10 // bytes of the field after these are ignored
	latestTimeZone = 12 * time.Hour
)

// ParseRetryAfter parses a Retry-After field of an answer that came at now (RFC 9110, section
// 10.2.3). It returns the zero time if the field is malformed or names a time in the past. A
// pause of more than 29 years counts as 29 years.
//
// The field is parsed leniently, because it always means that the site wants a pause. Seconds
// may have a fraction or a unit. Dates may have another form, an offset, or the name of a zone.
// If the field is a list, or if a date is ambiguous, the latest time counts.
func ParseRetryAfter(value string, now time.Time) time.Time {
	var latest time.Time
	rest := value[:min(len(value), maxRetryValue)]
	for rest != "" {
		item, after, _ := strings.Cut(rest, ",")
		rest = after // this comma may be the one after a weekday, so try the rest, too
		item, _, _ = strings.Cut(item, ";")
		item = strings.Trim(item, " \t\"'")
		t, ok := parseDate(item)
		if d, isDelay := parseDelay(item); isDelay {
			t, ok = now.Add(d), true
		}
		t = now.Add(min(t.Sub(now), maxRetryAfter))
		if ok && !t.Before(now) && t.After(latest) {
			latest = t
		}
	}
	return latest
}

func isWeekday(s string) bool {
	if len(s) < 3 {
		return false
	}
	switch strings.ToLower(s[:3]) {
	case "mon", "tue", "wed", "thu", "fri", "sat", "sun":
		return true
	}
	return false
}

// units maps the units that may follow a number to their lengths. A number without a unit counts
// seconds.
var units = map[string]time.Duration{
	"": time.Second, "s": time.Second, "sec": time.Second, "secs": time.Second, "second": time.Second, "seconds": time.Second,
	"ms": time.Millisecond, "millisecond": time.Millisecond, "milliseconds": time.Millisecond,
	"m": time.Minute, "min": time.Minute, "mins": time.Minute, "minute": time.Minute, "minutes": time.Minute,
	"h": time.Hour, "hr": time.Hour, "hrs": time.Hour, "hour": time.Hour, "hours": time.Hour,
	"d": 24 * time.Hour, "day": 24 * time.Hour, "days": 24 * time.Hour,
}

// parseDelay parses a number with a unit after it. A number without a unit counts seconds.
func parseDelay(s string) (time.Duration, bool) {
	end := 0
	for end < len(s) && ('0' <= s[end] && s[end] <= '9' || s[end] == '.') {
		end++
	}
	whole, fraction, _ := strings.Cut(s[:end], ".")
	unit, known := units[strings.ToLower(strings.TrimSpace(s[end:]))]
	if whole == "" || !known || strings.Contains(fraction, ".") {
		return 0, false
	}
	n := 0.0
	for _, c := range whole {
		n = n*10 + float64(c-'0')
	}
	for i, weight := 0, 0.1; i < len(fraction); i, weight = i+1, weight/10 {
		n += float64(fraction[i]-'0') * weight
	}
	return time.Duration(min(n, float64(maxRetryAfter/unit)) * float64(unit)), true
}

// dateForms are the accepted forms of dates, without the weekday and the time zone.
var dateForms = []string{
	"2 Jan 2006 15:04:05", "2-Jan-2006 15:04:05", "2-Jan-06 15:04:05", "2 Jan 06 15:04:05", "2 January 2006 15:04:05",
	"Jan _2 15:04:05 2006", "2 Jan 2006 15:04", "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02",
}

// zones maps names of time zones to their hours from UTC. It has only names with one meaning:
// those of RFC 5322, section 4.3, and others that servers often use.
var zones = map[string]time.Duration{
	"GMT": 0, "UTC": 0, "UT": 0, "Z": 0, "WET": 0, "EST": -5, "EDT": -4, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7,
	"CET": 1, "CEST": 2, "EET": 2, "EEST": 3, "WEST": 1, "MSK": 3, "JST": 9, "KST": 9, "AEST": 10, "AEDT": 11, "NZST": 12, "NZDT": 13,
}

// parseDate parses a date in the forms of RFC 9110, section 5.6.7, of RFC 5322 and of ISO
// 8601. A date without a zone is in UTC.
func parseDate(s string) (time.Time, bool) {
	if day, rest, ok := strings.Cut(s, " "); ok && isWeekday(day) {
		s = strings.TrimSpace(rest)
	}
	if s == "" || len(s) > 64 {
		return time.Time{}, false
	}
	for _, form := range dateForms {
		for _, zone := range [...]string{"", "Z07:00", " Z07:00", "-0700", " -0700"} {
			if t, err := time.Parse(form+zone, s); err == nil {
				return t.UTC(), true
			}
		}
	}
	end := strings.LastIndexFunc(s, func(r rune) bool { return !unicode.IsLetter(r) }) + 1
	west := latestTimeZone // an unknown zone counts as the zone that gives the latest time
	if hours, known := zones[strings.ToUpper(s[end:])]; known {
		west = -hours * time.Hour
	}
	without := strings.TrimSpace(s[:end])
	for _, form := range dateForms {
		if t, err := time.Parse(form, without); err == nil {
			return t.Add(west).UTC(), true
		}
	}
	return time.Time{}, false
}
