package crawllog

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// fields is the number of fields of a line.
const fields = 12

// Parse parses a line, with or without its newline.
func Parse(text string) (*Line, error) {
	var f [fields]string
	if n := split(text, &f); n != fields {
		return nil, fmt.Errorf("crawl.log: %d fields, want %d", n, fields)
	}
	l := &Line{URL: f[3], Hops: dash(f[4]), Via: dash(f[5]), Type: f[6], Digest: dash(f[9]), Tag: dash(f[10]), Size: -1}
	if l.Type == "unknown" {
		l.Type = ""
	}
	var errs [5]error
	l.Time, errs[0] = parseTime(timeForm, f[0])
	l.Status, errs[1] = strconv.Atoi(f[1])
	if f[2] != "-" {
		l.Size, errs[2] = strconv.ParseInt(f[2], 10, 64)
	}
	l.Worker, errs[3] = strconv.Atoi(strings.TrimPrefix(f[7], "#"))
	if f[8] != "-" {
		l.Start, l.Duration, errs[4] = parseStart(f[8])
	}
	if f[11] != "-" {
		l.Annotations = strings.Split(f[11], ",")
	}
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("crawl.log: %w", err)
	}
	return l, nil
}

// split stores the first twelve fields of a line in f, and returns how many fields the line
// has.
func split(text string, f *[fields]string) (n int) {
	from := -1 // start of the current field; -1: between two fields
	for i := 0; i <= len(text); i++ {
		switch {
		case i < len(text) && text[i] > ' ' && text[i] != 0x7f:
			if from < 0 {
				from = i
			}
		case from >= 0:
			if n < fields {
				f[n] = text[from:i]
			}
			n, from = n+1, -1
		}
	}
	return n
}

func dash(s string) string {
	if s == "-" {
		return ""
	}
	return s
}

// parseStart parses the start of a request and its duration.
func parseStart(text string) (start time.Time, took time.Duration, err error) {
	at, ms, _ := strings.Cut(text, "+")
	if len(at) == len(startForm)-len(".") {
		if start, known := canonicalTime(bareForm, at); known {
			n, err := strconv.ParseInt(ms, 10, 64)
			return start, time.Duration(n) * time.Millisecond, err
		}
		at = at[:14] + "." + at[14:]
	}
	start, err = time.Parse(startForm, at)
	n, msErr := strconv.ParseInt(ms, 10, 64)
	return start, time.Duration(n) * time.Millisecond, errors.Join(err, msErr)
}

// bareForm is startForm without its dot, as crawl.log writes the time.
const bareForm = "20060102150405000"

// parseTime is like time.Parse, but faster for times in the formats of crawl.log.
func parseTime(form, text string) (time.Time, error) {
	if t, known := canonicalTime(form, text); known {
		return t, nil
	}
	return time.Parse(form, text)
}

// canonicalTime parses a time in exactly the form timeForm, bareForm or MicroForm. ok is false
// for everything else, such as a date that does not exist; the caller then uses time.Parse.
func canonicalTime(form, text string) (t time.Time, ok bool) {
	var digits [20]byte
	n := 0
	if len(text) != len(form) {
		return t, false
	}
	for i := range len(form) {
		c := text[i]
		switch {
		case form[i] < '0' || form[i] > '9':
			if c != form[i] {
				return t, false
			}
		case c < '0' || c > '9':
			return t, false
		default:
			digits[n] = c - '0'
			n++
		}
	}
	number := func(from, to int) (v int) {
		for _, d := range digits[from:to] {
			v = 10*v + int(d)
		}
		return v
	}
	hour, minute, second, nanos := number(8, 10), number(10, 12), number(12, 14), number(14, n)
	for range 9 - (n - 14) {
		nanos *= 10
	}
	if hour > 23 || minute > 59 || second > 59 {
		return t, false
	}
	t = time.Date(number(0, 4), time.Month(number(4, 6)), number(6, 8), hour, minute, second, nanos, time.UTC)
	return t, int(t.Month()) == number(4, 6)
}

// parseSeconds parses a duration in seconds. It fails if the duration is negative.
func parseSeconds(text string) (time.Duration, error) {
	if d, known := canonicalSeconds(text); known {
		return d, nil
	}
	d, err := time.ParseDuration(text + "s")
	if err == nil && d < 0 {
		err = errors.New("negative duration")
	}
	return d, err
}

// canonicalSeconds parses up to nine digits, and up to nine more after a dot. ok is false for
// everything else; the caller then uses time.ParseDuration.
func canonicalSeconds(text string) (d time.Duration, ok bool) {
	whole, part, _ := strings.Cut(text, ".")
	if len(whole) == 0 || len(whole) > 9 || len(part) > 9 {
		return 0, false
	}
	n := int64(0)
	for _, digits := range [2]string{whole, part} {
		for i := range len(digits) {
			c := digits[i]
			if c < '0' || c > '9' {
				return 0, false
			}
			n = 10*n + int64(c-'0')
		}
	}
	for range 9 - len(part) {
		n *= 10
	}
	return time.Duration(n), true
}
