// Package storage reads the data that a crawl has stored on disk: its pages, their links, the
// archived answers, and the fate of each URL. Package crawler writes a crawl; this package changes
// nothing.
//
// A crawl is one directory:
//
//	state.db        bbolt: queue, seen set, fates, clocks, robots.txt snapshots
//	run.json        the process that holds the state, while a crawl runs
//	crawl.log       one line per request
//	warc/*.warc.gz  what servers sent, see package warc
//	index.cdxj      where each answer is in the WARC files, sorted by URL, see package cdxj
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
//   - To read the state of a crawl that does not run: [OpenReader], then [Reader.Entry],
//     [Reader.Entries], [Reader.Sites] and so on.
//   - To find the archived answer to a URL: [OpenPast], then [Past.Capture].
//   - To read the WARC files: [ArchiveFiles], then package warc.
//   - To keep the state of a crawl in a database: package storage/postgres has a [State].
//
// The command crawl verifies and repairs a crawl, makes its index, and purges it.
//
// # Errors
//
// A function that opens a crawl returns one of these errors, and then has changed nothing.
// Crawler.Run returns the same errors.
//
//   - [*InUseError]: a process runs the crawl. Wait until it has ended.
//   - An error that wraps [ErrNoCrawl]: there is nothing to read.
//   - [*DamagedError]: a file does not have the content that the crawl has written. The command
//     crawl repair corrects it.
//
// Any other error names the file and what to do: use the version of permesso that wrote the
// state, or finish a purge or a repair that was interrupted.
//
// [DiskFull] reports whether an error of a run means that the disk was full. Then make room, and
// run the crawl again. After Close the methods of a [Reader] return [ErrClosed].
//
// An error of [Past.Capture] concerns only one answer. The body may be in the archive of an
// earlier crawl that cannot be found or read: put that crawl back beside this one.
//
// # Units and concurrency
//
// Sizes and offsets are in bytes. The comment of each field with a digest or a time says its form.
//
// A [Reader] and a [Past] are safe for concurrent use, except that Close of a Reader must not
// overlap with another call. A [Capture] is for one goroutine at a time. Any number of processes may
// read a crawl that does not run, and one process may run it.
//
// # Sources
//
// WARC 1.1 (package warc), CDXJ (package cdxj), RFC 9111, section 3.2 (the header of a page that has
// not changed).
package storage
