package series

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/storage"
)

// A State says how far a snapshot is.
type State struct {
	Over    bool           // it has ended by itself: nobody goes on with it
	Running bool           // a process is at work on it
	Begun   bool           // a run has begun in it; false: it was made, and nothing more
	Status  crawler.Status // of one that has begun, and that nobody runs
}

// Ended is when it ended; the zero time if it has not.
func (s State) Ended() time.Time {
	if !s.Over {
		return time.Time{}
	}
	return s.Status.Time
}

// overBy are the ends of a run behind which a snapshot is over: nothing is left, or a
// limit that was asked for, which counts for each snapshot anew.
var overBy = map[crawler.End]bool{
	crawler.EndDone: true, crawler.EndUnasked: true, crawler.EndPatience: true, crawler.EndLimit: true, crawler.EndTime: true,
}

// State reads how far the snapshot is, and changes nothing. One whose last run was
// stopped, was killed, or has failed is not over. The errors are those of
// crawler.ReadStatus, but for what State tells itself.
func (n Snapshot) State() (State, error) {
	if _, err := os.Stat(filepath.Join(n.Dir, storage.StateFile)); errors.Is(err, fs.ErrNotExist) {
		return State{}, nil
	}
	var inUse *storage.InUseError
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

// LastOver is the newest snapshot of some that is over; ok is false where none is. One
// that cannot be read is none.
func LastOver(snapshots []Snapshot) (last Snapshot, ok bool) {
	for i := len(snapshots) - 1; i >= 0; i-- {
		if state, err := snapshots[i].State(); err == nil && state.Over {
			return snapshots[i], true
		}
	}
	return Snapshot{}, false
}
