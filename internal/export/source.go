package export

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/permesso-crawler/permesso/internal/lines"
	"github.com/permesso-crawler/permesso/internal/store"
)

// DefaultMemory is how many bytes of rows are sorted in memory before they are written to a
// temporary file.
const DefaultMemory = 16 << 20

// bufferSize is how many bytes of a file are read or written at a time.
const bufferSize = 64 << 10

var (
	// ErrNoCrawl is returned for a directory with neither a pages.jsonl nor WARC files.
	ErrNoCrawl = errors.New("neither pages.jsonl nor warc/*.warc.gz in it")
	// ErrNoWARC is returned if an export needs WARC files and there are none.
	ErrNoWARC = errors.New("no WARC files")
	// ErrOpen is returned if an export copies whole WARC files and one of them is still being
	// written.
	ErrOpen = errors.New("the WARC file is not finished")
)

// A Source is the input of an export. Its methods may be called any number of times, but not
// concurrently.
type Source struct {
	Pages string   // path of a pages.jsonl; "": the crawl has no such file
	WARCs []string // paths of WARC files; the names of the files must differ

	Temp   string // directory for temporary files; "": the system's directory
	Memory int    // size of the rows that are sorted in memory, in bytes; 0: DefaultMemory

	// Damaged is called for each part that cannot be read and is left out. If it returns an
	// error, the export ends with that error. If Damaged is nil, the export ends at the first
	// such part.
	Damaged func(*Damage) error

	// Missing is set by WriteWACZ: the records whose answers are not in the package.
	Missing Missing

	read atomic.Int64

	split lines.Split // how files are divided among goroutines, in tests; its Block is also warcscan.Scan.Segment
}

// A Missing counts the revisit records of a package that repeat an answer which is not in the
// package.
type Missing struct {
	Purged int64 // number of records whose answer was purged
	Away   int64 // number of records whose answer is in an earlier crawl with a missing archive
}

// Open finds the files of a crawl in its directory. If there are none, the error wraps
// ErrNoCrawl. Other errors are a *store.NotBegunError, a *store.PurgeError if a purge of
// the crawl was not finished, or an error of the file system.
func Open(dir string) (*Source, error) {
	if _, err := os.ReadDir(dir); err != nil {
		return nil, err
	}
	if err := store.NotBegun(dir); err != nil {
		return nil, err
	}
	switch broken, err := store.UnfinishedPurge(dir); {
	case err != nil:
		return nil, err
	case broken != nil:
		return nil, broken
	}
	s := &Source{}
	pages := filepath.Join(dir, "pages.jsonl")
	switch _, err := os.Stat(pages); {
	case err == nil:
		s.Pages = pages
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	warcs := filepath.Join(dir, store.ArchiveDir)
	entries, err := os.ReadDir(warcs)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if name := warcName(e.Name()); strings.HasSuffix(name, ".warc.gz") || strings.HasSuffix(name, ".warc") {
			s.WARCs = append(s.WARCs, filepath.Join(warcs, e.Name()))
		}
	}
	if s.Pages == "" && len(s.WARCs) == 0 {
		return nil, fmt.Errorf("%s: %w", dir, ErrNoCrawl)
	}
	return s, nil
}

// openSuffix is the end of the name of a WARC file that is still being written, or that was
// being written when the crawl was killed. Such a file is listed under its final name.
const openSuffix = ".open"

func warcName(path string) string { return strings.TrimSuffix(filepath.Base(path), openSuffix) }

// Read returns how many bytes of the files were read so far. It may be called while another
// method of s runs.
func (s *Source) Read() int64 { return s.read.Load() }

// Size returns the length of all files together, in bytes.
func (s *Source) Size() (int64, error) {
	var size int64
	for _, file := range slices.Concat(s.WARCs, []string{s.Pages}) {
		if file == "" {
			continue
		}
		info, err := os.Stat(file)
		if err != nil {
			return 0, err
		}
		size += info.Size()
	}
	return size, nil
}

// open opens a file of the crawl. The bytes that are read from it count in s.Read.
func (s *Source) open(path string) (io.ReadCloser, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return &countedFile{f, &s.read}, nil
}

// A countedFile is a file that counts the bytes that are read from it. It does not embed the
// *os.File, because io.Copy would then call (*os.File).WriteTo, which does not count.
type countedFile struct {
	file *os.File
	n    *atomic.Int64
}

func (f *countedFile) Read(p []byte) (int, error) {
	n, err := f.file.Read(p)
	f.n.Add(int64(n))
	return n, err
}

func (f *countedFile) Close() error { return f.file.Close() }

// A Damage is a part of a file that cannot be read.
type Damage struct {
	File   string // path of the file
	Line   int    // number of the line in pages.jsonl, from 1; 0: the file is a WARC file
	Offset int64  // position of the WARC record in its file, in bytes
	Err    error
}

func (d *Damage) Error() string {
	if d.Line > 0 {
		return fmt.Sprintf("%s:%d: %v", d.File, d.Line, d.Err)
	}
	return fmt.Sprintf("%s: at byte %d: %v", d.File, d.Offset, d.Err)
}

func (d *Damage) Unwrap() error { return d.Err }

func (s *Source) damaged(d *Damage) error {
	if s.Damaged == nil {
		return d
	}
	return s.Damaged(d)
}
