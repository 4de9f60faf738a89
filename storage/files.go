package storage

// Reading the source: package internal/store writes, verifies, repairs and purges the directory of
// a crawl. This package promises the part of it that reads.

import (
	"context"
	"iter"
	"os"

	"github.com/permesso-crawler/permesso/internal/state"
	"github.com/permesso-crawler/permesso/internal/store"
)

// File names in a crawl's directory.
const (
	StateFile  = store.StateFile  // state.db
	LogFile    = store.LogFile    // crawl.log
	PagesFile  = store.PagesFile  // pages.jsonl
	LinksFile  = store.LinksFile  // links.jsonl
	ArchiveDir = store.ArchiveDir // warc
	IndexFile  = store.IndexFile  // index.cdxj
)

// FieldTextDigest is the field of a metadata record with the digest of the visible text of
// a page: "sha256:" and hexadecimal digits.
const FieldTextDigest = store.FieldTextDigest

// A PageRecord is one line of pages.jsonl. Its fields are never renamed or given another
// meaning; new fields may be added. The page docs/reference/outputs.md describes each.
type PageRecord = store.PageRecord

// A LinkRecord is one line of links.jsonl, an edge of the link graph. Its fields are never
// renamed or given another meaning. The page docs/reference/outputs.md describes each.
type LinkRecord = store.LinkRecord

// A UsageRecord is a statement about one use of a page, such as ai-train, in a line of
// pages.jsonl. Its fields are never renamed or given another meaning.
type UsageRecord = store.UsageRecord

// ParseUsage parses a statement about the use of a page, as a metadata record of the archive has
// it: "ai-train=n by line 5: Content-Signal: ai-train=no". ok is false for any other text.
func ParseUsage(s string) (u UsageRecord, ok bool) { return store.ParseUsage(s) }

// Text is a JSON string that is encoded without being copied.
type Text = store.Text

// ReadPages iterates over the records in pages.jsonl of the crawl in dir, which may be running,
// in the order of the file. The records come without the bodies of the pages, and belong to the
// caller. A kill may leave a page there twice: it is fetched again if the crawl had not yet
// recorded that it was fetched.
//
// A line that is not a record comes as a pair without a record, and with a *DamagedError that
// says which line it is. The iteration then goes on with the next line. An incomplete last line
// of a crawl that is running or was killed is such a line; its error also wraps
// io.ErrUnexpectedEOF.
//
// After any other error the iteration ends: fs.ErrNotExist if the crawl writes no pages, the
// error of ctx, which is checked before each line, or an error of the file system. The file is
// closed when the loop ends, also if its body leaves the loop.
func ReadPages(ctx context.Context, dir string) iter.Seq2[*PageRecord, error] {
	return store.ReadPages(ctx, dir)
}

// ReadBodies is like ReadPages, but the records have the bodies of the pages if the crawl keeps
// them in pages.jsonl. It needs memory for the longest line; a line of more than 128 MiB is
// damaged.
func ReadBodies(ctx context.Context, dir string) iter.Seq2[*PageRecord, error] {
	return store.ReadBodies(ctx, dir)
}

// ReadLinks is like ReadPages, for links.jsonl.
func ReadLinks(ctx context.Context, dir string) iter.Seq2[*LinkRecord, error] {
	return store.ReadLinks(ctx, dir)
}

// ArchiveFiles returns the paths of the finished WARC files of the crawl in dir, in the
// order in which they were begun. It fails only if the directory cannot be read.
func ArchiveFiles(dir string) (paths []string, err error) { return store.ArchiveFiles(dir) }

// OpenArchive opens the WARC file of a crawl at path. If the file is still being written, its
// name has the suffix ".open"; OpenArchive opens it under that name.
func OpenArchive(path string) (*os.File, error) { return store.OpenArchive(path) }

// A State opens the states of crawls that are not in a file of the directory of the crawl.
// Package storage/postgres implements it; other packages cannot.
type State = state.Opener
