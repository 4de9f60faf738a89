package robots

import "strings"

// Bounds on the Clean-param lines that a Cleaner uses. Yandex, which defined such lines, accepts
// up to 500 characters in one line. The number of different paths is bounded because a file may
// have thousands of lines, and each path costs time for every URL.
const (
	maxCleanLine  = 500
	maxCleanPaths = 32
)

// A Cleaner removes query parameters from URLs: those that the Clean-param lines of a robots.txt
// list. According to Yandex's documentation
// (https://yandex.com/support/webmaster/en/robot-workings/clean-param), URLs that differ only in
// these parameters have the same page. A Cleaner is immutable and safe for concurrent use. The nil
// Cleaner changes nothing.
type Cleaner struct{ rules []cleanRule }

type cleanRule struct {
	path   []string // the path pattern, split at its "*" wildcards
	params map[string]bool
}

// Cleaner returns a Cleaner for the Clean-param lines of all groups, or nil if there are none.
// It ignores lines longer than 500 characters, and lines whose path is not among the first 32
// different paths.
func (f *File) Cleaner() *Cleaner {
	var c *Cleaner
	at := map[string]int{}
	for _, line := range f.cleanParams() {
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

// cleanPath splits the path pattern of a Clean-param line at its "*" wildcards. The path of a
// URL must begin with the first piece.
func cleanPath(path string) []string {
	if path[0] != '/' && path[0] != '*' {
		path = "/" + path
	}
	return strings.Split(path, "*")
}

// Clean returns target (a path with its query) without the parameters that do not change the page.
// The names of parameters are case-sensitive. The other parameters keep their order.
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

// matches reports whether the pattern of the rule matches the beginning of path.
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
