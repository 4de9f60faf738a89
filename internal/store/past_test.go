package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// day returns the start time of the n-th crawl of a series.
func day(n int) time.Time { return time.Date(2030, 1, n, 3, 0, 0, 123456000, time.UTC) }

// answered returns an exchange in which url gives an answer with this body.
func answered(url string, at time.Time, status int, header http.Header, body string) *warc.Exchange {
	return &warc.Exchange{
		URL: url, Date: at,
		Response: &warc.HTTP{StartLine: warc.StatusLine(status), Header: header, Body: []byte(body), Coding: warc.Unchunked},
	}
}

// snapshot makes a crawl in dir with archived answers. before is the directory of its previous
// crawl, or "".
func snapshot(t *testing.T, dir, before string, answers ...*warc.Exchange) {
	t.Helper()
	db, err := Open(dir, Options{Gather: -1, Archive: &Archive{}})
	if err != nil {
		t.Fatal(err)
	}
	if before != "" {
		if err := db.PutPrevious(before); err != nil {
			t.Fatal(err)
		}
	}
	for _, x := range answers {
		v := &Visit{Exchanges: []*warc.Exchange{x}, Answer: x}
		if before != "" {
			v.Before = captured(t, before, x.URL)
		}
		if refused, err := db.PutVisit(v); err != nil || len(refused) > 0 {
			t.Fatal(err, refused)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// lookedUp returns the result of Past.Capture for a URL of the crawl in dir.
func lookedUp(t *testing.T, dir, url string) (*Capture, error) {
	t.Helper()
	p, err := OpenPast(dir)
	if err != nil {
		t.Fatal(err)
	}
	u, err := frontier.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	return p.Capture(u)
}

func captured(t *testing.T, dir, url string) *Capture {
	t.Helper()
	c, err := lookedUp(t, dir, url)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// bodyOf returns the whole body of a capture.
func bodyOf(c *Capture) (string, error) {
	resp, err := c.Open()
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

// notModified returns an exchange with a 304 answer that confirms the capture c.
func notModified(c *Capture, at time.Time, header http.Header) *warc.Exchange {
	x := answered(c.URL, at, http.StatusNotModified, header, "")
	x.Revisit = &warc.RevisitOf{Profile: warc.ServerNotModified, URL: c.OfURL, Date: c.OfDate, PayloadDigest: c.Digest}
	return x
}

var long = strings.Repeat("a body that is worth a record ", 20)

// DB.Capture returns captures of the same crawl, by the places of the answer and of the record
// with its body.
func TestACrawlFindsItsOwnCaptures(t *testing.T) {
	db, err := Open(t.TempDir(), Options{Gather: -1, Archive: &Archive{}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const url = "http://a.example/x"
	u, err := frontier.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	put := func(x *warc.Exchange) *Visit {
		t.Helper()
		v := &Visit{Exchanges: []*warc.Exchange{x}, Answer: x}
		if refused, err := db.PutVisit(v); err != nil || len(refused) > 0 {
			t.Fatal(err, refused)
		}
		if err := db.Submit(frontier.Completion{Links: []frontier.Entry{{URL: u}}}); err != nil {
			t.Fatal(err)
		}
		if g := <-db.Grown(); g.Err != nil { // wait for a commit, which also has the payloads that were put before
			t.Fatal(g.Err)
		}
		return v
	}
	first := put(answered(url, day(1), 200, http.Header{"Etag": {`"1"`}}, long))
	other := put(answered(url, day(2), 200, nil, long+"other"))
	again := put(answered(url, day(3), 200, http.Header{"Etag": {`"3"`}}, long))
	if first.Repeats || other.Repeats || !again.Repeats {
		t.Fatalf("repeat: %v, %v, %v", first.Repeats, other.Repeats, again.Repeats)
	}
	c, err := db.Capture(u, again.Place, first.Place)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := bodyOf(c); body != long || err != nil || c.Header.Get("Etag") != `"3"` || !c.Date.Equal(day(3)) || !c.OfDate.Equal(day(1)) {
		t.Errorf("%+v: %q, %v", c, body, err)
	}
	v := put(notModified(c, day(4), http.Header{"Etag": {`"4"`}}))
	if !v.Repeats {
		t.Error("a 304 has no body")
	}
	c, err = db.Capture(u, v.Place, first.Place)
	if err != nil || c.Status != 200 || c.Header.Get("Etag") != `"4"` || !c.OfDate.Equal(day(1)) {
		t.Errorf("%+v, %v", c, err)
	}
	var bad *warc.Error
	if _, err := db.Capture(u, v.Place, other.Place); !errors.As(err, &bad) {
		t.Errorf("with a body that is another one: %v", err)
	}
	if _, err := db.Capture(u, frontier.Place{File: "none.warc.gz"}, first.Place); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in a file that is not there: %v", err)
	}
}

// Capture returns the last answer to a URL, with its header and with its body as sent.
func TestTheLastCaptureOfAURLIsFound(t *testing.T) {
	dir := t.TempDir()
	const url = "http://a.example/x"
	header := http.Header{"Etag": {`"1"`}, "Last-Modified": {"Tue, 01 Jan 2030 00:00:00 GMT"}, "Content-Encoding": {"br"}, "Transfer-Encoding": {"chunked"}}
	snapshot(t, dir, "",
		answered(url, day(1), 503, nil, "later"), answered("https://a.example/x", day(1), 200, nil, "another"),
		answered(url, day(1).Add(time.Second), 200, header, long), answered("http://a.example/gone", day(1), 404, nil, "gone"))
	c := captured(t, dir, url)
	if c == nil || c.URL != url || !c.Date.Equal(day(1).Add(time.Second)) || c.Status != 200 || c.Truncated || c.OfURL != url || !c.OfDate.Equal(c.Date) {
		t.Fatalf("%+v", c)
	}
	if c.Header.Get("ETag") != `"1"` || c.Header.Get("Content-Encoding") != "br" || c.Digest != warc.PayloadDigest(&warc.HTTP{Body: []byte(long)}) {
		t.Errorf("%+v", c)
	}
	for name := range c.Header {
		if strings.HasPrefix(name, "X-Archive") {
			t.Errorf("the header has the field %s of the archive", name)
		}
	}
	if body, err := bodyOf(c); body != long || err != nil {
		t.Errorf("%q, %v", body, err)
	}
	if c := captured(t, dir, "http://a.example/gone"); c == nil || c.Status != 404 {
		t.Errorf("%+v", c)
	}
	if c := captured(t, dir, "http://a.example/other"); c != nil {
		t.Errorf("%+v for a URL that was not fetched", c)
	}
}

// A record may repeat an earlier answer (a 304, or the same bytes), over any number of crawls,
// in the same directory or elsewhere. Capture returns the first answer's body, and Verify finds
// it, too.
func TestARepeatedAnswerIsFollowedToItsBody(t *testing.T) {
	for name, dirs := range map[string][3]string{
		"beside each other": {"1.crawl", "2.crawl", "3.crawl"}, "elsewhere": {"a/1.crawl", "b/2.crawl", "c/[3].crawl"},
	} {
		root := t.TempDir()
		for i := range dirs {
			dirs[i] = filepath.Join(root, dirs[i])
		}
		const asked, same = "http://a.example/asked", "http://a.example/same"
		snapshot(t, dirs[0], "", answered(asked, day(1), 200, http.Header{"Etag": {`"1"`}, "X-Old": {"1"}}, long), answered(same, day(1), 200, nil, "s"+long))
		for i := 1; i < 3; i++ {
			c := captured(t, dirs[i-1], asked)
			snapshot(t, dirs[i], dirs[i-1], notModified(c, day(i+1), http.Header{"Etag": {fmt.Sprintf(`"%d"`, i+1)}}), answered(same, day(i+1), 200, http.Header{"X": {fmt.Sprint(i)}}, "s"+long))
		}
		for _, url := range []string{asked, same} {
			c := captured(t, dirs[2], url)
			if c.Status != 200 || c.OfURL != url || !c.OfDate.Equal(day(1)) || !c.Date.Equal(day(3)) || c.Truncated || c.Digest == "" {
				t.Errorf("%s: %+v", name, c)
			}
			if body, err := bodyOf(c); !strings.HasSuffix(body, long) || err != nil {
				t.Errorf("%s: %q, %v", name, body, err)
			}
		}
		if h := captured(t, dirs[2], asked).Header; h.Get("ETag") != `"3"` || h.Get("X-Old") != "1" {
			t.Errorf("%s: %v", name, h)
		}
		if h := captured(t, dirs[2], same).Header; h.Get("X") != "2" {
			t.Errorf("%s: %v", name, h)
		}
		v, err := Verify(t.Context(), dirs[2], func(err error) { t.Errorf("%s: %v", name, err) })
		if err != nil || v.Records != 3 {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
		if err := os.RemoveAll(dirs[0]); err != nil {
			t.Fatal(err)
		}
		if _, err := lookedUp(t, dirs[2], asked); err == nil || !strings.Contains(err.Error(), "bring back") {
			t.Errorf("%s: a body that is gone: %v", name, err)
		}
		missed := 0
		if _, err := Verify(t.Context(), dirs[2], func(error) { missed++ }); err != nil || missed != 2 {
			t.Errorf("%s: %d problems, want 2; %v", name, missed, err)
		}
	}
}

// If a crawl is moved together with its previous crawl, Capture finds the previous crawl in the
// new directory.
func TestCrawlsThatWereMovedFindEachOther(t *testing.T) {
	root := t.TempDir()
	first, second := filepath.Join(root, "a", "1.crawl"), filepath.Join(root, "b", "2.crawl")
	const url = "http://a.example/"
	snapshot(t, first, "", answered(url, day(1), 200, nil, long))
	snapshot(t, second, first, notModified(captured(t, first, url), day(2), nil))
	moved := filepath.Join(root, "c")
	for _, dir := range []string{first, second} {
		if err := os.CopyFS(filepath.Join(moved, filepath.Base(dir)), os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.RemoveAll(first), os.RemoveAll(second)); err != nil {
		t.Fatal(err)
	}
	if body, err := bodyOf(captured(t, filepath.Join(moved, "2.crawl"), url)); body != long || err != nil {
		t.Errorf("%q, %v", body, err)
	}
}

// Truncated is set in a capture whose body was cut, and in a capture that repeats it.
func TestACaptureThatWasCutSaysSo(t *testing.T) {
	first, second := filepath.Join(t.TempDir(), "1"), filepath.Join(t.TempDir(), "2")
	const url = "http://a.example/"
	x := answered(url, day(1), 200, nil, long)
	x.Truncated = warc.TruncatedLength
	snapshot(t, first, "", x)
	snapshot(t, second, first, notModified(captured(t, first, url), day(2), nil))
	for _, dir := range []string{first, second} {
		if c := captured(t, dir, url); !c.Truncated {
			t.Errorf("%+v", c)
		}
	}
	again := filepath.Join(t.TempDir(), "3")
	snapshot(t, again, first, answered(url, day(3), 200, nil, long))
	if c := captured(t, again, url); c.Truncated || !c.OfDate.Equal(day(3)) {
		t.Errorf("a whole answer repeats one that was cut: %+v", c)
	}
}

// Damage affects only the captures whose records are damaged: Capture returns an error for
// them, and never a wrong capture.
func TestDamageOfThePastIsTold(t *testing.T) {
	const url = "http://a.example/x"
	rewrite := func(t *testing.T, path string, change func([]byte) []byte) {
		raw, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, change(raw), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	archive := func(t *testing.T, dir string) string {
		files, err := ArchiveFiles(dir)
		if err != nil || len(files) != 1 {
			t.Fatal(files, err)
		}
		return files[0]
	}
	for name, c := range map[string]struct {
		damage func(t *testing.T, dir string)
		found  bool // Capture succeeds, because the header can be read
	}{
		"no file": {func(t *testing.T, dir string) { os.Remove(archive(t, dir)) }, false},
		"a cut file": {func(t *testing.T, dir string) {
			rewrite(t, archive(t, dir), func(b []byte) []byte { return b[:len(b)/2] })
		}, true},
		"an empty file": {func(t *testing.T, dir string) { rewrite(t, archive(t, dir), func(b []byte) []byte { return nil }) }, false},
		"a body": {func(t *testing.T, dir string) {
			rewrite(t, archive(t, dir), func(b []byte) []byte { b[len(b)-6] ^= 1; return b }) // a byte of the gzip checksum
		}, true},
		"another's place": {func(t *testing.T, dir string) {
			rewrite(t, filepath.Join(dir, IndexFile), func(b []byte) []byte { return bytes.Replace(b, []byte(`"offset":"`), []byte(`"offset":"9`), 1) })
		}, false},
		"no line": {func(t *testing.T, dir string) {
			rewrite(t, filepath.Join(dir, IndexFile), func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("{"), []byte("[")) })
		}, false},
	} {
		dir := t.TempDir()
		noise := make([]byte, 200<<10) // random bytes, which gzip cannot make shorter
		for i, n := range noise {
			noise[i] = n ^ byte(i*i*7919>>5)
		}
		snapshot(t, dir, "", answered(url, day(1), 200, nil, string(noise)))
		c.damage(t, dir)
		got, err := lookedUp(t, dir, url)
		if (err == nil) != c.found {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if err == nil {
			if body, err := bodyOf(got); err == nil {
				t.Errorf("%s: its body is read, of %d bytes", name, len(body))
			}
		}
	}
}

// OpenPast accepts each directory with a crawl that is not running.
func TestWhatCanBeThePast(t *testing.T) {
	dir := t.TempDir()
	if _, err := OpenPast(dir); !errors.Is(err, ErrNoCrawl) {
		t.Errorf("an empty directory: %v", err)
	}
	db, err := Open(dir, Options{Gather: -1})
	if err != nil {
		t.Fatal(err)
	}
	var inUse *InUseError
	if _, err := OpenPast(dir); !errors.As(err, &inUse) || inUse.Dir != dir {
		t.Errorf("a crawl that runs: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	p, err := OpenPast(dir)
	if err != nil {
		t.Fatal(err)
	}
	if p.Remembers() || p.Dir() != dir {
		t.Error("a crawl without an archive has a memory")
	}
	u, err := frontier.ParseURL("http://a.example/")
	if err != nil {
		t.Fatal(err)
	}
	if c, err := p.Capture(u); c != nil || err != nil {
		t.Errorf("%+v, %v", c, err)
	}
}

// The fields of a 304 answer replace stored fields of the same name, except fields about the
// content or the connection.
func TestAHeaderIsBroughtUpToDate(t *testing.T) {
	kept := http.Header{"Etag": {`"1"`}, "Content-Type": {"text/html"}, "Content-Length": {"9"}, "Content-Encoding": {"br"}, "X-A": {"1", "2"}, "X-B": {"1"}}
	by := http.Header{
		"Etag": {`"2"`}, "Content-Type": {"text/plain"}, "Content-Length": {"0"}, "Content-Encoding": {"gzip"}, "Connection": {"close, x-hop"}, "X-Hop": {"1"},
		"Transfer-Encoding": {"chunked"}, "X-A": {"3"}, "Date": {"now"}, "X-Robots-Tag": {"noindex"},
	}
	got := fmt.Sprint(UpdatedHeader(kept, by))
	want := fmt.Sprint(http.Header{
		"Etag": {`"2"`}, "Content-Type": {"text/html"}, "Content-Length": {"9"}, "Content-Encoding": {"br"}, "X-A": {"3"}, "X-B": {"1"}, "Date": {"now"}, "X-Robots-Tag": {"noindex"},
	})
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if len(kept["X-A"]) != 2 || UpdatedHeader(nil, http.Header{"A": {"1"}}).Get("A") != "1" {
		t.Error("a kept header is changed, or a missing one is not empty")
	}
}

// If an index has two answers within one second, each capture is found by its exact time.
func TestAnAnswerIsKnownByItsWholeTime(t *testing.T) {
	root := t.TempDir()
	first, second := filepath.Join(root, "1"), filepath.Join(root, "2")
	const url = "http://a.example/"
	early := answered(url, day(1), 200, nil, "e"+long)
	late := answered(url, day(1).Add(time.Millisecond), 200, nil, "l"+long)
	snapshot(t, first, "", early, late)
	c := &Capture{URL: url, OfURL: url, OfDate: day(1)}
	snapshot(t, second, "", notModified(c, day(2), nil))
	if body, err := bodyOf(captured(t, second, url)); body != "e"+long || err != nil {
		t.Errorf("%.9q, %v", body, err)
	}
	if e, err := lastLine(first, url); err != nil || e.Time != cdxTime(day(1)) {
		t.Errorf("%+v, %v", e, err)
	}
	if body, err := bodyOf(captured(t, first, url)); body != "l"+long || err != nil {
		t.Errorf("%.9q, %v", body, err)
	}
}

func cdxTime(t time.Time) time.Time {
	const form = "20060102150405" // format of the time in a line of an index
	at, _ := time.Parse(form, t.UTC().Format(form))
	return at
}

// TextDigest is read from the metadata record of the answer, which follows the record with the
// body or, for a repeated answer, the revisit record. An invalid digest is read as "".
func TestACaptureHasWhatWasNotedOfItsText(t *testing.T) {
	const url = "http://a.example/"
	with := func(x *warc.Exchange, digest string) *warc.Exchange {
		x.Request = &warc.HTTP{Head: []byte("GET / HTTP/1.1\r\n\r\n")}
		x.Metadata = []warc.Field{{Name: "via", Value: "x"}, {Name: FieldTextDigest, Value: digest}}
		return x
	}
	root := t.TempDir()
	first, second := filepath.Join(root, "1"), filepath.Join(root, "2")
	snapshot(t, first, "", with(answered(url, day(1), 200, nil, long), "sha256:1"))
	c := captured(t, first, url)
	if c.TextDigest != "" {
		t.Errorf("%q, before the body was read", c.TextDigest)
	}
	if body, err := bodyOf(c); body != long || err != nil || c.TextDigest != "sha256:1" {
		t.Errorf("%d bytes, %v: %q", len(body), err, c.TextDigest)
	}
	snapshot(t, second, first, with(notModified(c, day(2), nil), "sha256:2"))
	c = captured(t, second, url)
	if err := c.Check(); err != nil || c.TextDigest != "sha256:2" || !c.OfDate.Equal(day(1)) {
		t.Errorf("%+v, %v", c, err)
	}

	for name, x := range map[string]*warc.Exchange{
		"nothing is noted": answered(url, day(1), 200, nil, long),
		"no text is":       {URL: url, Date: day(1), Response: answered(url, day(1), 200, nil, long).Response, Metadata: []warc.Field{{Name: "via", Value: "x"}}},
	} {
		dir := t.TempDir()
		other := with(answered("http://a.example/other", day(1), 200, nil, long+"other"), "sha256:3")
		snapshot(t, dir, "", x, other)
		c := captured(t, dir, url)
		if err := c.Check(); err != nil || c.TextDigest != "" {
			t.Errorf("%s: %q, %v", name, c.TextDigest, err)
		}
	}

	cut := t.TempDir()
	snapshot(t, cut, "", with(answered(url, day(1), 200, nil, long), "sha256:1"))
	files, err := ArchiveFiles(cut)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)-6] ^= 1 // a byte of the gzip checksum of the metadata record
	if err := os.WriteFile(files[0], raw, 0o644); err != nil {
		t.Fatal(err)
	}
	c = captured(t, cut, url)
	if err := c.Check(); err != nil || c.TextDigest != "" {
		t.Errorf("of damaged metadata: %q, %v", c.TextDigest, err)
	}
}

// A capture reads its record from the disk once, except the end of a long record. After Release
// it reads the record again.
func TestARecordIsReadOnce(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		kept bool
	}{"short": {long, true}, "long": {noise(200 << 10), false}} {
		const url = "http://a.example/"
		dir := t.TempDir()
		snapshot(t, dir, "", answered(url, day(1), 200, nil, c.body))
		got := captured(t, dir, url)
		files, err := ArchiveFiles(dir)
		if err != nil {
			t.Fatal(err)
		}
		away := files[0] + ".away"
		if err := os.Rename(files[0], away); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if body, err := bodyOf(got); (body == c.body && err == nil) != c.kept || err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: %d bytes, %v", name, len(body), err)
			}
		}
		got.Release()
		if err := got.Check(); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: of a file that is not there: %v", name, err)
		}
		if err := os.Rename(away, files[0]); err != nil {
			t.Fatal(err)
		}
		if body, err := bodyOf(got); body != c.body || err != nil {
			t.Errorf("%s: %d bytes, %v", name, len(body), err)
		}
		if err := got.Check(); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: it is checked again: %v", name, err)
		}
	}
}

// Reading a closed body returns an error, because another body may use its buffers.
func TestABodyThatWasClosedIsNotRead(t *testing.T) {
	const url = "http://a.example/"
	dir := t.TempDir()
	snapshot(t, dir, "", answered(url, day(1), 200, nil, long))
	resp, err := captured(t, dir, url).Open()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := resp.Body.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if body, err := bodyOf(captured(t, dir, url)); body != long || err != nil {
		t.Errorf("another one: %d bytes, %v", len(body), err)
	}
	if n, err := resp.Body.Read(make([]byte, 10)); n > 0 || !errors.Is(err, http.ErrBodyReadAfterClose) {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// noise returns n bytes of text that hardly compresses.
func noise(n int) string {
	b := make([]byte, n)
	state := uint32(7)
	for i := range b {
		state = state*1664525 + 1013904223
		b[i] = byte(state >> 24)
	}
	return string(b)
}
