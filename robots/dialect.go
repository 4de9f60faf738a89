package robots

import (
	"fmt"
	"strconv"
)

// Dialect is the specification by which a robots.txt file is read. The zero
// value is RFC9309: use it unless there is a reason not to.
type Dialect uint8

const (
	// RFC9309 reads a file by RFC 9309 (first published as
	// draft-koster-rep-00): the longest matching rule decides, and if the
	// RFC leaves a choice, the reading that blocks more is taken.
	RFC9309 Dialect = iota

	// Google gives the same verdicts as the google/robotstxt library, byte
	// for byte: misspelt keys, keys matched by their beginning, the
	// index.html rule, no percent-decoding, no exception for /robots.txt.
	Google

	// Koster1996 reads a file by the draft of November 1996 ("A Method for
	// Robots Exclusion"), which "HTTP: The Definitive Guide" describes as
	// v1.0: the first matching rule in file order decides, there are no
	// wildcards, and blank lines separate records.
	Koster1996
)

// String returns the name of d that ParseDialect takes: "rfc9309", "google" or
// "koster1996".
func (d Dialect) String() string {
	switch d {
	case RFC9309:
		return "rfc9309"
	case Google:
		return "google"
	case Koster1996:
		return "koster1996"
	}
	return "Dialect(" + strconv.Itoa(int(d)) + ")"
}

// ParseDialect returns the dialect of that name; the case of ASCII letters
// does not matter. The error of an unknown name lists the known ones.
func ParseDialect(name string) (Dialect, error) {
	for d := RFC9309; d <= Koster1996; d++ {
		if equalFold(name, d.String()) {
			return d, nil
		}
	}
	return 0, fmt.Errorf("robots: unknown dialect %q: want rfc9309, google or koster1996", name)
}
