package audit

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/kept"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// Dir audits the crawl in a directory, and changes nothing. While it reads, no process can run
// the crawl. The error is a *LineError if a line of crawl.log cannot be read, a
// *store.InUseError, a *store.DamagedError, a *store.VersionError, a *store.PurgeError, an
// error that wraps store.ErrNoCrawl, or an error of the file system.
func Dir(dir string, o Options) (*Report, error) {
	if _, err := os.Stat(filepath.Join(dir, store.StateFile)); err != nil {
		return nil, fmt.Errorf("%w in %s: %w", store.ErrNoCrawl, dir, err)
	}
	r, err := store.OpenReader(dir)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	name := filepath.Join(dir, store.LogFile)
	c := Crawl{Name: name, Killed: r.Unclean(), Committed: r.LastCommit(), Sites: r.Names(), Entries: r.Entries, Log: func() (io.ReadCloser, error) { return openLog(name, o) }, Robots: r.Snapshots}
	c.Written, c.Sum = r.LogMark()
	id, settings, err := kept.Asked(r)
	if err != nil {
		return nil, err
	}
	c.Identity, c.Settings = crawler.Identity(id), settings
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return nil, &store.DamagedError{Path: name, Err: errors.New("it is missing, and without it nothing can be proven")}
	}
	o.Gauge.Expect(name, name) // it is read for the runs, and again for the requests
	if c.UserAgents, err = agents(filepath.Join(dir, store.ArchiveDir)); err != nil {
		return nil, err
	}
	return c.Audit(o)
}

// A quitting is a file whose Read fails when its function quit returns an error.
type quitting struct {
	io.Reader
	io.Closer
	quit func() error
}

func (q quitting) Read(p []byte) (int, error) {
	if err := q.quit(); err != nil {
		return 0, err
	}
	return q.Reader.Read(p)
}

func openLog(name string, o Options) (io.ReadCloser, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	quit := o.Quit
	if quit == nil {
		quit = func() error { return nil }
	}
	return quitting{o.Gauge.Reader(file), file, quit}, nil
}

// agents returns the different User-Agents in the first records of the WARC files. It ignores
// files that cannot be read: verify reports them.
func agents(dir string) (all []string, err error) {
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if !strings.Contains(f.Name(), ".warc") || f.IsDir() {
			continue
		}
		agent, err := agentOf(filepath.Join(dir, f.Name()))
		if err != nil {
			return nil, err
		}
		if agent != "" && !slices.Contains(all, agent) {
			all = append(all, agent)
		}
	}
	slices.Sort(all)
	return all, nil
}

// agentOf returns the User-Agent in the warcinfo record at the beginning of a file.
func agentOf(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	rec, err := warc.NewReader(file).Next()
	if err != nil || rec.Type != warc.Warcinfo {
		return "", nil
	}
	fields, err := rec.Fields()
	if err != nil {
		return "", nil
	}
	for _, f := range fields {
		if strings.EqualFold(f.Name, "http-header-user-agent") {
			return f.Value, nil
		}
	}
	return "", nil
}
