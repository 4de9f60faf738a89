// Package revisit says when a page is to be fetched again, in a crawl that does not end.
// It is pure: an answer follows from what was seen of the page, and asks for no time of
// its own.
//
// Pages change as a Poisson process does, each at a rate of its own: that is what was
// found of pages of the web (Cho and Garcia-Molina, "Estimating frequency of change",
// ACM TOIT 2003, and "Effective page refresh policies for web crawlers", ACM TODS 2003,
// from where the estimate and the best policy are). A copy is fresh until its page
// changes. Of a given number of requests most copies are fresh if each page is asked for
// equally often (Fixed), rather than in proportion to its changes: those that change
// again at once are not worth a request. Better than both is Rate, which estimates how
// often a page changes, and stops to run after what it cannot catch.
//
// Politeness is nobody's business here: what is due waits for the clocks of its site.
package revisit
