package frontier

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
	"unsafe"
)

// A site that waits in the queue takes little memory, because millions of sites may wait there.
func TestASiteThatRestsTakesLittleMemory(t *testing.T) {
	const pointers = 8 // size of a pointer of 64 bits; with smaller pointers a site takes less memory
	if size := unsafe.Sizeof(site{}); size > 10*pointers {
		t.Errorf("a site without a request takes %d bytes", size)
	}
	if size := unsafe.Sizeof(site{}) + unsafe.Sizeof(past{}); size > 224 {
		t.Errorf("a site with a request takes %d bytes", size)
	}
}

func TestWorkIsOverWhereNothingOfItIsLeft(t *testing.T) {
	if w := (work{}); !w.over() {
		t.Error("no work is not over")
	}
	for i := range reflect.TypeFor[work]().NumField() {
		w := work{}
		name, v := reflect.TypeFor[work]().Field(i).Name, reflect.ValueOf(&w).Elem().Field(i)
		// Unexported fields can only be set by their address.
		v = reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
		switch v.Kind() {
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		case reflect.Pointer:
			v.Set(reflect.New(v.Type().Elem()))
		case reflect.Int:
			v.SetInt(1)
		case reflect.Uint64:
			v.SetUint(1)
		default:
			b := unsafe.Slice((*byte)(unsafe.Pointer(v.UnsafeAddr())), 8)
			b[0] = 1 // the first byte of a time, or of the first field of a struct
		}
		s := &site{doing: &w}
		if s.rest(); s.doing == nil {
			t.Errorf("work is forgotten that has only %s", name)
		}
	}
}

// Reading the work of a site does not allocate it.
func TestReadingAWorkDoesNotAllocate(t *testing.T) {
	f := opened(t, new(memory), Options{Requisites: true, Delay: time.Second})
	s := f.site("http://a.example")
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dueAt(s)
	f.askable(s)
	f.status(s)
	f.overBudget(s)
	s.next(false)
	s.next(true)
	s.rank()
	s.dueRequisite()
	s.setRetry(time.Time{}, time.Time{})
	s.setRequisites(requisites{})
	s.want(nil)
	s.promise(byHost, time.Time{})
	for kind := range kinds {
		f.part(s, kind)
	}
	f.free(s)
	if s.doing != nil || s.past != nil {
		t.Errorf("%+v, %+v", s.doing, s.past)
	}
}

func TestASiteRestsAgainAfterItsTurn(t *testing.T) {
	f := opened(t, new(memory), Options{Delay: -1, ReadAhead: 2}, "http://a.example/1", "http://a.example/2", "http://a.example/3")
	var hosted []string
	for range 3 {
		turn, err := f.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		hosted = append(hosted, string(turn.Entry().URL.String()))
		if turn.site.doing == nil {
			t.Fatal("a site that is out has no work")
		}
		if _, err := turn.Finish(Outcome{Fate: Fate{Code: Fetched, Status: 200}}); err != nil {
			t.Fatal(err)
		}
		if w := turn.site.work(); len(w.ahead) == 0 && turn.site.doing != nil {
			t.Errorf("after %v there is still %+v", hosted, *w)
		}
	}
	if got := strings.Join(hosted, " "); got != "http://a.example/1 http://a.example/2 http://a.example/3" {
		t.Error(got)
	}
	if !reflect.ValueOf(&noWork).Elem().IsZero() {
		t.Errorf("the work of all sites that have none was written to: %+v", noWork)
	}
}

// Stats.Queued is the sum of the numbers that the backlog reported last. It may be negative until
// a backlog has compared all links.
func TestWhatIsQueuedIsTheSumOfWhatTheBacklogSaidLast(t *testing.T) {
	f := opened(t, new(memory), Options{})
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, n := range []int{3, -1, math.MaxInt, -1, 0, math.MinInt, 7} {
		f.learn(SiteState{Site: "http://a.example", Queued: n, Ready: n > 0})
		f.learn(SiteState{Site: "http://b.example", Queued: 2, Ready: true})
		if want := 2 + min(max(n, math.MinInt32), math.MaxInt32); f.entries != want {
			t.Errorf("after %d: %d entries, want %d", n, f.entries, want)
		}
	}
}
