package fetch

import (
	"sync"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// MemorySnapshots stores snapshots in memory.
type MemorySnapshots struct {
	mu       sync.Mutex // guards the maps, which the visits of all sites share
	last     map[frontier.Site]*robots.Snapshot
	licenses map[string]*robots.Snapshot // by key
}

// NewMemorySnapshots returns an empty store.
func NewMemorySnapshots() *MemorySnapshots {
	return &MemorySnapshots{last: map[frontier.Site]*robots.Snapshot{}, licenses: map[string]*robots.Snapshot{}}
}

// Snapshot implements Snapshots.
func (m *MemorySnapshots) Snapshot(site frontier.Site) (*robots.Snapshot, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last[site], nil
}

// PutSnapshot implements Snapshots.
func (m *MemorySnapshots) PutSnapshot(site frontier.Site, s *robots.Snapshot) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last[site] = s
	return nil
}

// License implements Snapshots.
func (m *MemorySnapshots) License(u frontier.URL) (*robots.Snapshot, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.licenses[u.Key()], nil
}

// PutLicense implements Snapshots.
func (m *MemorySnapshots) PutLicense(u frontier.URL, s *robots.Snapshot) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.licenses[u.Key()] = s
	return nil
}
