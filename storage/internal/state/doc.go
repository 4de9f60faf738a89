// Package state is the state file of a crawl: queue, seen set, fates, clocks and robots.txt
// snapshots, in bbolt. Of the files beside it, it only keeps their marks (see [Outputs]).
//
// # Groups
//
// A [DB] accepts work without waiting for the disk (queue). One goroutine, the committer,
// takes all that is queued as a group. It has the outputs flushed, commits the group in one
// transaction together with their marks, and acknowledges it.
//
// # Journal and merge
//
// What a completion changes is spread over the file: the entry that ended, the links that
// were found, on this site and others. Writing all that with each commit would cost some
// twenty pages of the file for each page of the web. So a commit appends completions to a
// journal, with the links that the submitter does not find in the file, and keeps their
// places in memory (pending). When enough is pending, or there is nothing else to do, a
// pass merges it into the other buckets, site by site in the order of the file, a slice
// with each commit. A site that has nothing left to read is merged at once, and so is
// everything if little is pending. Until an entry's end is merged, Read withholds it.
//
// Merging is idempotent: the record of a site says up to which row of the journal
// completions were merged there, and a link that was queued is known. So a kill between two
// commits does no harm: the journal is read again, and merged again.
//
// # Reading the source
//
// schema.go documents every bucket, records.go and journal.go the rows in them, codec.go
// their checksums. A group passes through sift.go (which drops known links; cache.go and
// numbers.go are its memory), queue.go (what was put) and commit.go; pending.go is what is
// not merged, pass.go decides when it is, merge.go applies it, blocks.go packs
// fingerprints. backlog.go, left.go, kept.go and snapshots.go read (without a DB:
// reader.go), out.go tracks the entries handed out. state.go opens and closes, after
// preflight.go and tree.go have found no damage that would end the process; file.go is
// bbolt's file, run.go says which process holds it, prefetch.go reads whole buckets into
// the memory of the system, clock.go corrects times of a clock that ran ahead. check.go
// checks a whole file.
package state
