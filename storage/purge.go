package storage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/storage/internal/disk"
	"github.com/permesso-crawler/permesso/storage/internal/state"
)

// A Purge removes the captures of some URLs from a crawl: records of the WARC files, lines
// of pages.jsonl, of links.jsonl (links that were found there) and of the index. Each
// removed record is replaced by one of the same length that says so, so that all others
// keep their offsets. The fate of these URLs becomes frontier.OptedOut.
//
// crawl.log and the copies of robots.txt stay, which prove how the crawler behaved, and so
// do the URLs themselves, in the state and where other pages link to them.
type Purge struct {
	Places  []string                // the rules that Why applies, stored so that an interrupted purge can be finished
	Why     func(url string) string // why the captures of url are removed; "" to keep them
	Time    time.Time               // recorded as the time of the purge
	Problem func(error)             // called for what cannot be read, and so may still have captures; may be nil

	disk disk.Disk
	step func() // called after each change, in tests; may be nil
}

// Taken counts what a Purge removes from the files.
type Taken struct {
	Records, RecordBytes int64 // of WARC files, as stored
	Pages, PageBytes     int64 // lines of pages.jsonl
	Links, LinkBytes     int64 // lines of links.jsonl
	Captures             int64 // lines of the index
}

func (t *Taken) add(o Taken) {
	t.Records, t.RecordBytes = t.Records+o.Records, t.RecordBytes+o.RecordBytes
	t.Pages, t.PageBytes = t.Pages+o.Pages, t.PageBytes+o.PageBytes
	t.Links, t.LinkBytes = t.Links+o.Links, t.LinkBytes+o.LinkBytes
	t.Captures += o.Captures
}

// Purged is the result of a Purge. If it finished an interrupted one, only Entries is
// known.
type Purged struct {
	Taken
	By       map[string]Taken // by the value of Purge.Why
	Entries  int              // URLs whose fate was changed; 0 by Plan
	Problems int

	// Bodiless is the number of records that stay without a body, since they repeat an
	// answer that is removed, by the host of their URL.
	Bodiless map[string]int64

	// Moved is the number of captures that stay in WARC files outside the directory, by the
	// names of these files.
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

// None reports whether there is nothing to remove.
func (p *Purged) None() bool {
	return p.Taken == Taken{} && p.Entries == 0
}

// purgedDetail is the prefix of the fate's Detail of a URL whose captures were purged.
const purgedDetail = "purged: "

// PurgedFate reports whether f is the fate of a URL whose captures a Purge has removed, at
// f.Time, and why.
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

// Plan returns what Run would remove, and changes nothing. It fails with an *InUseError
// while a process runs the crawl, a *NotBegunError, a *PurgeError if a purge was
// interrupted, a *DamagedError, a *VersionError, or an error of the file system.
func (p *Purge) Plan(dir string) (done Purged, err error) {
	if err := errors.Join(notPurging(dir), NotBegun(dir)); err != nil {
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
	f := finder{Purge: p, dir: dir, marks: marks, done: &done}
	return done, f.find()
}

// Run removes the captures. After a kill the crawl cannot be resumed until Run was called
// again, with the Places of UnfinishedPurge: it finishes the purge. Run fails as Plan does;
// after an error of the file system it may be called again.
//
// Run first finishes a crawl that was killed, as the next run would.
func (p *Purge) Run(dir string) (done Purged, err error) {
	if err := NotBegun(dir); err != nil {
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
	if errors.Is(err, state.ErrUnsettled) { // another process has run it meanwhile
		err = &InUseError{Dir: dir}
	}
	if err != nil {
		return done, err
	}
	broken, err := UnfinishedPurge(dir)
	switch {
	case err != nil:
	case broken == nil:
		if err = p.note(dir, files, &done); err == nil {
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

// stepped calls step after a change.
func (p *Purge) stepped() {
	if p.step != nil {
		p.step()
	}
}

// settle finishes a crawl that was killed: it truncates the files, merges the journal, and
// logs the end.
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

// note writes a purgeFile with what will be removed.
func (p *Purge) note(dir string, files state.Files, done *Purged) error {
	w, err := newPurgeWriter(dir, p.disk, purgeHead{p.Time, p.Places})
	if err != nil {
		return err
	}
	f := finder{Purge: p, dir: dir, marks: files, done: done, record: func(r *purgeRecord) error { return w.enc.Encode(r) }}
	if err := f.find(); err != nil {
		return errors.Join(err, w.abandon())
	}
	return w.finish(purgeEnd{End: true, Wrong: f.wrong})
}

// apply does what the purgeFile says. Repeating it changes nothing.
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
			return f, false // there is no answer
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
