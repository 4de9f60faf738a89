// Package report reports what a crawl has done, as figures and as one page for people. It reads
// crawl.log and the files beside it.
//
//	r, err := report.Dir(ctx, "news.crawl", report.Options{})
//	err = r.WriteHTML(file)
//
// The page is one file. It loads nothing and runs nothing. Text from a site is only shown as
// text: a title or a URL cannot add elements or scripts to the page.
//
// The report of a running crawl is made from its log alone. A report shows how polite a crawl
// was, but does not prove it; package audit does.
//
// All files are read in bounded memory, plus a few hundred bytes for each site. Sorting uses
// temporary files.
package report
