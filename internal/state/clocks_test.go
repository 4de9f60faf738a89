package state

import (
	"reflect"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// Every field of a site's clocks is stored and read again.
func TestTheClocksOfASiteComeBackAsTheyWere(t *testing.T) {
	var want frontier.Clocks
	v := reflect.ValueOf(&want).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i).Addr().Interface().(type) {
		case *time.Time:
			*f = time.Unix(1893456000+int64(i), 123456789)
		case *time.Duration:
			*f = time.Duration(i+1) * time.Millisecond
		case *frontier.Clock:
			*f = frontier.FailuresClock
		case *int:
			*f = i + 1
		case *bool:
			*f = true
		default:
			t.Fatalf("no value for the field %s", v.Type().Field(i).Name)
		}
	}
	dir := t.TempDir()
	db := open(t, dir)
	e := entry(t, "http://a.example/")
	if err := db.Submit(frontier.Completion{Site: e.URL.Site(), Clocks: want, Links: []frontier.Entry{e}}); err != nil {
		t.Fatal(err)
	}
	settle(t, db, 1)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = open(t, dir)
	defer db.Close()
	known := 0
	for st, err := range db.Sites() {
		known++
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(st.Clocks, want) {
			t.Errorf("got  %+v\nwant %+v", st.Clocks, want)
		}
	}
	if known != 1 {
		t.Errorf("%d sites", known)
	}
}

// A clock is stored by its number, not by its name.
func TestClocksHaveNumbers(t *testing.T) {
	for _, c := range []frontier.Clock{
		frontier.OwnClock, frontier.CrawlDelayClock, frontier.RateClock, frontier.VisitTimeClock, frontier.AdaptiveClock,
		frontier.RetryAfterClock, frontier.BackOffClock, frontier.FailuresClock, frontier.RobotsClock, frontier.IPClock, frontier.HostClock,
		frontier.DomainClock, frontier.MachineClock, frontier.SiteClock, frontier.RestartClock, frontier.RetryClock, frontier.AgainClock,
	} {
		b := appendClock(nil, c)
		if d := (decoder{b: b}); len(b) != 1 || d.clock() != c {
			t.Errorf("%s is kept as %x", c, b)
		}
	}
}
