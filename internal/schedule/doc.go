// Package schedule computes when the runs of a series are due. Its results depend only on the
// schedule, the time zone and the past runs. So a scheduler needs no other state that a kill
// could damage.
//
// The nominal time of a run is its time in the schedule, and gives its snapshot the name. The
// run starts at that time or, with jitter, some time later; this delay is always the same for
// the same run. A run is due if it has neither run nor been recorded as missed.
//
// # Daylight saving
//
// A cron expression describes the local time in its zone. If a local time does not exist
// because the clock is put forward, the run comes at the first moment after the gap. If a local
// time occurs twice, the run comes only the first time. So an hourly job has one run in the two
// hours with the same name. A period is elapsed time, and a day of a period is 24 hours in any
// zone.
package schedule
