package storage

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/permesso-crawler/permesso/storage/crawllog"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// outputs are the files that a run writes beside the state.
type outputs struct {
	disk disk

	// Held to append what one visit writes, and to note the marks of all files:
	// a commit holds all of a visit or nothing, and the lines of a page stand in
	// the same order everywhere. Nobody waits for the disk with it held, but for
	// what is more than fits a buffer.
	moment sync.Mutex

	lines   []*namedOutput // those below that are written
	pages   *output        // nil if it is not written
	links   *output        // the same
	indexed *output        // the same: lines of the index, not sorted
	archive *archive       // nil if none is written
	log     *crawllog.Writer
	lostLog int64 // bytes that were committed, and were gone at open: log is never cut
}

// open opens the files in dir that opts asks for, and cuts them to their marks.
// After an unclean end those that are not written any more are cut, too: nobody
// else would.
func (s *outputs) open(dir string, opts *Options, known marks, unclean bool) (err error) {
	for _, o := range []struct {
		name string
		want bool
		to   **output
	}{
		{PagesFile, !opts.NoPages, &s.pages}, {LinksFile, opts.Links, &s.links}, {indexPart, opts.Archive != nil, &s.indexed},
	} {
		path := filepath.Join(dir, o.name)
		if !o.want && unclean {
			err = cutTail(path, known[o.name].Length, s.disk)
		}
		if err != nil {
			return err
		}
		if !o.want {
			continue
		}
		if *o.to, err = openOutput(path, known[o.name], s.disk); err != nil {
			return err
		}
		if err := wholeLine(path, known[o.name]); err != nil {
			(*o.to).file.Close()
			return err
		}
		s.lines = append(s.lines, &namedOutput{o.name, *o.to})
	}
	if opts.Archive != nil {
		if s.archive, err = newArchive(dir, *opts.Archive, s.disk, time.Now()); err != nil {
			return err
		}
	}
	log := known[LogFile]
	if s.log, err = crawllog.OpenAt(filepath.Join(dir, LogFile), log.Length, log.Sum); err != nil {
		return err
	}
	s.lostLog = max(0, log.Length-s.log.Size())
	return nil
}

// put appends what a visit writes, and says in the records where they stand.
func (s *outputs) put(records []*record, page *PageRecord, tail, links []byte) error {
	s.moment.Lock()
	defer s.moment.Unlock()
	for _, r := range records {
		if err := s.archived(r); err != nil {
			return err
		}
		if page != nil && r.ofPage {
			page.WARC, page.Offset, page.Length = r.at.File, r.at.Offset, r.at.Length
		}
	}
	var head []byte
	if s.pages != nil && page != nil {
		var err error
		if head, err = page.head(); err != nil {
			return err
		}
	}
	if s.links != nil && len(links) > 0 {
		if _, err := s.links.append(links); err != nil {
			return err
		}
	}
	if head == nil {
		return nil
	}
	_, err := s.pages.append(head, tail)
	return err
}

// archived appends a record, and its line of the index. It requires that moment
// is held.
func (s *outputs) archived(r *record) error {
	f, at, err := s.archive.append(r.raw)
	if err != nil {
		return err
	}
	r.at = Archived{File: f, Offset: at + r.first.Offset, Length: r.first.Length, Revisit: r.first.Type == warc.Revisit}
	if r.entry == nil {
		return nil
	}
	line, err := r.line()
	if err != nil {
		return err
	}
	_, err = s.indexed.append(line)
	return err
}

// flush brings all files to disk as they are at one moment, and returns their
// marks of then. It returns the files of the archive that do not grow any more.
func (s *outputs) flush() (now marks, full []*namedOutput, err error) {
	s.moment.Lock()
	files, newName := s.lines, false
	if a := s.archive; a != nil {
		files = slices.Concat(files, a.files)
		full = slices.Clone(a.files[:max(0, len(a.files)-1)])
		newName, a.began = a.began, false
	}
	now = make(marks, len(files)+1)
	for _, f := range files {
		now[f.name] = f.mark()
	}
	size, sum := s.log.Sum()
	now[LogFile] = mark{Length: size, Sum: sum}
	s.moment.Unlock()

	for _, f := range files {
		if err := f.flush(); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", f.file.Name(), err)
		}
	}
	if newName {
		// A length must not outlast the file it is of.
		if err := s.disk.syncDir(s.archive.dir); err != nil {
			return nil, nil, err
		}
	}
	return now, full, s.log.Sync(s.disk.syncData)
}

// finish gives files of the archive that are committed whole their names.
func (s *outputs) finish(full []*namedOutput) error {
	if err := s.archive.finish(full); err != nil {
		return err
	}
	s.moment.Lock()
	defer s.moment.Unlock()
	a := s.archive
	a.files = slices.DeleteFunc(a.files, func(f *namedOutput) bool { return slices.Contains(full, f) })
	return nil
}

// close closes the files but for those of the archive.
func (s *outputs) close() error {
	var errs []error
	for _, o := range s.lines {
		errs = append(errs, o.file.Close())
	}
	if s.log != nil {
		errs = append(errs, s.log.Sync(s.disk.syncData), s.log.Close())
	}
	return errors.Join(errs...)
}
