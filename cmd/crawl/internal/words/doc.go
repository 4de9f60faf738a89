// Package words has the phrases that the command prints for short names of the library: the
// reasons why a URL is not fetched, the stages in which a request fails, and the clocks, which
// are the reasons why a site has to wait.
package words
