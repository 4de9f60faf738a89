package robots

// MaxLicensesRead is how many of the documents that a robots.txt names are to be read: the
// first ones.
const MaxLicensesRead = 8

// A License is a document that a robots.txt or a page names, and what it says.
type License struct {
	URL    string // that was named; empty if it is part of a page
	Terms  *RSL   // nil if it was not read
	Unread string // why it was not read and so refuses each use; empty if it was
}

// Licenses are the documents of a site.
type Licenses []License

// Signals returns what they say together about the use of what url, a whole one, serves.
// Each statement names its document.
func (l Licenses) Signals(url string) Signals {
	var all Signals
	for i := range l {
		var s Signals
		if l[i].Terms != nil {
			s = l[i].Terms.Signals(url)
		}
		if why := l[i].Unread; why != "" {
			for _, use := range uses {
				s.Statements = append(s.Statements, Statement{Use: use, Field: "RSL", Value: "was not read, " + why})
			}
		}
		for j := range s.Statements {
			if l[i].URL == "" {
				s.Statements[j].Field = "RSL in the page"
			} else {
				s.Statements[j].Value += " (" + shown(l[i].URL) + ")"
			}
		}
		all.Statements = append(all.Statements, s.Statements...)
	}
	return all
}
