// Package machine keeps the clocks that all crawls of one machine have in
// common: until when a site, or an address, is not to be asked again, whichever
// process asks.
//
// They are a table in a file that every process maps into its memory. A name
// has one place in it, by its hash, which holds a time, and whether that is the
// end of a lease (its lowest bit); it is taken by one atomic compare-and-swap, so
// that nobody waits for anybody. Two names that
// share a place can only make each other later. A process that is killed leaves
// nothing behind but times, which pass.
package machine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/zeebo/xxh3"
)

const (
	places   = 1 << 20
	fileSize = places * 8
	// farthest is how far ahead a time can lie that counts: what a clock wrote
	// that was wrong must not block a site for years.
	farthest = 24 * time.Hour
	leased   = 1 // the lowest bit of a time: the process is asking
)

// A Table implements frontier.Shared. It is safe for concurrent use, by several
// processes, too.
type Table struct {
	mem []byte

	// mu guards reserved alone: places in mem are changed by atomic operations, since
	// other processes know no lock of this one.
	mu       sync.Mutex
	reserved map[string]int64 // what this table has written, by name
}

// Open opens the table at path, or makes it. The error is one of the file
// system.
func Open(path string) (*Table, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	switch {
	case info.Size() == fileSize:
	case info.Size() < fileSize: // new, or another process makes it just now
		if err := f.Truncate(fileSize); err != nil {
			return nil, err
		}
		if err := allocate(f, fileSize); err != nil {
			return nil, fmt.Errorf("%s gets no room of %d bytes: %w", path, fileSize, err)
		}
	default:
		return nil, fmt.Errorf("%s is %d bytes long, not %d: it is no table of clocks: remove it", path, info.Size(), fileSize)
	}
	mem, err := mapFile(f, fileSize)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be mapped: %w", path, err)
	}
	return &Table{mem: mem, reserved: map[string]int64{}}, nil
}

// Close gives the memory back. What was reserved stays so.
func (t *Table) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mem == nil {
		return nil
	}
	mem := t.mem
	t.mem = nil
	return unmapFile(mem)
}

// Reserve takes what key names from now until a time, as a lease, unless it is
// taken: then it says until when, and how.
func (t *Table) Reserve(key string, now, until time.Time) (taken frontier.Taken, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mem == nil {
		return taken, true
	}
	// Somebody may have cut the file: then there is no table any more.
	defer func() {
		if recover() != nil {
			taken, ok = frontier.Taken{}, true
		}
	}()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	place, to := t.place(key), nanos(until)|leased
	for {
		was := place.Load()
		if free := time.Unix(0, was); free.After(now) && free.Before(now.Add(farthest)) {
			return frontier.Taken{Until: free, Lease: was&leased != 0}, false
		}
		if place.CompareAndSwap(was, to) {
			t.reserved[key] = to
			return taken, true
		}
	}
}

// Renew makes the lease end later of what this table has reserved. If another process has
// taken it since, nothing is changed.
func (t *Table) Renew(key string, until time.Time) {
	t.set(key, until, leased)
}

// Release sets another time for what this table has reserved, at most a day
// from now. Where somebody else has taken it since, nothing is changed.
func (t *Table) Release(key string, until time.Time) {
	t.set(key, until, 0)
}

// set puts a time in the place of what this table has reserved, with the mark of a lease
// or without.
func (t *Table) set(key string, until time.Time, mark int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	was, ok := t.reserved[key]
	if !ok || t.mem == nil {
		return
	}
	delete(t.reserved, key)
	if most := time.Now().Add(farthest - time.Minute); until.After(most) {
		until = most
	}
	defer func() { _ = recover() }() // as in Reserve
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	if to := nanos(until) | mark; t.place(key).CompareAndSwap(was, to) && mark == leased {
		t.reserved[key] = to
	}
}

// DefaultPath is where the crawl command has the table of a user: permesso/clocks in the
// state directory that the XDG Base Directory Specification names. A program that opens
// it shares its clocks with those crawls.
func DefaultPath() (string, error) {
	dir := os.Getenv("XDG_STATE_HOME")
	if dir == "" || !filepath.IsAbs(dir) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		if home == "" {
			return "", errors.New("there is no home directory")
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(dir, "permesso", "clocks"), nil
}

func (t *Table) place(key string) *atomic.Int64 {
	i := xxh3.HashString(key) % places
	// The place lies within the mapping and is aligned: it begins at a page.
	return (*atomic.Int64)(unsafe.Pointer(&t.mem[i*8]))
}

// nanos is a time as it stands in the table, but for a lease.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return (t.UnixNano() + leased) &^ leased
}
