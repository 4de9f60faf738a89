//go:build !linux

package postgres

import "time"

// uptime returns the time since the process began. It uses the clock that has advanced more: the
// monotonic clock may stop while the machine is suspended, and the wall clock may be set back.
func uptime() time.Duration {
	return max(time.Since(base), time.Duration(time.Now().UnixNano()-base.UnixNano()))
}
