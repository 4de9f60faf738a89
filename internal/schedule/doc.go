// Package schedule computes when the runs of a series are due. It is pure: its results depend
// only on the schedule, the time zone and the past runs. So a scheduler needs no other state
// that a kill could damage.
//
// A run has a nominal time: the time in the schedule, after which its snapshot is named. It
// starts then or, with jitter, some time later; this delay is always the same for the same run.
// A run is due if it has neither run nor been recorded as missed.
//
// # Daylight saving
//
// A cron expression describes the local time in its zone. If a local time does not exist
// because the clock is put forward, the run comes at the first moment after the gap. If a local
// time occurs twice, the run comes once, at the first one. So an hourly job has one run in the
// two hours with the same name. A period is elapsed time, and a day of it is 24 hours, in any
// zone.
package schedule
