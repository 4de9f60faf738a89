// Package storage keeps a crawl on disk: the state from which it resumes, and its outputs.
//
// A crawl is one directory:
//
//	state.db        bbolt: queue, seen set, fates, clocks, robots.txt snapshots
//	run.json        the process that holds the state, while a crawl runs
//	crawl.log       one line per request, see package crawllog
//	warc/*.warc.gz  what servers sent, see package warc and DB.PutVisit
//	index.cdxj      where each answer is in the WARC files, sorted by URL
//	index.part      the same lines, in the order of the records
//	pages.jsonl     one JSON object per page that was fetched, see PageRecord
//	links.jsonl     one JSON object per link that was found, see LinkRecord
//
// # Acknowledged
//
// A [DB] accepts work without waiting for the disk. One goroutine, the committer, takes this
// work in groups. It writes the outputs of a group to their files and syncs the files, then
// commits the group to state.db, then acknowledges it. The commit also stores the mark of each
// output: its length and a checksum. Work that was acknowledged survives a kill and a power
// cut. Other work is discarded when the crawl is opened again, because Open truncates the
// outputs to the lengths in their marks.
//
// # Systems
//
// The package works on Linux, macOS, the BSDs and Windows. The differences are in sys_*.go of
// internal/disk and internal/state. On Linux a commit syncs only the data of files; on other
// systems it syncs data and metadata (on macOS with F_FULLFSYNC, which is slower, and survives
// a power cut). On Windows directories are not synced, because NTFS keeps file names in its
// journal. The state file there is as long as the part of memory to which it is mapped, and
// this part grows only after all transactions that read the file have ended.
//
// # Reading the source
//
// Package internal/state is the state file: the queue, the journal, the committer. This
// package adds the other files of the directory. open.go opens and closes a crawl;
// backlog.go has the methods of a DB that call the state, reader.go has the read-only
// Reader. visit.go takes the output of a visit; outputs.go flushes all files as of one
// moment; output.go, pages.go and archive.go write the files; mark.go computes their marks;
// index.go makes the index of the archive. verify.go checks the state, compares each file
// with its mark (verify_outputs.go), and compares the files with each other
// (verify_facts.go, verify_compare.go). purge.go removes the records of some URLs:
// purge_find.go looks for the records and purge_journal.go writes a list of them, so that
// purge_apply.go and purge_lines.go can repeat the removal after a kill.
package storage
