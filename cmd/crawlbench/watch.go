package main

import (
	"errors"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"time"
)

// watchGoroutines counts goroutines until the returned function is called. That returns the
// maximum number, without its own.
func watchGoroutines() func() int {
	stop, most := make(chan struct{}), make(chan int)
	// This goroutine ends when the count is requested.
	go func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		n := 0
		for {
			select {
			case <-stop:
				most <- n
				return
			case <-tick.C:
				n = max(n, runtime.NumGoroutine()-1)
			}
		}
	}()
	return func() int {
		close(stop)
		return <-most
	}
}

// startProfile begins a CPU profile if path is not empty. stop writes it to path.cpu, and the
// profiles of runtime/pprof in names to path.NAME.
func startProfile(path string, names ...string) (stop func() error, err error) {
	if path == "" {
		return func() error { return nil }, nil
	}
	if slices.Contains(names, "block") {
		runtime.SetBlockProfileRate(10_000)
	}
	if slices.Contains(names, "mutex") {
		runtime.SetMutexProfileFraction(10)
	}
	cpu, err := os.Create(path + ".cpu")
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(cpu); err != nil {
		return nil, errors.Join(err, cpu.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		errs := []error{cpu.Close()}
		if slices.Contains(names, "heap") {
			runtime.GC() // the heap profile shows the state after the last collection
		}
		for _, name := range names {
			f, err := os.Create(path + "." + name)
			if err == nil {
				err = errors.Join(pprof.Lookup(name).WriteTo(f, 0), f.Close())
			}
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	}, nil
}
