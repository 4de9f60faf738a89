package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/internal/disk"
	"github.com/permesso-crawler/permesso/internal/state"
)

// File names of a repair in the directory of a crawl.
const (
	repairStage = "repair.new"    // directory of the new files while they are made; so far the crawl is not changed
	repairReady = "repair"        // name of repairStage after it is complete; an interrupted repair continues from this directory
	repairPlan  = "repair.json"   // name of the file in repairStage or repair that has the repairSwap
	damagedDir  = "damaged-"      // beginning of the name of the directory with the old files; a time follows
	damagedForm = "20060102T1504" // format of the time in the name of a directory that begins with damagedDir
)

// RepairOptions configure a Repair. The zero value is valid.
type RepairOptions struct {
	// Moved says that missing WARC files were moved away on purpose, so their records are not
	// lost.
	Moved bool
	Temp  string    // directory for temporary files, see Check.Temp
	Time  time.Time // recorded as the time of the repair; zero: now
	// Writer returns a function that rebuilds lost lines of pages.jsonl and links.jsonl as a
	// run with the settings in Values has written them. If Writer is nil, pages whose line is
	// lost are fetched again. An example is crawler.ArchiveWriter.
	Writer func(Values) (Writer, error)
	// Beside has the names of files that were made from the crawl. They are put aside, unless
	// all files of the crawl are restored.
	Beside []string
}

// A Repair is a mended copy of a damaged crawl, made in the crawl's directory. Nothing of the
// crawl is changed before Commit. While the Repair is open, no process can run the crawl.
type Repair struct {
	Sound bool // nothing of the crawl is damaged, so there is nothing to do
	// Restored says that all files get the contents that the crawl has written, so the files in
	// RepairOptions.Beside stay valid.
	Restored bool
	Problems int      // number of problems that Verify has found
	Mended   []string // one sentence for each file or part that was restored
	Lost     []string // one sentence for each loss
	Again    int      // number of URLs that a run fetches again, because their page or its answer is lost
	Examples []string // some of the URLs that Again counts
	Left     []string // problems that remain after the repair
	Changed  []string // files that differ from the old ones
	Aside    string   // directory with the old files, set by Commit

	ctx   context.Context // the context of NewRepair
	dir   string
	stage string
	opts  RepairOptions
	lock  *os.File
	marks state.Files
	was   state.Files // marks (lengths and checksums) that the state had before the repair
	gone  []string    // WARC files that are put aside without replacement
	// unmarked is the number of pages of a killed crawl whose lines are after the committed
	// length of pages.jsonl. A run fetches these pages again.
	unmarked int64
	note     repairNote
}

// keyRepaired is the key in the state under which the repairNote is stored.
const keyRepaired = "repaired"

// A repairNote records what is lost according to all repairs of a crawl. Verify reads it.
type repairNote struct {
	Time    time.Time `json:"time"`
	Answers []string  `json:"answers,omitempty"` // lost answers that records repeat, as keys that the function referred returns
	Log     bool      `json:"log,omitempty"`     // lines of crawl.log are lost
}

// A RepairError says that a repair of the crawl in Dir was interrupted while it replaced
// files. FinishRepair finishes that repair.
type RepairError struct{ Dir string }

func (e *RepairError) Error() string {
	return e.Dir + ": a repair was interrupted while it replaced files and must be finished first"
}

// notRepairing returns the *RepairError of a repair that was interrupted, or nil if there is
// none.
func notRepairing(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, repairReady, repairPlan)); err == nil {
		return &RepairError{dir}
	}
	return nil
}

// FinishRepair finishes a repair of the crawl in dir that was interrupted while it replaced
// files. It returns the directory with the old files, or "" if there was no such repair.
func FinishRepair(dir string) (aside string, err error) {
	if notRepairing(dir) == nil {
		return "", nil
	}
	r := &Repair{dir: dir}
	switch r.lock, err = state.Hold(dir); {
	case err == nil:
		defer r.lock.Close()
	case !errors.Is(err, fs.ErrNotExist): // ignore an error, because the state file may be the file that is being replaced
		return "", err
	}
	err = r.swap()
	return r.Aside, err
}

// NewRepair checks the crawl in dir and makes a mended copy of it. It needs room for a copy
// of the crawl without its undamaged WARC files. The caller must call Commit or Discard.
//
// It returns the error of ctx when ctx ends, a *DamagedError if the state file cannot be
// repaired, an *InUseError, a *NotBegunError, a *VersionError, a *PurgeError, a *RepairError,
// an error that wraps ErrNoCrawl, or an error of the file system. After an error nothing was
// changed.
func NewRepair(ctx context.Context, dir string, opts RepairOptions) (r *Repair, err error) {
	if err := errors.Join(ended(ctx), notRepairing(dir), notPurging(dir), NotBegun(dir)); err != nil {
		return nil, err
	}
	if opts.Time.IsZero() {
		opts.Time = time.Now().UTC()
	}
	r = &Repair{ctx: ctx, dir: dir, stage: filepath.Join(dir, repairStage), opts: opts}
	if err := r.hold(); err != nil {
		return nil, err
	}
	if err := r.prepare(); err != nil {
		return nil, errors.Join(err, r.Discard())
	}
	return r, nil
}

// prepare checks the crawl and makes the mended files in the directory repairStage, the stage.
func (r *Repair) prepare() error {
	// Remove what a killed repair has left. A repairReady directory may be left from a repair
	// that is finished: swap has removed its plan.
	if err := errors.Join(os.RemoveAll(r.stage), os.RemoveAll(filepath.Join(r.dir, repairReady))); err != nil {
		return err
	}
	check := Check{Moved: r.opts.Moved, Temp: r.opts.Temp, Problem: func(problem error) {
		var away *MissingAnswerError
		if !errors.As(problem, &away) {
			r.Problems++
		}
	}}
	switch v, err := check.Verify(r.ctx, r.dir); {
	case err == nil && r.Problems == 0:
		r.Sound = true
		return nil
	case err != nil && !mendable(err):
		return err
	case err == nil && v.Problems > 0:
	default:
		r.Problems++
	}
	return r.make()
}

// mendable reports whether err is about damage, which a Repair may mend.
func mendable(err error) bool {
	var damaged *DamagedError
	var version *VersionError
	return errors.As(err, &damaged) || errors.As(err, &version)
}

// hold prevents all processes from running the crawl until r.lock is closed.
func (r *Repair) hold() error {
	f, err := state.Hold(r.dir)
	if errors.Is(err, fs.ErrNotExist) {
		switch err := remains(r.dir); {
		case errors.Is(err, ErrNoCrawl):
			return err
		case err != nil:
			return r.onlyFiles()
		}
		return noCrawl(r.dir, StateFile+" is missing")
	}
	r.lock = f
	return err
}

// onlyFiles returns the error about a crawl whose state file cannot be repaired, so that only
// its other files can be read.
func (r *Repair) onlyFiles() error {
	return &DamagedError{Path: filepath.Join(r.dir, StateFile), Err: errors.New("nothing of it can be saved: the queue, the clocks of sites and the copies of robots.txt are lost, which no other file has. " +
		"What the other files hold stays readable: the archive, pages and links can be exported, and no run can go on with them")}
}

// Discard removes the mended copy. The crawl is unchanged.
func (r *Repair) Discard() error {
	err := os.RemoveAll(filepath.Join(r.dir, repairStage))
	if r.lock != nil {
		err = errors.Join(err, r.lock.Close())
		r.lock = nil
	}
	return err
}

// Replace makes Commit replace the contents of a file of the crawl by text. The name of the
// file is written with slashes. how, a sentence about the replacement, is added to Mended.
func (r *Repair) Replace(name string, text []byte, how string) error {
	path := filepath.Join(r.stage, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Join(r.stage, ArchiveDir), 0o755); err != nil {
		return err
	}
	if err := writeSynced(path, text); err != nil {
		return err
	}
	r.Sound, r.Restored = false, true
	r.Mended, r.Changed = append(r.Mended, how), append(r.Changed, name)
	return nil
}

// PutAside makes Commit move files to the directory Aside. why, a sentence, is added to Lost.
func (r *Repair) PutAside(why string, names ...string) error {
	if err := os.MkdirAll(filepath.Join(r.stage, ArchiveDir), 0o755); err != nil {
		return err
	}
	r.Sound, r.Restored = false, true
	r.Lost, r.gone, r.Changed = append(r.Lost, why), append(r.gone, names...), append(r.Changed, names...)
	return nil
}

// A repairSwap lists the files that Commit replaces, by their names with slashes.
type repairSwap struct {
	Aside string   `json:"aside"` // name of the directory with the old files
	Files []string `json:"files"`
	Gone  []string `json:"gone"` // files that are put aside without replacement
}

// Commit replaces the files that differ, and moves the old files to the directory Aside. If
// Commit is killed, the crawl cannot be resumed before FinishRepair was called.
func (r *Repair) Commit() error {
	if r.Sound {
		return r.Discard()
	}
	plan := repairSwap{Aside: damagedDir + r.opts.Time.Format(damagedForm), Files: r.Changed}
	for n := 2; ; n++ {
		if _, err := os.Stat(filepath.Join(r.dir, plan.Aside)); errors.Is(err, fs.ErrNotExist) {
			break
		}
		plan.Aside = fmt.Sprintf("%s%s-%d", damagedDir, r.opts.Time.Format(damagedForm), n)
	}
	gone := slices.Concat(r.opts.Beside, r.gone)
	if r.Restored {
		gone = r.gone
	}
	for _, name := range gone {
		if _, err := os.Stat(filepath.Join(r.dir, name)); err == nil {
			plan.Gone = append(plan.Gone, name)
		}
	}
	text, err := json.Marshal(plan)
	if err != nil {
		return err
	}
	if err := writeSynced(filepath.Join(r.stage, repairPlan), text); err != nil {
		return errors.Join(err, r.Discard())
	}
	if err := errors.Join(SyncDir(filepath.Join(r.stage, ArchiveDir)), SyncDir(r.stage)); err != nil {
		return errors.Join(err, r.Discard())
	}
	if err := os.Rename(r.stage, filepath.Join(r.dir, repairReady)); err != nil {
		return errors.Join(err, r.Discard())
	}
	if err := SyncDir(r.dir); err != nil {
		return err
	}
	err = r.swap()
	err = errors.Join(err, r.lock.Close())
	r.lock = nil
	return err
}

// swap replaces the files that the plan names. If it was interrupted by a kill, it may be
// called again.
func (r *Repair) swap() error {
	ready := filepath.Join(r.dir, repairReady)
	text, err := os.ReadFile(filepath.Join(ready, repairPlan))
	if err != nil {
		return err
	}
	var plan repairSwap
	if err := json.Unmarshal(text, &plan); err != nil {
		return &DamagedError{Path: filepath.Join(ready, repairPlan), Err: err}
	}
	r.Aside = filepath.Join(r.dir, plan.Aside)
	if err := os.MkdirAll(filepath.Join(r.Aside, ArchiveDir), 0o755); err != nil {
		return err
	}
	for _, name := range slices.Concat(plan.Gone, plan.Files) {
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			return &DamagedError{Path: filepath.Join(ready, repairPlan), Err: fmt.Errorf("%q is no name of a file of a crawl", name)}
		}
		if err := r.replace(ready, filepath.FromSlash(name), slices.Contains(plan.Gone, name)); err != nil {
			return err
		}
	}
	if err := errors.Join(SyncDir(r.dir), SyncDir(r.Aside)); err != nil {
		return err
	}
	// Remove the plan first, because a directory without a plan counts as a finished repair.
	if err := os.Remove(filepath.Join(ready, repairPlan)); err != nil {
		return err
	}
	return os.RemoveAll(ready)
}

// replace moves the old file with the given name aside. Unless gone is set, it then moves the
// new file to its place.
func (r *Repair) replace(ready, name string, gone bool) error {
	is, was, to := filepath.Join(r.dir, name), filepath.Join(r.Aside, name), filepath.Join(ready, name)
	_, err := os.Lstat(to)
	if !gone && errors.Is(err, fs.ErrNotExist) {
		return nil // the file was replaced before the process was killed
	}
	if _, err := os.Lstat(was); errors.Is(err, fs.ErrNotExist) {
		if err := os.Rename(is, was); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if gone {
		return nil
	}
	return os.Rename(to, is)
}

func writeSynced(path string, text []byte) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Sync(), f.Close())
}

// copyTo copies a file of the crawl into the stage, the directory of the mended files.
func (r *Repair) copyTo(name string) error {
	from, err := disk.OpenRegular(filepath.Join(r.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer from.Close()
	path := filepath.Join(r.stage, name)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err // do not write through a symbolic link
	}
	to, err := os.Create(path)
	if err != nil {
		return err
	}
	for err == nil { // copy in parts, because some file systems then copy without reading
		if err = ended(r.ctx); err == nil {
			_, err = io.CopyN(to, from, 64<<20)
		}
	}
	if err == io.EOF {
		err = nil
	}
	return errors.Join(err, to.Sync(), to.Close())
}

// linkTo copies a WARC file as copyTo does, or makes a hard link if the file system can. A hard
// link needs no room.
func (r *Repair) linkTo(name string) error {
	is, err := filepath.EvalSymlinks(filepath.Join(r.dir, name))
	if err != nil {
		return err
	}
	if err := os.Link(is, filepath.Join(r.stage, name)); err == nil {
		return nil
	}
	return r.copyTo(name)
}

// own prepares a WARC file of the stage for changes: if the file is a hard link to a file of
// the crawl, own replaces the link by a copy.
func (r *Repair) own(name string) error {
	is, err := os.Stat(filepath.Join(r.dir, name))
	if err != nil {
		return err
	}
	if staged, err := os.Stat(filepath.Join(r.stage, name)); err != nil || os.SameFile(is, staged) {
		return r.copyTo(name)
	}
	return nil
}

// differing returns the names of the files in the stage that differ from the files of the
// crawl.
func (r *Repair) differing() (names []string, err error) {
	err = filepath.WalkDir(r.stage, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(r.stage, path)
		if err != nil || name == RunFile {
			return err
		}
		same, err := r.sameFile(path, filepath.Join(r.dir, name))
		if err == nil && !same {
			names = append(names, filepath.ToSlash(name))
		}
		return err
	})
	return names, err
}

// sameFile reports whether two files have the same bytes.
func (r *Repair) sameFile(a, b string) (bool, error) {
	is, err := os.Stat(a)
	if err != nil {
		return false, err
	}
	other, err := os.Stat(b)
	if err != nil {
		return false, nil
	}
	if os.SameFile(is, other) {
		return true, nil
	}
	if is.Size() != other.Size() {
		return false, nil
	}
	f, err := os.Open(a)
	if err != nil {
		return false, err
	}
	defer f.Close()
	g, err := os.Open(b)
	if err != nil {
		return false, err
	}
	defer g.Close()
	var left, right [64 << 10]byte
	for {
		if err := ended(r.ctx); err != nil {
			return false, err
		}
		n, err := io.ReadFull(f, left[:])
		m, _ := io.ReadFull(g, right[:])
		if !bytes.Equal(left[:n], right[:m]) {
			return false, nil
		}
		if err != nil {
			return true, nil
		}
	}
}

func (r *Repair) mended(format string, args ...any) {
	r.Mended = append(r.Mended, fmt.Sprintf(format, args...))
}

func (r *Repair) lost(format string, args ...any) {
	r.Lost = append(r.Lost, fmt.Sprintf(format, args...))
}

// inCrawl returns the text of an error about the stage, with the path of the crawl instead of
// the path of the stage.
func (r *Repair) inCrawl(err error) string { return strings.ReplaceAll(err.Error(), r.stage, r.dir) }
