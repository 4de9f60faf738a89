// Package inorder uses all processors for work whose results are needed in order.
package inorder

import (
	"context"
	"runtime"
	"sync"

	"golang.org/x/sync/semaphore"
)

// Limits bound what Each uses.
type Limits struct {
	Workers int   // number of goroutines that work; 0: GOMAXPROCS
	Memory  int64 // largest sum of the sizes of items that were put and not used yet, in bytes
}

func (l Limits) workers() int {
	if l.Workers > 0 {
		return l.Workers
	}
	return runtime.GOMAXPROCS(0)
}

// Each calls work for each item, in several goroutines, and then use with the result, in the
// order of the items. produce calls put for each item, with the size in bytes of the item and
// its result. When put returns false, produce must return. A single item may be larger than
// l.Memory; Each then holds no other item.
//
// use is called by the goroutine that has called Each. produce and work are called by other
// goroutines, which have ended when Each returns. With one worker there are no other
// goroutines, and all calls are made one after the other.
//
// If use returns an error, Each calls neither work nor use any more, and returns the error.
// Otherwise it uses all items that were put, and then returns the error of produce.
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
	// Each job is in both channels: a worker takes it from todo, and this goroutine takes it
	// from order.
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

// Alone reports whether Each works without other goroutines.
func (l Limits) Alone() bool { return l.workers() == 1 }
