package fetch

import (
	"container/list"
	"sync"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// memorySnapshots keeps the most recently used snapshots, up to a number of bytes. A robots.txt
// whose snapshot was dropped is requested again.
type memorySnapshots struct {
	mu    sync.Mutex // guards the fields below, which the visits of all sites share
	most  int
	bytes int // sum of all bodies in bytes, plus snapshotSize for each snapshot
	order *list.List
	all   map[string]*list.Element // elements are *memorySnapshot; the key is a site or the key of a license
}

type memorySnapshot struct {
	key      string
	size     int
	snapshot *robots.Snapshot
}

const snapshotSize = 1 << 10 // rough size of a snapshot without its body, in bytes

// newMemorySnapshots returns an empty store. The parameter most is the largest number of bytes that
// it keeps.
func newMemorySnapshots(most int) *memorySnapshots {
	return &memorySnapshots{most: most, order: list.New(), all: map[string]*list.Element{}}
}

func (r *memorySnapshots) get(key string) *robots.Snapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.all[key]
	if e == nil {
		return nil
	}
	r.order.MoveToFront(e)
	return e.Value.(*memorySnapshot).snapshot
}

func (r *memorySnapshots) put(key string, s *robots.Snapshot) {
	size := snapshotSize + sizeOf(s)
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.all[key]; e != nil {
		r.remove(e)
	}
	r.all[key] = r.order.PushFront(&memorySnapshot{key, size, s})
	for r.bytes += size; r.bytes > r.most && r.order.Len() > 1; {
		r.remove(r.order.Back())
	}
}

// remove removes a snapshot. The caller must hold mu.
func (r *memorySnapshots) remove(e *list.Element) {
	old := r.order.Remove(e).(*memorySnapshot)
	delete(r.all, old.key)
	r.bytes -= old.size
}

// Snapshot implements Snapshots.
func (r *memorySnapshots) Snapshot(site frontier.Site) (*robots.Snapshot, error) {
	return r.get(string(site)), nil
}

// PutSnapshot implements Snapshots.
func (r *memorySnapshots) PutSnapshot(site frontier.Site, s *robots.Snapshot) error {
	r.put(string(site), s)
	return nil
}

// License implements Snapshots.
func (r *memorySnapshots) License(u frontier.URL) (*robots.Snapshot, error) {
	return r.get(u.Key()), nil
}

// PutLicense implements Snapshots.
func (r *memorySnapshots) PutLicense(u frontier.URL, s *robots.Snapshot) error {
	r.put(u.Key(), s)
	return nil
}
