// Package export exports a crawl: as an index of its archive (CDXJ), as one file that a browser
// replays (WACZ), and as a table with a row for each capture (CSV, JSON lines; Parquet in
// package export/parquet).
//
//	pages.jsonl ---\
//	                sorted runs -> join by URL and time -> Row -> CSV, JSONL, Parquet
//	warc/* --------/
//
// A capture is an answer: a line of pages.jsonl, a response, revisit or resource record of a
// WARC file, or both. If one of the files is missing, the columns that only it has are empty.
// The columns are the fields of [Row]. They are never renamed, moved or given another meaning,
// and new columns are added at the end. The table of a [Series] has one more column before all
// others, [SnapshotColumn].
//
// # Order and memory
//
// Rows are sorted by the bytes of SURT, then of URL, then by time. Both inputs are in the order
// of the crawl, so they have to be sorted to be joined, and the output needs this order anyway.
// Rows are sorted in parts, called runs, which are written to temporary files without names and
// then merged. These files are written and read sequentially, unlike a B+ tree with random
// keys. Sorting uses as much memory as [Source.Memory] says, for any size of the crawl.
// Temporary files take about 700 bytes per capture. Bodies in pages.jsonl are skipped and never
// held in memory.
//
// # Damage
//
// Parts that cannot be read are left out, and reported with file and line or offset. Everything
// else is exported. See [Source.Damaged].
//
// # Reading the source
//
// source.go finds the files. pages.go and captures.go read them, join.go sorts and joins.
// row.go has the columns, text.go writes them, archive.go makes CDXJ and WACZ, check.go reads
// all of these again. series.go has the rows of several crawls.
package export
