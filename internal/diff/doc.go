// Package diff tells what has changed between two crawls of the same sites: URL by URL,
// and what their robots.txt permit.
//
//	r, err := diff.Compare(ctx, "weekly/20261120T030000Z.crawl", "weekly/20261127T030000Z.crawl", diff.Options{})
//
// What either crawl keeps of its URLs, in its state and in pages.jsonl, is sorted by SURT
// on disk, and the two are merged: memory does not grow with the crawls, but for some
// hundred bytes for each site. A page is the same where its bytes are, by their digests;
// where they are not, the texts that readers see are compared, of the archives or by the
// digests that pages.jsonl has of them.
//
// Nothing is asked of any site, and neither crawl is changed. A difference is one between
// two crawls: where these were asked for different things, or one of them has not ended,
// that is told first ([Result.Settings], [Snapshot.Waiting]).
//
// # Reading the source
//
// snapshot.go opens a crawl, facts.go sorts what both say, merge.go makes one of it and
// change.go names it; text.go compares what readers see, robots.go what may be asked.
package diff
