package robots

import "strings"

// Bounds of a Cleaner: Yandex takes lines of 500 characters, and a file may have
// thousands of them, each of which costs time for every URL.
const (
	maxCleanLine  = 500
	maxCleanPaths = 32
)

// A Cleaner is what the Clean-param lines of a file come to: by Yandex's text
// (https://yandex.com/support/webmaster/en/robot-workings/clean-param), URLs that differ
// only in these parameters have one page. It is immutable and safe for concurrent use;
// the nil Cleaner changes nothing.
type Cleaner struct{ rules []cleanRule }

type cleanRule struct {
	path   []string // the pieces of the pattern, between its stars
	params map[string]bool
}

// Cleaner makes a Cleaner of the Clean-param lines, in whatever group they stand; nil
// if there are none. A line longer than 500 characters counts for nothing, nor does one
// with another path than the first 32.
func (f *File) Cleaner() *Cleaner {
	var c *Cleaner
	at := map[string]int{}
	for _, line := range f.CleanParams() {
		if len(strings.Join(line.Params, "&"))+len(line.Path) > maxCleanLine {
			continue
		}
		i, known := at[line.Path]
		if !known {
			if len(at) == maxCleanPaths {
				continue
			}
			if c == nil {
				c = &Cleaner{}
			}
			i = len(c.rules)
			at[line.Path] = i
			c.rules = append(c.rules, cleanRule{path: cleanPath(line.Path), params: map[string]bool{}})
		}
		for _, p := range line.Params {
			c.rules[i].params[p] = true
		}
	}
	return c
}

// cleanPath cuts the beginning of a path at its stars. Its first piece is where a path
// must begin.
func cleanPath(path string) []string {
	if path[0] != '/' && path[0] != '*' {
		path = "/" + path
	}
	return strings.Split(path, "*")
}

// Clean takes the parameters that do not change the page out of the query of target,
// a path with its query. Their names are compared as they are written, case and all;
// what is left stays in its order.
func (c *Cleaner) Clean(target string) string {
	path, query, has := strings.Cut(target, "?")
	if c == nil || !has {
		return target
	}
	left := query
	for i := range c.rules {
		if r := &c.rules[i]; r.matches(path) {
			left = r.strip(left)
		}
	}
	switch left {
	case query:
		return target
	case "":
		return path
	}
	return path + "?" + left
}

// matches reports whether path begins as the rule says.
func (r *cleanRule) matches(path string) bool {
	rest, ok := strings.CutPrefix(path, r.path[0])
	for _, piece := range r.path[1:] {
		at := strings.Index(rest, piece)
		if !ok || at < 0 {
			return false
		}
		rest = rest[at+len(piece):]
	}
	return ok
}

func (r *cleanRule) strip(query string) string {
	var kept []string
	all := strings.Split(query, "&")
	for _, pair := range all {
		if name, _, _ := strings.Cut(pair, "="); !r.params[name] {
			kept = append(kept, pair)
		}
	}
	if len(kept) == len(all) {
		return query
	}
	return strings.Join(kept, "&")
}
