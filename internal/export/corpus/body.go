package corpus

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/internal/export"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// maxBody is the size of the largest body that is read, in bytes. Package content reads as much.
const maxBody = 32 << 20

// A bodies reads the bodies of rows from the archive. It is safe for concurrent use.
type bodies struct {
	dir     string // the crawl
	past    *store.Past
	parents func() *regexp.Regexp // see directoriesOf
}

func newBodies(s *export.Source) *bodies {
	if len(s.WARCs) == 0 {
		return &bodies{}
	}
	dir := filepath.Dir(filepath.Dir(s.WARCs[0]))
	return &bodies{dir, store.PastOf(dir), sync.OnceValue(func() *regexp.Regexp { return directoriesOf(dir) })}
}

// directoriesOf returns a pattern for the directories that a crawl and its earlier crawls are in.
// The first group is what precedes a path.
func directoriesOf(crawl string) *regexp.Regexp {
	var all []string
	add := func(parent string) {
		if filepath.Dir(parent) != parent && !slices.Contains(all, parent) { // neither "." nor "/"
			all = append(all, parent)
		}
	}
	add(filepath.Dir(crawl))
	if abs, err := filepath.Abs(crawl); err == nil {
		crawl = abs
	}
	for seen := map[string]bool{}; crawl != "" && !seen[crawl]; crawl = store.Previous(crawl) {
		seen[crawl] = true
		add(filepath.Dir(crawl))
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	for i, parent := range all {
		all[i] = regexp.QuoteMeta(parent + string(filepath.Separator))
	}
	return regexp.MustCompile(`(^|[\s"])(?:` + strings.Join(all, "|") + `)`)
}

// of returns the body of a row without content coding, and its header. If the record repeats an
// earlier answer, the body is that of the earlier answer, which may be in an earlier crawl.
func (b *bodies) of(r *export.Row) (body []byte, header http.Header, err error) {
	if b.dir == "" || r.WARCFile == "" || r.WARCOffset == nil {
		return nil, nil, errNotArchived
	}
	path := filepath.Join(b.dir, store.ArchiveDir, filepath.Base(r.WARCFile))
	file, err := store.OpenArchive(path)
	if err != nil {
		return nil, nil, b.placed(path, err)
	}
	defer file.Close()
	rec, err := warc.ReadAt(file, *r.WARCOffset)
	if err != nil {
		return nil, nil, b.placed(path, err)
	}
	if rec.TargetURI() != r.URL {
		return nil, nil, fmt.Errorf("%s at byte %d: the record is of %s", filepath.Base(path), *r.WARCOffset, rec.TargetURI())
	}
	if r.WARCID == "" {
		r.WARCID = rec.ID
	}
	resp, err := b.answer(rec)
	if err != nil {
		return nil, nil, b.placed(path, err)
	}
	defer resp.Body.Close()
	if body, err = decoded(resp); err != nil {
		return nil, nil, b.placed(path, err)
	}
	if rec.Type != warc.Revisit {
		if _, err := rec.Close(); err != nil {
			return nil, nil, b.placed(path, err)
		}
	}
	return body, resp.Header, nil
}

// answer returns the answer in a record, or that which the record repeats.
func (b *bodies) answer(rec *warc.Record) (*http.Response, error) {
	switch rec.Type {
	case warc.Revisit:
		return b.repeated(rec)
	case warc.Resource: // an answer over another protocol, such as FTP
		return &http.Response{Header: http.Header{"Content-Type": {rec.Header.Get(warc.FieldContentType)}}, Body: io.NopCloser(rec)}, nil
	}
	return rec.Response()
}

// repeated returns the answer that a revisit record repeats. Its header is that of the record
// itself: the same bytes may be sent with other fields. After a 304 it is that of the earlier
// answer, updated by the 304.
func (b *bodies) repeated(rec *warc.Record) (*http.Response, error) {
	c, err := b.past.Original(rec)
	if err != nil {
		return nil, err
	}
	own, err := rec.Response()
	if err != nil {
		return nil, err
	}
	resp, err := c.Open()
	if err != nil {
		return nil, err
	}
	if rec.Header.Get(warc.FieldProfile) == string(warc.ServerNotModified) {
		resp.Header = store.UpdatedHeader(c.Header, own.Header)
		return resp, nil
	}
	coding := resp.Header["Content-Encoding"] // that of the body in the archive
	resp.Header = own.Header.Clone()
	if resp.Header["Content-Encoding"] = coding; coding == nil {
		delete(resp.Header, "Content-Encoding")
	}
	return resp, nil
}

// decoded reads the body of an answer without its content coding.
func decoded(resp *http.Response) ([]byte, error) {
	in, err := fetch.Decode(strings.Join(resp.Header["Content-Encoding"], ","), resp.Body)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	body, err := io.ReadAll(io.LimitReader(in, maxBody+1))
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF) && len(body) > 0: // the crawl has kept the beginning of it
	case err != nil:
		return nil, err
	}
	return body, nil
}

// archivePath is the path of a WARC file.
var archivePath = regexp.MustCompile(`\S*[/\\](\S+\.warc)`)

// placed returns an error of a record with its file. Directories are left out, because the error
// becomes part of the export.
func (b *bodies) placed(path string, err error) error {
	var bad *warc.Error
	var file *fs.PathError
	missing, purged := errors.As(err, new(*store.MissingAnswerError)), errors.Is(err, store.ErrPurged)
	switch {
	case (missing || purged) && !b.past.Remembers(): // an earlier crawl may say that it was purged there
		return errors.New("the body is in another record, and the crawl has no index.cdxj to find it by: crawl index makes that")
	case purged:
		return errors.New("the body was purged")
	case missing:
		return errors.New("the body is in an earlier crawl that is missing: bring back that crawl beside this one")
	case errors.As(err, &bad):
		return fmt.Errorf("%s at byte %d: %s", filepath.Base(path), bad.Offset, archivePath.ReplaceAllString(b.withoutParents(bad.Err), "$1"))
	case errors.As(err, &file):
		return fmt.Errorf("%s: %w", filepath.Base(file.Path), file.Err)
	}
	return errors.New(b.withoutParents(err))
}

// withoutParents returns the text of an error without the directories that crawls are in.
func (b *bodies) withoutParents(err error) string {
	return b.parents().ReplaceAllString(err.Error(), "$1")
}
