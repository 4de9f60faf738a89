package frontier

import "time"

// A Fate says how an entry, or a whole site, ended.
type Fate struct {
	Code   Code
	Status int       `json:",omitempty"` // HTTP status of a fetched page
	Detail string    `json:",omitempty"` // rule and line, error class, ...
	Digest string    `json:",omitempty"` // of a fetched body: "sha1:" and base 32
	Rules  time.Time `json:",omitzero"`  // when the robots.txt that was applied was fetched
	Time   time.Time // when this fate was decided
	Until  time.Time `json:",omitzero"` // with Code Waiting, or for an entry that will be fetched again: when it is due
	Answer Place     `json:",omitzero"` // where the last answer is archived
}

// A Place is the position of an answer's record in an archive file. The zero Place means that
// the answer is not archived.
type Place struct {
	File   string // name of the file
	Offset int64  // bytes
}

// Page reports whether the fate is that of a page: an answer with a 2xx status, even if its
// owner refuses the use. Budgets count pages, but not requisites (Entry.Requisite).
func (f Fate) Page() bool { return (f.Code == Fetched || f.Code == UseRefused) && f.Status/100 == 2 }

// counts reports whether budgets count e as a page if it ends with f. A page that is fetched
// again does not count a second time.
func (f Fate) counts(e Entry) bool { return f.Page() && e.Page() && e.Visits == nil }
