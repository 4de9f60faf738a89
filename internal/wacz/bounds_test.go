package wacz

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/permesso-crawler/permesso/storage/cdxj"
)

var errFull = errors.New("disk full")

// A little is a writer that accepts left bytes, and then fails.
type little struct{ left int }

func (l *little) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	if l.left -= n; n < len(p) {
		return n, errFull
	}
	return n, nil
}

// If the disk is full, after any number of bytes, Write fails, and Verify rejects the
// incomplete package.
func TestADiskThatIsFull(t *testing.T) {
	dir := t.TempDir()
	file := crawl(t, filepath.Join(dir, "1.warc"), 100) // larger than the buffers
	p := &Package{WARCs: []string{file}, Created: day, Title: "t", Pages: pages(Page{URL: "http://a.example/", Time: day})}
	var whole bytes.Buffer
	if err := Write(t.Context(), &whole, p); err != nil {
		t.Fatal(err)
	}
	for left := 0; left < whole.Len(); left += 97 {
		if err := Write(t.Context(), &little{left}, p); !errors.Is(err, errFull) || !strings.HasPrefix(err.Error(), "WACZ: ") {
			t.Fatalf("room for %d of %d bytes: %v", left, whole.Len(), err)
		}
	}
	if err := Write(t.Context(), &little{whole.Len() - 1}, p); !errors.Is(err, errFull) {
		t.Errorf("room for all but a byte: %v", err)
	}
	if err := Write(t.Context(), &little{whole.Len()}, p); err != nil {
		t.Errorf("room for all: %v", err)
	}
	if err := p.pages(&little{}); !errors.Is(err, errFull) {
		t.Errorf("the first line: %v", err)
	}
	if err := p.pages(&little{70}); !errors.Is(err, errFull) {
		t.Errorf("a page: %v", err)
	}
}

// A block ends at the end of a line, however the lines are split into writes.
func TestBlocks(t *testing.T) {
	line := `a 20300102030405 {"url":"u"}` + "\n"
	for _, n := range []int{0, 1, 2999, 3000, 3001, 6000} {
		for _, step := range []int{1 << 20, 1000, 7} {
			text := strings.Repeat(line, n)
			var out, index bytes.Buffer
			b := &blockWriter{out: &out, index: &index}
			for rest := text; rest != ""; {
				k := min(step, len(rest))
				if m, err := b.Write([]byte(rest[:k])); m != k || err != nil {
					t.Fatal(m, err)
				}
				rest = rest[k:]
			}
			if err := b.flush(); err != nil {
				t.Fatal(err)
			}
			if got := strings.Count(index.String(), "\n"); got != (n+2999)/3000 || got != strings.Count(index.String(), `a 20300102030405 {"offset":`) {
				t.Errorf("%d lines, %d bytes at a time: %d blocks: %s", n, step, got, index.Bytes())
			}
			if n == 0 {
				continue
			}
			in, err := gzip.NewReader(&out)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(in); string(got) != text || err != nil {
				t.Errorf("%d lines, %d bytes at a time: %d bytes of %d, %v", n, step, len(got), len(text), err)
			}
		}
	}
	for _, lines := range []int{1, 3000} {
		b := &blockWriter{out: &little{}, index: new(bytes.Buffer)}
		n, err := b.Write([]byte(strings.Repeat(line, lines)))
		if err == nil {
			err = b.flush()
		}
		if !errors.Is(err, errFull) || lines == 3000 && n != 0 {
			t.Errorf("%d lines on a full disk: %d, %v", lines, n, err)
		}
	}
}

// If a WARC file is removed while it is packed, Write fails.
func TestAFileThatGoesAway(t *testing.T) {
	dir := t.TempDir()
	file := crawl(t, filepath.Join(dir, "1.warc"), 1)
	p := &Package{WARCs: []string{file}, Created: day, Pages: func(func(Page, error) bool) {
		if err := os.Remove(file); err != nil {
			t.Skip("a file that is read cannot be removed here: ", err)
		}
	}}
	if err := Write(t.Context(), io.Discard, p); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no error: %v", err)
	}
}

func TestPagesOfAPackage(t *testing.T) {
	for _, c := range []struct {
		page Page
		line string // expected line; empty: an error is expected
	}{
		{Page{URL: "u", Time: time.Date(2030, 1, 2, 4, 4, 5, 6, time.FixedZone("", 3600))}, `{"url":"u","ts":"2030-01-02T03:04:05.000000006Z"}`},
		{Page{ID: "i", URL: "a&<", Time: day, Title: "t"}, `{"id":"i","url":"a&<","ts":"2030-01-02T03:04:05.678Z","title":"t"}`},
		{Page{URL: "u"}, ""}, {Page{Time: day}, ""},
	} {
		var b bytes.Buffer
		err := (&Package{Pages: pages(c.page)}).pages(&b)
		want := `{"format":"json-pages-1.0","id":"pages","title":"All Pages"}` + "\n" + c.line + "\n"
		if c.line == "" && (err == nil || !strings.Contains(err.Error(), "must have a URL and a time")) || c.line != "" && (err != nil || b.String() != want) {
			t.Errorf("%+v: %q, %v", c.page, b.String(), err)
		}
	}
}

// The temporary files of a large index are in the directory Temp.
func TestTemp(t *testing.T) {
	p := &Package{WARCs: []string{crawl(t, filepath.Join(t.TempDir(), "1.warc.gz"), 1)}, Created: day, Temp: filepath.Join(t.TempDir(), "none")}
	if err := Write(t.Context(), io.Discard, p); err != nil {
		t.Errorf("a small index takes none: %v", err)
	}
}

// If the index cannot be sorted, Write fails.
func TestAnIndexThatCannotBeMergedStopsThePacking(t *testing.T) {
	temp := filepath.Join(t.TempDir(), "temp")
	if err := os.Mkdir(temp, 0o755); err != nil {
		t.Fatal(err)
	}
	// With one line in each sorted run, there are as many runs as can be merged at once, and
	// one line in memory. So runs must be merged into a new file, for which there is no
	// directory.
	p := &Package{WARCs: []string{crawl(t, filepath.Join(t.TempDir(), "1.warc"), 65)}, Created: day, Temp: temp, memory: 1}
	if err := Write(t.Context(), io.Discard, p); err != nil {
		t.Fatalf("while there is room: %v", err)
	}
	p.Pages = func(func(Page, error) bool) {
		if err := os.Remove(temp); err != nil {
			t.Skip("a directory of open files cannot be removed here: ", err)
		}
	}
	if err := Write(t.Context(), io.Discard, p); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), temp) {
		t.Errorf("no error: %v", err)
	}
	if err := os.Mkdir(temp, 0o755); err != nil {
		t.Fatal(err)
	}
	index := cdxj.NewSorter(temp, 1)
	defer index.Close()
	if err := errors.Join(indexFile(t.Context(), p.WARCs[0], index.Add), os.Remove(temp)); err != nil {
		t.Fatal(err)
	}
	z := &writer{zip: zip.NewWriter(io.Discard), created: day}
	if err := z.blocks(index); !errors.Is(err, os.ErrNotExist) || len(z.resources) > 0 {
		t.Errorf("blocks of it are listed as %v, %v", z.resources, err)
	}
}

// A part is a file of a package.
type part struct {
	name, text string
	method     uint16
}

// spoiled makes a small package and changes it by change. Sizes and digests that change leaves
// alone are computed from the changed files.
func spoiled(t *testing.T, change func(p *dataPackage, d *packageDigest, parts *[]part)) string {
	t.Helper()
	names, text, method := contents(t, pack(t, &Package{WARCs: []string{crawl(t, filepath.Join(t.TempDir(), "1.warc.gz"), 1)}, Created: day}))
	var p dataPackage
	if err := json.Unmarshal([]byte(text[packageName]), &p); err != nil {
		t.Fatal(err)
	}
	var parts []part
	for _, name := range names[:len(names)-2] {
		parts = append(parts, part{name, text[name], method[name]})
	}
	d := packageDigest{Path: packageName}
	change(&p, &d, &parts)
	raw, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	if d.Hash == "" {
		d.Hash = hash256(string(raw))
	}
	digest, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a.wacz")
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range append(parts, part{packageName, string(raw), zip.Deflate}, part{digestName, string(digest), zip.Deflate}) {
		w, err := z.CreateHeader(&zip.FileHeader{Name: f.name, Method: f.method})
		if err == nil {
			_, err = io.WriteString(w, f.text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(z.Close(), os.WriteFile(path, b.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestVerifyLooksAtEachThing(t *testing.T) {
	listed := func(p *dataPackage, name string) *resource {
		i := slices.IndexFunc(p.Resources, func(r resource) bool { return r.Path == name })
		return &p.Resources[i]
	}
	unlist := func(p *dataPackage, parts *[]part, prefix string) {
		p.Resources = slices.DeleteFunc(p.Resources, func(r resource) bool { return strings.HasPrefix(r.Path, prefix) })
		*parts = slices.DeleteFunc(*parts, func(f part) bool { return strings.HasPrefix(f.name, prefix) })
	}
	const must = "a package must have WARC files in archive/, an index in indexes/ and pages/pages.jsonl"
	for name, c := range map[string]struct {
		change func(p *dataPackage, d *packageDigest, parts *[]part)
		want   []string // all expected messages; nil: the package is valid
	}{
		"nothing":         {func(*dataPackage, *packageDigest, *[]part) {}, nil},
		"another 1.x":     {func(p *dataPackage, _ *packageDigest, _ *[]part) { p.WACZVersion = "1.0.0" }, nil},
		"version 2":       {func(p *dataPackage, _ *packageDigest, _ *[]part) { p.WACZVersion = "2.0.0" }, []string{`profile "data-package" and wacz_version "2.0.0"; data-package and 1.1.1 are wanted`}},
		"profile":         {func(p *dataPackage, _ *packageDigest, _ *[]part) { p.Profile = "x" }, []string{`profile "x"`}},
		"path of digest":  {func(_ *dataPackage, d *packageDigest, _ *[]part) { d.Path = "x" }, []string{"datapackage-digest.json names x with sha256:"}},
		"hash of digest":  {func(_ *dataPackage, d *packageDigest, _ *[]part) { d.Hash = "sha256:0" }, []string{"names datapackage.json with sha256:0, but its hash is sha256:"}},
		"a directory":     {func(_ *dataPackage, _ *packageDigest, parts *[]part) { *parts = append(*parts, part{"x/", "", 0}) }, nil},
		"not listed":      {func(_ *dataPackage, _ *packageDigest, parts *[]part) { *parts = append(*parts, part{"x", "", 0}) }, []string{"x is not listed in datapackage.json"}},
		"twice":           {func(_ *dataPackage, _ *packageDigest, parts *[]part) { *parts = append(*parts, (*parts)[0]) }, []string{"pages/pages.jsonl is there twice"}},
		"one byte more":   {func(p *dataPackage, _ *packageDigest, _ *[]part) { listed(p, pagesName).Bytes-- }, []string{"pages/pages.jsonl has 61 bytes; 60 are listed"}},
		"one byte less":   {func(p *dataPackage, _ *packageDigest, _ *[]part) { listed(p, pagesName).Bytes++ }, []string{"pages/pages.jsonl has 61 bytes; 62 are listed"}},
		"many bytes more": {func(p *dataPackage, _ *packageDigest, _ *[]part) { listed(p, pagesName).Bytes = 10 }, []string{"pages/pages.jsonl has 11 bytes; 10 are listed"}},
		"below nothing":   {func(p *dataPackage, _ *packageDigest, _ *[]part) { listed(p, pagesName).Bytes = -5 }, []string{"pages/pages.jsonl has 1 bytes; -5 are listed"}},
		"hash":            {func(p *dataPackage, _ *packageDigest, _ *[]part) { listed(p, pagesName).Hash = "x" }, []string{"pages/pages.jsonl has the hash sha256:"}},
		"index is zipped": {func(_ *dataPackage, _ *packageDigest, parts *[]part) { (*parts)[1].method = zip.Deflate }, []string{"indexes/index.cdx is compressed by ZIP"}},
		"WARC is zipped":  {func(_ *dataPackage, _ *packageDigest, parts *[]part) { (*parts)[2].method = zip.Deflate }, []string{"archive/1.warc.gz is compressed by ZIP"}},
		"pages are not":   {func(_ *dataPackage, _ *packageDigest, parts *[]part) { (*parts)[0].method = zip.Store }, nil},
		"no archive":      {func(p *dataPackage, _ *packageDigest, parts *[]part) { unlist(p, parts, "archive/") }, []string{must}},
		"no index":        {func(p *dataPackage, _ *packageDigest, parts *[]part) { unlist(p, parts, "indexes/") }, []string{must}},
		"no pages":        {func(p *dataPackage, _ *packageDigest, parts *[]part) { unlist(p, parts, "pages/") }, []string{must}},
		"missing":         {func(_ *dataPackage, _ *packageDigest, parts *[]part) { *parts = (*parts)[:2] }, []string{"archive/1.warc.gz is listed and missing", must}},
	} {
		path := spoiled(t, c.change)
		err := Verify(path)
		if len(c.want) == 0 {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err == nil || !strings.HasPrefix(err.Error(), "WACZ "+path+": ") || strings.Count(err.Error(), "\n") != len(c.want)-1 {
			t.Errorf("%s: %v, want %q", name, err, c.want)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", name, err, c.want)
			}
		}
	}
}

// Errors of the ZIP file have the name of the file in it.
func TestVerifyOfWhatCannotBeRead(t *testing.T) {
	raw, err := os.ReadFile(spoiled(t, func(*dataPackage, *packageDigest, *[]part) {}))
	if err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range z.File {
		at, err := f.DataOffset()
		if err != nil {
			t.Fatal(err)
		}
		for _, spoil := range []func([]byte){
			func(b []byte) { b[at+int64(f.CompressedSize64)/2] ^= 0xff },
			// Change the method in the central directory.
			func(b []byte) {
				i := bytes.LastIndex(b, []byte(f.Name))
				b[i-46+10] = 99
			},
		} {
			b := bytes.Clone(raw)
			spoil(b)
			path := filepath.Join(t.TempDir(), "a.wacz")
			if err := os.WriteFile(path, b, 0o644); err != nil {
				t.Fatal(err)
			}
			if err := Verify(path); err == nil || !strings.Contains(err.Error(), f.Name) {
				t.Errorf("%s: %v", f.Name, err)
			}
		}
	}
	if err := Verify(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) || !strings.HasPrefix(err.Error(), "WACZ ") {
		t.Errorf("no file: %v", err)
	}
}

// Files that Verify reads into memory have a largest size.
func TestTheLongestDescription(t *testing.T) {
	const most = 64 << 20
	text := bytes.Repeat([]byte(" "), most+1)
	copy(text, `{"path":"x"}`)
	for _, over := range []int{0, 1} {
		var b bytes.Buffer
		b.Grow(most + 1<<10)
		out := zip.NewWriter(&b)
		w, err := out.CreateHeader(&zip.FileHeader{Name: digestName})
		if err == nil {
			_, err = w.Write(text[:most+over])
		}
		if err := errors.Join(err, out.Close()); err != nil {
			t.Fatal(err)
		}
		in, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
		if err != nil {
			t.Fatal(err)
		}
		var d packageDigest
		_, err = readJSON(map[string]*zip.File{digestName: in.File[0]}, digestName, &d)
		if over == 0 && (err != nil || d.Path != "x") || over == 1 && (err == nil || !strings.Contains(err.Error(), digestName+": longer than 67108864 bytes")) {
			t.Errorf("%d bytes over: %+v, %v", over, d, err)
		}
	}
}

// openFiles returns how many files this process has open.
func openFiles(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc to count files in: ", err)
	}
	return len(all)
}

// Write and Verify close all files, also if they fail.
func TestFilesAreClosed(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // off, because the garbage collector also closes files
	file := crawl(t, filepath.Join(t.TempDir(), "1.warc"), 3)
	p := &Package{WARCs: []string{file}, Created: day, memory: 1} // so little memory that the index needs temporary files
	path := pack(t, p)
	before := openFiles(t)
	for range 10 {
		if err := errors.Join(Write(t.Context(), io.Discard, p), Verify(path)); err != nil {
			t.Fatal(err)
		}
		if Write(t.Context(), &little{}, p) == nil || Verify(file) == nil {
			t.Fatal("no error")
		}
	}
	if after := openFiles(t); after > before+5 {
		t.Errorf("%d files are open, %d were before", after, before)
	}
}
