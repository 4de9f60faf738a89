// Package show prints what the readers of a crawl have found: explanations, differences,
// audits, robots.txt. Texts for people are cut if they are too long. JSON has everything,
// and its names are never changed. The only thing that the package reads itself is
// whether a crawl is a snapshot that is over.
package show
