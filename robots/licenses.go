package robots

// MaxLicensesRead is how many of the documents that a robots.txt names are to be read: the
// first ones.
const MaxLicensesRead = 8

// A License is a document that a robots.txt names, and what it says.
type License struct {
	URL   string // that was named
	Terms *RSL
}

// Licenses are the documents of a site that could be had.
type Licenses []License

// Signals returns what they say together about the use of what url, a whole one, serves.
// Each statement names its document.
func (l Licenses) Signals(url string) Signals {
	var all Signals
	for i := range l {
		s := l[i].Terms.Signals(url)
		for j := range s.Statements {
			s.Statements[j].Value += " (" + shown(l[i].URL) + ")"
		}
		all.Statements = append(all.Statements, s.Statements...)
	}
	return all
}
