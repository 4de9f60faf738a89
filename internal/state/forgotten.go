package state

// Forgotten describes commits that a Store in a database has acknowledged and then lost,
// because the database lost them. The outputs in the directory still have what belongs to these
// commits.
type Forgotten struct {
	Acked    Marks  // marks of all growing files at the last commit that was acknowledged
	Finished Marks  // marks of the finished files that the Store knows
	Into     string // set by Open: directory to which the lost commits' parts of the files were moved; empty: there were none
}

// Forgetful is a Store in a database that may have lost commits that it had acknowledged.
type Forgetful interface {
	// Forgotten returns what the Store has lost since it was last open in this directory. It
	// returns nil if it has lost nothing.
	Forgotten() *Forgotten
}
