package corpus_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/export"
	"github.com/permesso-crawler/permesso/internal/export/corpus"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// A stored is an answer of a test archive.
type stored struct {
	url    string
	status int
	header http.Header
	body   []byte
	wire   []byte // the body with its content coding; nil: it is the same as body
}

func htmlPage(url, body string) stored {
	return stored{url, 200, http.Header{"Content-Type": {"text/html; charset=utf-8"}}, []byte(body), nil}
}

var start = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

// crawlOf makes the directory of a crawl with these answers, and with a page for each. offsets
// are the positions of the answers in the archive, which is not compressed.
func crawlOf(t testing.TB, answers iter.Seq[stored]) (dir string, offsets []int64) {
	t.Helper()
	dir = t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "warc"), 0o755); err != nil {
		t.Fatal(err)
	}
	e, err := warc.NewEncoder(warc.Options{Plain: true, Random: rand.NewChaCha8([32]byte{})})
	if err != nil {
		t.Fatal(err)
	}
	const name = "a-00000.warc"
	var records, lines bytes.Buffer
	n := 0
	for a := range answers {
		at := start.Add(time.Duration(n) * time.Second)
		n++
		body := a.wire
		if body == nil {
			body = a.body
		}
		offset := int64(records.Len())
		_, err := e.WriteExchange(&records, &warc.Exchange{
			URL: a.url, Date: at, Response: &warc.HTTP{StartLine: warc.StatusLine(a.status), Header: a.header, Body: body},
		})
		if err != nil {
			t.Fatal(err)
		}
		offsets = append(offsets, offset)
		mediaType, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
		line, err := json.Marshal(store.PageRecord{
			URL: a.url, Time: at, Status: a.status, Type: mediaType, Size: int64(len(a.body)), WARC: name, Offset: offset,
		})
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(line, '\n'))
	}
	err = errors.Join(os.WriteFile(filepath.Join(dir, "warc", name), records.Bytes(), 0o644), os.WriteFile(filepath.Join(dir, "pages.jsonl"), lines.Bytes(), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	return dir, offsets
}

func seq(all ...stored) iter.Seq[stored] {
	return func(yield func(stored) bool) {
		for _, a := range all {
			if !yield(a) {
				return
			}
		}
	}
}

// documents returns the documents of a crawl by URL, and the number of calls of Source.Damaged.
func documents(t *testing.T, dir string, o corpus.Options) (docs map[string]*corpus.Document, damages int) {
	t.Helper()
	s, err := export.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	s.Damaged = func(*export.Damage) error { damages++; return nil }
	docs = map[string]*corpus.Document{}
	before := ""
	for d, err := range corpus.Documents(t.Context(), s, s.Rows(t.Context()), o) {
		if err != nil {
			t.Fatal(err)
		}
		if d.SURT < before {
			t.Errorf("%s is after %s", d.SURT, before)
		}
		before = d.SURT
		docs[d.URL] = d
	}
	return docs, damages
}

const sentence = "A sentence of some length, with commas, that is part of the main content of its page. "

func TestContentOfEachKindOfAnswer(t *testing.T) {
	t.Parallel()
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	fmt.Fprint(z, "<p>zipped")
	z.Close()
	with := func(a stored, name, value string) stored {
		a.header = a.header.Clone()
		a.header.Set(name, value)
		return a
	}
	dir, _ := crawlOf(t, seq(
		htmlPage("http://a.test/main", "<html lang=fr><title>T</title><nav>menu</nav><article><p>"+strings.Repeat(sentence, 10)+"</article>"),
		with(htmlPage("http://a.test/lang", "<p>deutsch"), "Content-Language", "de"),
		with(htmlPage("http://a.test/langs", "<p>x"), "Content-Language", "de, en"),
		stored{"http://a.test/zip", 200, http.Header{"Content-Type": {"text/html"}, "Content-Encoding": {"gzip"}}, []byte("<p>zipped"), zipped.Bytes()},
		stored{"http://a.test/latin", 200, http.Header{"Content-Type": {"text/html; charset=iso-8859-1"}}, []byte("<p>caf\xe9"), nil},
		stored{"http://a.test/plain", 200, http.Header{"Content-Type": {"text/plain"}}, []byte("plain <b>"), nil},
		stored{"http://a.test/json", 200, http.Header{"Content-Type": {"application/json"}}, []byte("{}"), nil},
		stored{"http://a.test/lost", 404, http.Header{"Content-Type": {"text/html"}}, []byte("<p>not found"), nil},
	))
	docs, damages := documents(t, dir, corpus.Options{})
	if damages != 0 || len(docs) != 6 || docs["http://a.test/json"] != nil || docs["http://a.test/lost"] != nil {
		t.Errorf("%d damages, %d documents", damages, len(docs))
	}
	for _, c := range []struct {
		page, lang, text string
		main             bool
	}{
		{"main", "fr", strings.TrimSpace(strings.Repeat(sentence, 10)), true}, {"lang", "de", "deutsch", true}, {"langs", "", "x", true},
		{"zip", "", "zipped", true}, {"latin", "", "café", true}, {"plain", "", "plain <b>", false},
	} {
		d := docs["http://a.test/"+c.page]
		if d == nil || d.Language != c.lang || d.Text != c.text || d.Main != c.main || d.Error != "" || d.Markdown != "" || d.Near != "" {
			t.Errorf("%s: %+v", c.page, d)
		}
	}
	docs, _ = documents(t, dir, corpus.Options{Markdown: true, Near: true})
	if d := docs["http://a.test/plain"]; d.Markdown != `plain \<b>` || d.Text != "" {
		t.Errorf("%+v", d)
	}
}

// If a page cannot be converted, its document has an Error. All other pages are exported.
func TestBadPagesSayWhy(t *testing.T) {
	t.Parallel()
	dir, offsets := crawlOf(t, seq(
		htmlPage("http://a.test/a", "<p>first"),
		htmlPage("http://a.test/binary", "%PDF-1.7\n"),
		htmlPage("http://a.test/deep", strings.Repeat("<div>", 3000)+"words"),
		htmlPage("http://a.test/large", "<p>"+strings.Repeat("many words ", 16<<20/11)),
		htmlPage("http://a.test/toolarge", strings.Repeat("x", 33<<20)),
		htmlPage("http://a.test/soup", "<table><p></b></td><![<a href=<p>>x</table></div><<<p"),
		stored{"http://a.test/notgzip", 200, http.Header{"Content-Type": {"text/html"}, "Content-Encoding": {"gzip"}}, []byte("<p>x"), []byte("not gzip")},
		stored{"http://a.test/coding", 200, http.Header{"Content-Type": {"text/html"}, "Content-Encoding": {"compress"}}, []byte("<p>x"), nil},
		htmlPage("http://a.test/spoiled", "<p>spoiled"),
		htmlPage("http://a.test/z", "<p>last"),
	))
	file := filepath.Join(dir, "warc", "a-00000.warc")
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	copy(raw[offsets[8]:], "WARC/9.9\r\nxyz\n")
	if err := os.WriteFile(file, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	docs, damages := documents(t, dir, corpus.Options{})
	if damages != 1 || len(docs) != 10 {
		t.Errorf("%d damages, %d documents, want 1 and 10", damages, len(docs))
	}
	for _, c := range []struct {
		page, err string
		text      int // least length of the text
	}{
		{"a", "", 5}, {"z", "", 4}, {"soup", "", 1}, {"binary", "no text: the body is application/pdf", 0}, {"deep", "cannot be parsed", 5},
		{"large", "bytes", 16 << 20 / 11 * 10}, {"toolarge", "at most", 0}, {"notgzip", "", 0}, {"coding", "compress", 0}, {"spoiled", "a-00000.warc at byte", 0},
	} {
		d := docs["http://a.test/"+c.page]
		if d == nil || !strings.Contains(d.Error, c.err) || (c.err == "") != (d.Error == "") && c.page != "notgzip" || len(d.Text) < c.text || c.text == 0 && d.Text != "" {
			t.Errorf("%s: error %q, %d bytes of text", c.page, d.Error, len(d.Text))
		}
		if strings.Contains(d.Error, dir) {
			t.Errorf("%s: the error names a directory: %s", c.page, d.Error)
		}
	}
	if docs["http://a.test/notgzip"].Error == "" {
		t.Error("a body in another coding than the header says has no error")
	}
}

// The document of a repeated answer has the text of the earlier answer: if the same bytes came
// again, and after a 304.
func TestARepeatedAnswerHasItsText(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "a directory")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	first, second := filepath.Join(root, "1.crawl"), filepath.Join(root, "2.crawl")
	for n, dir := range []string{first, second} {
		db, err := store.Open(dir, store.Options{Archive: &store.Archive{}})
		if err == nil && n == 1 {
			err = db.PutPrevious(first)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, url := range []string{"http://a.test/asked", "http://a.test/same"} {
			header := http.Header{"Content-Type": {"text/html"}, "Content-Language": {[]string{"en", "de"}[n]}}
			x := &warc.Exchange{URL: url, Date: start.AddDate(0, 0, n), Response: &warc.HTTP{
				StartLine: warc.StatusLine(200), Header: header, Body: []byte("<p>the text of " + url), Coding: warc.Unchunked,
			}}
			if n == 1 {
				x.Revisit = &warc.RevisitOf{Profile: warc.IdenticalPayloadDigest, URL: url, Date: start}
				if strings.HasSuffix(url, "asked") {
					x.Revisit.Profile, x.Response.Body, x.Response.Header = warc.ServerNotModified, nil, http.Header{"Etag": {`"1"`}}
					x.Response.StartLine = warc.StatusLine(304)
				}
			}
			v := &store.Visit{Exchanges: []*warc.Exchange{x}, Answer: x}
			if n == 1 {
				u, err := frontier.ParseURL(url)
				if err == nil {
					v.Before, err = store.PastOf(first).Capture(u)
				}
				if err != nil || v.Before == nil {
					t.Fatal(err)
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
	// In pages.jsonl a 304 has the status of the earlier answer. Here it must have the same.
	s, err := export.Open(second)
	if err != nil {
		t.Fatal(err)
	}
	rows := func(yield func(*export.Row, error) bool) {
		for r, err := range s.Rows(t.Context()) {
			if r != nil {
				r.Status, r.Type, r.Fate = 200, "text/html", export.Fetched
			}
			if !yield(r, err) {
				return
			}
		}
	}
	langs := map[string]string{"http://a.test/asked": "en", "http://a.test/same": "de"}
	n := 0
	for d, err := range corpus.Documents(t.Context(), s, rows, corpus.Options{}) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; d.Text != "the text of "+d.URL || d.Error != "" || d.Language != langs[d.URL] {
			t.Errorf("%s: text %q, language %q, error %q", d.URL, d.Text, d.Language, d.Error)
		}
	}
	if n != 2 {
		t.Errorf("%d documents", n)
	}
	fails := func(remove, want string) {
		t.Helper()
		if err := os.RemoveAll(remove); err != nil {
			t.Fatal(err)
		}
		for d, err := range corpus.Documents(t.Context(), s, rows, corpus.Options{}) {
			if err != nil || !strings.Contains(d.Error, want) || d.Text != "" || strings.Contains(d.Error, filepath.Base(root)) {
				t.Errorf("without %s: %+v, %v", filepath.Base(remove), d, err)
			}
		}
	}
	index := filepath.Join(first, store.IndexFile)
	whole, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(index, bytes.ReplaceAll(whole, []byte("{"), []byte("[")), 0o644); err != nil {
		t.Fatal(err)
	}
	fails(filepath.Join(first, "none"), "1.crawl/index.cdxj: ")
	if err := os.WriteFile(index, whole, 0o644); err != nil {
		t.Fatal(err)
	}
	moved := filepath.Join(root, "1.moved")
	if err := os.Rename(filepath.Join(first, "warc"), moved); err != nil {
		t.Fatal(err)
	}
	fails(filepath.Join(first, "none"), ".warc.gz") // the index has the record, but the file is missing
	fails(first, "an earlier crawl that is missing")
	fails(filepath.Join(second, store.IndexFile), "crawl index makes that")
}

// Documents ends soon and leaves no goroutine, whether it is read to its end, the loop ends
// early, or ctx ends.
func TestDocumentsEnds(t *testing.T) {
	t.Parallel()
	dir, _ := crawlOf(t, func(yield func(stored) bool) {
		for i := range 300 {
			if !yield(htmlPage(fmt.Sprintf("http://a.test/%03d", i), "<p>"+sentence)) {
				return
			}
		}
	})
	open := func() *export.Source {
		s, err := export.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	for range corpus.Documents(t.Context(), s, s.Rows(t.Context()), corpus.Options{}) {
		break
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	var last error
	for _, err := range corpus.Documents(ctx, s, s.Rows(ctx), corpus.Options{}) {
		if n++; n == 3 {
			cancel()
		}
		last = err
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("after %d documents: %v", n, last)
	}
	failed := errors.New("failed")
	rows := func(yield func(*export.Row, error) bool) { yield(nil, failed) }
	for d, err := range corpus.Documents(t.Context(), s, rows, corpus.Options{}) {
		if d != nil || err != failed {
			t.Errorf("%v, %v", d, err)
		}
	}
	refused := func(yield func(*export.Row, error) bool) {
		yield(&export.Row{Fate: export.Refused, Refused: "noai", URL: "http://a.test/"}, nil)
	}
	for d, err := range corpus.Documents(t.Context(), s, refused, corpus.Options{Refused: func(*corpus.Refusal) error { return failed }}) {
		if d != nil || err != failed {
			t.Errorf("%v, %v", d, err)
		}
	}
}

func TestNearDuplicatesAreNamed(t *testing.T) {
	t.Parallel()
	text := "<p>" + strings.Repeat(sentence, 3) + "And something more, so that the page is long enough to be compared with others"
	dir, _ := crawlOf(t, seq(
		htmlPage("http://b.test/copy", text+"!"), htmlPage("http://a.test/first", text+"."), htmlPage("http://c.test/other", "<p>Another text altogether, which is no copy."),
	))
	docs, _ := documents(t, dir, corpus.Options{Near: true})
	if docs["http://a.test/first"].Near != "" || docs["http://b.test/copy"].Near != "http://a.test/first" || docs["http://c.test/other"].Near != "" {
		t.Errorf("%q, %q, %q", docs["http://a.test/first"].Near, docs["http://b.test/copy"].Near, docs["http://c.test/other"].Near)
	}
}

func TestWhatIsWrittenCanBeChecked(t *testing.T) {
	t.Parallel()
	dir, _ := crawlOf(t, seq(htmlPage("http://a.test/a", "<p>one"), htmlPage("http://a.test/b", "<p>two"), htmlPage("http://a.test/c", "")))
	s, err := export.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	docs := func() iter.Seq2[*corpus.Document, error] {
		return corpus.Documents(t.Context(), s, s.Rows(t.Context()), corpus.Options{})
	}
	var lines, wet bytes.Buffer
	n, err := corpus.WriteLines(&lines, docs())
	if m, bad := corpus.CheckLines(bytes.NewReader(lines.Bytes())); err != nil || bad != nil || n != 3 || m != 3 {
		t.Errorf("%d lines, %v; %d, %v", n, err, m, bad)
	}
	n, err = corpus.WET{Name: "w", Date: start}.Write(&wet, docs())
	if m, bad := corpus.CheckWET(bytes.NewReader(wet.Bytes())); err != nil || bad != nil || n != 2 || m != 2 {
		t.Errorf("%d conversions, %v; %d, %v", n, err, m, bad)
	}
	if _, err := corpus.CheckLines(strings.NewReader(lines.String() + "{}\n")); err == nil {
		t.Error("a line without a URL passes")
	}
	if _, err := corpus.CheckLines(strings.NewReader(lines.String()[:lines.Len()-9])); err == nil {
		t.Error("a line that is cut passes")
	}
	if _, err := corpus.CheckWET(bytes.NewReader(wet.Bytes()[:wet.Len()-9])); err == nil {
		t.Error("a WET file that is cut passes")
	}
	if _, _, err := corpus.WriteTree(dir, false, io.Discard, docs()); !errors.Is(err, os.ErrExist) {
		t.Errorf("a tree over a directory: %v", err)
	}
}
