package extsort

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
)

// While a goroutine writes a run, records can be added, read and sorted. If the disk is full
// for a time, no record is lost.
func TestRecordsAreAddedWhileARunIsWritten(t *testing.T) {
	t.Parallel()
	full := errors.New("full")
	rapid.Check(t, func(rt *rapid.T) {
		s := small(t, rapid.IntRange(0, 600).Draw(rt, "memory"), rapid.IntRange(2, 4).Draw(rt, "fanIn"))
		s.apart = true
		works := s.create
		var fails atomic.Bool
		s.create = func() (*os.File, error) {
			if fails.Load() {
				return nil, full
			}
			return works()
		}
		var all []record
		for range rapid.IntRange(0, 60).Draw(rt, "steps") {
			fails.Store(rapid.IntRange(0, 4).Draw(rt, "fails") == 0)
			r := record{rapid.StringN(0, 3, 3).Draw(rt, "key"), fmt.Sprint(len(all))}
			err := s.Add([]byte(r.Key), []byte(r.Value))
			if err == nil {
				all = append(all, r)
			} else if !errors.Is(err, full) {
				rt.Fatal(err)
			}
			if s.Len() != int64(len(all)) {
				rt.Fatalf("Len is %d after %d", s.Len(), len(all))
			}
			if rapid.IntRange(0, 9).Draw(rt, "read") > 0 {
				continue
			}
			most := rapid.IntRange(0, len(all)).Draw(rt, "most")
			var got []record
			enough := errors.New("enough")
			err = s.Each(func(key, value []byte) error {
				if len(got) == most {
					return enough
				}
				got = append(got, record{string(key), string(value)})
				return nil
			})
			if want := sorted(all)[:most]; !errors.Is(err, full) && !slices.Equal(got, want) {
				rt.Fatalf("%v: there are %q, want %q", err, got, want)
			}
		}
		fails.Store(false)
		if got := collect(t, s); !slices.Equal(got, sorted(all)) {
			rt.Fatalf("at the end there are %q, want %q", got, sorted(all))
		}
		if err := s.Close(); err != nil {
			rt.Fatal(err)
		}
	})
}

// Half of the memory is for new records while the other half is written.
func TestBothHalvesTogetherAreNoLargerThanTheMemory(t *testing.T) {
	t.Parallel()
	s := small(t, 10_000, 64)
	s.apart = true
	for range 1000 {
		add(t, s, record{"a key", "a value of some bytes"})
		if cap(s.held.buf) > 5000 || len(s.held.buf)+spanSize*len(s.held.spans) > 5000 {
			t.Fatalf("%d bytes and %d records are in a half", cap(s.held.buf), len(s.held.spans))
		}
	}
	if s.wait(); len(s.runs) == 0 {
		t.Error("there are no runs")
	}
	if big := New(t.TempDir(), 1<<20); !big.apart {
		t.Error("a sorter with a megabyte has no goroutine")
	}
}
