package robots

// maxLicenses is how many License lines are told of with each answer.
const maxLicenses = 16

// licensesFor returns the License lines that concern a crawler: those of its own groups,
// or, if these have none, those of the whole file (RSL 1.0, section 4). A line before the
// first group is one of the whole file. So is one after a group and a blank line: people
// write it there as they write Sitemap, and RFC 9309 gives blank lines no meaning, so
// that it may be meant for everybody. Any other line in the group of another crawler says
// nothing about this one.
func (f *File) licensesFor(who *selection) []string {
	var own, all []string
	add := func(list *[]string, value string) {
		if value = policyOf(value); value != "" && len(*list) < maxLicenses {
			for _, known := range *list {
				if known == value {
					return
				}
			}
			*list = append(*list, value)
		}
	}
	grouped, ours, ruled := false, false, false
	from, apart := uint32(0), false // where the last line ended, and whether a blank one came since the group
	for i := range f.entries {
		e := &f.entries[i]
		switch e.kind {
		case blankLine: // which ends a record of dialect Koster1996
			grouped, ours, ruled = false, false, false
		case agentLine:
			if ruled && e.flags&joinedLine == 0 {
				ours, ruled = false, false
			}
			grouped, ours = true, ours || f.selects(who, e)
			from, apart = e.end, false
		case allowLine, disallowLine:
			ruled = ruled || e.flags&joinedLine == 0
			from, apart = e.end, false
		case licenseLine:
			apart = apart || blankLineIn(f.text[from:e.start])
			from = e.end
			switch {
			case f.dialect == Koster1996 && who.first <= i && i < who.last, f.dialect != Koster1996 && ours:
				add(&own, f.value(e))
			case !grouped || apart:
				add(&all, f.value(e))
			}
		case sitemapLine, hostLine, cleanParamLine:
		default:
			from, apart = e.end, false
		}
	}
	if len(own) > 0 {
		return own
	}
	return all
}

// blankLineIn reports whether a line in the midst of text is blank.
func blankLineIn(text string) bool {
	lines := newLines(text)
	for {
		start, end, ok := lines.next()
		if !ok || lines.done {
			return false
		}
		if lines.number > 1 && trim(text[start:end]) == "" {
			return true
		}
	}
}
