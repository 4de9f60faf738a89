// Package schedule says when the runs of a series fall due. It is pure: what it answers
// follows from the schedule, the time zone and the runs that there were, so that who
// keeps a schedule needs no memory that a kill could make untrue.
//
// A run has a nominal time: that at which the schedule says it comes, and by which its
// snapshot is named. It starts then or, with jitter, a while later, which is the same
// while however often it is asked for. What is neither run nor recorded as missed is
// due.
//
// # Daylight saving
//
// A cron expression speaks of what a clock on the wall of its zone shows. A time that
// does not exist, because the clock is put forward over it, comes at the first moment
// after the gap; one that the clock shows twice comes once, the first time. So a job of
// each hour has one run in the two hours that bear the same name. A period is elapsed
// time, a day of it 24 hours, in any zone.
package schedule
