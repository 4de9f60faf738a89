// Package corpus exports the content of the pages of a crawl: as JSON lines with their text or
// their Markdown, as a tree of Markdown files, and as WARC conversion records (WET).
//
//	rows of package export -> signals -> body from the archive -> content -> near-duplicates -> writer
//
// The documents have the order of the rows of package export. Bodies are read and converted by
// several goroutines at once. A budget limits the memory for the bodies and the trees that are
// built from them, for any size of the crawl.
//
// # Which pages are left out
//
// If [Options].Purpose is set, a page whose owner refuses that purpose is not a document, and
// is passed to [Options].Refused. The statements are those that the crawl has recorded. A
// license that a site or a page names and that the crawl has not read counts as a refusal, as
// it does in the crawl itself.
//
// # Reading the source
//
// corpus.go turns rows into documents, and signals.go leaves out what is refused. body.go reads
// the archive. near.go finds near-duplicates. lines.go, wet.go and tree.go write, and names.go
// makes the names of the files of a tree.
package corpus

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"runtime"
	"strings"

	"github.com/permesso-crawler/permesso/crawler/content"
	"github.com/permesso-crawler/permesso/crawler/extract"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/export"
	"github.com/permesso-crawler/permesso/robots"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
)

// Options say which pages become documents, and what the documents have.
type Options struct {
	Whole    bool // take the content of whole pages instead of their main content
	Markdown bool // set Document.Markdown instead of Document.Text
	Near     bool // find near-duplicates, and set Document.Near

	// Purpose is the purpose for which the documents are exported. Pages whose owners refuse it
	// are left out. If it is empty, no page is left out.
	Purpose robots.Purpose
	// Declared has the purposes of all runs of the crawl, at least one. "" stands for a run
	// without a declared purpose. A run reads the licenses of sites only if its purpose needs
	// them.
	Declared []robots.Purpose
	// Refused is called for each page that is left out, in the order of the rows. If it returns
	// an error, Documents ends with that error. If it is nil, it is not called.
	Refused func(*Refusal) error
}

// A Document is a page with its content. Its row has the owner's statements about use.
type Document struct {
	*export.Row
	Language string `json:"language,omitempty"`          // language that the page declares: the lang attribute, or else Content-Language
	Main     bool   `json:"main_content"`                // Text or Markdown has only the main content, and not the whole page
	Near     string `json:"near_duplicate_of,omitempty"` // URL of the first page with nearly the same text; empty: there is no earlier one
	Error    string `json:"error,omitempty"`             // why there is no content, or why it is only the text of the whole page
	File     string `json:"file,omitempty"`              // path of the document's file in a tree, with slashes
	Text     string `json:"text,omitempty"`
	Markdown string `json:"markdown,omitempty"`
}

// budget is the memory for documents that are being converted, in bytes. perByte is how much
// memory one byte of a page may need: for the page, its tree, and copies of both.
const (
	budget  = 48 << 20
	perByte = 24
	least   = 256 << 10 // memory that the smallest page needs
)

// Documents yields the pages of a crawl with their content: all answers with a 2xx status that
// are HTML or plain text, except those that the crawl has not stored as pages. If a body cannot
// be read, its document has an Error. Documents ends at the first other error.
//
// rows must be the rows of source. Source.Damaged is called from another goroutine.
func Documents(ctx context.Context, source *export.Source, rows iter.Seq2[*export.Row, error], o Options) iter.Seq2[*Document, error] {
	return func(yield func(*Document, error) bool) {
		asked := ctx
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		w := &work{o: o, bodies: newBodies(source), room: semaphore.NewWeighted(budget), begun: make(chan *job), queue: make(chan *job, 64)}
		group, ctx := errgroup.WithContext(ctx)
		group.Go(func() error { return w.read(ctx, rows) }) // the goroutine ends after the last row, or with ctx
		for range runtime.GOMAXPROCS(0) {
			group.Go(func() error { return w.convert(ctx) }) // the goroutine ends when read closes w.begun
		}
		near := newNear()
		more := true
		for j := range w.queue {
			<-j.done
			if more {
				more = w.deliver(j, near, yield)
			}
			w.room.Release(j.room)
			if !more {
				stop()
			}
		}
		err := group.Wait()
		if err == nil { // check ctx, because the last pages may not have been converted
			err = asked.Err()
		}
		if err != nil && more {
			yield(nil, err)
		}
	}
}

// A work is the state of one call of Documents.
type work struct {
	o      Options
	bodies *bodies
	room   *semaphore.Weighted
	begun  chan *job // jobs for the goroutines that convert pages
	queue  chan *job // the same jobs in the order of the rows, for the goroutine that yields documents
}

// A job is a row that becomes a document or a Refusal.
type job struct {
	row    *export.Row
	room   int64
	read   bool // begin has already set body, header and err
	body   []byte
	header http.Header
	err    error
	done   chan struct{} // closed when the next fields are set
	doc    *Document
	by     string // the statement that refuses the purpose; empty: none; begin may set it already
	shape  uint64 // SimHash of the text, see shapeOf
	words  int
}

// read makes a job of each row that is a page, in the order of the rows.
func (w *work) read(ctx context.Context, rows iter.Seq2[*export.Row, error]) error {
	defer close(w.queue)
	defer close(w.begun)
	for row, err := range rows {
		if err != nil {
			return err
		}
		if !isPage(row) {
			continue
		}
		j := w.begin(row)
		if err := w.room.Acquire(ctx, j.room); err != nil {
			return err
		}
		select {
		case w.queue <- j:
		case <-ctx.Done():
			return ctx.Err()
		}
		select {
		case w.begun <- j:
		case <-ctx.Done():
			close(j.done)
			return ctx.Err()
		}
	}
	return nil
}

// isPage reports whether a row is a page whose content is exported, or a page that the crawl
// has not stored because its owner refuses.
func isPage(row *export.Row) bool {
	switch {
	case row.Fate == export.Refused:
		return true
	case row.Fate != export.Fetched && row.Fate != "" || row.Method == http.MethodHead || row.Status/100 != 2:
		return false
	}
	return extract.IsHTML(row.Type) || row.Type == "text/plain" || row.Type == "text/markdown"
}

// begin makes the job of a row. If the memory for the conversion can only be known from the
// body itself, begin reads the body.
func (w *work) begin(row *export.Row) *job {
	j := &job{row: row, done: make(chan struct{}), room: least, by: refusedBy(row, w.o.Purpose)}
	if j.by != "" {
		return j
	}
	if row.Size != nil {
		j.room = roomOf(*row.Size)
		return j
	}
	j.body, j.header, j.err = w.bodies.of(row)
	j.read, j.room = true, roomOf(int64(len(j.body)))
	return j
}

// roomOf returns the memory, in bytes, that the conversion of a page of size bytes may need.
func roomOf(size int64) int64 { return min(max(least, size*perByte), budget) }

// convert converts the pages of jobs until begun is closed.
func (w *work) convert(ctx context.Context) error {
	for j := range w.begun {
		if ctx.Err() == nil {
			w.do(j)
		}
		close(j.done)
	}
	return nil
}

// do reads and converts the page of a job, and sets the job's result.
func (w *work) do(j *job) {
	if j.by != "" {
		return
	}
	doc := &Document{Row: j.row}
	if j.row.Undescribed && len(w.o.Purpose.Uses()) > 0 {
		doc.Error = "the record with the statements of its owner cannot be read"
		j.doc = doc
		return
	}
	if !j.read {
		j.body, j.header, j.err = w.bodies.of(j.row)
	}
	body, header, err := j.body, j.header, j.err
	j.body = nil
	if err != nil {
		doc.Error = err.Error()
		j.doc = doc
		return
	}
	u, err := frontier.ParseURL(j.row.URL)
	if err != nil {
		doc.Error = err.Error()
		j.doc = doc
		return
	}
	if j.by = w.unread(j.row, body, header, u); j.by != "" {
		return
	}
	j.doc = doc
	sent := strings.Join(header["Content-Type"], ",")
	if sent == "" {
		sent = j.row.Type
	}
	c, err := content.Of(body, sent, u, content.Options{Whole: w.o.Whole, Markdown: w.o.Markdown})
	if err != nil {
		doc.Error = err.Error()
		return
	}
	doc.Main, doc.Error, doc.Language = c.Main, c.Limited, c.Language
	if doc.Language == "" {
		doc.Language = languageOf(header)
	}
	if doc.Title == "" {
		doc.Title = c.Title
	}
	if w.o.Near {
		j.shape, j.words = shapeOf(c.Text)
	}
	if doc.Text = c.Text; w.o.Markdown {
		doc.Text, doc.Markdown = "", c.Markdown
	}
}

// languageOf returns the language in Content-Language, or "" unless there is exactly one.
func languageOf(header http.Header) string {
	said := header["Content-Language"]
	if len(said) != 1 || strings.ContainsAny(said[0], ", \t") || len(said[0]) > 64 {
		return ""
	}
	return said[0]
}

// deliver yields the document of a job, or passes its Refusal to Options.Refused. It returns
// false if Documents must end.
func (w *work) deliver(j *job, near *near, yield func(*Document, error) bool) bool {
	switch {
	case j.by != "":
		if w.o.Refused == nil {
			return true
		}
		if err := w.o.Refused(refusal(j.row, j.by)); err != nil {
			yield(nil, err)
			return false
		}
		return true
	case j.doc == nil: // there is no document, because ctx has ended
		return true
	}
	if w.o.Near && j.doc.Error == "" {
		j.doc.Near = near.of(j.shape, j.words, j.row.URL)
	}
	return yield(j.doc, nil)
}

var errNotArchived = errors.New("the body is not in the archive")
