// Package series keeps the crawls that a job makes week after week: a series is a
// directory, and each run of the job a snapshot in it, an ordinary crawl directory that
// is named by the moment at which its run began.
//
//	weekly/
//	  20261120T030000Z.crawl/
//	  20261127T030000Z.crawl/
//	  job.yaml                 the job, where a scheduler looks after the series
//	  missed.jsonl             runs that did not happen, see Missed
//	  series.lock              held by who makes a snapshot
//
// A snapshot says what it was asked to be, beside what any crawl has: seeds.txt,
// job.yaml, and snapshot.json (Facts). These are written before its first request, and
// whoever goes on with it has the seeds of then. One that is over is not written to any
// more; all snapshots that others read are.
//
// What is known of a series is read from what lies in its directory. There is no other
// memory, so that a series that was copied, or restored from a backup, is a series.
package series
