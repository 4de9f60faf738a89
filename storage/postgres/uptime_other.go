//go:build !linux

package postgres

import "time"

// uptime returns the time since the process began, by the clock that is further: the monotonic
// clock may stand still while the machine is suspended, and the wall clock may be set back.
func uptime() time.Duration {
	return max(time.Since(base), time.Duration(time.Now().UnixNano()-base.UnixNano()))
}
