// Package storage keeps a crawl on disk: the state from which it resumes, and its outputs.
//
// A crawl is one directory:
//
//	state.db        bbolt: queue, seen set, fates, clocks, robots.txt snapshots
//	run.json        the process that holds the state, while a crawl runs
//	crawl.log       one line per request, see package crawllog
//	warc/*.warc.gz  what servers sent, see package warc and DB.PutVisit
//	index.cdxj      where each answer is in the WARC files; index.part has
//	                its lines in the order of the records
//	pages.jsonl     one JSON object per page that was fetched, see PageRecord
//	links.jsonl     one per link, see LinkRecord
//
// # Acknowledged
//
// A [DB] accepts work without waiting for the disk. One goroutine, the committer, works in
// groups: it flushes the outputs of a group and syncs them, then commits the group to
// state.db together with the outputs' marks, their lengths and checksums, then acknowledges
// it. What is acknowledged survives a kill and a power cut. What is not acknowledged is
// discarded: when a crawl is opened the outputs are truncated to the committed lengths.
//
// # Systems
//
// Linux, macOS, the BSDs and Windows. The differences are in sys_*.go of internal/disk and
// internal/state. On systems other than Linux a commit syncs whole files instead of only
// their data (on macOS with F_FULLFSYNC, which is slower, and survives a power cut). On
// Windows file names rely on the journal of NTFS, the state file is as long as its mapping,
// and growing the mapping waits for readers.
//
// # Reading the source
//
// Package internal/state is the state file: the queue, the journal, the committer. This
// package is the directory around it. open.go opens and closes both; backlog.go exports the
// state's methods of a DB, reader.go those of a read-only Reader. visit.go takes the output
// of a visit; outputs.go flushes all files as of one moment; output.go, pages.go and
// archive.go are the files, mark.go computes their marks, index.go makes the index of the
// archive. verify.go compares the state (internal/state), each file with its mark
// (verify_outputs.go), and what they say of the same thing (verify_facts.go,
// verify_compare.go). purge.go removes the records of some URLs: purge_find.go looks for
// them and purge_journal.go notes them, so that purge_apply.go and purge_lines.go can
// repeat the removal after a kill.
package storage
