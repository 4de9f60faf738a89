package frontier

import (
	"errors"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
)

// The pause of an address that an earlier run has stored lasts at most as long as the address
// delay of this run.
func TestAKeptClockOfAnAddress(t *testing.T) {
	const delay = time.Minute
	for _, tc := range []struct {
		ahead, delay, want time.Duration
	}{
		{-time.Second, delay, 0},
		{0, delay, 0},
		{1, delay, 1},
		{30 * time.Second, delay, 30 * time.Second},
		{delay, delay, delay},
		{delay + 1, delay, delay},
		{5 * 365 * 24 * time.Hour, delay, delay},
		{time.Hour, -1, 0}, // this run has no clock for addresses
	} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			b := new(memory)
			if err := b.Submit(Completion{Common: []CommonClock{{"ip " + oneAddr.String(), begin.Add(tc.ahead)}, {"other", begin.Add(time.Hour)}}}); err != nil {
				t.Fatal(err)
			}
			<-b.Grown() // drop the growth of the earlier run
			turn, err := opened(t, b, Options{IPDelay: tc.delay}, "http://a.example/").Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var notYet *NotYet
			switch err := turn.Bind(oneAddr, true); {
			case tc.want == 0:
				if err != nil || turn.Asked() != (Pause{}) {
					t.Errorf("%v: %v, %+v", tc.ahead, err, turn.Asked())
				}
			case !errors.As(err, &notYet) || *notYet != (NotYet{IPClock, begin.Add(tc.want)}):
				t.Errorf("%v: %v, want %v", tc.ahead, err, tc.want)
			default:
				time.Sleep(tc.want)
				if err := turn.Bind(oneAddr, true); err != nil || turn.Asked() != (Pause{By: IPClock, For: delay, Since: begin.Add(tc.want - delay)}) {
					t.Errorf("%v: %v, %+v", tc.ahead, err, turn.Asked())
				}
			}
		})
	}
}

// After a restart, all services of a host rest for as long as the one that answered last.
func TestAHostRestsAfterARestartAsBefore(t *testing.T) {
	const none, page, rest, silence = NoTrouble, PageTrouble, SiteTrouble, SilenceTrouble
	for _, troubles := range [][]Trouble{
		{none}, {page}, {rest}, {silence},
		{page, page}, {page, page, page}, {rest, rest}, {none, rest, silence},
		{rest, none}, {page, page, none}, {rest, none, none, none}, {page, none, page, page},
		{rest, none, none, none, page}, {none, none, none, page, page}, {rest, page, page, page, page},
	} {
		synctest.Test(t, func(t *testing.T) {
			site, end := Site("http://a.example"), time.Now()
			c := Clocks{Public: true}
			for _, trouble := range troubles {
				end = end.Add(time.Second)
				c.move(site, Request{Started: end, Ended: end}, trouble, time.Time{}, DefaultDelay)
			}
			time.Sleep(time.Until(end))
			want := c.Due
			c.Due, c.By = want.Add(time.Hour), RobotsClock // RobotsClock does not affect other sites
			f := opened(t, knowing(t, c), Options{}, "https://a.example/")
			turn, err := f.Next(t.Context())
			if err != nil || turn.Site() != "https://a.example" {
				t.Fatal(turn, err)
			}
			var notYet *NotYet
			if err := turn.Bind(netip.MustParseAddr("16.0.0.9"), true); !errors.As(err, &notYet) || *notYet != (NotYet{HostClock, want}) {
				t.Errorf("%v: %v, want %v", troubles, err, want)
			}
		})
	}
}

// A stored pause that would end before its start is restored as zero.
func TestAKeptPauseIsNeverNegative(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		for due, want := range map[time.Time]time.Duration{{}: 0, now.Add(-time.Hour): 0, now: 0, now.Add(1): 1} {
			f := opened(t, knowing(t, Clocks{Ended: now, Due: due}), Options{})
			for st := range f.Sites() {
				if st.Pause != want {
					t.Errorf("due %v: a pause of %v, want %v", due, st.Pause, want)
				}
			}
		}
	})
}

// An address that has no clock is not reserved in Options.Shared.
func TestAnAddressWithoutAClockIsNotTaken(t *testing.T) {
	for delay, want := range map[time.Duration]bool{-1: false, 0: true, 1: true} {
		synctest.Test(t, func(t *testing.T) {
			shared := machine{}
			turn, err := opened(t, new(memory), Options{IPDelay: delay, Shared: shared}, "http://a.example/").Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := turn.Bind(oneAddr, true); err != nil {
				t.Fatal(err)
			}
			if _, taken := shared["ip "+oneAddr.String()]; taken != want {
				t.Errorf("IPDelay %v: taken %v", delay, taken)
			}
		})
	}
}
