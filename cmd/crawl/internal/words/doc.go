// Package words has the words that the command prints for short names of the library: the
// reasons why a URL is not fetched, the stages in which a request fails, and the clocks
// that a site waits for.
package words
