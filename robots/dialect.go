package robots

import (
	"fmt"
	"strconv"
)

// Dialect says which text a robots.txt file is read by. The zero value is
// RFC9309, and it is the one to use unless there is a reason not to.
type Dialect uint8

const (
	// RFC9309 reads a file by RFC 9309 (its ancestor is
	// draft-koster-rep-00): the longest matching rule decides, and where the
	// text leaves a choice the reading that blocks more is taken.
	RFC9309 Dialect = iota

	// Google decides byte for byte what the google/robotstxt library
	// decides: misspelt keys, keys matched by their beginning, the
	// index.html rule, no percent-decoding, no exception for /robots.txt.
	Google

	// Koster1996 reads a file by the draft of November 1996 ("A Method for
	// Robots Exclusion"), which is also what "HTTP: The Definitive Guide"
	// describes as v1.0: the first matching rule in file order decides,
	// there are no wildcards, and blank lines separate records.
	Koster1996
)

// String returns the name of d as ParseDialect takes it: "rfc9309", "google"
// or "koster1996".
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
