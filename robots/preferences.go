package robots

import (
	"slices"
	"strings"
)

// A preferenceList has the statements of a site about the use of its pages. They never
// change whether a URL may be requested. The zero value states nothing.
type preferenceList []preference

// preference is one statement: it grants or refuses one use.
type preference struct {
	Use     string // the use in lower case, such as "train-ai", "search" or "ai-input"
	Granted bool   // true for y or yes, false for n or no
	Line    int    // number of the line in robots.txt; 0 for a header field
}

// headerPreferences parses the Content-Usage fields of an answer. Each element of values is the
// value of one field line. All fields together are one dictionary of RFC 9651
// (draft-ietf-aipref-attach). If any part cannot be parsed, headerPreferences returns nil.
func headerPreferences(values []string) preferenceList {
	p, _ := parseUsage(strings.Join(values, ","), 0)
	return p
}

// preferences returns the statements of the group's lines of kind k about the use of target, a
// path and query. The kind is Content-Usage (draft-ietf-aipref-attach) or Content-Signal. A line
// may begin with a path pattern, which is matched as in Allow and Disallow. A line without a
// pattern is about every target. The line with the longest matching pattern decides, and lines
// with equally long patterns are combined. A line before the first group belongs to each group.
func (g *Group) preferences(k kind, target string) preferenceList {
	var best preferenceList
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
		var p preferenceList
		if k == usageLine {
			p, _ = parseUsage(list, int(e.line))
		} else {
			p = parseSignal(list, int(e.line))
		}
		best = append(best, p...)
	}
	return best
}

// cutPath splits value into its path pattern and its statements. If value has no pattern, path is
// "/".
func cutPath(value string) (path, list string) {
	if !strings.HasPrefix(value, "/") {
		return "/", value
	}
	if i := strings.IndexAny(value, " \t"); i >= 0 {
		return value[:i], trim(value[i:])
	}
	return value, ""
}

// patternMatches reports whether a path pattern of RFC 9309 matches target, and returns the
// length of the pattern in normal form.
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

// normalTarget returns a target in the normal form of dialect RFC9309, with a
// leading slash.
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

// parseUsage parses a dictionary of preferences, and reports whether it is valid. A label states
// nothing if its value is neither the token y nor the token n.
func parseUsage(list string, line int) (preferenceList, bool) {
	type stated struct {
		preference
		clear bool
	}
	var all []stated
	ok := parseDictionary(list, func(key, value string) {
		all = append(all, stated{preference{Use: key, Granted: value == "y", Line: line}, value == "y" || value == "n"})
	})
	if !ok {
		return nil, false
	}
	// A repeated key replaces the earlier one (RFC 9651, 4.2.2).
	var p preferenceList
	later := make(map[string]bool, len(all))
	for i := len(all) - 1; i >= 0; i-- {
		if s := &all[i]; !later[s.Use] {
			later[s.Use] = true
			if s.clear {
				p = append(p, s.preference)
			}
		}
	}
	slices.Reverse(p)
	return p, true
}

// headerSignals parses the Content-Signal fields of an answer. Each element of values is the
// value of one field line. An item that cannot be parsed is ignored.
func headerSignals(values []string) preferenceList {
	return parseSignal(strings.Join(values, ","), 0)
}

// parseSignal parses a value such as "search=yes, ai-train=no" (contentsignals.org). Site owners
// also separate statements by semicolons, put values in quotes, and write the "n" of
// Content-Usage. Quoted values and "n" count only if they refuse. An item that cannot be parsed is
// ignored.
func parseSignal(list string, line int) preferenceList {
	var p preferenceList
	for item := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' || r == ';' }) {
		key, value, ok := strings.Cut(item, "=")
		key, value = trim(key), trim(value)
		granted := equalFold(value, "yes")
		word := strings.Trim(value, `"'`)
		if ok && key != "" && (granted || equalFold(word, "no") || equalFold(word, "n")) {
			p = append(p, preference{Use: strings.ToLower(key), Granted: granted, Line: line})
		}
	}
	return p
}
