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
	// farthest is how far in the future a time may be. A later time is ignored: a process with a
	// wrong clock has written it, and it must not block a site for years.
	farthest = 24 * time.Hour
	leased   = 1 // the lowest bit of a time is set while a request is under way
)

// A Table implements frontier.Shared. It is safe for concurrent use, also by several
// processes.
type Table struct {
	mem []byte

	// mu guards reserved, and is held while mem is used, so that Close does not unmap mem
	// meanwhile. It does not guard the places in mem, because other processes do not have this
	// lock. Places are changed by atomic operations.
	mu       sync.Mutex
	reserved map[string]int64 // for each name, the number that this table has written to the name's place
}

// Open opens the table in the file at path, or creates the file. It may return an error of the
// file system.
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
	case info.Size() < fileSize: // the file is new, or another process has not finished creating it
		if err := f.Truncate(fileSize); err != nil {
			return nil, err
		}
		if err := allocate(f, fileSize); err != nil {
			return nil, fmt.Errorf("there is no room for %s (%d bytes): %w", path, fileSize, err)
		}
	default:
		return nil, fmt.Errorf("%s is %d bytes long, not %d: it is not a table of clocks: remove it", path, info.Size(), fileSize)
	}
	mem, err := mapFile(f, fileSize)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be mapped: %w", path, err)
	}
	return &Table{mem: mem, reserved: map[string]int64{}}, nil
}

// Close unmaps the table. The reservations stay in the file.
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

// Reserve implements frontier.Shared. After Close, or if the file was truncated, every key can
// be reserved.
func (t *Table) Reserve(key string, now, until time.Time) (taken frontier.Taken, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mem == nil {
		return taken, true
	}
	// If another process truncates the file, an access to mem panics. Then every key counts as
	// free.
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

// Renew implements frontier.Shared. It changes nothing if another process has reserved key
// after this table did.
func (t *Table) Renew(key string, until time.Time) {
	t.set(key, until, leased)
}

// Release implements frontier.Shared. It limits until to about a day from now. It changes nothing
// if another process has reserved key after this table did.
func (t *Table) Release(key string, until time.Time) {
	t.set(key, until, 0)
}

// set writes until to the place of key, if this table has reserved key. mark is the lowest bit of
// the new number: the constant leased to renew the lease, or 0 to end it.
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
	defer func() { _ = recover() }() // an access to mem may panic, see Reserve
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	if to := nanos(until) | mark; t.place(key).CompareAndSwap(was, to) && mark == leased {
		t.reserved[key] = to
	}
}

// DefaultPath returns the path of the table of the crawl command: permesso/clocks in the state
// directory of the user (XDG Base Directory Specification). A program that opens this table shares
// its clocks with the crawls of that command.
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
	// The index is within the mapping, and the address is aligned: mem begins at a page.
	return (*atomic.Int64)(unsafe.Pointer(&t.mem[i*8]))
}

// nanos returns t in the form of a place in the table, with a zero in the bit that marks a lease.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return (t.UnixNano() + leased) &^ leased
}
