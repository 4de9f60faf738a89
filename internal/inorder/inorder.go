// Package inorder uses all processors for work whose results are needed in order.
package inorder

import (
	"context"
	"runtime"
	"sync"

	"golang.org/x/sync/semaphore"
)

// Limits of what Each holds.
type Limits struct {
	Workers int   // goroutines that work; 0: GOMAXPROCS
	Memory  int64 // the largest sum of the sizes of items that were put and not yet used
}

func (l Limits) workers() int {
	if l.Workers > 0 {
		return l.Workers
	}
	return runtime.GOMAXPROCS(0)
}

// Each calls work for each item, in several goroutines, and then use with the result, in the
// order of the items. produce calls put for each item, with the size of the item and its result
// in bytes, and returns when put returns false. A single item may be larger than l.Memory; it is
// then the only one that Each holds.
//
// The calls of use are made by the goroutine that has called Each, one after the other. Those of
// produce and work are made by other goroutines, which have ended when Each returns. With one
// worker there are no other goroutines, and all calls are made one after the other.
//
// Each returns the first error of use, after which it calls neither work nor use. Otherwise it
// returns the error of produce, after all items that were put are used.
func Each[T, R any](l Limits, produce func(put func(item T, size int64) bool) error, work func(T) R, use func(R) error) error {
	workers := l.workers()
	if workers == 1 {
		var failed error
		err := produce(func(item T, _ int64) bool {
			failed = use(work(item))
			return failed == nil
		})
		if failed != nil {
			return failed
		}
		return err
	}

	type job struct {
		item T
		size int64
		done chan R
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	free := semaphore.NewWeighted(l.Memory)
	// A job is in both channels: the workers take it from one, and this goroutine from the other.
	todo, order := make(chan *job, workers), make(chan *job, 2*workers)
	var running sync.WaitGroup
	var produced error
	running.Go(func() {
		defer close(todo)
		defer close(order)
		produced = produce(func(item T, size int64) bool {
			j := &job{item, min(size, l.Memory), make(chan R, 1)}
			if free.Acquire(ctx, j.size) != nil {
				return false
			}
			for _, to := range [...]chan *job{order, todo} {
				select {
				case to <- j:
				case <-ctx.Done():
					return false
				}
			}
			return true
		})
	})
	for range workers {
		running.Go(func() {
			for j := range todo {
				if ctx.Err() == nil {
					j.done <- work(j.item)
				}
			}
		})
	}
	for j := range order {
		if err := use(<-j.done); err != nil {
			stop()
			running.Wait()
			return err
		}
		free.Release(j.size)
	}
	running.Wait()
	return produced
}

// Alone reports whether Each makes all calls one after the other.
func (l Limits) Alone() bool { return l.workers() == 1 }
