package period_test

import (
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/internal/period"
)

func TestParse(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"1m": time.Minute, "60h": 60 * time.Hour, "3w2d5h7m": (3*7*24+2*24+5)*time.Hour + 7*time.Minute, "36500d": 100 * year, "36499d24h": 100 * year,
	} {
		if got, err := period.Parse(text); got != want || err != nil {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"": "is not a time", "1": "is not a time", "1d1w": "is not a time", "0m": "less than 1m", "36500d1m": "more than a hundred years", "5215w": "more than a hundred years",
		"9999w99999d999999h9999999m": "more than a hundred years", "99999999999999999999m": "more than a hundred years",
	} {
		if got, err := period.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v, want %s", text, got, err, want)
		}
	}
}
