package robots

import (
	"fmt"
	"strconv"
)

// Dialect is the specification by which a robots.txt file is read. The zero value is RFC9309,
// which is right unless there is a reason for another dialect.
type Dialect uint8

const (
	// RFC9309 reads a file by RFC 9309 (first published as draft-koster-rep-00). The longest
	// matching rule decides. If the RFC leaves a choice, the reading that blocks more is used.
	RFC9309 Dialect = iota

	// Google gives the same verdicts as the google/robotstxt library, byte for byte. It differs
	// from RFC9309 in five ways: it accepts other misspelt keys, compares some keys only by their
	// beginning, lets an Allow of /x/index.html also allow /x/, decodes no percent escapes, and
	// makes no exception for the URL /robots.txt.
	Google

	// Koster1996 reads a file by the draft of November 1996 ("A Method for Robots Exclusion"),
	// which "HTTP: The Definitive Guide" describes as v1.0. The first matching rule in file
	// order decides, there are no wildcards, and blank lines separate records.
	Koster1996
)

// String returns the name of d, which ParseDialect accepts: "rfc9309", "google" or "koster1996".
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

// ParseDialect returns the dialect with the given name. The case of ASCII letters does not
// matter. For an unknown name, it returns an error that lists the known names.
func ParseDialect(name string) (Dialect, error) {
	for d := RFC9309; d <= Koster1996; d++ {
		if equalFold(name, d.String()) {
			return d, nil
		}
	}
	return 0, fmt.Errorf("robots: unknown dialect %q: want rfc9309, google or koster1996", name)
}
