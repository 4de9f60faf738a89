package postgres

import (
	"time"

	"golang.org/x/sys/unix"
)

// uptime returns the time since the machine was started, including the time for which it was
// suspended. The monotonic clock of package time does not count that time.
func uptime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return time.Since(base)
	}
	return time.Duration(t.Nano())
}
