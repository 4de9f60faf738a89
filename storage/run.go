package storage

import "github.com/permesso-crawler/permesso/storage/internal/state"

// A Run says which process (PID) holds a crawl, since when (Started), and where it
// listens, where that is not in the directory (Control). Of one that has ended, and was not
// able to say so in the state, it says whether that was for want of room on the disk (Full).
type Run = state.Run

// ReadRun says which process holds the crawl in dir, or held it when it was
// killed. The error is fs.ErrNotExist where none does.
func ReadRun(dir string) (*Run, error) { return state.ReadRun(dir) }

// NameControl notes in run.json where the process that holds the crawl in dir listens.
// Only that process may call it.
func NameControl(dir, path string) error { return state.NameControl(dir, path) }

// Holder says which process holds the crawl in dir; ok is false if none does.
func Holder(dir string) (run *Run, ok bool) { return state.Holder(dir) }
