package words

import (
	"fmt"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// Asks returns, in words, what demands the pause that a clock measures: a flag, or a line of
// robots.txt.
func Asks(by frontier.Clock) string {
	if by == frontier.OwnClock {
		return "--delay"
	}
	return string(by) + " of robots.txt"
}

// Answered returns what a site answered, in a few words.
func Answered(s *robots.Snapshot) string {
	text := fmt.Sprintf("status %d", s.Status)
	if s.Status == 0 {
		text = "no answer"
	}
	if s.Failure != "" {
		text += " (" + s.Failure + ")"
	}
	return text
}
