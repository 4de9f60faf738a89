package revisit

import (
	"errors"
	"fmt"
	"strings"

	"github.com/permesso-crawler/permesso/internal/period"
)

// Parse parses the text form of a policy:
//
//	fixed:7d            each page once in 7 days
//	adaptive:1h-30d     sooner if the page has changed, later if it has not
//	rate:7d             a page that changes once in 7 days is fetched once in 7 days
//	hints:7d            like rate, and by the hints of servers
//
// A time is in weeks, days of 24 hours, hours and minutes, such as 2w, 7d, 36h or 1d12h. It is at
// least a minute, and at most Longest. For any other text Parse returns an error with the reason.
func Parse(text string) (Policy, error) {
	name, value, _ := strings.Cut(text, ":")
	switch name {
	case "fixed", "rate", "hints":
		every, err := period.Parse(value)
		if err == nil && every > Longest {
			err = fmt.Errorf("%s is more than ten years", value)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		switch name {
		case "fixed":
			return Fixed{every}, nil
		case "rate":
			return Rate{Mean: every}, nil
		}
		return Hinted{Else: Rate{Mean: every}, Least: every / 10, Most: min(10*every, Longest)}, nil
	case "adaptive":
		from, to, _ := strings.Cut(value, "-")
		least, err := period.Parse(from)
		most, err2 := period.Parse(to)
		if err := errors.Join(err, err2); err != nil || least > most || most > Longest {
			return nil, fmt.Errorf("%q: give the shortest and the longest time between two visits, as adaptive:1h-30d", text)
		}
		return Adaptive{Least: least, Most: most}, nil
	}
	return nil, fmt.Errorf("%q is not one of fixed:7d, adaptive:1h-30d, rate:7d, hints:7d", text)
}
