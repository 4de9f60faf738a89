// Package series keeps the crawls that a job makes every week: a series is a directory, and
// each run of the job makes a snapshot in it. A snapshot is an ordinary crawl directory, whose
// name is the time when its run began.
//
//	weekly/
//	  20261120T030000Z.crawl/
//	  20261127T030000Z.crawl/
//	  job.yaml                 the job, if a scheduler runs the series
//	  missed.jsonl             runs that did not happen, see Missed
//	  series.lock              held by the process that makes a snapshot
//
// In addition to the files of any crawl, a snapshot has the job that made it: seeds.txt,
// job.yaml, and snapshot.json (Facts). These are written before its first request, and a run
// that continues the snapshot uses these seeds. A snapshot that is over does not change any
// more. Only snapshots that are over are compared or referred to.
//
// All facts about a series are in its directory. So a copy of a series, or one restored from a
// backup, is a series.
package series
