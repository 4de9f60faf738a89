// Package diff finds what has changed between two crawls of the same sites: URL by URL, and in
// what their robots.txt allow.
//
//	r, err := diff.Compare(ctx, "weekly/20261120T030000Z.crawl", "weekly/20261127T030000Z.crawl", diff.Options{})
//
// The facts about URLs in the state and in pages.jsonl of both crawls are sorted by SURT on
// disk, and merged. So memory does not grow with the crawls, except for a few hundred bytes for
// each site. Pages are compared by the digests of their bytes. If these differ, the visible
// texts are compared, from the archives or by the digests in pages.jsonl.
//
// Compare makes no requests, and does not change the crawls. A difference may also be caused by
// the crawls: if their settings differ, or if one of them has not ended, the result says so
// first ([Result.Settings], [Snapshot.Waiting]).
//
// # Reading the source
//
// snapshot.go opens a crawl, facts.go sorts the facts of both, merge.go merges them and
// change.go classifies the changes; text.go compares visible texts, robots.go compares rules.
package diff
