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
	"github.com/permesso-crawler/permesso/storage/crawllog"
	"github.com/permesso-crawler/permesso/storage/internal/disk"
	"github.com/permesso-crawler/permesso/storage/internal/state"
)

// A Purge takes out of a crawl what was captured of some URLs: records of the WARC
// files, lines of pages.jsonl, of links.jsonl (links that were found there) and of the
// index. In the place of each record stands one that says so, as long as it was, so that
// all others are where they were. The fate of these URLs is frontier.OptedOut then.
//
// What stays: crawl.log and the copies of robots.txt, which prove how the site was
// asked, and the URLs themselves, in the state and where other pages link to them.
type Purge struct {
	Places  []string                // what Why goes by, for who finishes a purge that was broken off
	Why     func(url string) string // why what is about a URL is taken out; "" if it stays
	Time    time.Time               // that is noted
	Problem func(error)             // told of what cannot be read, and so may hold something still; nil: nobody is

	disk disk.Disk
	step func() // called between all that changes something, in tests; nil: nobody is
}

// Taken is what a Purge takes out of the files.
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

// Purged is what a Purge has done. Of one that finishes another only Entries is known.
type Purged struct {
	Taken
	By       map[string]Taken // by what Purge.Why says
	Entries  int              // URLs whose fate says so now; 0 by Plan
	Problems int

	// Bodiless is how many records stay whose body goes, since they repeat an answer that
	// goes, by the host of their URL.
	Bodiless map[string]int64

	// Moved is how many captures are in WARC files that are not in the directory, by
	// their names: they are still in them.
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

// None reports whether there is nothing to take out.
func (p *Purged) None() bool {
	return p.Taken == Taken{} && p.Entries == 0
}

// purgedDetail is how the Detail of the fate of a URL begins whose captures are gone.
const purgedDetail = "purged: "

// PurgedFate reports whether f is that of a URL whose captures a Purge has taken out, at
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

// Plan says what Run would take out, and changes nothing. The error is an *InUseError
// while a process runs the crawl, a *NotBegunError, a *PurgeError where a purge was broken
// off, a *DamagedError, a *VersionError, or one of the file system.
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

// Run takes it out. A kill at any time leaves a crawl that cannot go on until Run is
// called again, with the Places of UnfinishedPurge: it finishes what was begun. The
// errors are those of Plan; after one of the file system Run may be called again.
//
// A crawl that was killed is given its end first, as the next run would.
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
	if errors.Is(err, state.ErrUnsettled) { // somebody has run it meanwhile
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

// stepped says that something was changed.
func (p *Purge) stepped() {
	if p.step != nil {
		p.step()
	}
}

// settle gives a crawl that was killed its end: its files are cut, its journal is merged,
// and its log says so.
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

// note writes down what is to be taken out.
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

// apply does what was noted. To do it again changes nothing.
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
			return f, false // nothing was answered
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
