package robots

import (
	"strconv"
	"time"
)

// Access is the answer to "may I come in?".
type Access uint8

const (
	// Defer means: not now, nobody knows yet. It is the zero value, so that a
	// verdict that was never filled in is never a permission.
	Defer Access = iota
	// Allow means that the URL may be requested.
	Allow
	// Disallow means that the URL must not be requested.
	Disallow
)

// String returns "defer", "allow" or "disallow".
func (a Access) String() string {
	switch a {
	case Defer:
		return "defer"
	case Allow:
		return "allow"
	case Disallow:
		return "disallow"
	}
	return "Access(" + strconv.Itoa(int(a)) + ")"
}

// Reason says what a verdict rests on.
type Reason uint8

const (
	// Unknown is the reason of the zero Verdict.
	Unknown Reason = iota
	// RuleMatched: Verdict.Rule is the rule that decided (RFC 9309, 2.2.2).
	RuleMatched
	// NoRule: a group applies, but none of its rules matches (2.2.2).
	NoRule
	// NoGroup: no group of the file names this crawler or "*" (2.2.1).
	NoGroup
	// RobotsFile: the URL is /robots.txt itself, always allowed (2.2.2).
	RobotsFile
	// Missing: the site has no robots.txt, for example 404 (2.3.1.3).
	Missing
	// Forbidden: robots.txt was refused with 401, 402, 403 or 451.
	Forbidden
	// Unreachable: robots.txt could not be had, and there is no copy recent
	// enough to go by (2.3.1.4).
	Unreachable
	// LongUnreachable: robots.txt has been unreachable for more than 30 days
	// and there is no copy. Only dialect Google allows on this ground.
	LongUnreachable
	// NoTarget: what was asked about is neither a URL nor a path, so that no
	// rule can be found for it.
	NoTarget
	// OtherSite: the URL belongs to another site, about which this robots.txt
	// says nothing (2.3).
	OtherSite
)

// String returns the reason in a few words, for people to read.
func (r Reason) String() string {
	switch r {
	case Unknown:
		return "unknown"
	case RuleMatched:
		return "rule matched"
	case NoRule:
		return "no rule matches"
	case NoGroup:
		return "no group applies"
	case RobotsFile:
		return "robots.txt itself"
	case Missing:
		return "no robots.txt"
	case Forbidden:
		return "robots.txt forbidden"
	case Unreachable:
		return "robots.txt unreachable"
	case LongUnreachable:
		return "robots.txt unreachable for 30 days"
	case NoTarget:
		return "neither a URL nor a path"
	case OtherSite:
		return "another site's URL"
	}
	return "Reason(" + strconv.Itoa(int(r)) + ")"
}

// Rule is one Allow or Disallow line of a file.
type Rule struct {
	Allow   bool
	Pattern string // the path pattern as written in the file
	Line    int    // its line, from 1; 0 if there is no rule
}

// String returns the rule as a line of robots.txt, "" if there is none.
func (r Rule) String() string {
	switch {
	case r.Line == 0:
		return ""
	case r.Allow:
		return "Allow: " + r.Pattern
	}
	return "Disallow: " + r.Pattern
}

// Verdict is the answer for one URL. The zero Verdict defers.
type Verdict struct {
	Access Access
	Rule   Rule      // the rule that decided; Line 0 if no rule did
	Until  time.Time // for Defer: when it makes sense to ask again
	Reason Reason
}

// Allowed reports whether the URL may be requested. Defer is not a permission.
func (v Verdict) Allowed() bool { return v.Access == Allow }
