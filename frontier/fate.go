package frontier

import "time"

// A Code is the kind of a Fate.
type Code uint8

// The fates. Undecided is the zero value: no entry ends with it.
const (
	Undecided         Code = iota
	Fetched                // the server answered; see Status
	RobotsDisallowed       // a rule of robots.txt forbids it
	RobotsUnreachable      // robots.txt could not be fetched: the fate of a site
	Failed                 // error after the last try; Detail names its class
	SiteDead               // no answer, six times in a row: the fate of a site
	OutOfScope             // the scope was changed after it was queued
	Waiting                // queued again, until Due
	UseRefused             // the owner refuses the purpose of the crawl; Detail is the statement, Status is 0 if there was no request
	OptedOut               // it is on the list of URLs that no crawl of this machine requests; Detail is the line
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

// Aside reports whether an entry with this fate is only put aside. An entry that is put aside
// is queued again after the scope, or the list that excluded it, has changed.
func (c Code) Aside() bool { return c == OutOfScope || c == OptedOut }

// A Fate says how an entry, or a whole site, ended.
type Fate struct {
	Code   Code
	Status int       `json:",omitempty"` // HTTP status of a fetched page
	Detail string    `json:",omitempty"` // rule and line, error class, ...
	Digest string    `json:",omitempty"` // of a fetched body: "sha1:" and base 32
	Rules  time.Time `json:",omitzero"`  // when the robots.txt in force was fetched
	Time   time.Time // when it was decided
	Until  time.Time `json:",omitzero"` // of Waiting, and of an entry to fetch again: when it is due
	Answer Place     `json:",omitzero"` // where the last answer is archived
}

// A Place is the position of an answer's record in an archive. The zero Place means
// that the answer is not archived.
type Place struct {
	File   string // name of the file
	Offset int64  // bytes
}

// Page reports whether the fate is that of a page: an answer with a 2xx status, even if
// its owner refuses the use. Budgets count pages, but not requisites.
func (f Fate) Page() bool { return (f.Code == Fetched || f.Code == UseRefused) && f.Status/100 == 2 }

// counts reports whether e counts as a page for budgets if it ends with f. A page that
// is fetched again does not count a second time.
func (f Fate) counts(e Entry) bool { return f.Page() && e.Page() && e.Visits == nil }
