// Package audit proves from what a crawl has written down that it was polite, or names
// what was not: each request in crawl.log against the robots.txt that was in force at
// that moment, as it was stored. What the crawl had in mind, its queue and its clocks, is
// not asked.
//
//	report, err := audit.Dir("news.crawl", audit.Options{})
//	if !report.Clean() { ... }
//
// What is checked, and what is said of it, stands in docs/reference/audit.md.
//
// A site owner has other evidence, the log of the server. A [Visitor] is judged by the
// lines that it has left there, whichever crawler it is. Such logs say less, so that less
// can be proven: what is named is certain within the resolution of their clocks.
//
// Everything is read in bounded memory. What does not fit is sorted in temporary files.
package audit
