package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/permesso-crawler/permesso/internal/state"
)

// checkFiles compares the lengths and the ends of a crawl's files with their marks. Open calls
// it before it writes anything, so that a crawl that Open refuses stays unchanged.
func checkFiles(dir string, known state.Marks, opts *Options, unclean bool) error {
	for _, o := range []struct {
		name string
		want bool
	}{{PagesFile, !opts.NoPages}, {LinksFile, opts.Links}} {
		if !o.want {
			continue
		}
		path := filepath.Join(dir, o.name)
		if err := checkOutput(path, known[o.name], unclean); err != nil {
			return err
		}
		if err := wholeLine(path, known[o.name]); err != nil {
			return err
		}
	}
	if opts.Archive != nil {
		if err := canWrite(filepath.Join(dir, indexPart)); err != nil {
			return err
		}
	}
	for key, m := range known {
		if name, ok := strings.CutPrefix(key, ArchiveDir+"/"); ok {
			if err := checkArchived(filepath.Join(dir, ArchiveDir, name), m); err != nil {
				return err
			}
		}
	}
	return canWrite(filepath.Join(dir, LogFile))
}

// checkOutput compares the length of the file at path with its mark. unclean says that the last
// run did not close the crawl. A run that closes the crawl leaves nothing after the mark. So if
// unclean is not set, bytes after the mark are an error: another program has written them, and
// may have changed the lines before them.
func checkOutput(path string, m state.Mark, unclean bool) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && m.Length == 0:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return &DamagedError{Path: path, Err: fmt.Errorf("it is missing; %d bytes of it were written", m.Length)}
	case err != nil:
		return err
	case info.Size() < m.Length, info.Size() > m.Length && !unclean && info.Mode().IsRegular():
		return &DamagedError{Path: path, Err: fmt.Errorf("%d bytes long where %d were written", info.Size(), m.Length)}
	}
	return canWrite(path)
}

// checkArchived compares the length of a WARC file that was unfinished at the last commit with
// its mark. The file has its final name or openSuffix.
func checkArchived(path string, m state.Mark) error {
	info, err := os.Stat(path + openSuffix)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if info, err := os.Stat(path); err != nil || info.Size() != m.Length {
			return &DamagedError{Path: path, Err: fmt.Errorf("it is missing or not %d bytes long, as was written", m.Length)}
		}
		return nil
	case err != nil:
		return err
	case info.Size() < m.Length:
		return &DamagedError{Path: path + openSuffix, Err: fmt.Errorf("%d bytes long where %d were written", info.Size(), m.Length)}
	}
	return canWrite(path + openSuffix)
}

// canWrite returns the error if the file at path cannot be opened for writing. It returns nil
// if the file does not exist.
func canWrite(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}
