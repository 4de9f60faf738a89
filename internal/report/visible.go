package report

import (
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"
)

// mostMarks is the largest number of combining marks that one letter may have. More marks would
// cover the lines above and below.
const mostMarks = 2

// visible returns s with each character that is not graphic written as \u{...}. So no text is
// hidden, and no text changes the order in which other text is shown.
func visible(s string) string {
	var b strings.Builder
	marks := 0
	for _, r := range s {
		if marks++; !unicode.Is(unicode.M, r) {
			marks = 0
		}
		switch {
		case marks > mostMarks:
		case unicode.IsGraphic(r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, `\u{%x}`, r)
		}
	}
	return b.String()
}

// grouped returns a number as text, with spaces between thousands.
func grouped(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "\u202f" + s[i:]
	}
	return s
}

// short returns a number as text, with two or three significant digits.
func short(x float64) string {
	switch a := math.Abs(x); {
	case x == 0:
		return "0"
	case a >= 99.5:
		return grouped(int64(math.Round(x)))
	case a >= 9.95:
		return trimmed(x, 1)
	case a >= 0.0995:
		return trimmed(x, 2)
	}
	return fmt.Sprintf("%.2g", x)
}

func trimmed(x float64, digits int) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.*f", digits, x), "0"), ".")
}

// size returns a number of bytes as text, with its unit.
func size(n float64) string {
	const units = "kMGTP"
	if n < 1000 {
		return short(n) + " B"
	}
	i := -1
	for ; n >= 999.5 && i+1 < len(units); i++ {
		n /= 1000
	}
	return short(n) + " " + units[i:i+1] + "B"
}

// span returns a length of time, given in seconds, as text with its unit.
func span(s float64) string {
	switch a := math.Abs(s); {
	case s == 0:
		return "0 s"
	case a < 0.001:
		return short(s*1e6) + " µs"
	case a < 1:
		return short(s*1e3) + " ms"
	case a < 120:
		return short(s) + " s"
	case a < 2*3600:
		whole := int(math.Round(s))
		if whole%60 == 0 {
			return fmt.Sprintf("%d min", whole/60)
		}
		return fmt.Sprintf("%d min %d s", whole/60, whole%60)
	case a < 2*86400:
		return short(s/3600) + " h"
	}
	return short(s/86400) + " d"
}

// moment returns a time as text for readers, or "" if it is zero.
func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05") + " UTC"
}

// plural returns a number and a noun as text, such as "3 pages". The noun gets an s unless n is
// 1.
func plural(n int64, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return grouped(n) + " " + one + "s"
}
