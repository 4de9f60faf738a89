// Package revisit computes when a crawl that does not end fetches a page again. The result
// depends only on the observations of the page. No clock is read.
//
// Studies of web pages found that pages change as in a Poisson process, each page at its own
// rate: Cho and Garcia-Molina, "Estimating frequency of change", ACM TOIT 2003, and "Effective
// page refresh policies for web crawlers", ACM TODS 2003. The estimate and the best policy of
// this package are from these two papers. A copy is fresh until its page changes. A given
// number of requests can be spent in several ways. If each page is fetched equally often
// (Fixed), more copies are fresh than if each page is fetched in proportion to its changes. The
// reason is that a page that soon changes again is not worth a request. Rate is better than
// both ways. It estimates how often a page changes, and seldom fetches pages that change too
// fast.
//
// This package does not deal with politeness: a page that is due still waits for the pauses
// between the requests to its site.
package revisit
