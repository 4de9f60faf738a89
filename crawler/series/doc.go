// Package series keeps the crawls that a job makes week after week: a series is a
// directory, and each run of the job a snapshot in it, an ordinary crawl directory that
// is named by the moment at which its run began.
//
//	weekly/
//	  20261120T030000Z.crawl/
//	  20261127T030000Z.crawl/
//
// What is known of a series is read from what lies in its directory. There is no other
// memory, so that a series that was copied, or restored from a backup, is a series.
package series
