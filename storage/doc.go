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
// # Systems
//
// Linux, macOS, the BSDs and Windows. What differs is in sys_*.go of internal/disk
// and internal/state. Elsewhere than on Linux a commit syncs whole files where the
// data would do (on macOS with F_FULLFSYNC, which is slower, and survives a power
// cut). On Windows names of files are left to the journal of NTFS, the state file is
// as long as what is mapped of it, and to map more of it waits for those who read.
//
// # Reading the source
//
// Package internal/state is the state file: the queue, the journal, the committer.
// This package is the directory around it. open.go opens and closes both; backlog.go
// is what the state does for those who have a DB, reader.go for those who only read.
// visit.go takes what a visit writes,
// outputs.go brings it to disk as it is at one moment; output.go, pages.go and
// archive.go are the files, mark.go says what they are, index.go makes the index of
// the archive. verify.go compares everything with everything: the state
// (internal/state), each file with its mark (verify_outputs.go), and what they say of
// one thing (verify_facts.go, verify_compare.go). purge.go takes out what is of some
// URLs: purge_find.go looks for it, purge_journal.go notes it, so that purge_apply.go and
// purge_lines.go can do it again after a kill.
package storage
