package frontier

import "time"

// A Code is the kind of a Fate.
type Code uint8

// The fates. Undecided is the zero value: no entry ends with it.
const (
	Undecided         Code = iota
	Fetched                // the server answered; Status says what
	RobotsDisallowed       // a rule of robots.txt forbids it
	RobotsUnreachable      // robots.txt could not be had: held by the site
	Failed                 // error after the last try; Detail names its class
	SiteDead               // no answer, six times in a row: held by the site
	OutOfScope             // the scope was tightened after it was queued
	Waiting                // queued again, until Due
	UseRefused             // the owner refuses the use that the crawl is for; Detail is the statement, Status 0 where it was not asked for
	OptedOut               // it is on the list of what this machine asks for nothing; Detail is the line
)

var codeNames = [...]string{
	Undecided: "undecided", Fetched: "fetched", RobotsDisallowed: "robots disallowed",
	RobotsUnreachable: "robots unreachable", Failed: "failed", SiteDead: "site dead",
	OutOfScope: "out of scope", Waiting: "waiting", UseRefused: "use refused", OptedOut: "opted out",
}

func (c Code) String() string {
	if int(c) < len(codeNames) {
		return codeNames[c]
	}
	return "unknown fate"
}

// Aside reports whether an entry that ends so is only put aside: it is queued again
// once what keeps it out does not any more.
func (c Code) Aside() bool { return c == OutOfScope || c == OptedOut }

// A Fate is the one reason with which an entry, or a whole site, ends.
type Fate struct {
	Code   Code
	Status int       `json:",omitempty"` // HTTP status of a fetched page
	Detail string    `json:",omitempty"` // rule and line, error class, ...
	Digest string    `json:",omitempty"` // of a fetched body: "sha1:" and base 32
	Rules  time.Time `json:",omitzero"`  // when the robots.txt in force was fetched
	Time   time.Time // when it was decided
	Until  time.Time `json:",omitzero"` // of Waiting, and of an entry that is fetched again: until when it stays queued
	Answer Place     `json:",omitzero"` // where the last answer is archived
}

// A Place is where the record of an answer begins in an archive. The zero Place is
// that of an answer that is not archived.
type Place struct {
	File   string // name of the file
	Offset int64  // bytes
}

// Page reports whether the fate is that of a page: an answer with a 2xx status,
// that its site was asked for in vain included. Budgets count pages, but not what
// pages are shown with.
func (f Fate) Page() bool { return (f.Code == Fetched || f.Code == UseRefused) && f.Status/100 == 2 }

// counts reports whether e counts as a page for budgets, if it ends with f: each page
// once, however often it is fetched.
func (f Fate) counts(e Entry) bool { return f.Page() && e.Page() && e.Visits == nil }
