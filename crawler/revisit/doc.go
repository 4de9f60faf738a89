// Package revisit computes when a crawl that does not end fetches a page again. The result
// depends only on the observations of the page. No clock is read.
//
//	opts.Revisit = revisit.Rate{Mean: 7 * 24 * time.Hour} // opts is a crawler.Options
//
// Where to start:
//
//   - To choose a policy: [Rate] keeps the most copies fresh with a number of requests. [Hinted]
//     is for servers whose dates and expiry times are right, [Adaptive] for pages that change
//     more often at some times than at others, and [Fixed] treats all pages alike. [Parse] makes
//     a policy from text.
//   - To write a policy, make a [PolicyFunc]. It computes a time from a [Visit], which has the
//     history of the page and the hints of its server.
//   - To use a policy without package crawler, keep the [History] of each page ([History.And]),
//     and read headers with [ReadHints] and the dates in sitemaps and feeds with [ReadDates].
//
// This package does not deal with politeness: a page that is due still waits for the pauses
// between the requests to its site.
//
// # Units, zero values and errors
//
// A pause is the time from one visit to the next. A policy whose result is 0, negative or more
// than [Longest] means Longest, ten years: so a [Fixed] without a time fetches no page twice in
// ten years. In [Hints], 0 means that a time is not known. Only [Parse] returns an error.
//
// # Concurrency
//
// All policies and functions of this package are safe for concurrent use. A crawl calls a policy
// from several goroutines, so a policy of your own must be safe, too.
//
// # Sources
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
// How long an answer is fresh is from RFC 9111, section 4.2.1.
package revisit
