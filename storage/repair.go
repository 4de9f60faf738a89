package storage

import (
	"bytes"
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

	"github.com/permesso-crawler/permesso/storage/internal/disk"
	"github.com/permesso-crawler/permesso/storage/internal/state"
)

// Names in the directory of a crawl that is repaired.
const (
	repairStage = "repair.new"    // what the crawl is to be, while it is made: nothing is changed yet
	repairReady = "repair"        // the same, whole: a repair that was broken off goes on from it
	repairPlan  = "repair.json"   // in both of them
	DamagedDir  = "damaged-"      // and a time: where the files of before are kept
	damagedForm = "20060102T1504" // of that time
)

// RepairOptions say how a crawl is repaired. The zero value is valid.
type RepairOptions struct {
	Moved bool      // WARC files that are missing were moved away on purpose: what is in them is not lost
	Temp  string    // directory for temporary files, as Check has it
	Time  time.Time // that is noted; zero: now
	// Writer returns what makes lines again that are lost, by what the crawl keeps about itself;
	// nil: a page whose line is lost is fetched again. It is crawler.ArchiveWriter.
	Writer func(Values) (Writer, error)
	Beside []string // files that tell of the crawl as it was, and are put aside with it if anything changes
}

// A Repair is what a damaged crawl can be again, made beside it. Until Commit nothing of the
// crawl is changed. As long as the Repair is open, no process can run the crawl.
type Repair struct {
	Sound    bool     // nothing is wrong, and nothing is to be done
	Restored bool     // all files become what was written: what was made of the crawl stays true, as Beside
	Problems int      // that Verify has found
	Mended   []string // what was made as it was written, a sentence each
	Lost     []string // what is lost, a sentence each
	Again    int      // URLs that a run fetches again, because their page or its answer is lost
	Examples []string // of them
	Left     []string // problems that stay
	Changed  []string // files that differ from those of before
	Aside    string   // directory with those of before, once Commit has returned

	dir   string
	stage string
	opts  RepairOptions
	lock  *os.File
	marks state.Files
	was   state.Files // marks, as the state had them
	gone  []string    // WARC files that are only put aside
	// unmarked is how many pages of a crawl that was killed are after the mark of pages.jsonl:
	// a run fetches them again.
	unmarked int64
	note     repairNote
}

// keyRepaired is the value of the state that says what repairs have found lost.
const keyRepaired = "repaired"

// A repairNote is what later readers must know of repairs.
type repairNote struct {
	Time    time.Time `json:"time"`
	Answers []string  `json:"answers,omitempty"` // that records repeat, and that are lost: as referred
	Log     bool      `json:"log,omitempty"`     // lines of crawl.log are lost
}

// A RepairError says that a repair of the crawl in Dir was broken off while it replaced
// files. NewRepair finishes it.
type RepairError struct{ Dir string }

func (e *RepairError) Error() string {
	return e.Dir + ": a repair was broken off while it replaced files, and is to be finished first"
}

// notRepairing is the error for a crawl some of whose files are replaced.
func notRepairing(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, repairReady, repairPlan)); err == nil {
		return &RepairError{dir}
	}
	return nil
}

// FinishRepair finishes a repair of the crawl in dir that was broken off while it replaced
// files, and says where those of before are; empty if none was.
func FinishRepair(dir string) (aside string, err error) {
	if notRepairing(dir) == nil {
		return "", nil
	}
	r := &Repair{dir: dir}
	switch r.lock, err = state.Hold(dir); {
	case err == nil:
		defer r.lock.Close()
	case !errors.Is(err, fs.ErrNotExist): // it may be the file that is replaced
		return "", err
	}
	err = r.swap()
	return r.Aside, err
}

// NewRepair looks at the crawl in dir, and makes beside it what it can be again. It needs room
// for a copy of the crawl, without WARC files that are not damaged. The caller ends it with
// Commit or Discard.
//
// The error is an *InUseError, a *NotBegunError, a *VersionError, a *PurgeError, a
// *RepairError, a *DamagedError for a state file that cannot be repaired, one of the file
// system, or wraps ErrNoCrawl. Then nothing was changed.
func NewRepair(dir string, opts RepairOptions) (r *Repair, err error) {
	if err := errors.Join(notRepairing(dir), notPurging(dir), NotBegun(dir)); err != nil {
		return nil, err
	}
	if opts.Time.IsZero() {
		opts.Time = time.Now().UTC()
	}
	r = &Repair{dir: dir, stage: filepath.Join(dir, repairStage), opts: opts}
	if err := r.hold(); err != nil {
		return nil, err
	}
	if err := r.prepare(); err != nil {
		return nil, errors.Join(err, r.Discard())
	}
	return r, nil
}

// prepare looks at the crawl, and makes what it can be again.
func (r *Repair) prepare() error {
	// What a kill has left. A directory that is ready has no plan any more here: see swap.
	if err := errors.Join(os.RemoveAll(r.stage), os.RemoveAll(filepath.Join(r.dir, repairReady))); err != nil {
		return err
	}
	check := Check{Moved: r.opts.Moved, Temp: r.opts.Temp, Problem: func(problem error) {
		var away *AwayError
		if !errors.As(problem, &away) {
			r.Problems++
		}
	}}
	switch v, err := check.Verify(r.dir); {
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

// mendable reports whether an error is about damage.
func mendable(err error) bool {
	var damaged *DamagedError
	var version *VersionError
	return errors.As(err, &damaged) || errors.As(err, &version)
}

// hold keeps all processes from running the crawl.
func (r *Repair) hold() error {
	f, err := state.Hold(r.dir)
	if errors.Is(err, fs.ErrNotExist) {
		if remains := Remains(r.dir); remains != "" {
			return r.onlyFiles()
		}
		return noCrawl(r.dir, StateFile+" is missing")
	}
	r.lock = f
	return err
}

// onlyFiles is the error of a crawl whose state is lost.
func (r *Repair) onlyFiles() error {
	return &DamagedError{Path: filepath.Join(r.dir, StateFile), Err: errors.New("nothing of it can be saved: the queue, the clocks of sites and the copies of robots.txt are lost, which no other file has. " +
		"What the other files hold stays readable: the archive, pages and links can be exported, and no run can go on with them")}
}

// Discard takes what was made away. Nothing of the crawl was changed.
func (r *Repair) Discard() error {
	err := os.RemoveAll(filepath.Join(r.dir, repairStage))
	if r.lock != nil {
		err = errors.Join(err, r.lock.Close())
		r.lock = nil
	}
	return err
}

// Replace has Commit give a file of the crawl, by its name with slashes, another text. how is a
// sentence for Mended.
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

// PutAside has Commit put a file aside. why is a sentence for Lost.
func (r *Repair) PutAside(why string, names ...string) error {
	if err := os.MkdirAll(filepath.Join(r.stage, ArchiveDir), 0o755); err != nil {
		return err
	}
	r.Sound, r.Restored = false, true
	r.Lost, r.gone, r.Changed = append(r.Lost, why), append(r.gone, names...), append(r.Changed, names...)
	return nil
}

// A repairSwap says which files are replaced, by their names with slashes.
type repairSwap struct {
	Aside string   `json:"aside"` // name of the directory with those of before
	Files []string `json:"files"`
	Gone  []string `json:"gone"` // that are only put aside
}

// Commit replaces the files of the crawl that are to differ, and keeps those of before in
// Aside, until the user deletes them. A kill on the way leaves a crawl that no run goes
// on with before FinishRepair has finished it.
func (r *Repair) Commit() error {
	if r.Sound {
		return r.Discard()
	}
	plan := repairSwap{Aside: DamagedDir + r.opts.Time.Format(damagedForm), Files: r.Changed}
	for n := 2; ; n++ {
		if _, err := os.Stat(filepath.Join(r.dir, plan.Aside)); errors.Is(err, fs.ErrNotExist) {
			break
		}
		plan.Aside = fmt.Sprintf("%s%s-%d", DamagedDir, r.opts.Time.Format(damagedForm), n)
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

// swap replaces the files that the plan names. To do it again changes nothing.
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
	// Without its plan the directory is one that was never ready.
	if err := os.Remove(filepath.Join(ready, repairPlan)); err != nil {
		return err
	}
	return os.RemoveAll(ready)
}

// replace puts a file aside, and the new one, unless it is gone, in its place.
func (r *Repair) replace(ready, name string, gone bool) error {
	is, was, to := filepath.Join(r.dir, name), filepath.Join(r.Aside, name), filepath.Join(ready, name)
	_, err := os.Lstat(to)
	if !gone && errors.Is(err, fs.ErrNotExist) {
		return nil // that was done before a kill
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

// copyTo makes a file of the crawl one of the stage.
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
		return err // a link is not written through
	}
	to, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Sync(), to.Close())
}

// linkTo is copyTo of a WARC file, which costs no room where the file system has links.
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

// own makes a WARC file of the stage one that may be written to.
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

// differing are the files of the stage that are not those of the crawl.
func (r *Repair) differing() (names []string, err error) {
	err = filepath.WalkDir(r.stage, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(r.stage, path)
		if err != nil || name == RunFile {
			return err
		}
		same, err := sameFile(path, filepath.Join(r.dir, name))
		if err == nil && !same {
			names = append(names, filepath.ToSlash(name))
		}
		return err
	})
	return names, err
}

// sameFile reports whether two files have the same bytes.
func sameFile(a, b string) (bool, error) {
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

// inCrawl is the text of an error about the stage, as one about the crawl.
func (r *Repair) inCrawl(err error) string { return strings.ReplaceAll(err.Error(), r.stage, r.dir) }
