// Package audit proves from the files of a crawl that it was polite, or reports what was not.
// It checks each request in crawl.log against the stored robots.txt that was in force at that
// time. It does not use the crawl's own plans, which are its queue and its clocks.
//
//	report, err := audit.Dir("news.crawl", audit.Options{})
//	if !report.Clean() { ... }
//
// docs/reference/audit.md describes what is checked and reported.
//
// A site owner has other evidence: the log of the server. A [Visitor] is judged by its lines in
// that log, and may be any crawler. Such logs have fewer facts, so they prove less: each
// reported violation is certain within the resolution of their clocks.
//
// All files are read in bounded memory. Sorting uses temporary files.
package audit
