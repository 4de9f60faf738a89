// Package provenance tells where the data of a crawl come from, for those who are to trust
// them: who asked whom, when, by which rules and with which program, what is missing and
// why, and whether the files are those that the crawl has written.
//
//	p, err := provenance.Write(ctx, "news.crawl", provenance.Options{})
//
// writes provenance.json, absences.jsonl, robots.jsonl and DATASHEET.md beside the crawl,
// and
//
//	r, err := provenance.Verify(ctx, "news.crawl", provenance.Check{})
//
// compares a directory with what its provenance.json says of it. Nothing else of the crawl
// is changed by either.
//
// Everything is read in bounded memory, but for some hundred bytes for each site and each
// WARC file.
package provenance
