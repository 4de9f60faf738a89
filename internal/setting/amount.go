package setting

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// An Amount is the value of a numeric option, which has a field of crawler.Options and a text
// form. In the text, 0 means "none": no limit or no pause. In the field, 0 means the default,
// and a negative number means "none" if the default is not "none".
type Amount[T ~int | ~int64 | ~float64] struct {
	to    *T
	usual T
	least T // least allowed number; 0: any number is allowed, and the text 0 ("none")
	notation[T]
}

// A notation parses and formats numbers of one kind.
type notation[T any] struct {
	name  string
	parse func(string) (T, error)
	tell  func(T) string
}

var (
	numbers   = notation[int]{"number", parseNumber, strconv.Itoa}
	fractions = notation[float64]{"number", parseFraction, func(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }}
	spans     = notation[time.Duration]{"duration", parseSpan, tellSpan}
	waits     = notation[time.Duration]{"duration", parseWait, tellWait}
	sizes     = notation[int64]{"size", parseSize, tellSize}
)

// Fraction returns the Amount of an option that need not be a whole number. to is its field,
// usual its default, and least its least allowed value; 0: any value is allowed.
func Fraction(to *float64, usual, least float64) Amount[float64] {
	return Amount[float64]{to, usual, least, fractions}
}

// Count returns the Amount of a whole number. The arguments are as in Fraction.
func Count(to *int, usual, least int) Amount[int] { return Amount[int]{to, usual, least, numbers} }

// Span returns the Amount of a duration. The arguments are as in Fraction.
func Span(to *time.Duration, usual, least time.Duration) Amount[time.Duration] {
	return Amount[time.Duration]{to, usual, least, spans}
}

// Wait is like Span for a duration that may also be unlimited.
func Wait(to *time.Duration, usual time.Duration) Amount[time.Duration] {
	return Amount[time.Duration]{to, usual, 0, waits}
}

// Size returns the Amount of a number of bytes. The arguments are as in Fraction.
func Size(to *int64, usual, least int64) Amount[int64] { return Amount[int64]{to, usual, least, sizes} }

// Type returns the name of the kind of number.
func (a Amount[T]) Type() string { return a.name }

// String implements flag.Value.
func (a Amount[T]) String() string {
	n := *a.to
	if n == 0 {
		n = a.usual
	}
	if n <= 0 {
		return "0"
	}
	return a.tell(n)
}

// Set implements flag.Value.
func (a Amount[T]) Set(text string) error {
	n, err := a.read(text)
	if err != nil {
		return err
	}
	if n == 0 && a.usual != 0 {
		n = -1
	}
	*a.to = n
	return nil
}

func (a Amount[T]) read(text string) (T, error) {
	n, err := a.parse(text)
	if err == nil && n < a.least {
		least := "0"
		if a.least > 0 {
			least = a.tell(a.least)
		}
		err = fmt.Errorf("%s is out of range: the least value is %s", text, least)
	}
	return n, err
}

// Measure returns the number in text. If it is 0, which means "none", Measure returns +Inf.
func (a Amount[T]) Measure(text string) (float64, error) {
	n, err := a.read(text)
	if n == 0 {
		return math.Inf(1), err
	}
	return float64(n), err
}

// Fill replaces 0 in the field by the default. It returns what is wrong with the value, or ""
// if it is valid.
func (a Amount[T]) Fill() (wrong string) {
	if *a.to == 0 {
		*a.to = a.usual
	}
	if a.usual != 0 && a.least == 0 {
		return BelowNone(*a.to)
	}
	if *a.to < 0 {
		return "is negative"
	}
	return ""
}

// BelowNone returns what is wrong with a number for which -1 means "none", or "" if it is
// valid. Other negative numbers are invalid, because they come from a wrong calculation: if
// they also meant "none", a pause or a limit would be lost by mistake.
func BelowNone[T ~int | ~int64 | ~float64](n T) (wrong string) {
	if n < 0 && n != -1 {
		return fmt.Sprintf("is %v: the only negative value allowed is -1, for none", n)
	}
	return ""
}

func parseNumber(text string) (int, error) {
	n, err := strconv.ParseInt(text, 0, strconv.IntSize)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%s is out of range", text)
	case err != nil:
		return 0, fmt.Errorf("%q is no whole number", text)
	}
	return int(n), nil
}

func parseFraction(text string) (float64, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("%q is no number", text)
	}
	if f >= 0 && f <= 1e9 {
		return f, nil
	}
	return 0, fmt.Errorf("%s is out of range: 0 to 1e9", text)
}

func parseSpan(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err == nil {
		return d, nil
	}
	if _, err := strconv.ParseUint(text, 10, 32); err == nil {
		return 0, fmt.Errorf("%s has no unit: write %ss for seconds, or %sm for minutes", text, text, text)
	}
	return 0, fmt.Errorf("%q is no duration: write it as 500ms, 10s or 1h30m", text)
}

// tellSpan formats a duration like Duration.String, but leaves out zero seconds and minutes at
// the end.
func tellSpan(d time.Duration) string {
	text := d.String()
	if short, ok := strings.CutSuffix(text, "m0s"); ok {
		text = short + "m"
	}
	if short, ok := strings.CutSuffix(text, "h0m"); ok {
		text = short + "h"
	}
	return text
}

const forever = "forever"

func parseWait(text string) (time.Duration, error) {
	if text == forever {
		return frontier.Forever, nil
	}
	return parseSpan(text)
}

func tellWait(d time.Duration) string {
	if d == frontier.Forever {
		return forever
	}
	return tellSpan(d)
}

type unit struct {
	name  string
	bytes int64
}

// units has the units of sizes. A size is written in the first unit that divides it without a
// remainder.
var units = []unit{
	{"GiB", 1 << 30}, {"GB", 1e9}, {"MiB", 1 << 20}, {"MB", 1e6}, {"KiB", 1 << 10}, {"kB", 1e3}, {"KB", 1e3}, {"B", 1}, {"", 1},
}

// parseSize parses a number of bytes with an optional unit.
func parseSize(text string) (int64, error) {
	for _, u := range units {
		digits, ok := strings.CutSuffix(text, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if err != nil || n < 0 || n > (1<<50)/u.bytes {
			break
		}
		return n * u.bytes, nil
	}
	return 0, fmt.Errorf("%q is no size: write it as 500kB, 16MiB or 1GB", text)
}

func tellSize(n int64) string {
	whole := slices.IndexFunc(units, func(u unit) bool { return n%u.bytes == 0 })
	return strconv.FormatInt(n/units[whole].bytes, 10) + units[whole].name
}
