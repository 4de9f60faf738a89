// Package state is the state file of a crawl: queue, seen set, fates, clocks and
// robots.txt snapshots, in bbolt. It knows of the files beside it only how long they
// are (see [Outputs]).
//
// # Groups
//
// A [DB] takes what it is given without waiting for the disk (queue). One goroutine,
// the committer, takes what has come together as a group. It has the outputs flushed,
// commits the group in one transaction together with their marks, and acknowledges
// it.
//
// # Journal and merge
//
// What a completion changes is spread over the file: the entry that ended, the
// links that were found, on this site and others. To write all that with each
// commit would cost some twenty pages of the file for each page of the web. So a
// commit appends completions to a journal, with the links that whoever submits
// does not find among those that are known, and keeps in memory where they stand
// (pending). When enough has come together, or there is nothing else to do, a
// pass merges it into the other buckets, site by site in the order of the file, a
// slice with each commit. A site that has nothing left to read is merged at once,
// and so is everything where little is pending. Until an entry's end is merged,
// Read withholds it.
//
// To merge twice is to merge once: the record of a site says up to which row of
// the journal completions have had their effect there, and a link that was
// queued is known. So a kill between any two commits needs no care: the journal
// is read again, and merged again.
//
// # Reading the source
//
// schema.go documents every bucket, records.go and journal.go the rows in them,
// codec.go their checksums. The way of a group is sift.go (without the links that are
// known; cache.go and numbers.go are what it remembers), queue.go (what was put),
// commit.go; pending.go is what is not merged,
// pass.go says when it is, merge.go what that changes, blocks.go how fingerprints are
// packed. backlog.go, left.go, kept.go and snapshots.go read
// (for who has no DB: reader.go), out.go is what somebody has in
// hand. state.go opens and closes, once preflight.go and tree.go have found no damage
// that would end the process; file.go is bbolt's file, run.go says who holds it,
// prefetch.go brings it into the memory of the system where all of it is to be read,
// clock.go puts right what a clock did that ran ahead. check.go compares a whole file
// with itself.
package state
