package frontier

import "time"

// A Fate says how an entry ended, or why a whole site was given up.
type Fate struct {
	Code   Code
	Status int       `json:",omitempty"` // HTTP status of a fetched page
	Detail string    `json:",omitempty"` // cause in words, such as the rule of robots.txt with its line, or the class of an error
	Digest string    `json:",omitempty"` // digest of the fetched body: "sha1:" and base 32
	Rules  time.Time `json:",omitzero"`  // when the robots.txt that was applied was fetched
	Time   time.Time // when this fate was decided
	Until  time.Time `json:",omitzero"` // when the entry is due, if Code is Waiting or the entry will be fetched again; else zero
	Answer Place     `json:",omitzero"` // where the last answer is archived
}

// A Place is the position of an answer's record in an archive file. The zero Place means that
// the answer is not archived.
type Place struct {
	File   string // name of the archive file
	Offset int64  // position in the file, in bytes
}

// Page reports whether the entry ended with a page: an answer with a 2xx status, even if the owner
// of the site refuses the use of the page. Budgets count pages, but not requisites
// (Entry.Requisite).
func (f Fate) Page() bool { return (f.Code == Fetched || f.Code == UseRefused) && f.Status/100 == 2 }

// counts reports whether e, if it ends with f, counts as a page for the budgets. A page that is
// fetched again does not count a second time.
func (f Fate) counts(e Entry) bool { return f.Page() && e.Page() && e.Visits == nil }
