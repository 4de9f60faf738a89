package robots

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// The model is a second robots.txt matcher, written for clarity. It parses the file for each
// match, tries every rule, and matches by filling a table. The package must give the same verdicts
// and line numbers.

type modelRule struct {
	allow    bool
	line     int
	pattern  string // the pattern in normal form
	length   int
	disallow string // a second normal form that counts for Disallow, or ""
}

// modelMatch returns the verdict for one agent, and the number of the line that decides.
func modelMatch(d Dialect, file, agent, target string) (Access, int) {
	path, loose := target, ""
	switch d {
	case RFC9309:
		path = modelDots(modelNormal(target, false))
		if path == "/robots.txt" {
			return Allow, 0
		}
		loose = modelLoose(path)
	case Google:
		path, _, _ = strings.Cut(target, "\x00")
	case Koster1996:
		path, _, _ = strings.Cut(target, "?")
		path = modelKoster(path)
	}
	access, line, length := Allow, 0, 0
	for _, r := range modelRules(d, file, agent) {
		ok := modelTable(r.pattern, path)
		if d == Koster1996 {
			ok = strings.HasPrefix(path, r.pattern)
		}
		if d == RFC9309 && !r.allow {
			ok = ok || modelTable(modelLoose(r.pattern), loose)
			if r.disallow != "" {
				ok = ok || modelTable(r.disallow, path) || modelTable(modelLoose(r.disallow), loose)
			}
		}
		switch {
		case !ok:
			continue
		case d == Koster1996:
			if line != 0 {
				continue
			}
		case r.length < length, r.length == length && line != 0 && (access == Allow || !r.allow):
			continue
		}
		access, line, length = Disallow, r.line, r.length
		if r.allow {
			access = Allow
		}
	}
	return access, line
}

var (
	modelLine = regexp.MustCompile(`\r\n|\r|\n`)
	modelKey  = regexp.MustCompile(`^([^:]+?)[ \t\v\f]*:[ \t\v\f]*(.*)$`)
	modelTwo  = regexp.MustCompile(`^([^ \t:]+)[ \t]+([^ \t:]+)$`)
	modelStar = regexp.MustCompile(`(?s)^\*([ \t\v\f].*)?$`)
	modelName = regexp.MustCompile(`^[A-Za-z_-]*`)

	modelOctet   = regexp.MustCompile(`%[0-9a-fA-F]{2}|[\x00-\x7F]|[^\x00-\x7F]`)
	modelEscape  = regexp.MustCompile(`^%[0-9A-Fa-f]{2}`)
	modelLiteral = regexp.MustCompile(`%[0-9A-Fa-f]?$`)
	modelUpper   = regexp.MustCompile(`%[0-9A-F]{2}`)
	modelPercent = regexp.MustCompile(`%[0-9A-Fa-f]{2}|%`)
)

// modelRules returns the rules that concern an agent, in file order.
func modelRules(d Dialect, file, agent string) []modelRule {
	type group struct {
		names []string
		rules []modelRule
	}
	var groups []*group
	var open *group
	ended := false
	for i, line := range modelLine.Split(file, -1) {
		blank := strings.Trim(line, " \t\v\f") == ""
		line, _, nul := strings.Cut(line, "\x00")
		line, _, comment := strings.Cut(line, "#")
		nul = nul && !comment
		line = strings.Trim(line, " \t\v\f")
		m := modelKey.FindStringSubmatch(line)
		lenient := nul
		if m == nil && d != Koster1996 {
			m = modelTwo.FindStringSubmatch(line)
			lenient = true
		}
		if d == Koster1996 && blank {
			open = nil
		}
		if m == nil {
			continue
		}
		k, exact := keyKind(m[1], d)
		value := strings.Trim(m[2], " \t\v\f")
		switch k {
		case agentLine:
			if open == nil || ended {
				open, ended = new(group), false
				groups = append(groups, open)
			}
			open.names = append(open.names, value)
		case allowLine, disallowLine:
			if open == nil {
				continue
			}
			ended = true
			r := modelRule{allow: k == allowLine, line: i + 1}
			if r.read(d, value, exact && !lenient) {
				open.rules = append(open.rules, r)
				if d == Google && r.allow {
					if i := strings.LastIndex(r.pattern, "/"); i >= 0 && strings.HasPrefix(r.pattern[i:], "/index.htm") {
						open.rules = append(open.rules, modelRule{allow: true, line: r.line, pattern: r.pattern[:i+1] + "$", length: i + 2})
					}
				}
			}
		}
	}
	star := modelStar.MatchString
	own := func(name string) bool {
		if d == Koster1996 {
			n, a := strings.ToLower(name), strings.ToLower(agent)
			return n != "" && !star(name) && (strings.Contains(n, a) || strings.Contains(a, n))
		}
		return strings.EqualFold(modelName.FindString(name), agent)
	}
	for _, is := range []func(string) bool{own, star} {
		var rules []modelRule
		found := false
		for _, g := range groups {
			if slices.ContainsFunc(g.names, is) && !(found && d == Koster1996) {
				found = true
				rules = append(rules, g.rules...)
			}
		}
		if found {
			return rules
		}
	}
	return nil
}

// read sets pattern and disallow from the value of a rule, and reports whether the rule counts.
func (r *modelRule) read(d Dialect, value string, clear bool) bool {
	if value == "" {
		return false
	}
	switch d {
	case Google:
		r.pattern = modelOctet.ReplaceAllStringFunc(value, func(s string) string {
			if len(s) == 3 && s[0] == '%' {
				return strings.ToUpper(s)
			}
			return modelHigh(s)
		})
		r.length = len(r.pattern)
		return true
	case Koster1996:
		r.pattern = modelKoster(value)
		return value[0] == '/'
	}
	rooted := value[0] == '/' || value[0] == '*'
	if r.allow && (!clear || !rooted || !utf8.ValidString(value)) {
		return false
	}
	if !rooted {
		value = "/" + value // add a forgotten slash; the generator makes no absolute URLs
	}
	r.pattern = modelNormal(value, true)
	r.length = len(r.pattern)
	if !r.allow {
		r.pattern = modelRuleDots(r.pattern)
		if !utf8.ValidString(value) {
			latin := ""
			for rest := value; rest != ""; {
				c, n := utf8.DecodeRuneInString(rest)
				if c == utf8.RuneError && n == 1 {
					c = rune(rest[0])
				}
				latin, rest = latin+string(c), rest[n:]
			}
			r.disallow = modelNormal(latin, true)
		}
	}
	return true
}

func modelHigh(s string) string {
	out := ""
	for i := range len(s) {
		if s[i] < 0x80 {
			out += s[i : i+1]
		} else {
			out += string(appendEscape(nil, s[i]))
		}
	}
	return out
}

// modelNormal returns the normal form of RFC 9309, computed octet by octet.
func modelNormal(s string, pattern bool) string {
	if pattern && strings.HasSuffix(s, "$") {
		return modelOctets(s[:len(s)-1], "*") + "$"
	}
	if pattern {
		return modelOctets(s, "*")
	}
	return modelOctets(s, "")
}

// modelOctets returns the normal form of a string, but does not change the octets in wild.
func modelOctets(s, wild string) string {
	const unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
	const plain = unreserved + ":/?#[]@!&'()+,;="
	out := ""
	for i := 0; i < len(s); i++ {
		if m := modelEscape.FindString(s[i:]); m != "" {
			c := string([]byte{unhex(m[1])<<4 | unhex(m[2])})
			if strings.Contains(unreserved, c) && !(modelLiteral.MatchString(out) && isHex(c[0])) {
				out += c
			} else {
				out += strings.ToUpper(m)
			}
			i += 2
			continue
		}
		c := s[i : i+1]
		if c == "%" || strings.Contains(plain+wild, c) {
			out += c
		} else {
			out += string(appendEscape(nil, s[i]))
		}
	}
	return out
}

// modelDots removes dot segments from the path, segment by segment.
func modelDots(s string) string {
	path, query, has := strings.Cut(s, "?")
	parts := strings.Split(path, "/")[1:]
	var out []string
	for i, p := range parts {
		last := i == len(parts)-1
		switch p {
		case ".", "..":
			if p == ".." && len(out) > 0 {
				out = out[:len(out)-1]
			}
			if last {
				out = append(out, "")
			}
		default:
			out = append(out, p)
		}
	}
	path = "/" + strings.Join(out, "/")
	if has {
		path += "?" + query
	}
	return path
}

// modelRuleDots removes the dot segments of a Disallow that are before its first wildcard or
// query. It keeps the last segment.
func modelRuleDots(p string) string {
	body := strings.TrimSuffix(p, "$")
	end := len(body)
	if i := strings.IndexAny(body, "*?"); i >= 0 {
		end = i
	}
	head := body[:end]
	i := strings.LastIndex(head, "/")
	if i < 0 {
		return p
	}
	// Append the segment "x", so that the last segment of the rule is not resolved.
	out := strings.TrimSuffix(modelDots(head[:i]+"/x"), "x")
	if out = out + head[i+1:]; out == "/" && end == len(body) {
		return p
	}
	return out + p[end:]
}

// modelLoose unescapes reserved octets after the first question mark.
func modelLoose(s string) string {
	path, query, has := strings.Cut(s, "?")
	if !has {
		return s
	}
	return path + "?" + modelUpper.ReplaceAllStringFunc(query, func(e string) string {
		c := string([]byte{unhex(e[1])<<4 | unhex(e[2])})
		if strings.Contains(":/?#[]@!&'()+,;=", c) {
			return c
		}
		return e
	})
}

func modelKoster(s string) string {
	return modelPercent.ReplaceAllStringFunc(s, func(e string) string {
		if e == "%" || e == "%25" {
			return "%25"
		}
		if strings.EqualFold(e, "%2f") {
			return "%2F"
		}
		return string([]byte{unhex(e[1])<<4 | unhex(e[2])})
	})
}

// modelTable matches a pattern with wildcards by filling a table. row[j] is true if the pattern
// read so far matches the first j octets of s.
func modelTable(pattern, s string) bool {
	row := make([]bool, len(s)+1)
	row[0] = true
	for i := range len(pattern) {
		next := make([]bool, len(s)+1)
		switch c := pattern[i]; {
		case c == '$' && i == len(pattern)-1:
			return row[len(s)]
		case c == '*':
			seen := false
			for j := range row {
				seen = seen || row[j]
				next[j] = seen
			}
		default:
			for j := range len(s) {
				next[j+1] = row[j] && s[j] == c
			}
		}
		row = next
	}
	return slices.Contains(row, true)
}
