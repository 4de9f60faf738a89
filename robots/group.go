package robots

import "time"

// Group is what a file tells one crawler: the rules and delays of all groups
// that name it, or of the "*" groups if none does, compiled. It is immutable
// and safe for concurrent use. The zero Group knows nothing, and defers.
type Group struct {
	file *File
	site string // as in File; known to groups without a file, too
	who  selection
	line int // of the first agent line that selects the group; 0 if none

	fixed *Verdict // the answer to everything, where no file decides
	rules ruleSet

	delay    time.Duration
	hasDelay bool
	gap      time.Duration
	hasGap   bool
	windows  []Window
	others   []int32  // the other records of the group, in the table of lines
	licenses []string // the first License lines that concern the crawler; shared, and never changed
}

// selection says which agent lines count.
type selection struct {
	token   string
	aliases []string
	star    bool // the "*" groups, because no group names the crawler
	first   int  // Koster1996: the record is entries[first:last]
	last    int
}

// Group compiles the rules for the crawler whose product token is token.
// Aliases are further names of the same crawler, for example one that it had
// before: the groups of all names count together.
//
// A group applies if a User-agent line of it names the crawler, whatever the
// case of ASCII letters; several such groups are combined; if there is none,
// the groups for "*" are (RFC 9309, 2.2.1). A group of its own, even without
// a rule, keeps a crawler from falling back to "*". The value in the file is
// cut at the first octet that a token cannot have, so "bot/1.2" names bot.
//
// In dialect Koster1996 the first record that has the name counts alone, and
// a name may contain the other as a substring.
//
// A token that Dialect.CheckToken refuses is named by no group. The zero File,
// which nobody parsed, has the zero Group for everybody.
func (f *File) Group(token string, aliases ...string) *Group {
	if f.entries == nil {
		return &Group{}
	}
	g := &Group{file: f, site: f.site, who: selection{token: token, aliases: aliases}}
	if f.dialect == Koster1996 {
		f.selectRecord(&g.who)
	} else {
		g.who.star = !f.names(&g.who)
	}
	for i := range f.entries { // before the first group
		if k := f.entries[i].kind; k == agentLine {
			break
		} else if k == noindexLine || k == usageLine || k == signalLine {
			g.others = append(g.others, int32(i))
		}
	}
	rules := 0
	f.walk(&g.who, func(e *entry, _ int) {
		if e.kind == allowLine || e.kind == disallowLine {
			rules++
		}
	})
	b := builder{patterns: make([]pattern, 0, rules)}
	f.walk(&g.who, func(e *entry, i int) {
		switch e.kind {
		case agentLine:
			if g.line == 0 {
				g.line = int(e.line)
			}
		case allowLine, disallowLine:
			b.add(f, e, i)
		case delayLine, rateLine, visitLine:
			g.obey(e.kind, f.value(e))
		case noindexLine, usageLine, signalLine:
			g.others = append(g.others, int32(i))
		}
	})
	g.rules = b.build(f.dialect)
	g.licenses = f.licensesFor(&g.who)
	return g
}

// names reports whether any agent line names the crawler.
func (f *File) names(who *selection) bool {
	for i := range f.entries {
		if e := &f.entries[i]; e.kind == agentLine && e.flags&joinedLine == 0 && f.selects(who, e) {
			return true
		}
	}
	return false
}

// selects reports whether an agent line stands for the crawler.
func (f *File) selects(who *selection, e *entry) bool {
	value := f.value(e)
	if f.dialect == RFC9309 && e.flags&cutLine != 0 {
		return false
	}
	if isStar(value) {
		return who.star
	}
	if who.star && e.flags&joinedLine == 0 {
		return false
	}
	value = tokenOf(value)
	if value == "" {
		return false
	}
	if equalFold(value, who.token) {
		return true
	}
	for _, a := range who.aliases {
		if equalFold(value, a) {
			return true
		}
	}
	return false
}

// walk calls visit for each line that concerns the crawler, in file order:
// the agent lines of its groups, their rules, and the other records that
// stand in a group. Agent lines following each other head one group; only a
// rule ends such a list, not a blank line, a comment or any other record (RFC
// 9309, 2.1, 2.2.4). A record other than a rule counts for the crawlers
// named so far.
func (f *File) walk(who *selection, visit func(e *entry, i int)) {
	if f.dialect == Koster1996 {
		for i := who.first; i < who.last; i++ {
			visit(&f.entries[i], i)
		}
		return
	}
	// in and ruled are about the lines as they stand. also and done hold for
	// records in the value of another, too, which only add: see joined.go.
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
			if f.selects(who, e) {
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

// selectRecord finds the record that dialect Koster1996 obeys: the first that
// names the crawler, else the first for "*".
func (f *File) selectRecord(who *selection) {
	first, ruled, own, star := -1, false, false, false
	starFirst, starLast := 0, 0
	end := func(i int) bool {
		switch {
		case first < 0:
		case own:
			who.first, who.last = first, i
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
			} else if f.namesKoster(who, value) {
				own = true
			}
		case allowLine, disallowLine:
			ruled = true
		}
	}
	if !end(len(f.entries)) {
		who.first, who.last, who.star = starFirst, starLast, true
	}
}

func (f *File) namesKoster(who *selection, value string) bool {
	match := func(token string) bool {
		return token != "" && value != "" && (containsFold(value, token) || containsFold(token, value))
	}
	if match(who.token) {
		return true
	}
	for _, a := range who.aliases {
		if match(a) {
			return true
		}
	}
	return false
}

// Line returns the line, counted from 1, on which the first group that
// applies begins for this crawler; 0 if no group applies or no file decides.
func (g *Group) Line() int { return g.line }

// Names returns the values of the User-agent lines, as written and in file
// order, that make the group apply; nil if no group applies.
func (g *Group) Names() []string {
	if g.file == nil {
		return nil
	}
	var names []string
	g.file.walk(&g.who, func(e *entry, _ int) {
		if e.kind == agentLine {
			names = append(names, g.file.value(e))
		}
	})
	return names
}
