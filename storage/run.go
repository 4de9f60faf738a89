package storage

import "github.com/permesso-crawler/permesso/storage/internal/state"

// A Run says which process (PID) holds a crawl, since when (Started), and where it listens,
// if that is not in the directory (Control). If the process has ended and could not say so
// in the state, Full says whether the disk was full.
type Run = state.Run

// ReadRun returns the process that holds the crawl in dir, or that held it when it was
// killed. The error is fs.ErrNotExist if no such process is recorded.
func ReadRun(dir string) (*Run, error) { return state.ReadRun(dir) }

// NameControl writes into run.json where the process that holds the crawl in dir listens.
// Only that process may call it.
func NameControl(dir, path string) error { return state.NameControl(dir, path) }

// Holder returns the process that holds the crawl in dir; ok is false if no process does.
func Holder(dir string) (run *Run, ok bool) { return state.Holder(dir) }
