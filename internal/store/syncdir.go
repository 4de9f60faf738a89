package store

import "github.com/permesso-crawler/permesso/internal/disk"

// SyncDir makes the names in the directory path survive a power cut, if the system supports
// this. Use it after making other files in a crawl or beside crawls.
func SyncDir(path string) error { return disk.Disk{}.SyncDir(path) }
