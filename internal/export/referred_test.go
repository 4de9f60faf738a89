package export_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/export"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/internal/wacz"
	"github.com/permesso-crawler/permesso/storage/cdxj"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// repeating makes two crawls and returns their directories. The second repeats answers of the
// first: one with a 304, one with the same bytes, and one twice.
func repeating(t *testing.T) (first, second string) {
	t.Helper()
	root := t.TempDir()
	first, second = filepath.Join(root, "1.crawl"), filepath.Join(root, "2.crawl")
	body := strings.Repeat("a body that is worth a record ", 20)
	day := time.Date(2030, 1, 1, 3, 0, 0, 0, time.UTC)
	urls := []string{"http://a.example/asked", "http://a.example/same", "http://a.example/unused"}
	for n, dir := range []string{first, second} {
		db, err := store.Open(dir, store.Options{Archive: &store.Archive{}})
		if err == nil && n == 1 {
			err = db.PutPrevious(first)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, url := range urls[:len(urls)-n] {
			x := &warc.Exchange{URL: url, Date: day.AddDate(0, 0, n), Response: &warc.HTTP{
				StartLine: warc.StatusLine(200), Header: http.Header{"Content-Type": {"text/html"}}, Body: []byte(url + body), Coding: warc.Unchunked,
			}}
			v := &store.Visit{Exchanges: []*warc.Exchange{x}, Answer: x}
			if n == 1 {
				u, err := frontier.ParseURL(url)
				if err != nil {
					t.Fatal(err)
				}
				if v.Before, err = store.PastOf(first).Capture(u); err != nil || v.Before == nil {
					t.Fatal(err)
				}
				if url == urls[0] {
					x.Response.StartLine, x.Response.Body = warc.StatusLine(304), nil
					x.Response.Header = http.Header{"Expires": {"later"}, "Connection": {"close"}}
					x.Revisit = &warc.RevisitOf{Profile: warc.ServerNotModified, URL: url, Date: day}
					again := *x
					again.Date = again.Date.Add(time.Hour)
					v.Exchanges = append(v.Exchanges, &again)
				}
			}
			if refused, err := db.PutVisit(v); err != nil || len(refused) > 0 {
				t.Fatal(err, refused)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return first, second
}

// packed returns the lines of the index in a WACZ, and the names of its WARC files.
func packed(t *testing.T, path string) (lines []*cdxj.Entry, files []string) {
	t.Helper()
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for _, f := range z.File {
		if name, ok := strings.CutPrefix(f.Name, "archive/"); ok {
			files = append(files, name)
		}
		if f.Name != "indexes/index.cdx" {
			continue
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(raw)) {
			e, err := cdxj.Parse(line)
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, e)
		}
	}
	return lines, files
}

// packTo writes a WACZ of a crawl, and returns its path and the reported damage.
func packTo(t *testing.T, dir string) (path string, damage []error) {
	t.Helper()
	s, err := export.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	s.Temp = t.TempDir()
	s.Damaged = func(d *export.Damage) error { damage = append(damage, d); return nil }
	path = filepath.Join(t.TempDir(), "x.wacz")
	f, err := os.Create(path)
	if err == nil {
		_, err = s.WriteWACZ(t.Context(), f, wacz.Package{Created: noon})
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(s.Temp); err != nil || len(left) > 0 {
		t.Errorf("files left: %v, %v", left, err)
	}
	return path, damage
}

// A package has each earlier answer that its records repeat, once, so it can be replayed alone.
func TestAPackageHasWhatItsRecordsRepeat(t *testing.T) {
	first, second := repeating(t)
	path, damage := packTo(t, second)
	if err := wacz.Verify(path); err != nil || len(damage) > 0 {
		t.Errorf("%v, %v", err, damage)
	}
	lines, files := packed(t, path)
	if len(files) != 2 || files[1] != "referred-to.warc.gz" {
		t.Errorf("the files are %v", files)
	}
	count := map[string]int{}
	for _, e := range lines {
		count[e.URL+" "+e.MIME+" "+e.Time.Format("02")]++
	}
	want := map[string]int{
		"http://a.example/asked text/html 01": 1, "http://a.example/same text/html 01": 1,
		"http://a.example/asked warc/revisit 02": 2, "http://a.example/same warc/revisit 02": 1,
	}
	for what, n := range want {
		if count[what] != n {
			t.Errorf("%d of %s, want %d", count[what], what, n)
		}
	}
	if len(count) != len(want) {
		t.Errorf("the index has %v", count)
	}
	if _, files := packed(t, func() string { path, _ := packTo(t, first); return path }()); len(files) != 1 {
		t.Errorf("of a crawl that repeats none: %v", files)
	}
}

// onlyRecord returns the WARC record in a package to which a line of the index refers.
func onlyRecord(t *testing.T, path string, e *cdxj.Entry) (*warc.Record, *http.Response) {
	t.Helper()
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	f, err := z.Open("archive/" + e.Filename)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	raw, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := warc.ReadAt(bytes.NewReader(raw), e.Offset)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := rec.Response()
	if err != nil {
		t.Fatal(err)
	}
	return rec, resp
}

// A replay of a 304 would show an empty page. So the index of a package lists another record
// instead, with the status of the earlier answer and its updated header.
func TestA304IsListedAsTheAnswerThatItStandsFor(t *testing.T) {
	_, second := repeating(t)
	path, _ := packTo(t, second)
	lines, _ := packed(t, path)
	n := 0
	for _, e := range lines {
		if e.Status != 200 {
			t.Errorf("%s of %s is listed with status %d", e.URL, e.Time, e.Status)
		}
		if e.URL != "http://a.example/asked" || e.MIME != "warc/revisit" {
			continue
		}
		n++
		rec, resp := onlyRecord(t, path, e)
		for field, want := range map[string]string{
			warc.FieldTargetURI: e.URL, warc.FieldProfile: string(warc.IdenticalPayloadDigest), warc.FieldRefersToURI: e.URL,
			warc.FieldRefersToDate: "2030-01-01T03:00:00.000000Z", warc.FieldPayloadDigest: e.Digest,
		} {
			if got := rec.Header.Get(field); got != want {
				t.Errorf("%s is %s, want %s", field, got, want)
			}
		}
		h := resp.Header
		if e.Filename != "referred-to.warc.gz" || h.Get("Content-Type") != "text/html" || h.Get("Expires") != "later" || h.Get("Connection") != "" {
			t.Errorf("in %s: %v", e.Filename, h)
		}
	}
	if n != 2 {
		t.Errorf("%d captures for two 304s", n)
	}
}

// A crawl that fetches its pages again has 304s, even without a previous crawl. They are listed
// in the same way.
func TestA304OfACrawlThatRepeatsItselfIsListedAsItsAnswer(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "1.crawl")
	db, err := store.Open(dir, store.Options{Archive: &store.Archive{}})
	if err != nil {
		t.Fatal(err)
	}
	day := time.Date(2030, 1, 1, 3, 0, 0, 0, time.UTC)
	first := &warc.Exchange{URL: "http://a.example/", Date: day, Response: &warc.HTTP{
		StartLine: warc.StatusLine(200), Header: http.Header{"Content-Type": {"text/html"}}, Body: []byte("a body"), Coding: warc.Unchunked,
	}}
	again := &warc.Exchange{URL: first.URL, Date: day.Add(time.Hour), Response: &warc.HTTP{StartLine: warc.StatusLine(304)},
		Revisit: &warc.RevisitOf{Profile: warc.ServerNotModified, URL: first.URL, Date: day}}
	for _, x := range []*warc.Exchange{first, again} {
		if _, err := db.PutVisit(&store.Visit{Exchanges: []*warc.Exchange{x}, Answer: x}); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	path, damage := packTo(t, dir)
	lines, files := packed(t, path)
	if len(damage) > 0 || len(files) != 2 || len(lines) != 2 {
		t.Fatalf("%v, %v, %v", damage, files, lines)
	}
	if e := lines[1]; e.Status != 200 || e.Filename != "referred-to.warc.gz" || !e.Time.Equal(again.Date) {
		t.Errorf("%+v is listed for the 304", e)
	}
}

// If an archive of another program has no digests, its 304s cannot be replaced (WARC 1.1,
// section 6.7.2). The index lists the 304s themselves.
func TestA304WithoutADigestIsListedAsItIs(t *testing.T) {
	dir := t.TempDir()
	record := func(kind, hour, more, block string) string {
		return fmt.Sprintf("WARC/1.1\r\nWARC-Type: %s\r\nWARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-0000000000%s>\r\n"+
			"WARC-Date: 2030-01-01T%s:00:00Z\r\nWARC-Target-URI: http://a.example/\r\n%s"+
			"Content-Type: application/http; msgtype=response\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n", kind, hour, hour, more, len(block), block)
	}
	raw := record("response", "03", "", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\na body") +
		record("revisit", "04", "WARC-Profile: "+string(warc.ServerNotModified)+"\r\n"+
			"WARC-Refers-To-Target-URI: http://a.example/\r\nWARC-Refers-To-Date: 2030-01-01T03:00:00Z\r\n", "HTTP/1.1 304 Not Modified\r\n\r\n")
	var index []byte
	for e, err := range cdxj.Index(t.Context(), strings.NewReader(raw), "x.warc") {
		if err == nil {
			index, err = e.Append(index)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	err := errors.Join(os.Mkdir(filepath.Join(dir, store.ArchiveDir), 0o755),
		os.WriteFile(filepath.Join(dir, store.ArchiveDir, "x.warc"), []byte(raw), 0o644), os.WriteFile(filepath.Join(dir, store.IndexFile), index, 0o644))
	if err != nil {
		t.Fatal(err)
	}
	path, damage := packTo(t, dir)
	lines, files := packed(t, path)
	if len(damage) > 0 || len(lines) != 2 || lines[1].Status != 304 || len(files) != 1 {
		t.Errorf("%v, %v, %v", damage, lines, files)
	}
}

// If a repeated answer is not found, each record that repeats it is reported.
func TestAPackageTellsWhatItCannotHave(t *testing.T) {
	first, second := repeating(t)
	if err := os.RemoveAll(first); err != nil {
		t.Fatal(err)
	}
	path, damage := packTo(t, second)
	for _, d := range damage {
		if !errors.As(d, new(*store.MissingAnswerError)) {
			t.Error(d)
		}
	}
	if _, files := packed(t, path); len(files) != 1 || len(damage) != 3 || !strings.Contains(damage[0].Error(), "bring back the crawl") {
		t.Errorf("%v, %v", files, damage)
	}
}

// A package counts the records whose body was purged. This includes URLs that were captured
// again after the purge, which the state no longer lists as purged.
func TestAPackageCountsBodiesThatWerePurged(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "1.crawl")
	day := time.Date(2030, 1, 1, 3, 0, 0, 0, time.UTC)
	body := []byte(strings.Repeat("a body that several hosts share ", 20))
	put := func(urls ...string) {
		t.Helper()
		for _, url := range urls {
			db, err := store.Open(dir, store.Options{Archive: &store.Archive{}})
			if err != nil {
				t.Fatal(err)
			}
			day = day.Add(time.Hour)
			x := &warc.Exchange{URL: url, Date: day, Response: &warc.HTTP{
				StartLine: warc.StatusLine(200), Header: http.Header{"Content-Type": {"image/png"}}, Body: body, Coding: warc.Unchunked,
			}}
			if _, err := db.PutVisit(&store.Visit{Exchanges: []*warc.Exchange{x}, Answer: x}); err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	missing := func() export.Missing {
		t.Helper()
		s, err := export.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		s.Temp, s.Damaged = t.TempDir(), func(d *export.Damage) error { t.Error(d); return nil }
		if _, err := s.WriteWACZ(t.Context(), io.Discard, wacz.Package{Created: noon}); err != nil {
			t.Fatal(err)
		}
		v, err := store.Verify(t.Context(), dir, func(err error) { t.Error(err) })
		if err != nil || int64(v.Bodiless) != s.Missing.Purged || int64(v.Away) != s.Missing.Away {
			t.Errorf("verify counts %d and %d, %v", v.Bodiless, v.Away, err)
		}
		return s.Missing
	}
	put("http://out.example/i", "http://a.example/i", "http://b.example/i", "http://b.example/j")
	if got := missing(); got != (export.Missing{}) {
		t.Errorf("before: %+v", got)
	}
	purge := &store.Purge{Places: []string{"out.example"}, Time: noon, Why: func(url string) string {
		if strings.HasPrefix(url, "http://out.example/") {
			return "out.example"
		}
		return ""
	}}
	if done, err := purge.Run(t.Context(), dir); err != nil || done.Bodiless["a.example"] != 1 || done.Bodiless["b.example"] != 2 || len(done.Bodiless) != 2 {
		t.Fatalf("%+v, %v", done, err)
	}
	if got := missing(); got != (export.Missing{Purged: 3}) {
		t.Errorf("after the purge: %+v", got)
	}
	put("http://out.example/i", "http://c.example/i")
	if got := missing(); got != (export.Missing{Purged: 3}) {
		t.Errorf("after another capture: %+v", got)
	}
}
