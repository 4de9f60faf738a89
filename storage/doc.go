// Package storage keeps a crawl on disk: the state that it needs to go on,
// and the outputs that it is for.
//
// A crawl is one directory:
//
//	state.db        bbolt: queue, seen set, fates, clocks, robots.txt snapshots
//	run.json        who holds the state, while a crawl runs
//	crawl.log       one line per request, see package crawllog
//	warc/*.warc.gz  what servers sent, see package warc and DB.PutVisit
//	index.cdxj      where each answer is in them; index.part has its lines
//	                as they came
//	pages.jsonl     one JSON object per page that was fetched, see PageRecord
//	links.jsonl     one per link, see LinkRecord
//
// # Acknowledged
//
// A [DB] takes what it is given without waiting for the disk. One goroutine,
// the committer, works in groups: it flushes the outputs of a group and syncs
// them, then commits the group to state.db together with the outputs' marks, their
// lengths and checksums, then acknowledges it. What is acknowledged survives a kill
// and a power cut; what is not, never happened: when a crawl is opened the outputs
// are cut to the committed lengths.
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
// # Systems
//
// Linux, macOS, the BSDs and Windows. What differs is in sys_*.go. Elsewhere than
// on Linux a commit syncs whole files where the data would do (on macOS with
// F_FULLFSYNC, which is slower, and survives a power cut). On Windows names of
// files are left to the journal of NTFS, the state file is as long as what is
// mapped of it, and to map more of it waits for those who read.
//
// # Reading the source
//
// schema.go documents every bucket, records.go and journal.go the rows in them.
// sift.go leaves out the links that are known, commit.go is the group commit;
// pending.go is what is not merged, pass.go says when it is, merge.go what that
// changes, blocks.go how fingerprints are packed. backlog.go and snapshots.go
// read, out.go is what somebody has in hand. open.go opens and recovers, once
// preflight.go and tree.go have found no damage that would end the process; bolt.go
// opens and closes the state file, run.go says who holds it, clock.go puts right what
// a clock did that ran ahead. visit.go takes what a visit writes,
// outputs.go brings it to disk as it is at one moment; output.go, pages.go and
// archive.go are the files, index.go makes the index of the archive. verify.go compares
// everything with everything: each record of the state (verify_state.go), each file
// with its mark (verify_outputs.go), and what they say of one thing
// (verify_facts.go, verify_compare.go).
package storage
