package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/permesso-crawler/permesso/storage/internal/state"
)

// Verified is what Verify has looked at.
type Verified struct {
	Sites, Entries, Snapshots int
	Pages, LogLines           int
	Records                   int // of WARC files
	Purged                    int // of them, that stand in the place of one that was purged
	LostRecords               int // of them, that stand in the place of one that could not be read, and was lost
	Bodiless                  int // of them, that repeat an answer that was purged
	Away                      int // of them, that repeat an answer of an earlier crawl that is not at hand: each is a problem, too
	Problems                  int
	Unclean                   bool     // a run did not end by itself: what the next one cuts was not looked at
	Moved                     []string // names of WARC files that are missing, with Check.Moved
}

// Verify is the Verify of a Check whose problems go to problem.
func Verify(dir string, problem func(error)) (Verified, error) {
	return Check{Problem: problem}.Verify(dir)
}

// A Check says how a crawl is verified.
type Check struct {
	Problem func(error) // called with each thing that is wrong
	// Moved says that WARC files that are missing were moved away on purpose:
	// they are listed in Verified and are no problem.
	Moved bool
	Temp  string // directory for temporary files, some 300 bytes for each URL; "" is the system's

	beside   string    // the crawl whose neighbours may have bodies that are repeated; "": this one
	findings *findings // told of what a Repair makes fit; nil: nothing is told
}

// Verify reads everything that the crawl in dir consists of, changes nothing,
// and calls Problem with each thing that is not as it was written, or that does
// not fit the rest: the checksums in the state and those of the outputs, and what
// each file says of a URL or an answer against what the others say. Of a crawl
// that was killed it looks at what the next run does not cut. It needs 16 bytes of
// memory for each URL of the largest site. A purge that was broken off is the only
// problem, a *PurgeError, until it is finished.
//
// The error is an *InUseError, a *VersionError, a *DamagedError for a state file
// of which nothing can be read, one of the file system, or is ErrNoCrawl, as a
// *NotBegunError is. A
// state file that is damaged in a certain way makes bbolt panic in a goroutine of its own, which
// ends the process: who must go on calls Verify in a child process.
func (c Check) Verify(dir string) (Verified, error) {
	v := &verifier{Check: c, dir: dir}
	if err := notRepairing(dir); err != nil {
		return v.done, err
	}
	if _, err := os.Stat(filepath.Join(dir, StateFile)); errors.Is(err, fs.ErrNotExist) && Remains(dir) == "" {
		return v.done, noCrawl(dir, err.Error())
	}
	if err := errors.Join(orphaned(dir), NotBegun(dir)); err != nil {
		return v.done, err
	}
	v.facts = newFacts(c.Temp)
	defer v.facts.close()
	if err := v.readState(); err != nil {
		return v.done, err
	}
	if err := notPurging(dir); err != nil {
		v.problem("%w", err) // until it is finished nothing fits the rest
		return v.done, nil
	}
	if err := errors.Join(v.repaired(), v.outputs()); err != nil {
		return v.done, err
	}
	return v.done, v.compare()
}

// ErrNoCrawl says that there is nothing to verify: no crawl was begun.
var ErrNoCrawl = errors.New("there is no crawl")

func noCrawl(dir, why string) error { return fmt.Errorf("%w in %s: %s", ErrNoCrawl, dir, why) }

type verifier struct {
	Check
	dir     string
	done    Verified
	state   state.Checked // what the state file says
	facts   *facts
	past    *Past           // crawls before this one; nil until one is asked for
	crawled bool            // crawl.log says that a run began
	indexed bool            // index.cdxj is there, and of this state
	present map[string]bool // WARC files, by name
	absent  map[string]int  // captures that are in others
	logLost bool            // a repair has found lines of crawl.log lost
}

// whole reports whether every run has written an output.
func (v *verifier) whole(output string) bool {
	m, ok := v.state.Growing[output]
	return ok && !m.Part
}

func (v *verifier) problem(format string, args ...any) {
	v.done.Problems++
	if v.Problem != nil {
		v.Problem(fmt.Errorf(format, args...))
	}
}

// An IndexError is a problem of the index alone, which MakeIndex mends.
type IndexError struct{ Err error }

func (e *IndexError) Error() string { return e.Err.Error() }

func (e *IndexError) Unwrap() error { return e.Err }

// An AwayError is a problem of no file of the crawl: a record repeats an answer of an earlier
// one that is not at hand, or of which that cannot be read.
type AwayError struct{ Err error }

func (e *AwayError) Error() string { return e.Err.Error() }

func (e *AwayError) Unwrap() error { return e.Err }

// problemOf tells a problem of a file; one of the index can be mended, and says so.
func (v *verifier) problemOf(file, format string, args ...any) {
	err := fmt.Errorf(format, args...)
	if file == IndexFile || file == indexPart {
		err = &IndexError{err}
	}
	v.problem("%w", err)
}

// readState checks the state file by itself, and notes what the outputs must have
// because it says so.
func (v *verifier) readState() error {
	read, err := state.Check{
		Problem: func(err error) { v.problem("%w", err) },
		Fate:    v.knowFate,
		Payload: func(p state.Payload) { v.know(referredKey(p.URL, p.Date), ofPayload, 0, p.URL) },
	}.Read(v.dir)
	v.state = read
	v.done.Sites, v.done.Entries, v.done.Snapshots, v.done.Unclean = read.Sites, read.Entries, read.Snapshots, read.Unclean
	return err
}
