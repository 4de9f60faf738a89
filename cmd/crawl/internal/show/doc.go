// Package show prints what the readers of a crawl have found: explanations, differences,
// audits, robots.txt. What is for people is cut where there is too much of it; JSON has
// everything, and its names are never changed. It reads nothing but whether a crawl is a
// snapshot that is over.
package show
