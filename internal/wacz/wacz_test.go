package wacz

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"

	"github.com/permesso-crawler/permesso/storage/cdxj"
	"github.com/permesso-crawler/permesso/storage/warc"
)

var day = time.Date(2030, 1, 2, 3, 4, 5, 678e6, time.UTC)

// crawl writes a WARC file with n pages, and returns its path.
func crawl(t *testing.T, path string, n int) string {
	t.Helper()
	e, err := warc.NewEncoder(warc.Options{Plain: strings.HasSuffix(path, ".warc")})
	if err != nil {
		t.Fatal(err)
	}
	file, _, err := e.AppendInfo(nil, &warc.Info{Date: day})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		file, _, err = e.AppendExchange(file, &warc.Exchange{
			URL: fmt.Sprintf("http://a.example/%d", (n-i)*7), Date: day,
			Response: &warc.HTTP{StartLine: warc.StatusLine(200), Header: http.Header{"Content-Type": {"text/html"}}, Body: []byte("<title>x</title>")},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, file, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func pages(p ...Page) iter.Seq2[Page, error] {
	return func(yield func(Page, error) bool) {
		for _, p := range p {
			if !yield(p, nil) {
				return
			}
		}
	}
}

func pack(t *testing.T, p *Package) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.wacz")
	var b bytes.Buffer
	if err := Write(t.Context(), &b, p); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// contents returns the files of a package: their names in order, and their texts and ZIP
// methods by name.
func contents(t *testing.T, path string) (names []string, text map[string]string, method map[string]uint16) {
	t.Helper()
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	text, method = map[string]string{}, map[string]uint16{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, f.Name)
		text[f.Name], method[f.Name] = string(b), f.Method
	}
	return names, text, method
}

func TestPackage(t *testing.T) {
	dir := t.TempDir()
	one, two := crawl(t, filepath.Join(dir, "1.warc.gz"), 2), crawl(t, filepath.Join(dir, "2.warc.gz"), 1)
	path := pack(t, &Package{
		WARCs: []string{one, two}, Title: "A <crawl>", Created: day, Software: "permesso/1", MainPageURL: "http://a.example/7",
		Pages: pages(Page{ID: "1", URL: "http://a.example/7", Time: day, Title: "Seven & more"}, Page{URL: "http://a.example/14", Time: day}),
	})
	names, text, method := contents(t, path)
	want := []string{"pages/pages.jsonl", "indexes/index.cdx", "archive/1.warc.gz", "archive/2.warc.gz", "datapackage.json", "datapackage-digest.json"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	for _, name := range want[1:4] {
		if method[name] != zip.Store {
			t.Errorf("%s is compressed", name)
		}
	}
	if raw, err := os.ReadFile(one); err != nil || string(raw) != text["archive/1.warc.gz"] {
		t.Errorf("1.warc.gz has changed on its way, %v", err)
	}
	const wantPages = `{"format":"json-pages-1.0","id":"pages","title":"All Pages"}
{"id":"1","url":"http://a.example/7","ts":"2030-01-02T03:04:05.678Z","title":"Seven & more"}
{"url":"http://a.example/14","ts":"2030-01-02T03:04:05.678Z"}
`
	if diff := cmp.Diff(wantPages, text["pages/pages.jsonl"]); diff != "" {
		t.Error(diff)
	}
	var urls []string
	for line := range strings.Lines(text["indexes/index.cdx"]) {
		e, err := cdxj.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		urls = append(urls, e.URL)
		rec, err := warc.ReadAt(strings.NewReader(text["archive/"+e.Filename]), e.Offset)
		if err != nil || rec.TargetURI() != e.URL {
			t.Errorf("%s: %+v, %v", line, rec, err)
		}
	}
	if diff := cmp.Diff([]string{"http://a.example/14", "http://a.example/7", "http://a.example/7"}, urls); diff != "" {
		t.Error(diff)
	}
	head, _, _ := strings.Cut(text["datapackage.json"], `"resources"`)
	const wantHead = `{
  "profile": "data-package",
  "wacz_version": "1.1.1",
  "title": "A \u003ccrawl\u003e",
  "created": "2030-01-02T03:04:05Z",
  "software": "permesso/1",
  "mainPageUrl": "http://a.example/7",
  `
	if diff := cmp.Diff(wantHead, head); diff != "" {
		t.Error(diff)
	}
	if err := Verify(path); err != nil {
		t.Error(err)
	}
}

// A capture for which Unlisted returns true is in the package, but not in its index.
func TestWhatIsUnlistedIsNotInTheIndex(t *testing.T) {
	one := crawl(t, filepath.Join(t.TempDir(), "1.warc.gz"), 3)
	path := pack(t, &Package{WARCs: []string{one}, Created: day, Unlisted: func(e *cdxj.Entry) bool {
		return e.Filename == "1.warc.gz" && e.URL == "http://a.example/14"
	}})
	_, text, _ := contents(t, path)
	index := text["indexes/index.cdx"]
	if strings.Count(index, "\n") != 2 || strings.Contains(index, "http://a.example/14") {
		t.Errorf("the index is\n%s", index)
	}
	if raw, err := os.ReadFile(one); err != nil || string(raw) != text["archive/1.warc.gz"] {
		t.Errorf("1.warc.gz has changed on its way, %v", err)
	}
	if err := Verify(path); err != nil {
		t.Error(err)
	}
}

func TestALargeIndexIsInBlocks(t *testing.T) {
	dir := t.TempDir()
	const n = 20_001
	most := crawl(t, filepath.Join(dir, "1.warc"), n-1)
	one := crawl(t, filepath.Join(dir, "2.warc"), 1)
	if _, text, _ := contents(t, pack(t, &Package{WARCs: []string{most}, Created: day, Temp: dir})); strings.Count(text[plainName], "\n") != n-1 || text[blocksName] != "" {
		t.Errorf("an index of %d lines is not plain", n-1)
	}
	path := pack(t, &Package{WARCs: []string{most, one}, Created: day, Temp: dir})
	if err := Verify(path); err != nil {
		t.Error(err)
	}
	_, text, method := contents(t, path)
	if method[blocksName] != zip.Store || method[blockIndex] != zip.Store || text[plainName] != "" {
		t.Errorf("%v", method)
	}
	var lines []string
	for i, entry := range strings.SplitAfter(strings.TrimSuffix(text[blockIndex], "\n"), "\n") {
		if i == 0 {
			if entry != `!meta 0 {"format":"cdxj-gzip-1.0","filename":"index.cdx.gz"}`+"\n" {
				t.Errorf("begins with %q", entry)
			}
			continue
		}
		e, err := cdxj.Parse(entry)
		if err != nil {
			t.Fatal(err)
		}
		r, err := gzip.NewReader(strings.NewReader(text[blocksName][e.Offset : e.Offset+e.Length]))
		if err != nil {
			t.Fatal(err)
		}
		block, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		part := strings.SplitAfter(strings.TrimSuffix(string(block), "\n"), "\n")
		if first, err := cdxj.Parse(part[0]); err != nil || first.Key != e.Key || !first.Time.Equal(e.Time) || len(part) != min(3000, n-len(lines)) ||
			e.Filename != "index.cdx.gz" || e.Digest != hash256(text[blocksName][e.Offset:e.Offset+e.Length]) {
			t.Errorf("block %d has %d lines from %+v, %v", i, len(part), first, err)
		}
		part[len(part)-1] += "\n"
		lines = append(lines, part...)
	}
	if len(lines) != n || !slices.IsSorted(lines) {
		t.Errorf("%d lines, want %d in order", len(lines), n)
	}
}

func hash256(s string) string {
	sum := sha256.Sum256([]byte(s))
	return fmt.Sprintf("sha256:%x", sum)
}

func TestWhatCannotBePacked(t *testing.T) {
	dir := t.TempDir()
	file := crawl(t, filepath.Join(dir, "1.warc.gz"), 1)
	cut := filepath.Join(dir, "cut.warc.gz")
	raw, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(cut, raw[:len(raw)-1], 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	stop := errors.New("no more pages")
	for want, p := range map[string]*Package{
		"no WARC files":        {Created: day},
		"set Created":          {WARCs: []string{file}},
		"must end in .warc":    {WARCs: []string{file, filepath.Join(dir, "x.gz")}, Created: day},
		"have one name":        {WARCs: []string{file, "/elsewhere/1.warc.gz"}, Created: day},
		"no such file":         {WARCs: []string{filepath.Join(dir, "none.warc.gz")}, Created: day},
		"cut.warc.gz":          {WARCs: []string{cut}, Created: day},
		"must have a URL":      {WARCs: []string{file}, Created: day, Pages: pages(Page{URL: "http://a.example/"})},
		"pages: no more pages": {WARCs: []string{file}, Created: day, Pages: func(yield func(Page, error) bool) { yield(Page{}, stop) }},
	} {
		err := Write(t.Context(), io.Discard, p)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestVerifyFindsWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	path := pack(t, &Package{WARCs: []string{crawl(t, filepath.Join(dir, "1.warc.gz"), 1)}, Created: day, Title: "title"})
	names, text, method := contents(t, path)
	for want, spoil := range map[string]func(text map[string]string, method map[string]uint16){
		"":                  func(map[string]string, map[string]uint16) {},
		"it was changed":    func(x map[string]string, _ map[string]uint16) { x[packageName] += "\n" },
		"has the hash":      func(x map[string]string, _ map[string]uint16) { x[plainName] = strings.ToUpper(x[plainName]) },
		"bytes; ":           func(x map[string]string, _ map[string]uint16) { x["archive/1.warc.gz"] += "x" },
		"listed and miss":   func(x map[string]string, _ map[string]uint16) { delete(x, pagesName) },
		"is not listed":     func(x map[string]string, _ map[string]uint16) { x["extra"] = "x" },
		"store it":          func(_ map[string]string, m map[string]uint16) { m["archive/1.warc.gz"] = zip.Deflate },
		"not a WACZ":        func(x map[string]string, _ map[string]uint16) { delete(x, packageName) },
		"invalid character": func(x map[string]string, _ map[string]uint16) { x[digestName] = "x" },
		"profile": func(x map[string]string, _ map[string]uint16) {
			x[packageName] = strings.Replace(x[packageName], `"data-package"`, `"other"`, 1)
		},
		"must have WARC files": func(x map[string]string, _ map[string]uint16) { x[packageName] = `{"resources":[]}` },
	} {
		x, m := map[string]string{}, map[string]uint16{}
		for _, name := range names {
			x[name], m[name] = text[name], method[name]
		}
		spoil(x, m)
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		for name, text := range x {
			w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: m[name]})
			if err == nil {
				_, err = io.WriteString(w, text)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		spoiled := filepath.Join(dir, "spoiled.wacz")
		if err := os.WriteFile(spoiled, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		err := Verify(spoiled)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v", want, err)
		}
	}
	if err := Verify(filepath.Join(dir, "1.warc.gz")); err == nil {
		t.Error("a WARC file is taken for a WACZ")
	}
}
