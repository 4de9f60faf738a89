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

// A bodies reads the bodies of rows from the archive of a crawl. It is safe for concurrent use.
type bodies struct {
	dir     string // directory of the crawl
	past    *store.Past
	parents func() *regexp.Regexp // returns the pattern for directories, see directoriesOf
}

func newBodies(s *export.Source) *bodies {
	if len(s.WARCs) == 0 {
		return &bodies{}
	}
	dir := filepath.Dir(filepath.Dir(s.WARCs[0]))
	return &bodies{dir, store.PastOf(dir), sync.OnceValue(func() *regexp.Regexp { return directoriesOf(dir) })}
}

// directoriesOf returns a pattern for the paths of the directories in which a crawl and its
// earlier crawls are. The first group of the pattern is the text before such a path.
func directoriesOf(crawl string) *regexp.Regexp {
	var all []string
	add := func(parent string) {
		if filepath.Dir(parent) != parent && !slices.Contains(all, parent) { // skip "." and "/", which are no directories of crawls
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

// of returns the decoded body of a row and its header. If the record repeats an earlier answer,
// the body is read from that answer's record, perhaps in an earlier crawl.
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

// answer returns the answer in a record, or the earlier answer that the record repeats.
func (b *bodies) answer(rec *warc.Record) (*http.Response, error) {
	switch rec.Type {
	case warc.Revisit:
		return b.repeated(rec)
	case warc.Resource: // an answer of another protocol, such as FTP
		return &http.Response{Header: http.Header{"Content-Type": {rec.Header.Get(warc.FieldContentType)}}, Body: io.NopCloser(rec)}, nil
	}
	return rec.Response()
}

// repeated returns the earlier answer that a revisit record repeats. If the record is a 304,
// the result has the header of the earlier answer, updated by the 304. Otherwise it has the
// header of the record itself, because the same bytes may be sent with other fields.
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
	coding := resp.Header["Content-Encoding"] // keep the coding of the body in the archive
	resp.Header = own.Header.Clone()
	if resp.Header["Content-Encoding"] = coding; coding == nil {
		delete(resp.Header, "Content-Encoding")
	}
	return resp, nil
}

// decoded reads the body of an answer and removes its content coding.
func decoded(resp *http.Response) ([]byte, error) {
	in, err := fetch.Decode(strings.Join(resp.Header["Content-Encoding"], ","), resp.Body)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	body, err := io.ReadAll(io.LimitReader(in, maxBody+1))
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF) && len(body) > 0: // the body was cut, and the archive has its beginning
	case err != nil:
		return nil, err
	}
	return body, nil
}

// archivePath matches the path of a WARC file. Its group is the name of the file.
var archivePath = regexp.MustCompile(`\S*[/\\](\S+\.warc)`)

// placed adds the name of its WARC file to an error about a record. It removes directories from
// the error, because the error becomes a part of the export.
func (b *bodies) placed(path string, err error) error {
	var bad *warc.Error
	var file *fs.PathError
	missing, purged := errors.As(err, new(*store.MissingAnswerError)), errors.Is(err, store.ErrPurged)
	switch {
	case (missing || purged) && !b.past.Remembers(): // without an index it is not known whether an earlier crawl has purged the answer
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

// withoutParents returns the text of an error without the paths of the directories in which
// crawls are.
func (b *bodies) withoutParents(err error) string {
	return b.parents().ReplaceAllString(err.Error(), "$1")
}
