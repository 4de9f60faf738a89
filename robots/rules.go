package robots

// Rules returns the rules of the group as written, in file order. Rules that match nothing, such
// as an empty Disallow, are included. A group that was not made from a file has no rules.
func (g *Group) Rules() []Rule {
	var rules []Rule
	g.eachRule(func(e *entry, _ int) {
		rules = append(rules, Rule{Allow: e.kind == allowLine, Pattern: g.file.value(e), Line: int(e.line)})
	})
	return rules
}

// Only returns a copy of the group with only its Allow rules, or only its Disallow rules. Use it
// to find the rule that would decide without the opposite rules. If no file decides for the group,
// the copy has the same verdict.
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
	g.file.walk(&g.sel, func(e *entry, i int) {
		if e.kind == allowLine || e.kind == disallowLine {
			f(e, i)
		}
	})
}
