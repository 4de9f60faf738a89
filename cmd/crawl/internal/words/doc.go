// Package words has the words for people, wherever the command prints them, for what the
// library calls by short names: the reasons why a URL is not fetched, the stages in which a
// request fails, the clocks that a site waits for.
package words
