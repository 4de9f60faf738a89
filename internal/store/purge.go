package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/internal/disk"
	"github.com/permesso-crawler/permesso/internal/state"
)

// A Purge removes the captures of some URLs from a crawl: records of the WARC files, lines of
// pages.jsonl and of the index, and lines of links.jsonl about links that were found on these
// pages. Each removed record is replaced by a record of the same length, which says that a
// record was removed here. So all other records keep their offsets. The fate of these URLs
// becomes frontier.OptedOut.
//
// crawl.log and the copies of robots.txt stay, because they prove how the crawler behaved.
// The URLs themselves stay in the state, and in the links of other pages.
type Purge struct {
	// Places say from which hosts or URLs captures are removed, in a form that the caller
	// chooses. A Purge only stores them, so that the caller can make the same Why again and
	// finish an interrupted purge.
	Places []string
	Why    func(url string) string // returns why the captures of url are removed; "" to keep them
	Time   time.Time               // recorded as the time of the purge
	// Problem is called for each part that cannot be read, so that captures may still be in it.
	// It may be nil.
	Problem func(error)

	disk disk.Disk
	step func() // called after each change, in tests; may be nil
}

// Taken counts what a Purge removes from the files of a crawl.
type Taken struct {
	Records, RecordBytes int64 // records of WARC files, and their stored size in bytes
	Pages, PageBytes     int64 // lines of pages.jsonl, and their size in bytes
	Links, LinkBytes     int64 // lines of links.jsonl, and their size in bytes
	Captures             int64 // number of captures, counted as lines of the index
}

func (t *Taken) add(o Taken) {
	t.Records, t.RecordBytes = t.Records+o.Records, t.RecordBytes+o.RecordBytes
	t.Pages, t.PageBytes = t.Pages+o.Pages, t.PageBytes+o.PageBytes
	t.Links, t.LinkBytes = t.Links+o.Links, t.LinkBytes+o.LinkBytes
	t.Captures += o.Captures
}

// Purged is the result of a Purge. If Run has finished an interrupted purge, only Entries and
// Problems are set.
type Purged struct {
	Taken
	By       map[string]Taken // what was removed for each reason that Purge.Why has returned
	Entries  int              // URLs whose fate was changed; Plan sets 0
	Problems int              // number of parts that could not be read

	// Bodiless counts records by the hosts of their URLs: the records that stay, but lose their
	// body, because the answer that they repeat is removed.
	Bodiless map[string]int64

	// Moved counts captures by the names of their WARC files: the captures that stay, because
	// these files are not in the directory.
	Moved map[string]int64
}

func (p *Purged) take(why string, t Taken) {
	if p.By == nil {
		p.By = map[string]Taken{}
	}
	of := p.By[why]
	of.add(t)
	p.By[why] = of
	p.add(t)
}

// None reports whether the purge removes nothing.
func (p *Purged) None() bool {
	return p.Taken == Taken{} && p.Entries == 0
}

// purgedDetail is the prefix of Detail in the fate of a URL whose captures were purged.
const purgedDetail = "purged: "

// PurgedFate reports whether f is the fate of a URL whose captures a Purge has removed. If so,
// why is the reason, and f.Time is the time of the purge.
func PurgedFate(f frontier.Fate) (why string, ok bool) {
	if f.Code != frontier.OptedOut {
		return "", false
	}
	return strings.CutPrefix(f.Detail, purgedDetail)
}

func (p *Purge) problem(done *Purged, format string, args ...any) {
	done.Problems++
	if p.Problem != nil {
		p.Problem(fmt.Errorf(format, args...))
	}
}

// Plan returns what Run would remove, and changes nothing. It returns the error of ctx when ctx
// ends, an *InUseError if a process runs the crawl, a *PurgeError if a purge was interrupted, a
// *NotBegunError, a *DamagedError, a *VersionError, or an error of the file system.
func (p *Purge) Plan(ctx context.Context, dir string) (done Purged, err error) {
	if err := errors.Join(ended(ctx), notPurging(dir), NotBegun(dir)); err != nil {
		return done, err
	}
	r, err := state.OpenReader(dir)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	marks, err := r.Files()
	if err != nil {
		return done, err
	}
	f := finder{Purge: p, ctx: ctx, dir: dir, marks: marks, done: &done}
	return done, f.find()
}

// Run removes the captures. If the process is killed during Run, the crawl cannot be resumed
// until Run is called again, with the Places of UnfinishedPurge, and finishes the purge. Run
// fails with the same errors as Plan. After an error of the file system it may be called again.
//
// If ctx ends while Run looks for the captures, Run removes its temporary file, changes nothing
// and returns the error of ctx. After that, while it removes captures, it goes on to the end
// also if ctx ends.
//
// If the crawl itself was killed, Run first does what the next run would do: it merges the
// journal of the state file, and truncates the outputs.
func (p *Purge) Run(ctx context.Context, dir string) (done Purged, err error) {
	if err := errors.Join(ended(ctx), NotBegun(dir)); err != nil {
		return done, err
	}
	if broken, err := UnfinishedPurge(dir); err != nil {
		return done, err
	} else if broken == nil {
		if err := p.settle(dir); err != nil {
			return done, err
		}
	}
	outline, err := state.OpenOutline(dir)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, outline.Close()) }()
	files, err := outline.Files()
	if errors.Is(err, state.ErrUnsettled) { // another process has run the crawl meanwhile
		err = &InUseError{Dir: dir}
	}
	if err != nil {
		return done, err
	}
	broken, err := UnfinishedPurge(dir)
	switch {
	case err != nil:
	case broken == nil:
		if err = p.note(ctx, dir, files, &done); err == nil {
			broken, err = UnfinishedPurge(dir)
		}
	case !slices.Equal(broken.Places, p.Places):
		err = broken
	}
	if err != nil {
		return done, err
	}
	return done, p.apply(dir, broken.Time, outline, files, &done)
}

// stepped calls p.step after a change.
func (p *Purge) stepped() {
	if p.step != nil {
		p.step()
	}
}

// settle does what the next run would do first, for a crawl that was killed: it truncates the
// files, merges the journal of the state file, and writes a line to the log.
func (p *Purge) settle(dir string) error {
	r, err := state.OpenReader(dir)
	if err != nil {
		return err
	}
	unclean := r.Begun().Unclean
	if err := r.Close(); err != nil || !unclean {
		return err
	}
	db, err := Open(dir, Options{asIs: true, disk: p.disk})
	if err != nil {
		return err
	}
	err = db.Log().Write(&crawllog.Line{Time: p.Time, Size: -1, URL: crawllog.RunURL, Annotations: []string{"begin:unclean", "purge"}})
	return errors.Join(err, db.Close())
}

// note writes a purgeFile, which lists what will be removed.
func (p *Purge) note(ctx context.Context, dir string, files state.Files, done *Purged) error {
	w, err := newPurgeWriter(dir, p.disk, purgeHead{p.Time, p.Places})
	if err != nil {
		return err
	}
	f := finder{Purge: p, ctx: ctx, dir: dir, marks: files, done: done, record: func(r *purgeRecord) error { return w.enc.Encode(r) }}
	if err := f.find(); err != nil {
		return errors.Join(err, w.abandon())
	}
	return w.finish(purgeEnd{End: true, Wrong: f.wrong})
}

// apply removes the records and lines that are in the purgeFile. After a kill it may be called
// again, because it writes the same bytes again.
func (p *Purge) apply(dir string, began time.Time, outline *state.Outline, files state.Files, done *Purged) error {
	a := purger{Purge: p, dir: dir, began: began, files: files}
	_, end, err := readPurge(dir, a.fill)
	if err = errors.Join(err, a.filled()); err != nil {
		return err
	}
	a.wrong = end.Wrong
	if err := a.outputs(); err != nil {
		return err
	}
	problem := func(err error) { p.problem(done, "%w", err) }
	if _, err := outline.PurgePayloads(func(url string) bool { return p.Why(url) != "" }, problem); err != nil {
		return err
	}
	p.stepped()
	done.Entries, err = outline.PurgeEntries(func(u frontier.URL, f frontier.Fate) (frontier.Fate, bool) {
		if f.Status == 0 && f.Answer == (frontier.Place{}) {
			return f, false // skip a URL that has no answer
		}
		why := p.Why(u.String())
		return frontier.Fate{Code: frontier.OptedOut, Detail: purgedDetail + why, Time: began}, why != ""
	}, problem)
	if err != nil {
		return err
	}
	p.stepped()
	if err := outline.PutFiles(a.files); err != nil {
		return err
	}
	p.stepped()
	return errors.Join(os.Remove(filepath.Join(dir, purgeFile)), p.disk.SyncDir(dir))
}
