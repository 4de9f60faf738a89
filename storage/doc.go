// Package storage keeps a crawl on disk: the state that it needs to go on,
// and the outputs that it is for.
//
// A crawl is one directory:
//
//	state.db     bbolt: queue, seen set, fates, clocks, robots.txt snapshots
//	run.json     who holds the state, while a crawl runs
//	crawl.log    one line per request, see package crawllog
//	pages.jsonl  one JSON object per page that was fetched, see PageRecord
//
// # Acknowledged
//
// A [DB] takes what it is given without waiting for the disk. One goroutine,
// the committer, works in groups: it flushes the outputs of a group and syncs
// them, then commits the group to state.db together with the outputs' lengths,
// then acknowledges it. What is acknowledged survives a kill and a power cut;
// what is not, never happened: when a crawl is opened the outputs are cut to
// the committed lengths. The archive of raw exchanges takes its place beside
// pages.jsonl, in the first step.
//
// # Reading the source
//
// schema.go documents every bucket. commit.go is the group commit, and
// apply.go what a group does to the buckets; backlog.go and snapshots.go read.
// open.go opens, locks and checks; output.go and pages.go are the outputs.
package storage
