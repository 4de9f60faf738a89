// Package account says what happened to the URLs of a crawl: the code of each URL, how it was
// found, what robots.txt decided, and why a link was not followed. It reads the state and, if
// they are needed, the log, the links and the archive. It changes nothing. It returns facts,
// and the caller puts them into words.
package account
