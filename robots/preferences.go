package robots

import (
	"slices"
	"strings"
)

// Preferences is what a site says about the use of what it serves. It never
// changes whether a URL may be requested. The zero value states nothing.
type Preferences []Preference

// Preference is one statement.
type Preference struct {
	Use     string // in lower case: "train-ai", "search", "ai-input" ...
	Granted bool   // y or yes; false for n or no
	Line    int    // of robots.txt; 0 for a header field
}

// Stated returns what is said about a use, and whether anything is. Of several
// statements the most restrictive counts; what is not stated stays unknown.
// "ai-train" (Content-Signal) and "train-ai" (Content-Usage) are one use.
func (p Preferences) Stated(use string) (granted, stated bool) {
	granted = true
	for _, s := range p {
		if sameUse(s.Use, use) {
			stated = true
			granted = granted && s.Granted
		}
	}
	return granted && stated, stated
}

// Merge returns what p and o say together.
func (p Preferences) Merge(o Preferences) Preferences {
	return append(slices.Clip(p), o...)
}

// String returns the statements as a Content-Usage field would carry them, for
// example "train-ai=n, search=y"; "" if there are none.
func (p Preferences) String() string {
	var b strings.Builder
	for i, s := range p {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(s.Use)
		if s.Granted {
			b.WriteString("=y")
		} else {
			b.WriteString("=n")
		}
	}
	return b.String()
}

func sameUse(a, b string) bool {
	canonical := func(use string) string {
		if equalFold(use, "train-ai") {
			return "ai-train"
		}
		return use
	}
	return equalFold(canonical(a), canonical(b))
}

// HeaderPreferences reads the values of the Content-Usage fields of an answer,
// one element for each field line, as draft-ietf-aipref-attach has them: one
// dictionary of RFC 9651, of which nothing counts if any part cannot be read.
func HeaderPreferences(values []string) Preferences {
	p, _ := parseUsage(strings.Join(values, ","), 0)
	return p
}

// Preferences returns what the file says about the use of what target, a path
// and query, serves: the Content-Usage lines (draft-ietf-aipref-attach) and
// the Content-Signal lines of the group. A line may begin with a path pattern,
// which is matched as in Allow and Disallow; a line without one is about
// everything. Of the lines of each kind the longest pattern decides, and equally
// long ones count together. A line before the first group belongs to each group.
//
// Nothing is said about what may not be requested: ask Match first.
func (g *Group) Preferences(target string) Preferences {
	var all Preferences
	for _, k := range [...]kind{usageLine, signalLine} {
		all = append(all, g.preferences(k, target)...)
	}
	return all
}

func (g *Group) preferences(k kind, target string) Preferences {
	var best Preferences
	longest := -1
	for _, i := range g.others {
		e := &g.file.entries[i]
		if e.kind != k {
			continue
		}
		path, list := cutPath(g.file.value(e))
		length, ok := patternMatches(path, target)
		if !ok || length < longest {
			continue
		}
		if length > longest {
			longest, best = length, nil
		}
		var p Preferences
		if k == usageLine {
			p, _ = parseUsage(list, int(e.line))
		} else {
			p = parseSignal(list, int(e.line))
		}
		best = append(best, p...)
	}
	return best
}

// cutPath separates the optional path pattern from the statements.
func cutPath(value string) (path, list string) {
	if !strings.HasPrefix(value, "/") {
		return "/", value
	}
	if i := strings.IndexAny(value, " \t"); i >= 0 {
		return value[:i], trim(value[i:])
	}
	return value, ""
}

// patternMatches reports whether a pattern in the form of RFC 9309 matches a
// target, and the length that makes it more or less specific.
func patternMatches(value, target string) (length int, ok bool) {
	if value == "/" {
		return 1, true
	}
	var b builder
	b.normal(value, true, 0, false)
	length = int(b.patterns[0].rank >> 33)
	set := b.build(RFC9309)
	return length, set.match(normalTarget(target), false) != 0
}

// normalTarget returns the normal form of a target in which rules of dialect
// RFC9309 are matched.
func normalTarget(target string) string {
	if target == "" || target[0] != '/' {
		target = "/" + target
	}
	if isNormal(target) {
		return target
	}
	b := appendNormal(nil, target, false)
	if hasDots(string(b)) {
		b = removeDots(b, true)
	}
	return string(b)
}

// parseUsage reads a dictionary of preferences. Labels with a value other
// than the tokens y and n state nothing.
func parseUsage(list string, line int) (Preferences, bool) {
	type stated struct {
		Preference
		clear bool
	}
	var all []stated
	ok := parseDictionary(list, func(key, value string) {
		all = append(all, stated{Preference{Use: key, Granted: value == "y", Line: line}, value == "y" || value == "n"})
	})
	if !ok {
		return nil, false
	}
	// A key that comes again replaces what it said before (RFC 9651, 4.2.2).
	var p Preferences
	later := make(map[string]bool, len(all))
	for i := len(all) - 1; i >= 0; i-- {
		if s := &all[i]; !later[s.Use] {
			later[s.Use] = true
			if s.clear {
				p = append(p, s.Preference)
			}
		}
	}
	slices.Reverse(p)
	return p, true
}

// HeaderSignals reads the values of the Content-Signal fields of an answer, one element
// for each field line. What cannot be read states nothing.
func HeaderSignals(values []string) Preferences {
	return parseSignal(strings.Join(values, ","), 0)
}

// parseSignal reads "search=yes, ai-train=no" (contentsignals.org). Owners also separate
// statements by semicolons, put values in quotes, and write the "n" of Content-Usage: that
// counts if it refuses. What cannot be read states nothing.
func parseSignal(list string, line int) Preferences {
	var p Preferences
	for item := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' || r == ';' }) {
		key, value, ok := strings.Cut(item, "=")
		key, value = trim(key), trim(value)
		granted := equalFold(value, "yes")
		word := strings.Trim(value, `"'`)
		if ok && key != "" && (granted || equalFold(word, "no") || equalFold(word, "n")) {
			p = append(p, Preference{Use: strings.ToLower(key), Granted: granted, Line: line})
		}
	}
	return p
}
