package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/permesso-crawler/permesso/internal/lines"
	"github.com/permesso-crawler/permesso/internal/state"
)

// Verified is the result of Verify.
type Verified struct {
	Sites, Entries, Snapshots int // number of each in the state
	Pages, LogLines           int // number of lines of pages.jsonl and crawl.log
	Records                   int // number of records in WARC files
	Purged                    int // number of records that replace a purged record
	LostRecords               int // number of records that replace a record that could not be read, after a Repair
	Bodiless                  int // number of records that repeat a purged answer
	// Away is the number of records that repeat an answer of an earlier crawl that cannot be
	// found. Each of them is also a problem.
	Away     int
	Problems int // number of problems that were found
	// Unclean says that a run did not close the crawl. Bytes that the next run truncates were
	// then not read.
	Unclean bool
	Moved   []string // names of the missing WARC files, if Check.Moved is set
}

// Verify calls the Verify method of a Check whose Problem is the function problem.
func Verify(ctx context.Context, dir string, problem func(error)) (Verified, error) {
	return Check{Problem: problem}.Verify(ctx, dir)
}

// A Check configures a verification.
type Check struct {
	Problem func(error) // called with each problem
	// Moved says that missing WARC files were moved away on purpose. They are then no problems,
	// and Verified.Moved has their names.
	Moved bool
	// Temp is a directory for temporary files, which need some 300 bytes for each URL. "" means
	// the system's directory.
	Temp string

	// beside is the directory of a crawl. Verify looks beside it for other crawls, which may
	// have the answers to which revisit records refer. "": the directory of this crawl.
	beside   string
	findings *findings   // what a Repair must correct; may be nil
	split    lines.Split // how files are divided among goroutines, in tests; its Block is also warcscan.Scan.Segment
}

// Verify reads all files of the crawl in dir and changes nothing. It calls Problem for each
// damage and each contradiction: it compares each file with its checksum in the state, and it
// compares what the files say about the same URL or answer. If the crawl was killed, Verify
// ignores the parts that the next run will truncate. It needs 16 bytes of memory for each URL
// of the largest site. When ctx ends, Verify removes its temporary files and returns the error
// of ctx; but it first finishes a check of the tree of state.db. If a purge was interrupted,
// Verify checks only the state file, and calls Problem with a *PurgeError.
//
// Verify fails with an *InUseError, a *VersionError, a *RepairError, a *DamagedError if nothing
// of the state file can be read, an error of the file system, or an error that matches
// ErrNoCrawl, as a *NotBegunError does. Some kinds of damage to a state file make bbolt panic
// in a goroutine of its own, which ends the process. So a caller that must continue after such
// damage runs Verify in a child process.
func (c Check) Verify(ctx context.Context, dir string) (Verified, error) {
	v := &verifier{Check: c, ctx: ctx, dir: dir}
	if err := errors.Join(ended(ctx), notRepairing(dir)); err != nil {
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
		v.problem("%w", err) // check no other file, because the files contradict each other until the purge is finished
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
	ctx     context.Context
	dir     string
	done    Verified
	state   state.Checked // what the state file contains
	facts   *facts
	past    *Past           // earlier crawls; nil until needed
	crawled bool            // crawl.log has the line with which a run of package crawler begins
	indexed bool            // index.cdxj exists, and covers this state
	present map[string]bool // names of the WARC files in the directory
	absent  map[string]int  // number of captures in each missing WARC file, by its name
	logLost bool            // a repair has found that lines of crawl.log are lost
}

// whole reports whether every run of the crawl has written the output, so that the output
// covers the whole crawl.
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

// An IndexError is a problem of the index only, which MakeIndex repairs.
type IndexError struct{ Err error }

func (e *IndexError) Error() string { return fmt.Sprint(e.Err) }

func (e *IndexError) Unwrap() error { return e.Err }

// A MissingAnswerError says that a record repeats an answer of an earlier crawl, and that the
// record of this answer cannot be found or read. The files of this crawl itself are not
// damaged.
type MissingAnswerError struct{ Err error }

func (e *MissingAnswerError) Error() string { return fmt.Sprint(e.Err) }

func (e *MissingAnswerError) Unwrap() error { return e.Err }

// problemOf reports a problem of a file. If the file is an index, the problem is an
// *IndexError.
func (v *verifier) problemOf(file, format string, args ...any) {
	err := fmt.Errorf(format, args...)
	if file == IndexFile || file == indexPart {
		err = &IndexError{err}
	}
	v.problem("%w", err)
}

// readState checks the state file, and adds a fact for each URL and answer in it.
func (v *verifier) readState() error {
	read, err := state.Check{
		Problem: func(err error) { v.problem("%w", err) },
		Fate:    v.knowFate,
		Payload: func(p state.Payload) { v.know(referredKey(p.URL, p.Date), ofPayload, 0, p.URL) },
	}.Read(v.ctx, v.dir)
	v.state = read
	v.done.Sites, v.done.Entries, v.done.Snapshots, v.done.Unclean = read.Sites, read.Entries, read.Snapshots, read.Unclean
	return err
}
