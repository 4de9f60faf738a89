package inorder

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

// TestMain fails if a test leaves a goroutine running.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Each returns the same as a loop, with any number of workers, any memory, and an error at any
// place.
func TestEachIsALoop(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		workers := rapid.IntRange(1, 6).Draw(t, "workers")
		memory := rapid.Int64Range(1, 40).Draw(t, "memory")
		sizes := rapid.SliceOfN(rapid.Int64Range(0, 60), 0, 50).Draw(t, "sizes")
		bad := rapid.IntRange(0, 60).Draw(t, "bad")
		produceFails := rapid.Bool().Draw(t, "produceFails")
		errProduce, errUse := errors.New("produce"), errors.New("use")
		var used []int
		var held, most atomic.Int64
		err := Each(Limits{workers, memory}, func(put func(int, int64) bool) error {
			for i, size := range sizes {
				if !put(i, size) {
					return errors.New("put has returned false")
				}
			}
			if produceFails {
				return errProduce
			}
			return nil
		}, func(i int) int {
			now := held.Add(sizes[i])
			for was := most.Load(); now > was && !most.CompareAndSwap(was, now); was = most.Load() {
			}
			return i
		}, func(i int) error {
			held.Add(-sizes[i])
			used = append(used, i)
			if i == bad {
				return errUse
			}
			return nil
		})
		want := error(nil)
		switch {
		case bad < len(sizes):
			want = errUse
		case produceFails:
			want = errProduce
		}
		if err != want {
			t.Fatalf("error %v, want %v", err, want)
		}
		if len(used) != min(len(sizes), bad+1) {
			t.Fatalf("%d results were used", len(used))
		}
		for i, n := range used {
			if i != n {
				t.Fatalf("the results were used in the order %v", used)
			}
		}
		largest := memory
		for _, size := range sizes {
			largest = max(largest, size)
		}
		if most.Load() > largest {
			t.Fatalf("%d bytes were held, where %d are the limit", most.Load(), largest)
		}
	})
}

// The workers run at the same time.
func TestWorkersWorkTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		n := 0
		err := Each(Limits{4, 100}, func(put func(int, int64) bool) error {
			for i := range 40 {
				put(i, 1)
			}
			return nil
		}, func(i int) int {
			time.Sleep(time.Duration(1+rand.IntN(10)) * time.Second)
			return i
		}, func(int) error { n++; return nil })
		if took := time.Since(begin); err != nil || n != 40 || took > 140*time.Second {
			t.Errorf("%d results in %v: %v", n, took, err)
		}
	})
}

func ExampleEach() {
	err := Each(Limits{Memory: 1 << 20}, func(put func(string, int64) bool) error {
		for _, word := range []string{"one", "two", "three"} {
			if !put(word, int64(len(word))) {
				return nil
			}
		}
		return nil
	}, func(word string) int { return len(word) }, func(n int) error {
		_, err := fmt.Println(n)
		return err
	})
	fmt.Println(err)
	// Output:
	// 3
	// 3
	// 5
	// <nil>
}
