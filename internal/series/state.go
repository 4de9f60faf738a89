package series

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/store"
)

// A State says whether a snapshot has begun, is running, or is over.
type State struct {
	Over    bool           // the crawl has ended by itself, so no run continues it
	Running bool           // a process is running the crawl
	Begun   bool           // a run of the crawl has begun; otherwise only the directory was made
	Status  crawler.Status // status of the last run; set if Begun is true and Running is false
}

// Ended returns when the snapshot ended. It returns the zero time if it has not.
func (s State) Ended() time.Time {
	if !s.Over {
		return time.Time{}
	}
	return s.Status.Time
}

// overBy has the ends of a run after which a snapshot is over: nothing is left that can be
// fetched now, or a limit of the job was reached. Each snapshot has these limits for itself.
var overBy = map[crawler.End]bool{
	crawler.EndDone: true, crawler.EndUnasked: true, crawler.EndPatience: true, crawler.EndLimit: true, crawler.EndTime: true,
}

// State returns the state of the snapshot, and changes nothing. A snapshot is not over if its
// last run was stopped, was killed, or has failed. State fails with the errors of
// crawler.ReadStatus, except if the crawl is running or has not begun.
func (n Snapshot) State() (State, error) {
	if _, err := os.Stat(filepath.Join(n.Dir, store.StateFile)); errors.Is(err, fs.ErrNotExist) {
		return State{}, nil
	}
	var inUse *store.InUseError
	status, err := crawler.ReadStatus(n.Dir)
	switch {
	case errors.As(err, &inUse):
		return State{Running: true, Begun: true}, nil
	case err != nil:
		return State{}, err
	case status.State == crawler.StateNotBegun:
		return State{}, nil
	}
	return State{Over: status.State == crawler.StateEnded && overBy[status.End], Begun: true, Status: status}, nil
}

// LastOver returns the newest of the given snapshots that is over. It skips snapshots that
// cannot be read. ok is false if no snapshot is over.
func LastOver(snapshots []Snapshot) (last Snapshot, ok bool) {
	for i := len(snapshots) - 1; i >= 0; i-- {
		if state, err := snapshots[i].State(); err == nil && state.Over {
			return snapshots[i], true
		}
	}
	return Snapshot{}, false
}
