// Package revisit computes when a crawl that does not end fetches a page again. It is pure:
// the result depends on the observations of the page alone, and no clock is read.
//
// Pages change as in a Poisson process, each at its own rate, as studies of pages of the web
// found (Cho and Garcia-Molina, "Estimating frequency of change", ACM TOIT 2003, and
// "Effective page refresh policies for web crawlers", ACM TODS 2003, which are also the
// source of the estimate and of the best policy). A copy is fresh until its page changes.
// With a given number of requests, more copies are fresh if each page is fetched equally
// often (Fixed) than in proportion to its changes: pages that change again at once are not
// worth a request. Rate is better than both: it estimates how often a page changes, and
// seldom fetches pages that change too fast.
//
// This package knows nothing of politeness: a page that is due still waits for the clocks of
// its site.
package revisit
