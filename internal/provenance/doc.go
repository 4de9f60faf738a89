// Package provenance records where the data of a crawl come from, for users that rely on the
// data. It records the requests, the program that made them, its operator and its rules. It
// also records what is missing and why, and whether the files are those that the crawl has
// written.
//
//	p, err := provenance.Write(ctx, "news.crawl", provenance.Options{})
//
// writes provenance.json, absences.jsonl, robots.jsonl and DATASHEET.md into the directory of
// the crawl, and
//
//	r, err := provenance.Verify(ctx, "news.crawl", provenance.Check{})
//
// compares a directory with its provenance.json. Write changes no other files of the crawl, and
// Verify changes no files.
//
// All files are read in bounded memory, plus a few hundred bytes for each site and each WARC
// file.
package provenance
