package storage

import "github.com/permesso-crawler/permesso/storage/internal/disk"

// SyncDir makes sure that the names in a directory outlast a power cut, where the system
// has a way to: for who keeps files of their own in a crawl, or beside crawls.
func SyncDir(path string) error { return disk.Disk{}.SyncDir(path) }
