package robots

// MaxLicensesRead is the largest number of license documents that a crawler reads for one
// robots.txt. If the file names more documents, only the first are read.
const MaxLicensesRead = 8

// A License is a license document that a robots.txt or a page names.
type License struct {
	URL    string // URL of the document; empty if the document is part of a page
	Terms  *RSL   // the parsed document; nil if it was not read
	Unread string // why the document was not read; then it refuses every use. Empty if it was read
}

// Licenses are the license documents of a site.
type Licenses []License

// Signals returns the statements of all documents about the use of the page at url, an absolute
// URL. Each Statement names the document that it comes from.
func (l Licenses) Signals(url string) Signals {
	var all Signals
	for i := range l {
		var s Signals
		if l[i].Terms != nil {
			s = l[i].Terms.signals(url)
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
