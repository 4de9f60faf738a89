package robots

import "time"

// Group holds the compiled rules and the delays of a robots.txt for one crawler. They come from
// all groups in the file that name the crawler, or from the "*" groups if no group names it. A
// Group is immutable and safe for concurrent use. The zero Group gives the verdict Defer.
type Group struct {
	file *File
	site string // scheme://authority/ of the file; "" if unknown. Also set if no file decides
	sel  selection
	line int // number of the first User-agent line that selects the group; 0 if none exists

	fixed *Verdict // the verdict for every target, if no file decides; otherwise nil
	rules ruleSet

	delay    time.Duration
	hasDelay bool
	gap      time.Duration
	hasGap   bool
	windows  []Window
	others   []int32  // indexes in file.entries of the Noindex, Content-Usage and Content-Signal lines of the group
	licenses []string // values of the first License lines that concern the crawler; shared, must not be changed
}

// selection says which User-agent lines select a group for a crawler.
type selection struct {
	token   string
	aliases []string
	star    bool // use the "*" groups, because no group names the crawler
	first   int  // in dialect Koster1996: entries[first:last] is the record (group) that applies
	last    int
}

// Group compiles the rules for the crawler whose product token is token. Aliases are further names
// of the same crawler, for example an earlier name. The groups of all names are combined.
//
// A group applies if one of its User-agent lines names the crawler. The case of ASCII letters does
// not matter. If several groups apply, they are combined. If no group applies, the groups for "*"
// are used (RFC 9309, 2.2.1). A group that names the crawler replaces the "*" groups, even if it
// has no rule. The value in the file is cut at the first octet that a token cannot have: "bot/1.2"
// names bot.
//
// In dialect Koster1996 only the first record that names the crawler applies. There, the name in
// the file may be a part of the crawler's name, or the crawler's name a part of it.
//
// If Dialect.CheckToken refuses token, no group names the crawler. For the zero File, which was
// not parsed, Group returns the zero Group.
func (f *File) Group(token string, aliases ...string) *Group {
	if f.entries == nil {
		return &Group{}
	}
	g := &Group{file: f, site: f.site, sel: selection{token: token, aliases: aliases}}
	if f.dialect == Koster1996 {
		f.selectRecord(&g.sel)
	} else {
		g.sel.star = !f.names(&g.sel)
	}
	for i := range f.entries { // records before the first group apply to every crawler
		if k := f.entries[i].kind; k == agentLine {
			break
		} else if k == noindexLine || k == usageLine || k == signalLine {
			g.others = append(g.others, int32(i))
		}
	}
	rules := 0
	f.walk(&g.sel, func(e *entry, _ int) {
		if e.kind == allowLine || e.kind == disallowLine {
			rules++
		}
	})
	b := builder{patterns: make([]pattern, 0, rules)}
	f.walk(&g.sel, func(e *entry, i int) {
		switch e.kind {
		case agentLine:
			if g.line == 0 {
				g.line = int(e.line)
			}
		case allowLine, disallowLine:
			b.add(f, e, i)
		case delayLine, rateLine, visitLine:
			g.addDelay(e.kind, f.value(e))
		case noindexLine, usageLine, signalLine:
			g.others = append(g.others, int32(i))
		}
	})
	g.rules = b.build(f.dialect)
	g.licenses = f.licensesFor(&g.sel)
	return g
}

// names reports whether any User-agent line names the crawler.
func (f *File) names(sel *selection) bool {
	for i := range f.entries {
		if e := &f.entries[i]; e.kind == agentLine && e.flags&joinedLine == 0 && f.selects(sel, e) {
			return true
		}
	}
	return false
}

// selects reports whether a User-agent line names the crawler. A "*" line counts if the "*"
// groups are used.
func (f *File) selects(sel *selection, e *entry) bool {
	value := f.value(e)
	if f.dialect == RFC9309 && e.flags&cutLine != 0 {
		return false
	}
	if isStar(value) {
		return sel.star
	}
	if sel.star && e.flags&joinedLine == 0 {
		return false
	}
	value = tokenOf(value)
	if value == "" {
		return false
	}
	if equalFold(value, sel.token) {
		return true
	}
	for _, a := range sel.aliases {
		if equalFold(value, a) {
			return true
		}
	}
	return false
}

// walk calls visit for each line that concerns the crawler, in file order: the User-agent lines of
// its groups, their rules, and their other records. User-agent lines in a row begin one group.
// Only a rule ends such a row; a blank line, a comment or another record does not (RFC 9309, 2.1,
// 2.2.4). A record that is not a rule applies to the crawlers that its group has named so far.
func (f *File) walk(sel *selection, visit func(e *entry, i int)) {
	if f.dialect == Koster1996 {
		for i := sel.first; i < sel.last; i++ {
			visit(&f.entries[i], i)
		}
		return
	}
	// For the current group, in and also say that it names the crawler, and ruled and done say
	// that it has a rule. in and ruled ignore joined records (see joined.go). also and done
	// include them. Joined records can only add rules.
	in, ruled := false, false
	also, done := false, false
	for i := range f.entries {
		e := &f.entries[i]
		joined := e.flags&joinedLine != 0
		switch e.kind {
		case agentLine:
			if ruled && !joined {
				in, ruled = false, false
			}
			if done {
				also, done = in && !joined, false
			}
			if f.selects(sel, e) {
				in, also = in || !joined, true
				visit(e, i)
			}
		case allowLine, disallowLine:
			ruled, done = ruled || !joined, true
			if in && !joined || also && e.kind == disallowLine {
				visit(e, i)
			}
		case sitemapLine, hostLine, cleanParamLine, licenseLine:
		default:
			if in && !joined || also && joined {
				visit(e, i)
			}
		}
	}
}

// selectRecord finds the record (a group, in the words of RFC 9309) that applies in dialect
// Koster1996: the first that names the crawler, or else the first for "*".
func (f *File) selectRecord(sel *selection) {
	first, ruled, own, star := -1, false, false, false
	starFirst, starLast := 0, 0
	end := func(i int) bool {
		switch {
		case first < 0:
		case own:
			sel.first, sel.last = first, i
			return true
		case star && starLast == 0:
			starFirst, starLast = first, i
		}
		first, ruled, own, star = -1, false, false, false
		return false
	}
	for i := range f.entries {
		switch e := &f.entries[i]; e.kind {
		case blankLine:
			if end(i) {
				return
			}
		case agentLine:
			if ruled && end(i) {
				return
			}
			if first < 0 {
				first = i
			}
			if value := f.value(e); isStar(value) {
				star = true
			} else if f.namesKoster(sel, value) {
				own = true
			}
		case allowLine, disallowLine:
			ruled = true
		}
	}
	if !end(len(f.entries)) {
		sel.first, sel.last, sel.star = starFirst, starLast, true
	}
}

func (f *File) namesKoster(sel *selection, value string) bool {
	match := func(token string) bool {
		return token != "" && value != "" && (containsFold(value, token) || containsFold(token, value))
	}
	if match(sel.token) {
		return true
	}
	for _, a := range sel.aliases {
		if match(a) {
			return true
		}
	}
	return false
}

// Line returns the number of the first User-agent line, counted from 1, that makes a group
// apply to this crawler. It returns 0 if no group applies or no file decides.
func (g *Group) Line() int { return g.line }

// Names returns the values of the User-agent lines that make the group apply,
// as written and in file order, or nil if no group applies.
func (g *Group) Names() []string {
	if g.file == nil {
		return nil
	}
	var names []string
	g.file.walk(&g.sel, func(e *entry, _ int) {
		if e.kind == agentLine {
			names = append(names, g.file.value(e))
		}
	})
	return names
}
