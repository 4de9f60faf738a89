package robots

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Bounds on the work of File.Differences.
const (
	maxReaders = 100
	maxProbes  = 50000
)

// unnamedToken is a product token that no file names, so that the "*" groups
// apply to it.
const unnamedToken = "zqxjzqxj"

// Differences returns the rules for which dialect d and RFC 9309 give different verdicts, in file
// order. Each is a Problem with the code "read-otherwise". For each group, Differences compares
// both dialects only on the paths in its rules. So an empty result does not prove that there is no
// difference. The work is bounded: only the beginning of a very long file is compared.
func (f *File) Differences(d Dialect) []Problem {
	if f.utf16 || d == RFC9309 {
		return nil
	}
	c := comparison{
		rfc:      parse([]byte(f.text), f.robotsURL(), RFC9309, f.cut),
		other:    parse([]byte(f.text), f.robotsURL(), d, f.cut),
		reported: map[int32]bool{},
	}
	for _, token := range c.rfc.tokens() {
		c.compare(token)
	}
	slices.SortStableFunc(c.list, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return c.list
}

func (f *File) robotsURL() string {
	if f.site == "" {
		return ""
	}
	return f.site + robotsPath[1:]
}

// tokens returns unnamedToken and the names in the User-agent lines of f.
func (f *File) tokens() []string {
	list, seen := []string{unnamedToken}, map[string]bool{}
	for i := range f.entries {
		e := &f.entries[i]
		token := strings.ToLower(tokenOf(f.value(e)))
		if e.kind == agentLine && token != "" && !seen[token] && len(list) < maxReaders {
			seen[token] = true
			list = append(list, token)
		}
	}
	return list
}

// comparison compares the verdicts for one file, which is parsed in two dialects.
type comparison struct {
	rfc, other *File
	list       []Problem
	reported   map[int32]bool // numbers of the lines that were reported
	probes     int
}

// compare compares the verdicts of both dialects for the crawler named token.
func (c *comparison) compare(token string) {
	g, h := c.rfc.Group(token), c.other.Group(token)
	for _, file := range [...]*File{c.rfc, c.other} {
		for i := range file.entries {
			e := &file.entries[i]
			rule := e.kind == allowLine || e.kind == disallowLine
			if !rule || c.reported[e.line] || e.start == e.end || c.probes > maxProbes || len(c.list) >= maxProblems {
				continue
			}
			for _, target := range probes(file.value(e)) {
				c.probes++
				rfc, other := g.Match(target), h.Match(target)
				if rfc.Access != other.Access && (rfc.Rule.Line == int(e.line) || other.Rule.Line == int(e.line)) {
					c.report(file, e, target, rfc, other)
					break
				}
			}
		}
	}
}

// probes returns the URL paths for which the verdicts of both dialects are compared. value is
// the path pattern of a rule. The results are the path as written, the path in normal form, and
// the directory of the path.
func probes(value string) []string {
	path := strings.ReplaceAll(strings.TrimSuffix(value, "$"), "*", "")
	if target, err := Target(path); err == nil {
		path = target
	} else {
		path = "/" + path
	}
	var wire []byte
	for i := range len(path) {
		if classes[path[i]]&escaped != 0 {
			wire = appendEscape(wire, path[i])
		} else {
			wire = append(wire, path[i])
		}
	}
	dir, _, _ := strings.Cut(path, "?")
	return []string{string(wire), string(appendNormal(nil, path, false)), dir[:strings.LastIndexByte(dir, '/')+1]}
}

func (c *comparison) report(file *File, e *entry, target string, rfc, other Verdict) {
	c.reported[e.line] = true
	begin := strings.LastIndexAny(file.text[:e.start], "\r\n") + 1
	hint := "such readers compare octets as written, and keys by their beginning"
	if c.other.dialect == Koster1996 {
		hint = "such readers take the first rule that matches, know no wildcards, and end a group at a blank line"
	}
	c.list = append(c.list, Problem{int(e.line), int(e.start) - begin + 1, "read-otherwise",
		fmt.Sprintf("%s: %s is %s, by RFC 9309 it is %s", c.other.dialect, clip(target), because(other), because(rfc)), hint})
}

// because returns, as text, the access of a verdict, and the line or the reason that decided it.
func because(v Verdict) string {
	by := v.Reason.String()
	if v.Rule.Line > 0 {
		by = fmt.Sprintf("line %d", v.Rule.Line)
	}
	if v.Allowed() {
		return "allowed (" + by + ")"
	}
	return "disallowed (" + by + ")"
}
