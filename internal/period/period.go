// Package period parses lengths of time such as 36h or 2w.
package period

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// The shortest and the longest allowed length. The shortest is a minute, because cron cannot
// run a job more often.
const (
	least = time.Minute
	most  = 100 * 365 * 24 * time.Hour
)

var parts = regexp.MustCompile(`^(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?$`)

// Parse parses a length of time in weeks, days of 24 hours, hours and minutes, such as
// 2w, 7d, 36h or 1d12h. It must be at least a minute and at most a hundred years of 365 days.
func Parse(text string) (time.Duration, error) {
	m := parts.FindStringSubmatch(text)
	if m == nil || text == "" {
		return 0, fmt.Errorf("%q is not a time: give weeks, days, hours or minutes, as 7d or 1d12h", text)
	}
	var d time.Duration
	for i, unit := range [...]time.Duration{7 * 24 * time.Hour, 24 * time.Hour, time.Hour, time.Minute} {
		n, _ := strconv.Atoi(m[i+1]) // m[i+1] is empty or has only digits; if there are too many, Atoi returns the largest int
		if time.Duration(n) > (most-d)/unit {
			return 0, fmt.Errorf("%s is more than a hundred years", text)
		}
		d += time.Duration(n) * unit
	}
	if d < least {
		return 0, fmt.Errorf("%s is less than %v", text, least)
	}
	return d, nil
}
