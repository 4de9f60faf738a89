package storage

// Reading the source: package internal/store writes, verifies, repairs and purges the directory of
// a crawl. This package exports the part that reads.

import (
	"context"
	"iter"
	"time"

	"github.com/permesso-crawler/permesso/internal/state"
	"github.com/permesso-crawler/permesso/internal/store"
)

// Names of files in a crawl's directory.
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
	URL        string        `json:"url"`                   // URL as requested
	Method     string        `json:"method,omitempty"`      // "HEAD" if only the header was requested; empty for GET
	Time       time.Time     `json:"time"`                  // start of the request, UTC
	Status     int           `json:"status"`                // HTTP status
	Type       string        `json:"type,omitempty"`        // media type, lower case, without parameters
	Charset    string        `json:"charset,omitempty"`     // character encoding from which Body was decoded
	Size       int64         `json:"size"`                  // number of bytes of the decoded body
	Digest     string        `json:"digest,omitempty"`      // digest of the decoded body: "sha1:" and base 32
	Change     string        `json:"change,omitempty"`      // comparison with the previous crawl: new, modified, same-text or not-modified
	TextDigest string        `json:"text_digest,omitempty"` // digest of the visible text: "sha256:" and hexadecimal digits
	Truncated  string        `json:"truncated,omitempty"`   // reason why the body is incomplete, in the words of WARC-Truncated
	Title      string        `json:"title,omitempty"`       // title of an HTML page
	Location   string        `json:"location,omitempty"`    // target of a redirect
	Links      int           `json:"links"`                 // number of links on the page, in scope or not
	LinksCut   bool          `json:"linkscut,omitempty"`    // the page has more links than the limit
	Depth      int           `json:"depth"`                 // number of links from the seed to the page
	Hops       string        `json:"hops,omitempty"`        // path from the seed: one letter for each link, as in Heritrix
	Via        string        `json:"via,omitempty"`         // URL of the page on which the link was found
	Tag        string        `json:"tag,omitempty"`         // the tag that the user gave to the seed
	Robots     time.Time     `json:"robots,omitzero"`       // when the robots.txt that was applied was fetched
	Rule       string        `json:"rule,omitempty"`        // the rule of robots.txt that allows the page, with its line; empty if no rule matches
	NoIndex    bool          `json:"noindex,omitempty"`     // the page states noindex
	NoArchive  bool          `json:"noarchive,omitempty"`   // the page states noarchive
	Usage      []UsageRecord `json:"usage,omitempty"`       // statements about the use of the page, by use
	License    []string      `json:"license,omitempty"`     // URLs of terms of use: License lines of robots.txt, and Link fields with rel=license
	TDMPolicy  []string      `json:"tdmpolicy,omitempty"`   // URLs of policies of text and data mining
	Refused    string        `json:"refused,omitempty"`     // the statement that refuses the purpose of the crawl or requires a license; the page is not kept
	Canonical  string        `json:"canonical,omitempty"`   // URL of rel=canonical in the head of the page or in a Link field
	OpenGraph  string        `json:"ogurl,omitempty"`       // value of og:url
	WARC       string        `json:"warc,omitempty"`        // name of the file in warc/ that contains the answer
	Offset     int64         `json:"offset,omitempty"`      // position of the answer's record in that file, in bytes
	Length     int64         `json:"length,omitempty"`      // length of this record as stored, in bytes
	Body       Text          `json:"body,omitempty"`        // body of a text page in UTF-8, if bodies are kept
	Base64     []byte        `json:"base64,omitempty"`      // body of any other page, if bodies are kept
}

// A LinkRecord is one line of links.jsonl, an edge of the link graph. Its fields are never
// renamed or given another meaning.
type LinkRecord struct {
	From  string `json:"from"`            // URL of the page, as requested
	To    string `json:"to"`              // URL that the link leads to, as it would be requested
	Hop   string `json:"hop"`             // letter of the kind of link, as in Heritrix
	Where string `json:"where,omitempty"` // element and attribute of the link, such as "a/href"
	Rel   string `json:"rel,omitempty"`   // value of rel, as written
	Lang  string `json:"lang,omitempty"`  // value of hreflang, as written
	Text  string `json:"text,omitempty"`  // visible text of the link, with white space folded
}

// A UsageRecord is a statement about one use of a page, such as ai-train, in a line of
// pages.jsonl. Its fields are never renamed or given another meaning.
type UsageRecord = store.UsageRecord

// Text is a JSON string that is encoded without copying the text.
type Text = store.Text

// ReadPages iterates over the records in pages.jsonl of the crawl in dir, in the order of the
// file. The crawl may be running. The records lack the bodies of the pages. The caller may keep
// and change them. After a kill a page may be listed twice: it is fetched again if the crawl had
// not yet recorded the first fetch.
//
// A line that is not a record is yielded as a nil record with a *DamagedError, which has the
// number of the line. The iteration then continues with the next line. The last line of a crawl
// that is running or was killed may be incomplete. Its error also wraps io.ErrUnexpectedEOF.
//
// The iteration ends after any other error: fs.ErrNotExist if the crawl writes no pages, the error
// of ctx, which is checked before each line, or an error of the file system. The file is closed
// when the loop ends, even if its body leaves the loop.
func ReadPages(ctx context.Context, dir string) iter.Seq2[*PageRecord, error] {
	return pages(store.ReadPages(ctx, dir))
}

// ReadBodies is like ReadPages, but the records include the bodies of the pages, if the crawl
// keeps them in pages.jsonl. It needs memory for the longest line. A line of more than 128 MiB
// counts as damaged.
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

// pages converts the records to the type that this package exports.
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

// A State opens the states of crawls that are not in a file of the crawl's directory. Only package
// storage/postgres implements it.
type State = state.Opener
