//go:build unix

package postgres

import (
	"testing"
	"time"
)

// A node stores a time, and another node with another clock reads it. The time is never too early,
// and too late by two round trips at most.
func TestATimeThatIsHandedOver(t *testing.T) {
	t.Parallel()
	const trip = 50 * time.Millisecond
	for name, test := range map[string]struct {
		database time.Duration // how much the clock of the database is ahead of the machines
		due      time.Duration // the stored time, from now
	}{
		"the same clocks":             {due: time.Second},
		"ten minutes ahead":           {database: 10 * time.Minute, due: time.Second},
		"ten minutes behind":          {database: -10 * time.Minute, due: time.Second},
		"days ahead":                  {database: 100 * time.Hour, due: -time.Minute},
		"days behind":                 {database: -100 * time.Hour, due: time.Hour},
		"years, as on a new machine":  {database: 56 * 365 * 24 * time.Hour, due: time.Minute},
		"the wait is for a long time": {database: -time.Hour, due: 300 * 24 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var from, to clock
			for _, c := range []*clock{&from, &to} {
				c.met(uptime()-trip, time.Now().Add(test.database-trip/2))
			}
			due := time.Now().Add(test.due)
			stored := from.remote(due)
			got := to.local(stored)
			if got.Before(due) || got.Sub(due) > 2*trip+time.Minute {
				t.Errorf("handed over %v later", got.Sub(due))
			}
			if ahead := stored.Sub(due); ahead < test.database || ahead > test.database+trip+time.Minute {
				t.Errorf("stored %v ahead, the database's clock is %v ahead", ahead, test.database)
			}
			if zero := to.local(from.remote(time.Time{})); !zero.IsZero() {
				t.Error(zero)
			}
		})
	}
}
