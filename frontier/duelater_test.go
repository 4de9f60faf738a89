package frontier

import (
	"testing"
	"testing/synctest"
	"time"
)

// lateBacklog is a backlog with another clock: it finds that a retry is due half a second after the time
// that it has reported.
type lateBacklog struct {
	*termed
	told bool
}

func (b *lateBacklog) Read(site Site, now time.Time, entries []Entry) (int, error) {
	st, err := b.State(site)
	if err != nil || b.told || st.Waiting.IsZero() || st.Waiting.After(now) {
		return b.termed.Read(site, now, entries)
	}
	b.told = true
	st.Waiting = st.Waiting.Add(500 * time.Millisecond)
	b.grown.Put(Growth{Sites: []SiteState{st}})
	return 0, nil
}

// A retry that the backlog does not return at its due time is requested at the time that the backlog
// then reports.
func TestARetryThatIsDueLaterThanReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &lateBacklog{termed: &termed{memory: new(memory), terms: map[Site]uint64{"": 1}}}
		f, err := New(b, Options{Term: b.term})
		if err != nil {
			t.Fatal(err)
		}
		b.grown.Put(Growth{Terms: []uint64{1}})
		if err := f.Add(Entry{URL: mustParse(t, "http://a.example/")}); err != nil {
			t.Fatal(err)
		}
		due := time.Now().Add(time.Minute)
		finish(t, turnOf(t, f, siteA), Outcome{Fate: Fate{Code: Waiting, Until: due}})
		turn := turnOf(t, f, siteA)
		if at := time.Now(); !b.told || !at.Equal(due.Add(500*time.Millisecond)) {
			t.Errorf("requested %v after the reported time", at.Sub(due))
		}
		finish(t, turn, page)
		if r := f.Rest(); r.Verdict != ErrEnd {
			t.Errorf("%+v", r)
		}
	})
}
