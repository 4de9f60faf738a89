package robots

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Bounds on the work of Differences.
const (
	maxReaders = 100
	maxProbes  = 50000
)

// nobody is a product token that no file names, so that the "*" groups count
// for it.
const nobody = "zqxjzqxj"

// Differences returns the rules at which a reader by dialect d decides
// otherwise than RFC 9309 has it, in file order: each as a Problem with the code
// "read-otherwise". It asks both, for each group, about the paths that the
// rules name; that none is found does not prove that there is none. The work is
// bounded: of a very long file the beginning is compared.
func (f *File) Differences(d Dialect) []Problem {
	if f.utf16 || d == RFC9309 {
		return nil
	}
	c := comparison{
		rfc:   parse([]byte(f.text), f.robotsURL(), RFC9309, f.cut),
		other: parse([]byte(f.text), f.robotsURL(), d, f.cut),
		said:  map[int32]bool{},
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

// tokens returns the names in the User-agent lines of f, and nobody.
func (f *File) tokens() []string {
	list, seen := []string{nobody}, map[string]bool{}
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

// comparison is of one file, read in two ways.
type comparison struct {
	rfc, other *File
	list       []Problem
	said       map[int32]bool // lines with a problem
	probes     int
}

// compare asks both readers about what the rules for a crawler name.
func (c *comparison) compare(token string) {
	g, h := c.rfc.Group(token), c.other.Group(token)
	for _, file := range [...]*File{c.rfc, c.other} {
		for i := range file.entries {
			e := &file.entries[i]
			rule := e.kind == allowLine || e.kind == disallowLine
			if !rule || c.said[e.line] || e.start == e.end || c.probes > maxProbes || len(c.list) >= maxProblems {
				continue
			}
			for _, target := range probes(file.value(e)) {
				c.probes++
				was, is := g.Match(target), h.Match(target)
				if was.Access != is.Access && (was.Rule.Line == int(e.line) || is.Rule.Line == int(e.line)) {
					c.report(file, e, target, was, is)
					break
				}
			}
		}
	}
}

// probes returns targets that the value of a rule names: as it is written, in
// normal form, and the directory.
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

func (c *comparison) report(file *File, e *entry, target string, was, is Verdict) {
	c.said[e.line] = true
	begin := strings.LastIndexAny(file.text[:e.start], "\r\n") + 1
	hint := "such readers compare octets as they stand, and keys by their beginning"
	if c.other.dialect == Koster1996 {
		hint = "such readers take the first rule that matches, know no wildcards, and end a group at a blank line"
	}
	c.list = append(c.list, Problem{int(e.line), int(e.start) - begin + 1, "read-otherwise",
		fmt.Sprintf("%s: %s is %s, by RFC 9309 it is %s", c.other.dialect, clip(target), because(is), because(was)), hint})
}

// because says what a verdict is, and by which line.
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
