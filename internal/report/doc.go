// Package report tells what a crawl has done, in figures and as one page that people
// read: of crawl.log, and of what stands beside it.
//
//	r, err := report.Dir("news.crawl", report.Options{})
//	err = r.WriteHTML(file)
//
// The page is one file. It asks for nothing, runs nothing, and what a site has written
// stands in it as text: a title or a URL cannot become a part of it.
//
// A crawl that runs is told by its log alone. What proves that a crawl was polite is
// package audit; a report shows it.
//
// Everything is read in bounded memory, but for some hundred bytes for each site. What is
// sorted is in temporary files.
package report
