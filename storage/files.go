package storage

// Reading the source: package internal/store writes, verifies, repairs and purges the directory of
// a crawl. This package promises the part of it that reads.

import (
	"context"
	"iter"
	"time"

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

// A PageRecord is one line of pages.jsonl. Its fields are never renamed or given another
// meaning; new fields may be added.
type PageRecord struct {
	URL        string        `json:"url"`                   // as requested
	Method     string        `json:"method,omitempty"`      // HEAD if only the header was requested; empty: GET
	Time       time.Time     `json:"time"`                  // start of the request, UTC
	Status     int           `json:"status"`                // HTTP status
	Type       string        `json:"type,omitempty"`        // media type, lower case, without parameters
	Charset    string        `json:"charset,omitempty"`     // from which Body was decoded
	Size       int64         `json:"size"`                  // number of bytes of the decoded body
	Digest     string        `json:"digest,omitempty"`      // "sha1:" and base 32, of the decoded body
	Change     string        `json:"change,omitempty"`      // compared with the crawl before: new, modified, same-text or not-modified
	TextDigest string        `json:"text_digest,omitempty"` // "sha256:" and hexadecimal digits, of the visible text
	Truncated  string        `json:"truncated,omitempty"`   // why the body is incomplete, as in WARC-Truncated
	Title      string        `json:"title,omitempty"`       // of an HTML page
	Location   string        `json:"location,omitempty"`    // target of a redirect
	Links      int           `json:"links"`                 // number of links on the page, in scope or not
	LinksCut   bool          `json:"linkscut,omitempty"`    // the page has more links than the limit
	Depth      int           `json:"depth"`                 // number of links from the seed to the page
	Hops       string        `json:"hops,omitempty"`        // path from the seed in Heritrix's letters
	Via        string        `json:"via,omitempty"`         // the page it was found on
	Tag        string        `json:"tag,omitempty"`         // the tag that the user gave to the seed
	Robots     time.Time     `json:"robots,omitzero"`       // when the robots.txt in force was fetched
	Rule       string        `json:"rule,omitempty"`        // the rule of robots.txt that allows the page, with its line, if there is such a rule
	NoIndex    bool          `json:"noindex,omitempty"`     // the page asks not to be indexed
	NoArchive  bool          `json:"noarchive,omitempty"`   // the page asks not to be shown from an archive
	Usage      []UsageRecord `json:"usage,omitempty"`       // statements about the use of the page, by use
	License    []string      `json:"license,omitempty"`     // URLs of terms of use: License lines of robots.txt, and Link fields with rel=license
	TDMPolicy  []string      `json:"tdmpolicy,omitempty"`   // URLs of policies of text and data mining
	Refused    string        `json:"refused,omitempty"`     // the statement that refuses the purpose of the crawl, or requires a license: nothing else of the page is kept
	Canonical  string        `json:"canonical,omitempty"`   // link rel=canonical of its head or header
	OpenGraph  string        `json:"ogurl,omitempty"`       // og:url
	WARC       string        `json:"warc,omitempty"`        // name of the file in warc/ that has the answer
	Offset     int64         `json:"offset,omitempty"`      // position of its record in that file, bytes
	Length     int64         `json:"length,omitempty"`      // length of that record as it is stored, bytes
	Body       Text          `json:"body,omitempty"`        // the body of a text, as UTF-8, if bodies are kept
	Base64     []byte        `json:"base64,omitempty"`      // the body of another type, if bodies are kept
}

// A LinkRecord is one line of links.jsonl, an edge of the link graph. Its fields are never
// renamed or given another meaning.
type LinkRecord struct {
	From  string `json:"from"`            // the page, as requested
	To    string `json:"to"`              // as it would be requested
	Hop   string `json:"hop"`             // Heritrix's letter
	Where string `json:"where,omitempty"` // element and attribute, as "a/href"
	Rel   string `json:"rel,omitempty"`   // as written
	Lang  string `json:"lang,omitempty"`  // hreflang, as written
	Text  string `json:"text,omitempty"`  // its visible text, white space folded
}

// A UsageRecord is a statement about one use of a page, such as ai-train, in a line of
// pages.jsonl. Its fields are never renamed or given another meaning.
type UsageRecord = store.UsageRecord

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
	return pages(store.ReadPages(ctx, dir))
}

// ReadBodies is like ReadPages, but the records have the bodies of the pages if the crawl keeps
// them in pages.jsonl. It needs memory for the longest line; a line of more than 128 MiB is
// damaged.
func ReadBodies(ctx context.Context, dir string) iter.Seq2[*PageRecord, error] {
	return pages(store.ReadBodies(ctx, dir))
}

// ReadLinks is like ReadPages, for links.jsonl.
func ReadLinks(ctx context.Context, dir string) iter.Seq2[*LinkRecord, error] {
	return func(yield func(*LinkRecord, error) bool) {
		for l, err := range store.ReadLinks(ctx, dir) {
			if !yield((*LinkRecord)(l), err) {
				return
			}
		}
	}
}

// pages yields the same records under the name that this package promises.
func pages(of iter.Seq2[*store.PageRecord, error]) iter.Seq2[*PageRecord, error] {
	return func(yield func(*PageRecord, error) bool) {
		for p, err := range of {
			if !yield((*PageRecord)(p), err) {
				return
			}
		}
	}
}

// ArchiveFiles returns the paths of the finished WARC files of the crawl in dir, in the
// order in which they were begun. It fails only if the directory cannot be read.
func ArchiveFiles(dir string) (paths []string, err error) { return store.ArchiveFiles(dir) }

// A State opens the states of crawls that are not in a file of the directory of the crawl.
// Package storage/postgres implements it; other packages cannot.
type State = state.Opener
