package robots

import (
	"fmt"
	"strings"
)

// agent checks a User-agent line.
func (l *linter) agent(e *entry) {
	value, at := l.file.value(e), int(e.start)
	if l.ruled {
		l.endGroup()
	}
	l.agents, l.last = l.agents+1, int(e.line)
	token := tokenOf(value)
	switch {
	case value == "":
		l.report(wholeLine, "empty-agent", "the User-agent line names no crawler", `write a crawler's product token, or "*" for all`)
		return
	case isStar(value):
		token = "*"
		if len(value) > 1 {
			l.report(at+1, "bad-agent", quote(value)+` is not "*" for every crawler`, `write "*" alone`)
		}
	case token == "":
		l.report(at, "bad-agent", quote(value)+" cannot be a product token", "a token has letters, hyphens and underscores only")
		return
	case len(token) < len(value):
		hint := "write " + token + " alone"
		if c := value[len(token)]; isDigit(c) || c == '.' {
			hint = "look up the product token in the crawler's documentation"
		}
		l.report(at+len(token), "bad-agent", fmt.Sprintf("%s is read as %s: a product token has letters, hyphens and underscores only", quote(value), quote(token)), hint)
	}
	name := strings.ToLower(token)
	l.named[name]++
	l.names = append(l.names, name)
	if first, ok := l.seen[name]; ok {
		l.report(at, "agent-repeated", fmt.Sprintf("%s has a group from line %d already; the rules of both are combined", quote(token), first), "put the rules into one group")
	} else if !ok {
		l.seen[name] = int(e.line)
	}
}

// rule checks an Allow or Disallow line.
func (l *linter) rule(i int) {
	f := l.file
	e := &f.entries[i]
	value, at := f.value(e), int(e.start)
	if l.agents == 0 {
		if !l.early {
			l.report(wholeLine, "rule-outside", "a rule before the first User-agent line applies to no crawler", `put a line such as "User-agent: *" before it`)
			l.early = true
		}
		return
	}
	l.ruled = true
	if value == "" {
		return
	}
	l.rules = append(l.rules, i)
	l.path(e, value, at)
	l.wildcards(value, at)
}

func (l *linter) path(e *entry, value string, at int) {
	what := "some crawlers add the slash, others ignore the line"
	if e.kind == allowLine {
		what = "the line is ignored"
	}
	switch {
	case strings.Contains(value, "://") && value[0] != '/' && value[0] != '*':
		l.report(at, "absolute-url", "the value is a URL, not a path; most crawlers never match it", "write only the path; each host has its own robots.txt")
	case value[0] != '/' && value[0] != '*':
		l.report(at, "no-slash", "the path does not begin with a slash; "+what, "write /"+clip(value))
	}
	if i := strings.IndexAny(value, " \t"); i >= 0 {
		l.report(at+i, "blank-in-path", "a URL contains no blanks", "write %20 for a blank; put each path on a line of its own")
	}
	for i := 0; i < len(value); i++ {
		if value[i] != '%' {
			continue
		}
		if _, ok := escapeAt(value, i); !ok {
			l.report(at+i, "bad-escape", `"%" is not followed by two hexadecimal digits`, `write %25 for a per cent sign`)
			break
		}
	}
	for _, dots := range [...]string{"/./", "/../"} {
		if i := strings.Index(value, dots); i >= 0 {
			l.report(at+i, "dot-segment", quote(dots)+" is resolved before a URL is requested", "write the path as it is requested")
			break
		}
	}
}

func (l *linter) wildcards(value string, at int) {
	n := len(value)
	if i := strings.Index(value, "**"); i >= 0 {
		l.report(at+i, "star-repeated", `"**" matches the same as "*"`, `write "*" once`)
	}
	if n > 2 && value[n-1] == '*' && value[n-2] != '*' && value[n-2] != '$' {
		l.report(at+n-1, "star-at-end", `a final "*" has no effect: every rule matches all that begins with it`, "leave it out")
	}
	if i := strings.IndexByte(value, '$'); i >= 0 && i < n-1 {
		l.report(at+i, "dollar-inside", `"$" marks the end only as the last character; here it matches a dollar sign`, `write %24 if that is meant`)
	}
}

// endGroup ends the current group. It keeps the rules of the group, which groups compares later.
func (l *linter) endGroup() {
	if l.agents > 0 && !l.ruled {
		l.line = l.last
		l.report(wholeLine, "agent-without-rule", "the group has no rule, so everything is allowed to the crawlers it names", `if that is meant, write an empty "Disallow:"`)
	}
	if len(l.rules) > 1 {
		l.ended = append(l.ended, lintGroup{l.names, l.rules})
	}
	l.agents, l.ruled, l.rules, l.names = 0, false, nil, nil
}

// groups looks for rules without effect. It compares the rules within each group. If a name of the
// group has other groups, too, the rules of all these groups are combined, and a rule that is
// redundant in one group may have an effect.
func (l *linter) groups() {
	for _, g := range l.ended {
		alone := true
		for _, name := range g.names {
			alone = alone && l.named[name] == 1
		}
		if len(l.list) < maxProblems {
			l.compare(g.rules, alone)
		}
	}
}

// compare reports the rules of one group that have no effect. alone is true if the group is not
// combined with other groups.
func (l *linter) compare(rules []int, alone bool) {
	f := l.file
	var b builder
	for _, i := range rules {
		e := &f.entries[i]
		n := len(b.patterns)
		b.addRFC(f, f.value(e), e.kind == allowLine, e.flags, i)
		b.patterns = b.patterns[:min(n+1, len(b.patterns))] // keep only the first pattern; addRFC may add patterns for other readings of the rule
	}
	earlier := map[string]pattern{} // the earliest rule for each text and access (Allow or Disallow)
	arena := string(b.arena)
	for k := range b.patterns {
		p := &b.patterns[k]
		if p.text == "" {
			p.text = arena[p.start:p.end]
		}
		key := p.text
		if p.anchored {
			key += "$"
		}
		e := &f.entries[p.rank.index()]
		if first, ok := earlier[accessKey(key, p.rank.allow())]; ok {
			l.reportRule(e, "duplicate-rule", fmt.Sprintf("the rule of line %d again", f.entries[first.rank.index()].line), "remove it")
			continue
		}
		earlier[accessKey(key, p.rank.allow())] = *p
	}
	if !alone {
		return
	}
	set := b.build(RFC9309)
	// The wildcard rules are sorted by falling rank. So only the first Allow and the first
	// Disallow among them matter.
	var first [2]*rank
	for k := len(set.wilds) - 1; k >= 0; k-- {
		r := &set.wilds[k].rank
		first[access(r.allow())] = r
	}
	for i := range set.literals {
		l.redundant(&set, i, first[access(!set.literals[i].rank.allow())])
	}
}

func access(allow bool) int {
	if allow {
		return 1
	}
	return 0
}

func accessKey(text string, allow bool) string {
	if allow {
		return "a" + text
	}
	return "d" + text
}

// redundant reports literal i, a rule without wildcards, if the rule has no effect. There are two
// such cases. First, an Allow with the same text overrules the rule. Second, the longest other
// literal that the rule begins with has the same access, and no wildcard rule of the opposite
// access has a higher rank than that literal. The access says whether a rule allows or disallows.
// The parameter opposite is the highest rank of the wildcard rules of the opposite access, or nil
// if there are none.
func (l *linter) redundant(set *ruleSet, i int, opposite *rank) {
	f := l.file
	lit := &set.literals[i]
	e := &f.entries[lit.rank.index()]
	if next := i + 1; next < len(set.literals) && set.literals[next].text == lit.text {
		l.reportRule(e, "overruled", fmt.Sprintf("the Allow of line %d has the same path and wins", f.entries[set.literals[next].rank.index()].line), "remove one of the two")
		return
	}
	up := lit.up
	if up >= 0 && set.literals[up].text == lit.text {
		up = set.literals[up].up
	}
	if up < 0 || set.literals[up].rank.allow() != lit.rank.allow() {
		return
	}
	if opposite != nil && *opposite >= set.literals[up].rank {
		return
	}
	l.reportRule(e, "redundant", fmt.Sprintf("%s of line %d covers it already", quote(f.value(&f.entries[set.literals[up].rank.index()])), f.entries[set.literals[up].rank.index()].line), "remove it")
}

// reportRule reports a problem of the rule e after all lines were checked: e is not on the current
// line.
func (l *linter) reportRule(e *entry, code, message, hint string) {
	l.line = int(e.line)
	l.begin = strings.LastIndexAny(l.file.text[:e.start], "\r\n") + 1
	l.report(int(e.start), code, message, hint)
}
