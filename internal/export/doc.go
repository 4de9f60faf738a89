// Package export hands on what a crawl has written: as an index of its archive
// (CDXJ), as one file that a browser replays (WACZ), and as a table with a row
// for each capture (CSV, JSON lines; Parquet in package export/parquet).
//
//	pages.jsonl ---\
//	                sorted runs -> join by URL and time -> Row -> CSV, JSONL, Parquet
//	warc/* --------/
//
// A capture is an answer: a line of pages.jsonl, a response, revisit or resource
// record of a WARC file, or both. Either file may be missing; what only it knows
// is then empty. The columns are those of [Row]: none is renamed, moved or given
// another meaning, and new ones are added at the end. In the table of a [Series] one more
// comes first, [SnapshotColumn].
//
// # Order and memory
//
// Rows come sorted by the bytes of SURT, then of URL, then by time. Both inputs
// are in the order of the crawl, so something must be sorted for them to be
// joined, and the output wants this order anyway. It is done in sorted runs, in
// temporary files without names: they are written and read from beginning to
// end, which a B+ tree with random keys is not. Memory is that of
// [Source.Memory], whatever the size of the crawl; temporary files take some 700
// bytes a capture. Bodies in pages.jsonl are skipped and never held.
//
// # Damage
//
// What cannot be read is named, with file and line or offset, and left out;
// everything else is exported. See [Source.Damaged].
//
// # Reading the source
//
// source.go finds the files. pages.go and captures.go read them, join.go
// sorts and joins. row.go has the columns, text.go writes them, archive.go makes
// CDXJ and WACZ, check.go reads all of it again. series.go has the rows of several crawls.
package export
