// Package revisit computes when a crawl that does not end fetches a page again. The result
// depends only on the observations of the page. No clock is read.
//
// Studies of web pages found that pages change as in a Poisson process, each page at its own
// rate: Cho and Garcia-Molina, "Estimating frequency of change", ACM TOIT 2003, and "Effective
// page refresh policies for web crawlers", ACM TODS 2003. The estimate and the best policy of
// this package are from these two papers. A copy is fresh until its page changes. With a given
// number of requests, more copies are fresh if each page is fetched equally often (Fixed) than
// if each page is fetched in proportion to its changes, because a page that soon changes again
// is not worth a request. Rate is better than both. It estimates how often a page changes, and
// seldom fetches pages that change too fast.
//
// This package does not deal with politeness: a page that is due still waits for the clocks of
// its site.
package revisit
