// Package account says what became of the URLs of a crawl: the fate of each URL, how it
// was found, what robots.txt said, and why a link was not followed. It reads the state
// and, if they are needed, the log, the links and the archive. It changes nothing. An
// Account states facts; the caller puts them into words.
package account
