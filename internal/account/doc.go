// Package account says what became of the URLs of a crawl: how each of its URLs stands, how
// it was found, what robots.txt said, and why a link was not followed. It reads the state,
// and the log, the links and the archive where they are needed, and changes nothing. An
// Account states facts; the caller puts them into words.
package account
