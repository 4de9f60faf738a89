package storage

import "github.com/permesso-crawler/permesso/storage/internal/disk"

// SyncDir makes the names in a directory survive a power cut, if the system supports it.
// Use it for other files that are kept in a crawl or beside crawls.
func SyncDir(path string) error { return disk.Disk{}.SyncDir(path) }
