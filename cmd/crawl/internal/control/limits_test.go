package control

import (
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
)

// A text sets the limit with its name, and no other. An error sets nothing.
func TestALimitIsSetFromItsText(t *testing.T) {
	before := crawler.Limits{Pages: 1, Bytes: 2, Time: 3, Rate: 4, Patience: 5, Concurrency: 6, Open: true}
	for name, test := range map[string]struct {
		text, err string
		set       func(*crawler.Limits)
	}{
		"limit":       {"10", "", func(l *crawler.Limits) { l.Pages = 10 }},
		"max-bytes":   {"2MB", "", func(l *crawler.Limits) { l.Bytes = 2_000_000 }},
		"max-time":    {"90m", "", func(l *crawler.Limits) { l.Time = 90 * time.Minute }},
		"rate":        {"0.5", "", func(l *crawler.Limits) { l.Rate = 0.5 }},
		"patience":    {"1h", "", func(l *crawler.Limits) { l.Patience = time.Hour }},
		"concurrency": {"3", "", func(l *crawler.Limits) { l.Concurrency = 3 }},
		"depth":       {"1", `"depth" is not one of limit, max-bytes, max-time, rate, patience, concurrency`, nil},
		"":            {"", `"" is not one of limit, max-bytes, max-time, rate, patience, concurrency`, nil},
	} {
		is, want := before, before
		err := setLimit(&is, name, test.text)
		if test.set != nil {
			test.set(&want)
		}
		if is != want || (err == nil) != (test.err == "") || err != nil && err.Error() != test.err {
			t.Errorf("%s: %+v, %v, want %+v, %s", name, is, err, want, test.err)
		}
	}
	is := before
	err := setLimit(&is, "max-time", "10")
	if want := "10 has no unit: write 10s for seconds, or 10m for minutes"; is != before || err == nil || err.Error() != want {
		t.Errorf("%+v, %v, want %s", is, err, want)
	}
	if err := setLimit(&is, "rate", "\x00"); is != before || err == nil {
		t.Errorf("%+v, %v", is, err)
	}
}
