package robots

import (
	"slices"
	"strings"
)

// Preferences are the statements of a site about the use of its pages. They never
// change whether a URL may be requested. The zero value states nothing.
type Preferences []preference

// preference is one statement: it grants or refuses one use.
type preference struct {
	Use     string // in lower case: "train-ai", "search", "ai-input" ...
	Granted bool   // y or yes; false for n or no
	Line    int    // number of the line in robots.txt; 0 for a header field
}

// Stated returns whether a use is granted, and whether any statement is about the use. If there
// are several statements, the most restrictive counts. "ai-train" (Content-Signal) and
// "train-ai" (Content-Usage) are the same use.
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

// merge returns the statements of p and o.
func (p Preferences) merge(o Preferences) Preferences {
	return append(slices.Clip(p), o...)
}

// String returns the statements in the form of a Content-Usage field, for
// example "train-ai=n, search=y", or "" if there are none.
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

// headerPreferences parses the Content-Usage fields of an answer. Each element of values is the
// value of one field line. All fields together are one dictionary of RFC 9651
// (draft-ietf-aipref-attach). If any part cannot be parsed, headerPreferences returns nil.
func headerPreferences(values []string) Preferences {
	p, _ := parseUsage(strings.Join(values, ","), 0)
	return p
}

// Preferences returns the statements of the file about the use of target, a path and query.
// They come from the Content-Usage lines (draft-ietf-aipref-attach) and the Content-Signal
// lines of the group. A line may begin with a path pattern, which is matched as in Allow and
// Disallow. A line without a pattern is about every target. Of the Content-Usage lines, the
// line with the longest matching pattern decides, and lines with equally long patterns are
// combined. The same is true of the Content-Signal lines. A line before the first group belongs
// to each group.
//
// The statements do not say whether target may be requested: call Match first.
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

// cutPath splits value into its path pattern and its statements. Without a pattern, path is
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

// parseUsage parses a dictionary of preferences, and reports whether it is valid. A label whose
// value is neither the token y nor the token n states nothing.
func parseUsage(list string, line int) (Preferences, bool) {
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
	var p Preferences
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
func headerSignals(values []string) Preferences {
	return parseSignal(strings.Join(values, ","), 0)
}

// parseSignal parses "search=yes, ai-train=no" (contentsignals.org). Site owners also separate
// statements by semicolons, put values in quotes, and write the "n" of Content-Usage. Quoted
// values and "n" count only if they refuse. An item that cannot be parsed is ignored.
func parseSignal(list string, line int) Preferences {
	var p Preferences
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
