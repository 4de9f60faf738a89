// Package setting describes the settings of a crawl: the name of each, its value as text, the
// heading under which it is listed, and what happens if it is changed when a crawl is resumed.
// The method Settings of crawler.Options makes the settings.
package setting

import (
	"flag"
	"math"
	"strconv"
)

// A Setting is an option of a crawl that has a name and a text form. Settings are used for
// flags and their help, for comparing runs, and for the documentation.
//
// It is a flag.Value for package flag, and a Value for spf13/pflag. Set refuses invalid values;
// if the setting is a list, Set adds to it. String never returns a secret.
type Setting struct {
	Name     string     // the name, such as max-host-pages
	Field    string     // field of crawler.Options; empty: it has none
	Group    Group      // heading under which the setting is listed
	Unit     string     // unit, if the value is a number
	Help     string     // a short description
	Larger   Way        // what it means for sites if the value becomes larger, or changes to a word later in Choices
	Resume   Effect     // what happens if the value differs from the last run when a crawl is resumed
	CodeOnly bool       // only Go programs can change it, not the command line
	Value    flag.Value // the value in crawler.Options, which String reads and Set changes
}

// A Group is a heading under which settings are listed.
type Group string

// The groups, in the order in which help and documentation list them.
const (
	GroupScope  Group = "What belongs to the crawl"
	GroupPace   Group = "How fast it is"
	GroupEnd    Group = "When it ends"
	GroupRobots Group = "How robots.txt is read"
	GroupWire   Group = "How sites are asked"
	GroupOutput Group = "What is written"
)

// A Way says what a change of a value means for sites.
type Way string

// The values of Way.
const (
	Tighter Way = "tighter" // sites get fewer requests
	Wider   Way = "wider"   // sites may get more requests
	Other   Way = "other"   // neither tighter nor wider, or not known
)

// An Effect says what happens if a setting differs from the last run when a crawl is resumed.
type Effect string

// The values of Effect.
const (
	FromNowOn Effect = "applies from now on, also to queued URLs"
	SortsURLs Effect = "queued URLs that are no longer wanted are put aside, and queued again when they are wanted; refused links come back with a rescan"
	SortsLink Effect = "applies to the links of pages from now on; refused links come back with a rescan"
	NeedsNew  Effect = "is refused: a new crawl is needed"
	ThisRun   Effect = "applies to one run only, and is not compared"
)

// Set implements flag.Value. The error does not have the name of the setting.
func (s Setting) Set(text string) error { return s.Value.Set(text) }

// String implements flag.Value.
func (s Setting) String() string {
	if s.Value == nil {
		return ""
	}
	return s.Value.String()
}

// IsBoolFlag reports whether the flag of the setting may be given without a value.
func (s Setting) IsBoolFlag() bool {
	b, ok := s.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

// IsList reports whether the setting is a list, so that Set adds an element.
func (s Setting) IsList() bool {
	l, ok := s.Value.(interface{ IsList() bool })
	return ok && l.IsList()
}

// Choices returns the words that are allowed as the value or, if the setting is a list, as its
// elements. It returns nil if other values are allowed, too.
func (s Setting) Choices() []string {
	if c, ok := s.Value.(interface{ Choices() []string }); ok {
		return c.Choices()
	}
	return nil
}

// Type returns the kind of the value, such as duration, number, or a list of words.
func (s Setting) Type() string {
	if t, ok := s.Value.(interface{ Type() string }); ok {
		return t.Type()
	}
	return "text"
}

// Compare returns what it means for sites if the value changes from before to after. Both have
// the form of String.
func (s Setting) Compare(before, after string) Way {
	was, known := s.width(before)
	now, ok := s.width(after)
	switch {
	case s.Larger == Other || !known || !ok || was == now:
		return Other
	case was < now:
		return Wider
	}
	return Tighter
}

// width returns a number for the value text, which is larger the more requests to sites it
// allows. It is +Inf for no limit and for no pause. ok is false if the value has no such
// number.
func (s Setting) width(text string) (float64, bool) {
	m, ok := s.Value.(interface{ Measure(string) (float64, error) })
	if !ok {
		return 0, false
	}
	n, err := m.Measure(text)
	if s.Larger == Tighter && !math.IsInf(n, 1) {
		n = -n
	}
	return n, err == nil
}

// InWords returns a value, which has the form of String, as text for readers. It returns "none"
// for "" and for "0", and value itself otherwise.
func InWords(value string) string {
	if n, err := strconv.ParseFloat(value, 64); value == "" || err == nil && n == 0 {
		return "none"
	}
	return value
}
