// Package schedule computes when the runs of a series are due. Its results depend only on the
// schedule, the time zone and the past runs. So a scheduler needs no other state that a kill
// could damage.
//
// A run makes a snapshot of the series. The nominal time of a run is its time in the schedule,
// which is also the name of its snapshot. The run starts at that time or, with jitter, some
// time later. This delay is always the same for the same run. A run is due if its start time
// has come and it has neither been started nor been recorded as missed.
//
// # Daylight saving
//
// A cron expression describes the local time in its zone. If a local time does not exist
// because the clock is put forward, the run comes at the first moment after the gap. If a local
// time occurs twice, the run comes only the first time. So an hourly job runs once in those two
// hours that have the same local time. A period, such as 7d, is elapsed time: a day in it is 24
// hours in any zone.
package schedule
