package store

import "github.com/permesso-crawler/permesso/internal/state"

// A Run describes the process that holds a crawl: its process number PID, when it has Started,
// and the path of its control socket, Control, if the socket is not in the directory of the
// crawl. If the process has ended without closing the crawl, Full says whether the disk was
// full.
type Run = state.Run

// ReadRun returns the process that holds the crawl in dir, or that held it when it was
// killed. The error is fs.ErrNotExist if no such process is recorded.
func ReadRun(dir string) (*Run, error) { return state.ReadRun(dir) }

// NameControl writes the path of the control socket to the run.json of the crawl in dir. Only
// the process that holds the crawl may call it.
func NameControl(dir, path string) error { return state.NameControl(dir, path) }

// Holder returns the process that holds the crawl in dir; ok is false if no process does.
func Holder(dir string) (run *Run, ok bool) { return state.Holder(dir) }
