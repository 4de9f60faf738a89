package kept

import (
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// The settings of a site replace those of the crawl, except that a longer pause of the crawl
// stays.
func TestASiteHasItsOwnSettings(t *testing.T) {
	usual := Site{Delay: 2 * time.Second, Max: frontier.Spent{Pages: 10, Bytes: 20, Time: 30}}
	own := []Own{
		{Name: "delay", Value: "5s"}, {Name: "max-host-bytes", Value: "1kB"}, {Name: "max-host-pages", Value: "0"}, {Name: "max-host-time", Value: "1m"},
		{Name: "robots-forbidden", Value: "allow", Wider: true}, {Name: "scope"}, {Name: "unknown", Value: "x"},
	}
	s, err := usual.With(own, "a small server")
	if err != nil || s.Delay != 5*time.Second || s.Max != (frontier.Spent{Bytes: 1000, Time: time.Minute}) || !s.Policy.AllowForbidden || len(s.Own) != len(own) || s.Reason != "a small server" {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := usual.With([]Own{{Name: "delay", Value: "1s"}, {Name: "robots-forbidden", Value: "Deny"}}, ""); err != nil || s.Delay != usual.Delay || s.Policy.AllowForbidden {
		t.Errorf("%+v, %v", s, err)
	}
	for _, name := range []string{"delay", "max-host-bytes", "max-host-pages", "max-host-time", "robots-forbidden"} {
		if _, err := usual.With([]Own{{Name: name, Value: "\x00"}}, ""); err == nil {
			t.Errorf("%s: an invalid value is accepted", name)
		}
	}
}

// Over returns the setting of a budget that is used up, with its value.
func TestABudgetThatIsUsedUpIsNamed(t *testing.T) {
	s := Site{Max: frontier.Spent{Pages: 10_000, Bytes: 2000, Time: time.Minute}}
	for want, spent := range map[string]frontier.Spent{
		"":                     {Pages: 9999, Bytes: 1999, Time: time.Minute - 1},
		"max-host-pages 10000": {Pages: 10_000, Bytes: 2000},
		"max-host-bytes 2kB":   {Bytes: 2001, Time: time.Hour},
		"max-host-time 1m":     {Time: time.Minute},
	} {
		if is := s.Over(spent); is != want {
			t.Errorf("%+v: %q, want %q", spent, is, want)
		}
		if is := new(Site).Over(spent); is != "" {
			t.Errorf("%+v: %q without a budget", spent, is)
		}
	}
}
