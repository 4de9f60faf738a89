package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
)

// reopen measures a start with an empty page cache, and writes profiles of it unless their path
// is empty.
func (g *growth) reopen(out io.Writer, profile string) error {
	file, err := os.Open(filepath.Join(g.dir, store.StateFile))
	if err != nil {
		return err
	}
	if err := errors.Join(forget(file), file.Close()); err != nil {
		return err
	}
	runtime.GC()
	debug.FreeOSMemory()
	before := held()
	profiled, err := startProfile(profile, "heap")
	if err != nil {
		return err
	}
	start, spent := time.Now(), cpuTime()
	db, err := store.Open(g.dir, store.Options{NoPages: true})
	if err != nil {
		return err
	}
	opened := time.Since(start)
	f, err := frontier.New(db, frontier.Options{Delay: -1})
	if err != nil {
		return err
	}
	scanned, cost := time.Since(start), cpuTime()-spent
	t, err := f.Next(context.Background())
	if err != nil {
		return err
	}
	first := time.Since(start)
	anonymous := procValue("/proc/self/status", "RssAnon:") * 1024
	if err := profiled(); err != nil {
		return err
	}
	if _, err := t.Finish(frontier.Outcome{Again: true}); err != nil {
		return err
	}
	st, inUse := f.Stats(), held()-before
	runtime.KeepAlive(f)
	fmt.Fprintf(out, "\ncold start: %v until the file is open, %v with %d sites (%v of CPU), %v until the first turn; %.0f MiB anonymous, %.0f B for each site with queued work, of which %.0f B are in use\n",
		opened.Round(time.Millisecond), scanned.Round(time.Millisecond), st.Sites, cost.Round(time.Millisecond), first.Round(time.Millisecond),
		float64(anonymous)/(1<<20), float64(anonymous)/float64(max(1, st.Sites)), float64(inUse)/float64(max(1, st.Sites)))
	return db.Close()
}

// held returns the bytes of memory that are reachable.
func held() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
