package state

// Forgotten says what a Store in a database has acknowledged and no longer knows, because the
// database lost its last commits.
type Forgotten struct {
	Acked    Marks  // the marks of all files that grew, at the last commit that was acknowledged
	Finished Marks  // the finished files that the Store knows
	Into     string // set by Open: the directory that has the forgotten parts of the files, or empty
}

// Forgetful is a Store that may have forgotten what it acknowledged.
type Forgetful interface {
	// Forgotten returns what the Store has forgotten since it was last open in this directory, or
	// nil if it has forgotten nothing.
	Forgotten() *Forgotten
}
