// Package state is the state file of a crawl: queue, seen set, fates, clocks and robots.txt
// snapshots, in bbolt. It also keeps the marks (lengths and checksums) of the files beside it,
// which are called the outputs (see [Outputs]).
//
// # Groups
//
// A [DB] accepts work without waiting for the disk (queue). One goroutine, the committer,
// takes everything that is queued as one group. It flushes the outputs, commits the group
// and the marks of the outputs in one transaction, and acknowledges the group.
//
// # Journal and merge
//
// A completion changes rows all over the file: those of the entry that ended, and those of the
// links that were found, on its site and on others. If each commit wrote all these rows, it
// would write some twenty pages of the file for each page of the web. So a commit only appends
// the completions to a journal, with those links that the submitter did not find in the file.
// Completions and links in the journal are called pending until they are merged; their places
// in the journal are kept in memory. When enough is pending, or there is no other work, a pass
// merges the pending changes into the other buckets. A pass goes through the sites in the order
// of the file, and merges some of them with each commit. If Read can return no further entry of
// a site, what is pending for the site is merged at once. If little is pending, everything is
// merged at once.
//
// An entry is out from the time when Read returns it until its end is merged. The file still
// has it as queued, but Read does not return it again.
//
// Merging may be repeated: the record of a site has the number of the last row of the
// journal that was merged there, and a link that was queued is not queued again. So after a
// kill between two commits the journal is read and merged again.
//
// # Reading the source
//
// schema.go documents every bucket, records.go and journal.go the rows in them, codec.go
// their checksums. A completion passes through sift.go (which drops known links; cache.go
// and numbers.go are its memory), queue.go (what waits for a commit) and commit.go.
// pending.go has the changes that are not merged, pass.go decides when they are merged,
// merge.go applies them, blocks.go packs fingerprints. backlog.go, left.go, kept.go and
// snapshots.go read; reader.go reads without a DB; out.go tracks the entries that are out.
// state.go opens and closes; before that, preflight.go and tree.go look for damage that
// would end the process. file.go is bbolt's file, run.go says which process holds it,
// prefetch.go makes the system read whole buckets into its memory, clock.go corrects times
// of a clock that ran ahead. check.go checks a whole file.
package state
