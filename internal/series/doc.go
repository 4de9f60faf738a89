// Package series manages the crawls that one job makes again and again, for example every week.
// A series is a directory, and each run of the job makes a snapshot in it. A snapshot is an
// ordinary crawl directory. Its name is the time of its run in the schedule or, without a
// schedule, the time when the run began.
//
//	weekly/
//	  20261120T030000Z.crawl/
//	  20261127T030000Z.crawl/
//	  job.yaml                 the job, if a scheduler runs the series
//	  missed.jsonl             runs that did not happen, see Missed
//	  series.lock              locked by the process that makes a snapshot
//
// A snapshot has further files about the job that made it: seeds.txt, job.yaml, and
// snapshot.json (Facts). They are written before the first request of the snapshot. A run that
// continues the snapshot uses the seeds in seeds.txt. A snapshot that is over (see State.Over)
// does not change any more. Later snapshots are compared only with such snapshots, and refer
// only to them.
//
// All facts about a series are in its directory. So a copy of the directory is a series, too.
package series
