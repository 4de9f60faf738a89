// Package collect makes one ordinary crawl of a crawl on several machines, from its state and
// from the outputs of all nodes.
package collect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/permesso-crawler/permesso/internal/disk"
	"github.com/permesso-crawler/permesso/internal/outfile"
	"github.com/permesso-crawler/permesso/internal/state"
	"github.com/permesso-crawler/permesso/internal/store"
)

// A Result is the result of Crawl. It is an alias of an unnamed type, so that other modules can
// name the type.
type Result = struct {
	Nodes int // number of nodes
	Sites int // number of sites
	URLs  int // number of URLs, fetched or not
	Pages int // number of lines in pages.jsonl
	WARCs int // number of WARC files
	// Damaged has the paths of outputs that are not as they were written. store.Verify finds
	// the same damage in the new crawl.
	Damaged []string
	Moved   []string // names of the missing WARC files
}

// Crawl makes an ordinary crawl of a crawl on several machines, in the new directory into. from
// has the state, and dirs are the directories of all nodes with their outputs. WARC files are
// linked, or copied if the file system has no hard links. All other files are new. Lines and
// records that were not committed are left out, except lines of crawl.log. Crawl changes
// nothing else. If moved is set, WARC files may be missing, because they were moved away on
// purpose.
//
// The new crawl is made in a temporary directory beside into. Crawl removes that directory if
// it fails or if ctx ends; after a kill, the next Crawl for the same directory removes it.
// Crawl needs bounded memory.
//
// Crawl fails with an error that wraps a *store.InUseError if a node is running or has a lease,
// that wraps store.ErrNoCrawl if one of dirs is not the directory of a node, or that wraps
// fs.ErrExist if into exists. It fails with a *store.DamagedError if an output is missing or
// shorter than at its last commit. It also fails if a directory belongs to another crawl, or if
// the directory of a node is missing.
func Crawl(ctx context.Context, from state.Collector, dirs []string, into string, moved bool) (done Result, err error) {
	into = filepath.Clean(into)
	if err := unused(into); err != nil {
		return done, err
	}
	source, err := from.CollectState(ctx)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	c := &collection{ctx: ctx, moved: moved}
	defer c.release()
	if err := c.hold(source, dirs); err != nil {
		return done, err
	}
	if err := c.check(); err != nil {
		return done, err
	}
	parent, name := filepath.Split(into)
	temp, remove, err := outfile.TempDir(filepath.Clean(parent), "."+name+".")
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	c.dir = filepath.Join(temp, "crawl")
	if err := os.Mkdir(c.dir, 0o755); err != nil {
		return done, err
	}
	if err := c.make(source); err != nil {
		return done, err
	}
	if err := errors.Join(ctx.Err(), unused(into)); err != nil {
		return done, err
	}
	if err := errors.Join(c.disk.SyncDir(c.dir), os.Rename(c.dir, into)); err != nil {
		return done, err
	}
	return c.done, c.disk.SyncDir(filepath.Clean(parent))
}

// unused returns an error if a file or a directory exists at path.
func unused(path string) error {
	_, err := os.Lstat(path)
	if err == nil {
		return &fs.PathError{Op: "collect", Path: path, Err: fs.ErrExist}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// A collection is the state of one call of Crawl.
type collection struct {
	ctx   context.Context
	dir   string // directory of the new crawl
	disk  disk.Disk
	moved bool
	nodes []collectedNode // the nodes that have a directory, in the order of the directories
	held  []io.Closer
	done  Result
	last  state.Last // marks of the new files
	lost  bool       // an index is damaged, so the new index must be made from the WARC files
}

// A collectedNode is a node of the crawl and its directory.
type collectedNode struct {
	state.Node
	dir string
}

func (n *collectedNode) path(name string) string {
	return filepath.Join(n.dir, filepath.FromSlash(name))
}

func (c *collection) release() {
	for _, h := range c.held {
		h.Close()
	}
}

// hold finds the node of each directory, and prevents these nodes from running.
func (c *collection) hold(source state.Source, dirs []string) error {
	of := map[string]string{}
	var infos []fs.FileInfo
	for i, dir := range dirs {
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if j := slices.IndexFunc(infos, func(other fs.FileInfo) bool { return os.SameFile(other, info) }); j >= 0 {
			return fmt.Errorf("%s and %s are the same directory", dirs[j], dirs[i])
		}
		infos = append(infos, info)
		name, held, err := source.Hold(dir)
		if err != nil {
			return err
		}
		c.held = append(c.held, held)
		if other, ok := of[name]; ok {
			return fmt.Errorf("%s and %s are both of the node %s: name one of them", other, dir, name)
		}
		of[name] = dir
	}
	var missing []string
	all := source.Nodes()
	for _, n := range all {
		if dir, ok := of[n.Name]; ok {
			c.nodes = append(c.nodes, collectedNode{n, dir})
		} else if length := func(m state.Mark) bool { return m.Length > 0 }; hasAny(n.Growing, length) || hasAny(n.Finished, length) {
			missing = append(missing, n.Name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("the directories of these nodes are missing: %s (the name of a node begins with the name that its directory had)", strings.Join(missing, ", "))
	}
	slices.SortStableFunc(c.nodes, func(a, b collectedNode) int { return slices.Index(dirs, a.dir) - slices.Index(dirs, b.dir) })
	return nil
}

func hasAny(m state.Marks, f func(state.Mark) bool) bool {
	for _, one := range m {
		if f(one) {
			return true
		}
	}
	return false
}

// check returns an error if an output is missing or shorter than its mark, or if two nodes have
// WARC files with the same name.
func (c *collection) check() error {
	of := map[string]string{}
	for i := range c.nodes {
		n := &c.nodes[i]
		for name, m := range n.Growing {
			if m.Length == 0 || m.Lost || strings.HasPrefix(name, store.ArchiveDir+"/") {
				continue
			}
			info, err := os.Stat(n.path(name))
			if name == indexPart && (err != nil || info.Size() < m.Length) {
				continue // ignore the index, because it is made again
			}
			if errors.Is(err, fs.ErrNotExist) {
				return &store.DamagedError{Path: n.path(name), Err: fmt.Errorf("it is missing; %d bytes of it were written", m.Length)}
			}
			if err == nil && info.Size() < m.Length {
				err = &store.DamagedError{Path: n.path(name), Err: fmt.Errorf("%d bytes long where %d were written", info.Size(), m.Length)}
			}
			if err != nil {
				return err
			}
		}
		for name, m := range n.archives() {
			if other, ok := of[name]; ok {
				return fmt.Errorf("%s and %s have a WARC file of the same name, %s", other, n.dir, filepath.Base(name))
			}
			of[name] = n.dir
			if _, _, err := n.archive(name, m, c.moved); err != nil {
				return err
			}
		}
	}
	return nil
}

// archives returns the marks of the WARC files of n, except those of empty files.
func (n *collectedNode) archives() state.Marks {
	all := maps.Clone(n.Finished)
	for name, m := range n.Growing {
		if strings.HasPrefix(name, store.ArchiveDir+"/") {
			all[name] = m
		}
	}
	maps.DeleteFunc(all, func(_ string, m state.Mark) bool { return m.Length == 0 })
	return all
}

// archive returns the path and the length of a WARC file of n. The path is "" if the file was
// moved away.
func (n *collectedNode) archive(name string, m state.Mark, moved bool) (path string, length int64, err error) {
	path = n.path(name)
	info, err := os.Stat(path)
	grows := errors.Is(err, fs.ErrNotExist)
	if grows { // the file may still have this name if the node was killed
		path += openSuffix
		info, err = os.Stat(path)
	}
	switch _, finished := n.Finished[name]; {
	case errors.Is(err, fs.ErrNotExist) && moved && finished:
		return "", 0, nil
	case errors.Is(err, fs.ErrNotExist):
		return "", 0, &store.DamagedError{Path: n.path(name), Err: fmt.Errorf("it is missing; %d bytes of it were written", m.Length)}
	case err != nil:
		return "", 0, err
	case info.Size() < m.Length, info.Size() > m.Length && !grows:
		return "", 0, &store.DamagedError{Path: path, Err: fmt.Errorf("%d bytes long where %d were written", info.Size(), m.Length)}
	}
	return path, info.Size(), nil
}

// make makes all files of the new crawl.
func (c *collection) make(source state.Source) error {
	c.done.Nodes = len(c.nodes)
	c.last.Growing, c.last.Finished = state.Marks{}, state.Marks{}
	for _, step := range []func() error{
		c.archive, func() error { return c.lines(store.PagesFile) }, func() error { return c.lines(store.LinksFile) }, c.log, c.index,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	m, err := state.Make(c.dir)
	if err != nil {
		return err
	}
	if err := source.Copy(c.ctx, m); err != nil {
		return errors.Join(err, m.Abandon())
	}
	c.done.Sites, c.done.URLs = m.Sites, m.Entries
	if err := m.Finish(c.last); err != nil || !c.lost {
		return err
	}
	_, err = store.MakeIndex(c.ctx, c.dir, nil)
	return err
}

// archive links or copies the WARC files of all nodes.
func (c *collection) archive() error {
	dir := filepath.Join(c.dir, store.ArchiveDir)
	for i := range c.nodes {
		n := &c.nodes[i]
		all := n.archives()
		for _, name := range slices.Sorted(maps.Keys(all)) {
			m := all[name]
			c.last.Finished[name] = m
			path, length, err := n.archive(name, m, c.moved)
			if err == nil && path == "" {
				c.done.Moved = append(c.done.Moved, filepath.Base(name))
				continue
			}
			if err == nil {
				err = os.MkdirAll(dir, 0o755)
			}
			to := filepath.Join(c.dir, filepath.FromSlash(name))
			if err == nil && (length > m.Length || os.Link(path, to) != nil) {
				err = c.copy(to, path, m.Length)
			}
			if err != nil {
				return err
			}
			c.done.WARCs++
		}
	}
	if c.done.WARCs == 0 {
		return nil
	}
	return c.disk.SyncDir(dir)
}

// copy copies the first length bytes of the file at path to the new file to.
func (c *collection) copy(to, path string, length int64) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, &stopping{c.ctx, io.LimitReader(in, length)})
	if err == nil && n < length {
		err = &store.DamagedError{Path: path, Err: fmt.Errorf("%d bytes long where %d were written", n, length)}
	}
	return errors.Join(err, c.disk.Sync(out), out.Close())
}

// A lineCounter is a writer that counts lines.
type lineCounter struct{ n int }

func (l *lineCounter) Write(p []byte) (int, error) {
	l.n += bytes.Count(p, []byte{'\n'})
	return len(p), nil
}

// lines joins the outputs called name of all nodes, one node after the other.
func (c *collection) lines(name string) error {
	out := newCollected(c, name)
	var count lineCounter
	for i := range c.nodes {
		n := &c.nodes[i]
		m, ok := n.Growing[name]
		if ok && m.Part {
			out.part = true
		}
		if m.Length == 0 {
			continue
		}
		in, err := os.Open(n.path(name))
		if err == nil {
			marked := &marking{r: &stopping{c.ctx, io.LimitReader(in, m.Length)}}
			_, err = io.Copy(io.MultiWriter(out, &count), marked)
			err = errors.Join(err, in.Close(), out.compare(n.path(name), marked.Mark, m))
		}
		if err != nil {
			return errors.Join(err, out.close())
		}
	}
	if name == store.PagesFile {
		c.done.Pages = count.n
	}
	return out.finish()
}
