package robots

import (
	"strconv"
	"time"
)

// Access says whether a URL may be requested.
type Access uint8

const (
	// Defer means that it is not known yet whether the URL may be requested. It is the zero value,
	// so that a Verdict that was never set permits nothing.
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

// Reason says why a verdict was given.
type Reason uint8

const (
	// NoReason is the reason of the zero Verdict.
	NoReason Reason = iota
	// RuleMatched: Verdict.Rule is the rule that decided (RFC 9309, 2.2.2).
	RuleMatched
	// NoRule: a group applies, but none of its rules matches (RFC 9309, 2.2.2).
	NoRule
	// NoGroup: no group of the file names this crawler or "*" (RFC 9309, 2.2.1).
	NoGroup
	// RobotsFile: the URL is /robots.txt itself, always allowed (RFC 9309, 2.2.2).
	RobotsFile
	// Missing: the site has no robots.txt, for example 404 (RFC 9309, 2.3.1.3).
	Missing
	// Forbidden: robots.txt was refused with 401, 402, 403 or 451.
	Forbidden
	// Unreachable: robots.txt could not be fetched, and there is no copy that is recent enough
	// (RFC 9309, 2.3.1.4).
	Unreachable
	// LongUnreachable: robots.txt has been unreachable for more than 30 days and there is no
	// copy. Only dialect Google has this reason. It then allows every URL.
	LongUnreachable
	// NoTarget: the argument is neither a URL nor a path, so no rule can be
	// applied.
	NoTarget
	// OtherSite: the URL belongs to another site, to which this robots.txt does not apply (RFC
	// 9309, 2.3).
	OtherSite
)

// String returns a short description of the reason, for users.
func (r Reason) String() string {
	switch r {
	case NoReason:
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
	Line    int    // number of the line, from 1; 0 if there is no rule
}

// String returns the rule as a line of robots.txt, or "" if there is no rule.
func (r Rule) String() string {
	switch {
	case r.Line == 0:
		return ""
	case r.Allow:
		return "Allow: " + r.Pattern
	}
	return "Disallow: " + r.Pattern
}

// Verdict is the result of matching one URL. The Access of the zero Verdict is Defer.
type Verdict struct {
	Access Access
	Rule   Rule      // the rule that decided; its Line is 0 if no rule decided
	Until  time.Time // if Access is Defer: when to request robots.txt again
	Reason Reason
}

// Allowed reports whether the URL may be requested. Defer is not a permission.
func (v Verdict) Allowed() bool { return v.Access == Allow }
