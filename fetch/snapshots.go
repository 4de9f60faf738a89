package fetch

import (
	"sync"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// memorySnapshots stores snapshots in memory.
type memorySnapshots struct {
	mu       sync.Mutex // guards the maps, which the visits of all sites share
	last     map[frontier.Site]*robots.Snapshot
	licenses map[string]*robots.Snapshot // by frontier.URL.Key
}

// newMemorySnapshots returns an empty store.
func newMemorySnapshots() *memorySnapshots {
	return &memorySnapshots{last: map[frontier.Site]*robots.Snapshot{}, licenses: map[string]*robots.Snapshot{}}
}

// Snapshot implements Snapshots.
func (m *memorySnapshots) Snapshot(site frontier.Site) (*robots.Snapshot, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last[site], nil
}

// PutSnapshot implements Snapshots.
func (m *memorySnapshots) PutSnapshot(site frontier.Site, s *robots.Snapshot) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last[site] = s
	return nil
}

// License implements Snapshots.
func (m *memorySnapshots) License(u frontier.URL) (*robots.Snapshot, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.licenses[u.Key()], nil
}

// PutLicense implements Snapshots.
func (m *memorySnapshots) PutLicense(u frontier.URL, s *robots.Snapshot) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.licenses[u.Key()] = s
	return nil
}
