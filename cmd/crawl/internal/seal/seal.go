// Package seal compares the files of a crawl with its provenance.json, which has the digest of
// each file. It also makes a repair restore the files that differ.
package seal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/crawldir"
	"github.com/permesso-crawler/permesso/internal/provenance"
	"github.com/permesso-crawler/permesso/internal/series"
	"github.com/permesso-crawler/permesso/internal/store"
)

// writtenTogether are the files that are written together with provenance.json, and never
// otherwise. DATASHEET.md is not one of them: people write in it.
var writtenTogether = []string{provenance.AbsencesFile, provenance.RobotsFile, provenance.SeedsFile}

// A Check compares a crawl that store.Check has read with its provenance.json.
type Check struct {
	Dir     string
	Moved   bool            // whether missing WARC files were moved away on purpose
	Purged  bool            // whether records were taken out of WARC files by a purge
	Named   map[string]bool // files that store.Check has found damaged
	Problem func(error)

	differs []provenance.Difference // the differences that Problem was called with
	broken  string                  // why provenance.json says nothing about the crawl; empty if it can be used
}

// Run calls Problem for each file that differs from provenance.json and is not in Named. If the
// crawl was changed after provenance.json was written, by a run, a purge or the command crawl
// index, Run compares only the files that none of these three changes. In this case it returns
// the time when provenance.json was written. Otherwise it returns the zero time.
func (s *Check) Run(ctx context.Context) (before time.Time, err error) {
	if info, err := os.Stat(filepath.Join(s.Dir, provenance.File)); err == nil && !info.Mode().IsRegular() {
		s.orphans() // no crawl has written it, because a crawl writes a regular file
		return before, nil
	}
	of, err := provenance.Verify(ctx, s.Dir, provenance.Check{})
	var begun *store.NotBegunError
	var used *store.InUseError
	var system *fs.PathError
	switch {
	case errors.Is(err, provenance.ErrNone), errors.As(err, &begun):
		s.orphans()
		return before, nil
	case errors.As(err, &used), errors.As(err, &system):
		return before, err
	case err != nil:
		s.broken = err.Error()
		s.Problem(err)
		return before, nil
	}
	state, err := store.OpenReader(s.Dir)
	if err != nil {
		return before, err
	}
	since := state.LastCommit().After(of.Provenance.Written) || s.rewritten(of)
	if err := state.Close(); err != nil {
		return before, err
	}
	if since {
		before = of.Provenance.Written
	}
	for _, d := range of.Differences {
		if s.Named[d.File] || s.away(d.File) || since && !s.constant(of.Provenance, d) {
			continue
		}
		s.differs = append(s.differs, d)
		err := fmt.Errorf("%s %s (%s)", d.File, d.Why, provenance.File)
		if d.File == store.IndexFile || d.File == indexPart {
			err = &store.IndexError{Err: err}
		}
		s.Problem(&Error{err})
	}
	return before, nil
}

// rewritten reports whether a sound state file differs from the state file that provenance.json
// describes. A purge and the command crawl index write the state file anew, but keep the time
// of the last commit. They never make the file shorter.
func (s *Check) rewritten(of *provenance.Verified) bool {
	if s.Named[store.StateFile] {
		return false
	}
	differs := slices.ContainsFunc(of.Differences, func(d provenance.Difference) bool { return d.File == store.StateFile })
	info, err := os.Stat(filepath.Join(s.Dir, store.StateFile))
	return differs && err == nil && slices.ContainsFunc(of.Provenance.Outputs, func(o provenance.Output) bool {
		return o.Name == store.StateFile && info.Size() >= o.Bytes
	})
}

// orphans checks a crawl without a provenance.json. It calls Problem once if one of the files
// that are written together with provenance.json exists, and for each damaged file of a
// snapshot. It does nothing if a kill came before provenance.json was renamed to its final
// name.
func (s *Check) orphans() {
	if provenance.BrokenOff(s.Dir) {
		return
	}
	for _, name := range writtenTogether {
		if crawldir.Exists(filepath.Join(s.Dir, name)) {
			err := fmt.Errorf("%s is missing, and %s was written with it", provenance.File, name)
			s.broken = err.Error()
			s.Problem(&Error{err})
			break
		}
	}
	s.differs = ownDifferences(s.Dir)
	for _, d := range s.differs {
		s.Problem(&Error{fmt.Errorf("%s %s", filepath.Join(s.Dir, d.File), d.Why)})
	}
}

// ownDifferences returns the differences that the files of a snapshot show without a
// provenance.json.
func ownDifferences(dir string) (differs []provenance.Difference) {
	for _, err := range (series.Snapshot{Dir: dir}).Check() {
		differs = append(differs, provenance.Difference{File: filepath.Base(err.Path), Why: "is damaged: " + err.Err.Error()})
	}
	return differs
}

// away reports whether the file is a WARC file that was moved away.
func (s *Check) away(file string) bool {
	return s.Moved && strings.HasPrefix(file, store.ArchiveDir+"/") && !crawldir.Exists(filepath.Join(s.Dir, filepath.FromSlash(file)))
}

// constant reports whether the file that differs is a file that no later run would have
// changed.
func (s *Check) constant(p *provenance.Provenance, d provenance.Difference) bool {
	switch {
	case d.File == provenance.File, slices.Contains(writtenTogether, d.File), slices.Contains(frozenFiles, d.File), !filepath.IsLocal(filepath.FromSlash(d.File)):
		return true
	case !strings.HasPrefix(d.File, store.ArchiveDir+"/"):
		return false
	}
	// If a kill has left a WARC file open, the next run cuts and continues it. A purge changes
	// records in WARC files, but not the lengths of the files.
	killed := len(p.Runs.List) == 0 || p.Runs.List[len(p.Runs.List)-1].How == provenance.HowKilled
	return !killed && !s.Purged && slices.ContainsFunc(p.Outputs, func(o provenance.Output) bool { return o.Name == d.File })
}

// frozenFiles are the files that are written when a snapshot (crawl) of a series begins, and
// are never changed.
var frozenFiles = []string{series.JobFile, series.SeedsFile, series.FactsFile}

// indexPart is the name of the index file of a crawl that has not ended.
const indexPart = "index.part"

// An Error is a problem that only provenance.json shows.
type Error struct{ err error }

func (e *Error) Error() string { return e.err.Error() }

func (e *Error) Unwrap() error { return e.err }
