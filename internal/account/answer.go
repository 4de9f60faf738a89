package account

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// ErrNoBody is returned for an answer whose body the crawl did not keep.
var ErrNoBody = errors.New("crawler: no body of it was kept")

// Answer returns the last archived answer to u. The body is decoded; the caller closes it. It
// is read from the archive, or from pages.jsonl if that has the bodies. The error is ErrNoBody
// if neither has the body, a *warc.Error if the record cannot be read, or an error of the file
// system.
func (a *Account) Answer(u frontier.URL) (*http.Response, error) {
	k, ok, err := a.from.Entry(u)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("%w: %s has not entered the crawl", ErrNoBody, u)
	}
	if k.Fate.Answer == (frontier.Place{}) {
		return a.pageBody(k)
	}
	return a.archivedAt(k.Fate.Answer, true)
}

// archivedAt returns the answer whose record is at a place in the archive. A revisit record has
// no body. If payload is set, the result then has the body of the record to which the revisit
// record refers.
func (a *Account) archivedAt(at frontier.Place, payload bool) (resp *http.Response, err error) {
	file, err := a.openArchive(at.File)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			file.Close()
		}
	}()
	rec, err := warc.ReadAt(file, at.Offset)
	if err == nil && rec.Type == warc.Resource { // an answer of another protocol, such as FTP
		resp = &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {rec.Header.Get(warc.FieldContentType)}}, Body: io.NopCloser(rec)}
	} else if err == nil {
		resp, err = rec.Response()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file.Name(), err)
	}
	if rec.Type == warc.Revisit {
		defer file.Close()
		resp.Body = http.NoBody
		if !payload {
			return resp, nil
		}
		if resp.Body, err = a.original(rec); errors.Is(err, ErrNoBody) {
			resp.Body, err = a.before(rec, err)
		}
		return resp, err
	}
	body, err := fetch.Decode(strings.Join(resp.Header["Content-Encoding"], ","), resp.Body)
	if err != nil {
		return nil, fmt.Errorf("%s at byte %d: %w", file.Name(), at.Offset, err)
	}
	resp.Body = &fileBody{body, file}
	return resp, nil
}

// A fileBody is the body of an answer that is read from a file. Close also closes the file.
type fileBody struct {
	io.ReadCloser
	file io.Closer
}

func (b *fileBody) Close() error { return errors.Join(b.ReadCloser.Close(), b.file.Close()) }

// openArchive opens a WARC file of the crawl, which may still grow.
func (a *Account) openArchive(name string) (*os.File, error) {
	return store.OpenArchive(filepath.Join(a.dir, store.ArchiveDir, filepath.Base(name)))
}

// original returns the body of the record to which a revisit record refers.
func (a *Account) original(rec *warc.Record) (io.ReadCloser, error) {
	name, date := rec.Header.Get(warc.FieldRefersToURI), rec.Header.Get(warc.FieldRefersToDate)
	elsewhere := fmt.Errorf("%w with it: it is that of %s, archived at %s, which is not the last answer of that", ErrNoBody, name, date)
	u, err := frontier.ParseURL(name)
	if err != nil {
		return nil, elsewhere
	}
	k, ok, err := a.from.Entry(u)
	if err != nil {
		return nil, err
	}
	if _, purged := store.PurgedFate(k.Fate); ok && purged {
		return nil, fmt.Errorf("%w with it: it was that of %s, which was purged at %s", ErrNoBody, name, k.Fate.Time.UTC().Format(time.RFC3339))
	}
	at, err := time.Parse(time.RFC3339Nano, date)
	if !ok || err != nil {
		return nil, elsewhere
	}
	places := []frontier.Place{k.Fate.Answer}
	if k.Visits != nil { // the body may be in the record of an earlier visit
		places = append(places, k.Visits.Body)
	}
	for _, p := range places {
		if body, err := a.bodyOf(p, at); body != nil || err != nil {
			return body, err
		}
	}
	return nil, elsewhere
}

// bodyOf returns the body of the answer at the place p. It returns nil if that answer has no
// body, or was requested at another time than at.
func (a *Account) bodyOf(p frontier.Place, at time.Time) (io.ReadCloser, error) {
	if p == (frontier.Place{}) {
		return nil, nil
	}
	file, err := a.openArchive(p.File)
	if err != nil {
		return nil, err
	}
	first, err := warc.ReadAt(file, p.Offset)
	file.Close()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file.Name(), err)
	}
	if !first.Date.Equal(at) || first.Type != warc.Response {
		return nil, nil
	}
	resp, err := a.archivedAt(p, false)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// before returns the body of the record to which a revisit record refers, if that is not the
// record of the URL's last answer. The record is an earlier one of this crawl, or in an earlier
// crawl. If it is not found, before returns the error none.
func (a *Account) before(rec *warc.Record, none error) (io.ReadCloser, error) {
	c, err := store.PastOf(a.dir).Original(rec)
	if err != nil {
		return http.NoBody, none
	}
	resp, err := c.Open()
	if err != nil {
		return http.NoBody, err
	}
	body, err := fetch.Decode(strings.Join(resp.Header["Content-Encoding"], ","), resp.Body)
	if err != nil {
		resp.Body.Close()
		return http.NoBody, fmt.Errorf("the answer of %s of %s: %w", c.OfURL, c.OfDate.Format(time.RFC3339Nano), err)
	}
	return &fileBody{body, resp.Body}, nil
}

// pageBody returns the body of a page from the last line of pages.jsonl about the page.
func (a *Account) pageBody(k store.Kept) (*http.Response, error) {
	var page *store.PageRecord
	err := scanLines(filepath.Join(a.dir, store.PagesFile), a.quit, `{"url":`+jsonText(k.URL.String())+`,`, func(line []byte) bool {
		var p store.PageRecord
		if json.Unmarshal(line, &p) == nil && p.URL == k.URL.String() {
			page = &p
		}
		return true
	})
	switch {
	case err != nil:
		return nil, err
	case page == nil || len(page.Body)+len(page.Base64) == 0 && page.Size > 0:
		return nil, ErrNoBody
	}
	resp := &http.Response{StatusCode: page.Status, Header: http.Header{"Content-Type": {page.Type}}}
	text := page.Base64
	if len(page.Body) > 0 {
		text = page.Body
		resp.Header.Set("Content-Type", page.Type+"; charset=utf-8")
	}
	resp.Body = io.NopCloser(bytes.NewReader(text))
	return resp, nil
}

// addAnswer adds to x what the archive has about the last answer to its URL: the target of a
// redirect, and the record that has the body, if it is another one. It skips parts that cannot
// be read.
func (a *Account) addAnswer(x *Explanation) {
	if x.Fate.Answer == (frontier.Place{}) {
		return
	}
	file, err := a.openArchive(x.Fate.Answer.File)
	if err != nil {
		return
	}
	defer file.Close()
	rec, err := warc.ReadAt(file, x.Fate.Answer.Offset)
	if err != nil {
		return
	}
	if rec.Type == warc.Revisit {
		x.SameAs = rec.Header.Get(warc.FieldRefersToURI)
		x.SameAt, _ = time.Parse(time.RFC3339Nano, rec.Header.Get(warc.FieldRefersToDate))
		if u, err := frontier.ParseURL(x.SameAs); err == nil {
			x.Gone, _ = a.purged(u)
		}
	}
	if x.Fate.Status/100 != 3 {
		return
	}
	resp, err := rec.Response()
	if err != nil {
		return
	}
	raw := resp.Header.Get("Location")
	if raw != "" {
		x.LeadsTo, err = x.URL.Resolve(raw)
	}
	switch {
	case err != nil:
		x.Astray = fmt.Sprintf("its Location %q is not the URL of a page", raw)
	case raw == "" && slices.Contains(redirects, x.Fate.Status):
		x.Astray = "it has no Location"
	}
}

// redirects has the statuses that need a Location (RFC 9110, section 15.4).
var redirects = []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect}

// addTarget sets x.Target. If the target of the redirect was never queued, its reason is why the
// redirect was not followed.
func (a *Account) addTarget(x *Explanation) (err error) {
	if x.LeadsTo.IsZero() {
		return nil
	}
	if x.Target, err = a.Facts(x.LeadsTo); err != nil || x.Target.Known || !a.asked {
		return err
	}
	f, err := a.filterFor(x.Target)
	if err != nil {
		return err
	}
	e := x.Entry.Found(x.LeadsTo, frontier.HopRedirect)
	r, err := f.refusal(&e, &x.URL)
	x.Target.Code, x.Target.Reason, x.Target.Refusal = frontier.Unknown, "", Refusal{}
	x.Target.refuse(r)
	return err
}

// purged returns when the stored answers of u were purged, or the zero time if they were not.
func (a *Account) purged(u frontier.URL) (at time.Time, err error) {
	k, ok, err := a.from.Entry(u)
	if _, purged := store.PurgedFate(k.Fate); ok && purged {
		at = k.Fate.Time
	}
	return at, err
}

// jsonText returns s as a JSON string, encoded as in pages.jsonl and links.jsonl.
func jsonText(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string can always be encoded
	return strings.TrimSuffix(b.String(), "\n")
}
