package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/internal/disk"
	"github.com/permesso-crawler/permesso/internal/state"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// outputs holds the files that a run writes beside the state. It implements state.Outputs. open
// decides which files there are. That does not change before close, so visits and the committer
// read the fields without a lock. Each output guards its own contents; moment guards the list
// of the archive's files.
type outputs struct {
	dir   string
	node  string // name of this node, if the crawl has several nodes; otherwise empty
	disk  disk.Disk
	state marksPutter
	made  state.IndexMarks // the marks of the last index.cdxj and its index.part; used only by Open and Close

	// moment is held while everything that one visit writes is appended, and while the marks of
	// all files are read. So a commit has all of a visit or nothing, and pages have the same
	// order in all files. Flush does not hold moment while it waits for the disk. put may hold
	// moment while it waits for the disk, because it writes a full buffer.
	moment sync.Mutex

	lines   []*namedOutput // the outputs among pages, links and indexed that are not nil
	pages   *output        // pages.jsonl; nil if it is not written
	links   *output        // links.jsonl; nil if it is not written
	indexed *output        // index.part; nil if it is not written
	archive *archive       // nil if no WARC files are written
	log     *crawllog.Writer
	lostLog int64 // committed bytes of the log that were missing at open; the log itself is never truncated
}

// open opens the files that opts requests, and truncates them to the lengths in their marks.
// checkFiles must have checked the files. unclean says that the last run did not close the
// crawl. Then open also truncates the files that opts no longer requests, because no later step
// does this.
func (s *outputs) open(opts *Options, known state.Marks, unclean bool) (err error) {
	dir := s.dir
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
		s.lines = append(s.lines, &namedOutput{o.name, *o.to})
	}
	if opts.Archive != nil {
		if s.archive, err = newArchive(dir, *opts.Archive, s.disk, time.Now()); err != nil {
			return err
		}
		if s.node != "" {
			s.archive.prefix = warcPrefix(s.node, time.Now())
		}
	}
	log := known[LogFile]
	if s.log, err = crawllog.OpenAt(filepath.Join(dir, LogFile), log.Length, log.Sum, log.SHA256); err != nil {
		return err
	}
	s.lostLog = max(0, log.Length-s.log.Size())
	return nil
}

// put appends the output of a visit, and sets record.at to the place where each record was
// written. The line of the page consists of head, the place of the page's answer, and tail. If
// head is nil, put writes no such line.
func (s *outputs) put(records []*record, page *PageRecord, head, tail, links []byte) error {
	s.moment.Lock()
	defer s.moment.Unlock()
	var place []byte
	for _, r := range records {
		if err := s.archived(r); err != nil {
			return err
		}
		if page != nil && r.ofPage {
			page.WARC, page.Offset, page.Length = r.at.File, r.at.Offset, r.at.Length
			place = page.place()
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
	_, err := s.pages.append(head, place, tail)
	return err
}

// archived appends a record and its line of the index. The caller holds s.moment.
func (s *outputs) archived(r *record) error {
	f, at, err := s.archive.append(r.raw)
	if err != nil {
		return err
	}
	r.at = archived{File: f, Offset: at + r.first.Offset, Length: r.first.Length, Revisit: r.first.Type == warc.Revisit}
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

// Flush implements state.Outputs. It returns the marks of all files as of one moment, after it
// has written and synced the files at least up to these marks.
func (s *outputs) Flush() (state.Moment, error) {
	s.moment.Lock()
	files, newName := s.lines, false
	var now state.Moment
	if a := s.archive; a != nil {
		files = slices.Concat(files, a.files)
		for _, f := range a.files[:max(0, len(a.files)-1)] {
			now.Full = append(now.Full, f.name)
		}
		newName, a.began = a.began, false
	}
	now.Marks = make(state.Marks, len(files)+1)
	for _, f := range files {
		now.Marks[f.name] = f.mark()
	}
	size, sum, sha := s.log.Sum()
	now.Marks[LogFile] = state.Mark{Length: size, Sum: sum, SHA256: sha}
	s.moment.Unlock()

	for _, f := range files {
		if err := f.flush(); err != nil {
			return now, fmt.Errorf("%s: %w", f.file.Name(), err)
		}
	}
	if newName {
		// Otherwise a power cut could lose the name of a file whose length is committed.
		if err := s.disk.SyncDir(s.archive.dir); err != nil {
			return now, err
		}
	}
	return now, s.log.Sync(s.disk.SyncData)
}

// Finish implements state.Outputs. It renames the committed full files of the archive to their
// final names.
func (s *outputs) Finish(names []string) error {
	s.moment.Lock()
	a := s.archive
	full := a.files[:len(names):len(names)]
	s.moment.Unlock()
	if err := a.finish(full); err != nil {
		return err
	}
	s.moment.Lock()
	defer s.moment.Unlock()
	a.files = slices.Clone(a.files[len(names):])
	return nil
}

// Close implements state.Outputs. It finishes the archive, writes the index of the archive, and
// closes the files.
func (s *outputs) Close(end state.End) (last state.Last, err error) {
	if s.archive != nil {
		if end.Unknown {
			s.archive.abandon()
		} else {
			err = s.archive.close(end.Committed)
		}
	}
	if err == nil && !end.Failed {
		err = s.writeIndex(end.Committed)
	}
	last.Growing, last.Finished = split(end.Committed)
	last.Index = s.made
	return last, errors.Join(err, s.closeLines())
}

// closeLines closes all outputs that consist of lines. It does not close the WARC files.
func (s *outputs) closeLines() error {
	var errs []error
	for _, o := range s.lines {
		errs = append(errs, o.file.Close())
	}
	if s.log != nil {
		errs = append(errs, s.log.Sync(s.disk.SyncData), s.log.Close())
	}
	return errors.Join(errs...)
}
