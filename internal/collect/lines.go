package collect

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/internal/digest"
	"github.com/permesso-crawler/permesso/internal/lines"
	"github.com/permesso-crawler/permesso/internal/state"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/storage/cdxj"
)

// A collectedFile is a new output. The file is created when its first byte is written.
type collectedFile struct {
	c       *collection
	name    string
	file    *os.File
	buffer  *bufio.Writer
	marking marking
	part    bool // a node did not write this output
	damaged bool // the output of a node is not as the node has written it
}

func newCollected(c *collection, name string) *collectedFile {
	return &collectedFile{c: c, name: name, marking: marking{sha: digest.New()}}
}

func (f *collectedFile) Write(p []byte) (_ int, err error) {
	if f.file == nil {
		if f.file, err = os.OpenFile(filepath.Join(f.c.dir, f.name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644); err != nil {
			return 0, err
		}
		f.marking.w = f.file
		f.buffer = bufio.NewWriterSize(&f.marking, 1<<16)
	}
	return f.buffer.Write(p)
}

// compare sets f.damaged if two marks of the node's output at path differ: is was computed from
// the file, want is from the state.
func (f *collectedFile) compare(path string, is, want state.Mark) error {
	if err := f.c.ctx.Err(); err != nil {
		return err
	}
	if is.Length < want.Length {
		return &store.DamagedError{Path: path, Err: fmt.Errorf("%d bytes long where %d were written", is.Length, want.Length)}
	}
	if is.Sum != want.Sum {
		f.damaged = true
		f.c.done.Damaged = append(f.c.done.Damaged, path)
	}
	return nil
}

// finish closes the file and stores its mark.
func (f *collectedFile) finish() error {
	if f.file != nil {
		if err := errors.Join(f.buffer.Flush(), f.c.disk.Sync(f.file), f.close()); err != nil {
			return err
		}
	}
	m := f.marking.mark()
	if m.Part = f.part; f.damaged { // store a mark that does not match, so that Verify finds the damage
		m.Sum, m.SHA256 = ^m.Sum, ""
	}
	f.c.last.Growing[f.name] = m
	return nil
}

func (f *collectedFile) close() error {
	if f.file == nil {
		return nil
	}
	return f.file.Close()
}

// A nodeLog reads the crawl.log of one node.
type nodeLog struct {
	path   string
	file   *os.File
	want   state.Mark
	marked *marking // reads the committed part of the log, which want describes
}

func openLog(n *collectedNode) (*nodeLog, error) {
	path, want := n.path(store.LogFile), n.Growing[store.LogFile]
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return &nodeLog{path, file, want, &marking{r: io.LimitReader(file, want.Length)}}, nil
}

// log merges the logs of all nodes.
func (c *collection) log() (err error) {
	out := newCollected(c, store.LogFile)
	var all []*nodeLog
	var readers []io.Reader
	defer func() {
		for _, l := range all {
			err = errors.Join(err, l.file.Close())
		}
	}()
	for i := range c.nodes {
		n := &c.nodes[i]
		l, err := openLog(n)
		if errors.Is(err, fs.ErrNotExist) && n.Growing[store.LogFile].Length == 0 {
			continue
		}
		if err != nil {
			return err
		}
		all = append(all, l)
		in := io.Reader(l.marked)
		if n.Unclean { // read uncommitted lines, too, because the log is evidence of every request
			in = io.MultiReader(l.marked, l.file)
		}
		readers = append(readers, &stopping{c.ctx, in})
	}
	write := func(text []byte) error {
		_, err := out.Write(text)
		if err == nil {
			_, err = out.Write([]byte("\n"))
		}
		return err
	}
	err = crawllog.Merge(readers, func(_ int64, _ *crawllog.Line, text []byte) error { return write(text) },
		func(log int, _ int64, text []byte, why error) error {
			if errors.Is(why, crawllog.ErrLong) {
				return fmt.Errorf("%s: %w", all[log].path, why)
			}
			return write(text)
		})
	for _, l := range all {
		if err == nil {
			err = out.compare(l.path, l.marked.Mark, l.want)
		}
	}
	if err != nil {
		return errors.Join(err, out.close())
	}
	return out.finish()
}

const (
	indexPart  = "index.part" // lines of index.cdxj, in the order in which their records were written
	openSuffix = ".open"      // end of the name of a WARC file that is still being written
)

// index joins the index.part of all nodes, and sorts the result as index.cdxj. If an index.part
// is damaged, index sets c.lost and makes no index.cdxj. store.MakeIndex must then make both
// files from the WARC files.
func (c *collection) index() (err error) {
	out := newCollected(c, indexPart)
	sorter := cdxj.NewSorter(c.dir, 0)
	defer func() { err = errors.Join(err, sorter.Close()) }()
	lost := false
	for i := range c.nodes {
		n := &c.nodes[i]
		m := n.Growing[indexPart]
		if m.Length == 0 && !m.Lost {
			continue
		}
		is, err := c.indexOf(n, m, out, sorter)
		if err != nil {
			return errors.Join(err, out.close())
		}
		lost = lost || m.Lost || !is.Same(m)
	}
	if err := out.finish(); err != nil {
		return err
	}
	part := c.last.Growing[indexPart]
	switch {
	case lost:
		c.lost = true
		c.last.Growing[indexPart] = state.Mark{Lost: true}
		return nil
	case part.Length == 0:
		delete(c.last.Growing, indexPart)
		return nil
	}
	sorted, err := c.writeSorted(sorter)
	c.last.Index = state.IndexMarks{Part: part, Index: sorted}
	return err
}

// indexOf adds the lines of the index.part of a node. It returns the mark of the bytes that
// were read. It skips lines that cannot be read.
func (c *collection) indexOf(n *collectedNode, m state.Mark, out io.Writer, sorter *cdxj.Sorter) (state.Mark, error) {
	in, err := os.Open(n.path(indexPart))
	if err != nil {
		return state.Mark{}, nil
	}
	defer in.Close()
	marked := &marking{r: io.LimitReader(in, m.Length)}
	reader := lines.NewReader(marked)
	for {
		if err := c.ctx.Err(); err != nil {
			return marked.Mark, err
		}
		line, err := reader.Next()
		if err == io.EOF || err == nil && reader.Torn() {
			return marked.Mark, nil
		}
		if err != nil || len(line) >= cdxj.MaxLine {
			return state.Mark{}, nil
		}
		line = append(line, '\n')
		if _, err := out.Write(line); err != nil {
			return marked.Mark, err
		}
		if err := sorter.AddLine(line); err != nil {
			return marked.Mark, err
		}
	}
}

// writeSorted writes the sorted lines to index.cdxj, and returns the file's mark.
func (c *collection) writeSorted(sorter *cdxj.Sorter) (state.Mark, error) {
	f, err := os.OpenFile(filepath.Join(c.dir, store.IndexFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return state.Mark{}, err
	}
	out := &marking{w: f, sha: digest.New()}
	_, err = sorter.WriteTo(&stoppingWriter{c.ctx, out})
	return out.mark(), errors.Join(err, c.disk.Sync(f), f.Close())
}

// A marking computes the mark (length and checksums) of the bytes that are read or written
// through it.
type marking struct {
	r io.Reader
	w io.Writer
	state.Mark
	sha *digest.Digest // nil: the mark has no SHA-256
}

func (m *marking) mark() state.Mark {
	now := m.Mark
	now.SHA256 = m.sha.State()
	return now
}

func (m *marking) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.Mark = m.Plus(p[:n])
	return n, err
}

func (m *marking) Write(p []byte) (int, error) {
	n, err := m.w.Write(p)
	m.Mark = m.Plus(p[:n])
	m.sha.Write(p[:n])
	return n, err
}

// A stopping is a reader that fails after its context has ended.
type stopping struct {
	ctx context.Context
	r   io.Reader
}

func (s *stopping) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.r.Read(p)
}

// A stoppingWriter is a writer that fails after its context has ended.
type stoppingWriter struct {
	ctx context.Context
	w   io.Writer
}

func (s *stoppingWriter) Write(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.w.Write(p)
}
