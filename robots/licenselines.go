package robots

// maxLicenses is the largest number of License lines in the Signals of an answer.
const maxLicenses = 16

// licensesFor returns the values of the License lines that concern a crawler. These are the lines
// of its own groups, or the lines for the whole file if its own groups have none (RSL 1.0, section
// 4). Two kinds of lines are for the whole file: those before the first group, and those after a
// group and a blank line. By RFC 9309 a blank line does not end a group, but site owners also
// write Sitemap lines at that place, so such a line may be meant for every crawler. Any other
// License line in the group of another crawler is ignored.
func (f *File) licensesFor(sel *selection) []string {
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
	from, apart := uint32(0), false // from is the end of the last entry; apart says that a blank line came after the group
	for i := range f.entries {
		e := &f.entries[i]
		switch e.kind {
		case blankLine: // in dialect Koster1996 a blank line ends a record
			grouped, ours, ruled = false, false, false
		case agentLine:
			if ruled && e.flags&joinedLine == 0 {
				ours, ruled = false, false
			}
			grouped, ours = true, ours || f.selects(sel, e)
			from, apart = e.end, false
		case allowLine, disallowLine:
			ruled = ruled || e.flags&joinedLine == 0
			from, apart = e.end, false
		case licenseLine:
			apart = apart || blankLineIn(f.text[from:e.start])
			from = e.end
			switch {
			case f.dialect == Koster1996 && sel.first <= i && i < sel.last, f.dialect != Koster1996 && ours:
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

// blankLineIn reports whether text has a blank line that is neither its first nor its last
// line.
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
