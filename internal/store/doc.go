// Package store keeps a crawl on disk: the state from which it resumes, and its outputs. It writes,
// reads, verifies, repairs and purges the directory. Package storage promises the part that reads.
//
// A crawl is one directory:
//
//	state.db        bbolt: queue, seen set, fates, clocks, robots.txt snapshots
//	run.json        the process that holds the state, while a crawl runs
//	crawl.log       one line per request, see DB.Log
//	warc/*.warc.gz  what servers sent, see package warc and DB.PutVisit
//	index.cdxj      where each answer is in the WARC files, sorted by URL
//	index.part      the same lines, in the order of the records
//	pages.jsonl     one JSON object per page that was fetched, see PageRecord
//	links.jsonl     one JSON object per link that was found, see LinkRecord
//
// The page docs/reference/outputs.md describes every file and field.
//
// Where to start:
//
//   - To read what a crawl has found: [ReadPages] and [ReadLinks] read lines, also while the crawl
//     runs. The function ReadPages of package crawler has the pages with their bodies.
//   - To read the state of a crawl that does not run: [OpenReader], then [Records.Fate],
//     [Records.Entries], [Records.Sites] and so on.
//   - To find the archived answer to a URL: [OpenPast], then [Past.Capture].
//   - To check a crawl: [Verify]. To mend one: [NewRepair], or [MakeIndex] for the index alone. To
//     remove what owners do not want kept: [Purge].
//   - To learn which process runs a crawl: [Holder].
//   - To write a crawler that has a frontier of its own: [Open]. A [DB] is a [frontier.Backlog] and
//     has the methods of fetch.Snapshots; [DB.PutVisit] writes the outputs.
//
// # What survives a crash
//
// A [DB] accepts work without waiting for the disk. One goroutine, the committer, takes this
// work in groups. It writes the outputs of a group to their files and syncs the files, then
// commits the group to state.db, then acknowledges it. The commit also stores the mark of each
// output: its length and a checksum. Work that was acknowledged survives a kill and a power
// cut. Other work is discarded when the crawl is opened again, because [Open] truncates the
// outputs to the lengths in their marks.
//
// # Errors
//
// A function that opens a crawl returns one of these errors, and has changed nothing then:
//
//   - [*InUseError]: a process runs the crawl. Wait until it has ended.
//   - [*NotBegunError], and other errors that match [ErrNoCrawl]: there is nothing to read. Open
//     begins the crawl.
//   - [*DamagedError]: a file does not have the contents that the crawl has written. NewRepair
//     mends it.
//   - [*VersionError]: the state file has the layout of another version. Use that version.
//   - [*PurgeError]: a purge was interrupted. [Purge.Run] finishes it.
//   - [*RepairError]: a repair was interrupted. [FinishRepair] finishes it.
//
// A DB whose committer fails returns that error from every later call. [DiskFull] says whether
// the disk was full: make room, and open the crawl again. After Close the error is [ErrClosed].
//
// Three kinds of errors are about one answer, and no other answer is affected. The errors in
// refused of [DB.PutVisit] say that an answer cannot be written as WARC records. A
// [*MissingAnswerError] says that the body of the answer is in the archive of an earlier crawl,
// which cannot be found or read: put that crawl back beside this one. An error that wraps
// [ErrPurged] says that the answer was removed on purpose.
//
// # Units, zero values and concurrency
//
// Sizes and offsets are in bytes, digests and times as the fields say. The zero [Options] and
// [Bounds] are what most callers want.
//
// A DB, a [Reader] and a [Past] are safe for concurrent use, except that Close of a Reader must not
// overlap with another call. A [Capture] is for one goroutine at a time. Any number of processes may
// read a crawl that does not run, and one process may run it.
//
// # Systems
//
// The package works on Linux, macOS, the BSDs and Windows. On Linux a commit syncs only the data
// of files; on other systems it syncs data and metadata (on macOS with F_FULLFSYNC, which is
// slower, and survives a power cut). On Windows directories are not synced, because NTFS keeps
// file names in its journal. The state file there is as long as the part of memory to which it
// is mapped, and this part grows only after all transactions that read the file have ended.
//
// # Sources
//
// WARC 1.1 (package warc), CDXJ (package cdxj), RFC 9111, section 3.2 (the header of a page that has
// not changed), RFC 3720, appendix B.4 (CRC-32C).
package store

// Reading the source: package internal/state is the state file, with the queue, the journal and
// the committer. This package adds the other files of the directory. open.go opens and closes a
// crawl; backlog.go has the methods of a DB that call the state, reader.go has the read-only
// Reader. visit.go takes the output of a visit; outputs.go flushes all files as of one
// moment; output.go, pages.go and archive.go write the files; mark.go computes their marks;
// index.go makes the index of the archive. verify.go checks the state, compares each file
// with its mark (verify_outputs.go), and compares the files with each other
// (verify_facts.go, verify_compare.go). purge.go removes the records of some URLs:
// purge_find.go looks for the records and purge_journal.go writes a list of them, so that
// purge_apply.go and purge_lines.go can repeat the removal after a kill.
//
// The differences between systems are in sys_*.go of internal/disk and internal/state.
