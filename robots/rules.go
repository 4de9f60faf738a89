package robots

// Rules returns the rules of the group as they were written, in file order. Rules that
// allow or forbid nothing, as an empty Disallow, are among them. A group that has one
// answer for everything has none.
func (g *Group) Rules() []Rule {
	var rules []Rule
	g.eachRule(func(e *entry, _ int) {
		rules = append(rules, Rule{Allow: e.kind == allowLine, Pattern: g.file.value(e), Line: int(e.line)})
	})
	return rules
}

// Only returns the group as if it had those of its rules alone that allow, or those
// alone that forbid: to find the rule that lost against the one that decided. A group
// that has one answer for everything has it still.
func (g *Group) Only(allow bool) *Group {
	only := *g
	b := builder{}
	g.eachRule(func(e *entry, i int) {
		if (e.kind == allowLine) == allow {
			b.add(g.file, e, i)
		}
	})
	only.rules = b.build(g.rules.dialect)
	return &only
}

func (g *Group) eachRule(f func(e *entry, i int)) {
	if g.file == nil {
		return
	}
	g.file.walk(&g.who, func(e *entry, i int) {
		if e.kind == allowLine || e.kind == disallowLine {
			f(e, i)
		}
	})
}
