package export_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/internal/export"
	"github.com/permesso-crawler/permesso/internal/wacz"
	"github.com/permesso-crawler/permesso/storage/warc"
)

var noon = time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)

// crawled makes a source from the text of a pages.jsonl and from archived exchanges. "" means
// no pages.jsonl, and no exchanges mean no archive. An export of the source ends at the first
// damage.
func crawled(t *testing.T, pages string, exchanges ...*warc.Exchange) *export.Source {
	t.Helper()
	s := &export.Source{Temp: t.TempDir()}
	dir := t.TempDir()
	if pages != "" {
		s.Pages = filepath.Join(dir, "pages.jsonl")
		if err := os.WriteFile(s.Pages, []byte(pages), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if exchanges == nil {
		return s
	}
	e, err := warc.NewEncoder(warc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var file []byte
	for _, x := range exchanges {
		if x.URL == "" {
			x.URL = "http://a.example/"
		}
		if x.Date.IsZero() {
			x.Date = noon
		}
		if file, _, err = e.AppendExchange(file, x); err != nil {
			t.Fatal(err)
		}
	}
	s.WARCs = []string{filepath.Join(dir, "a.warc.gz")}
	if err := os.WriteFile(s.WARCs[0], file, 0o644); err != nil {
		t.Fatal(err)
	}
	return s
}

func answer(status int, header http.Header) *warc.HTTP {
	return &warc.HTTP{StartLine: warc.StatusLine(status), Header: header, Body: []byte("body")}
}

// pageLine returns a line of pages.jsonl with the given members after its URL, time and status.
func pageLine(at time.Time, members string) string {
	return fmt.Sprintf(`{"url":"http://a.example/","time":%q,"status":200%s}`+"\n", at.Format(time.RFC3339Nano), members)
}

func TestOpenFindsTheFiles(t *testing.T) {
	for _, c := range []struct {
		files []string
		pages bool
		warcs []string
	}{
		{[]string{"pages.jsonl"}, true, nil},
		{[]string{"pages.jsonl", "warc/"}, true, nil},
		{[]string{"warc/b.warc", "warc/a.warc.gz", "warc/c.warc.gz.open", "warc/d.warc.open", "warc/e.txt", "warc/f.gz", "warc/g.warc.gz.part"}, false, []string{"a.warc.gz", "b.warc", "c.warc.gz.open", "d.warc.open"}},
		{[]string{"pages.jsonl", "warc/a.warc"}, true, []string{"a.warc"}},
	} {
		dir := t.TempDir()
		for _, name := range c.files {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(name, "/") {
				if err := os.MkdirAll(path, 0o755); err != nil {
					t.Fatal(err)
				}
			} else if err := os.WriteFile(path, nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		s, err := export.Open(dir)
		if err != nil {
			t.Errorf("%q: %v", c.files, err)
			continue
		}
		var names []string
		for _, path := range s.WARCs {
			if filepath.Dir(path) != filepath.Join(dir, "warc") {
				t.Errorf("path %s", path)
			}
			names = append(names, filepath.Base(path))
		}
		if (s.Pages == filepath.Join(dir, "pages.jsonl")) != c.pages || !c.pages && s.Pages != "" || !slices.Equal(names, c.warcs) {
			t.Errorf("%q: pages %q, WARC files %q", c.files, s.Pages, names)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "pages.jsonl"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "warc"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if s, err := export.Open(dir); err == nil {
		t.Errorf("an archive that is no directory: %+v", s)
	}
	loop := t.TempDir()
	if err := os.Symlink("pages.jsonl", filepath.Join(loop, "pages.jsonl")); err == nil {
		if s, err := export.Open(loop); err == nil || errors.Is(err, export.ErrNoCrawl) {
			t.Errorf("a file that cannot be reached: %+v, %v", s, err)
		}
	}
	if _, err := export.Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), os.TempDir()) {
		t.Errorf("no crawl: %v", err)
	}
}

func TestSizeAndRead(t *testing.T) {
	for _, c := range []struct{ pages, archive bool }{{true, true}, {true, false}, {false, true}} {
		s := open(t, c.pages, c.archive)
		want := int64(0)
		for _, path := range append(slices.Clone(s.WARCs), s.Pages) {
			if info, err := os.Stat(path); err == nil {
				want += info.Size()
			}
		}
		if size, err := s.Size(); size != want || err != nil || s.Read() != 0 {
			t.Errorf("%+v: size %d, %v, want %d; %d are read", c, size, err, want, s.Read())
		}
		collect(t, s)
		if s.Read() != want {
			t.Errorf("%+v: %d bytes of %d are read", c, s.Read(), want)
		}
		for _, path := range append(slices.Clone(s.WARCs), s.Pages) {
			if path == "" {
				continue
			}
			if err := os.Rename(path, path+".away"); err != nil {
				t.Fatal(err)
			}
			if size, err := s.Size(); size != 0 || !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s is missing: size: %d, %v", path, size, err)
			}
			for r, err := range s.Rows(t.Context()) {
				if r != nil || !errors.Is(err, os.ErrNotExist) {
					t.Errorf("%s is missing: %v, %v", path, r, err)
				}
			}
			n, err := s.WriteWACZ(t.Context(), io.Discard, wacz.Package{Created: noon})
			if n != 0 || len(s.WARCs) > 0 && !errors.Is(err, os.ErrNotExist) || len(s.WARCs) == 0 && err != export.ErrNoWARC {
				t.Errorf("%s is missing: WACZ of %d pages: %v", path, n, err)
			}
			if err := os.Rename(path+".away", path); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestDamageSaysWhere(t *testing.T) {
	cause := errors.New("cause")
	for want, d := range map[string]*export.Damage{
		"a:1: cause": {File: "a", Line: 1, Err: cause}, "a:2: cause": {File: "a", Line: 2, Offset: 7, Err: cause},
		"a: at byte 0: cause": {File: "a", Err: cause}, "a: at byte 7: cause": {File: "a", Offset: 7, Err: cause},
	} {
		if d.Error() != want || !errors.Is(d, cause) {
			t.Errorf("%s, want %s", d, want)
		}
	}
}

// If a file cannot be read any further, the export fails. This is not a Damage, which can be
// skipped.
func TestAFileThatCannotBeReadEndsTheExport(t *testing.T) {
	s := open(t, true, true)
	dir := t.TempDir() // a directory can be opened, but not read
	for name, broken := range map[string]*export.Source{
		"WARC":  {WARCs: []string{dir}, Temp: t.TempDir()},
		"pages": {Pages: dir, WARCs: s.WARCs, Temp: t.TempDir()},
	} {
		reported := 0
		broken.Damaged = func(d *export.Damage) error {
			if reported++; reported > 1 {
				return fmt.Errorf("reported again: %w", d)
			}
			return nil
		}
		var errs []error
		for r, err := range broken.Rows(t.Context()) {
			if err != nil {
				errs = append(errs, err)
			} else if name == "WARC" {
				t.Errorf("%s: a row of %s", name, r.URL)
			}
		}
		if len(errs) != 1 || reported > 1 || !strings.HasPrefix(errs[0].Error(), dir+":") {
			t.Errorf("%s: reported: %d damages, ended with %v", name, reported, errs)
		}
	}
}

// If the caller gives the list of pages, the main page is still looked up in pages.jsonl. If
// that cannot be read, WriteWACZ fails.
func TestAMainPageThatCannotBeLookedForIsTold(t *testing.T) {
	s := open(t, true, true)
	s.Pages = t.TempDir()
	p := wacz.Package{Created: noon, Pages: func(func(wacz.Page, error) bool) {}}
	if n, err := s.WriteWACZ(t.Context(), io.Discard, p); n != 0 || err == nil || !strings.Contains(err.Error(), s.Pages) {
		t.Errorf("%d pages, %v", n, err)
	}
}

// A little is a writer that accepts left bytes, and then fails.
type little struct{ left int }

var errFull = errors.New("disk full")

func (l *little) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	if l.left -= n; n < len(p) {
		return n, errFull
	}
	return n, nil
}

// Each Write function returns errors of the disk and of the rows. It also returns the number of
// rows that it wrote before the error.
func TestWritersPassErrorsOn(t *testing.T) {
	row := export.Row{SURT: "s", URL: "http://a.example/", Time: noon, Title: strings.Repeat("x", 1000)}
	stop := errors.New("stop")
	rows := func(n int, end error) func(func(*export.Row, error) bool) {
		return func(yield func(*export.Row, error) bool) {
			for range n {
				if !yield(&row, nil) {
					return
				}
			}
			if end != nil {
				yield(nil, end)
			}
		}
	}
	for name, write := range map[string]func(io.Writer, func(func(*export.Row, error) bool)) (int64, error){
		"CSV": func(w io.Writer, rows func(func(*export.Row, error) bool)) (int64, error) {
			return export.CSV{}.Write(w, rows)
		},
		"JSONL": func(w io.Writer, rows func(func(*export.Row, error) bool)) (int64, error) {
			return export.WriteJSONL(w, rows)
		},
	} {
		var whole bytes.Buffer
		if n, err := write(&whole, rows(300, nil)); n != 300 || err != nil {
			t.Errorf("%s: %d rows, %v", name, n, err)
		}
		for _, left := range []int{0, 100_000, whole.Len() - 1} {
			if n, err := write(&little{left}, rows(300, nil)); !errors.Is(err, errFull) || n > 300 || left == 0 && n > 100 {
				t.Errorf("%s: room for %d of %d bytes: %d rows, %v", name, left, whole.Len(), n, err)
			}
		}
		if n, err := write(io.Discard, rows(7, stop)); n != 7 || err != stop {
			t.Errorf("%s: %d rows, %v", name, n, err)
		}
	}
	for _, write := range []func(io.Writer, context.Context) error{
		func(w io.Writer, ctx context.Context) error {
			_, err := open(t, true, true).WriteCDXJ(ctx, w)
			return err
		},
		func(w io.Writer, ctx context.Context) error {
			_, err := open(t, true, true).WriteWACZ(ctx, w, wacz.Package{Created: noon})
			return err
		},
	} {
		if err := write(&little{}, t.Context()); !errors.Is(err, errFull) {
			t.Errorf("no room: %v", err)
		}
		// If ctx ends during a write, the export fails.
		ctx, cancel := context.WithCancel(t.Context())
		var b bytes.Buffer
		if err := write(writerFunc(func(p []byte) (int, error) { cancel(); return b.Write(p) }), ctx); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		cancel()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	reported := 0
	for r, err := range open(t, true, false).Rows(ctx) {
		if reported++; r != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("%v, %v", r, err)
		}
	}
	if reported != 1 {
		t.Errorf("cancelled: %d errors", reported)
	}
	if n, err := open(t, true, true).WriteCDXJ(ctx, io.Discard); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d lines, %v", n, err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// A CSV cell has quotation marks only if it needs them, and an apostrophe only before a text
// that a spreadsheet would take for a formula.
func TestCells(t *testing.T) {
	for title, want := range map[string]string{
		"plain": "plain", "a,b": `"a,b"`, `a"b`: `"a""b"`, "a\rb": "\"a\rb\"", "a\nb": "\"a\nb\"", "": "",
		"=1": "'=1", "+1": "'+1", "-1": "'-1", "@x": "'@x", "\tx": "'\tx", "\rx": "\"'\rx\"", "\nx": "\"'\nx\"", "＝1": "'＝1", "＋1": "'＋1", "－1": "'－1", "＠x": "'＠x",
		"a=1": "a=1", " =1": " =1", "a\xffb": "a\uFFFDb", "'=": "'=",
	} {
		var b bytes.Buffer
		row := &export.Row{SURT: "s", URL: "u", Title: title}
		if _, err := (export.CSV{}).Write(&b, func(yield func(*export.Row, error) bool) { yield(row, nil) }); err != nil {
			t.Fatal(err)
		}
		_, line, _ := strings.Cut(b.String(), "\r\n")
		if cell := "," + want + ","; !strings.Contains(line, cell) || title == "" && strings.ContainsAny(line, `'"`) {
			t.Errorf("%q: no %q in %q", title, cell, line)
		}
	}
}

// The errors of the Check functions have the number of the line.
func TestChecksSayWhichLine(t *testing.T) {
	names := strings.Join(export.Columns(), ",") + "\n"
	cells := func(surt, url string) string {
		return surt + "," + url + strings.Repeat(",", len(export.Columns())-2) + "\n"
	}
	object := func(surt, url string) string { return fmt.Sprintf(`{"surt":%q,"url":%q}`+"\n", surt, url) }
	entry := func(key, url string) string {
		return fmt.Sprintf(`%s 20300102030405 {"url":%q,"length":"0","offset":"0","filename":""}`+"\n", key, url)
	}
	a, b := entry("example,a)/", "http://a.example/"), entry("example,b)/", "http://b.example/")
	checks := map[string]func(io.Reader) (int64, error){"csv": export.CheckCSV, "jsonl": export.CheckJSONL, "cdxj": export.CheckCDXJ}
	for _, c := range []struct {
		kind, text string
		n          int64
		bad        string
	}{
		{"csv", names, 0, ""},
		{"csv", "", 0, "EOF"},
		{"csv", "a,b\n", 0, "wrong number of fields"},
		{"csv", strings.Replace(names, "surt", "turs", 1), 0, "the names of the columns"},
		{"csv", names + cells("a", "x") + cells("a", "x") + cells("a", "y") + cells("b", "a"), 4, ""},
		{"csv", names + cells("b", "x") + cells("a", "x"), 1, "row 2: the row of x sorts before"},
		{"csv", names + cells("a", "y") + cells("a", "x"), 1, "row 2: the row of x sorts before"},
		{"csv", names + cells("", "x"), 0, "row 1: the row has no SURT"},
		{"csv", names + cells("a", "x") + cells("b", ""), 1, "row 2: the row has no SURT or no URL"},
		{"csv", names + cells("a", "x") + "b\n", 1, "row 2: record on line 3: wrong number of fields"},
		{"jsonl", "", 0, ""},
		{"jsonl", object("a", "x") + object("a", "x") + object("b", "a"), 3, ""},
		{"jsonl", object("a", "x") + `{"other":1}` + "\n", 1, `line 2: json: unknown field "other"`},
		{"jsonl", object("b", "x") + object("a", "y"), 1, "line 2: the row of y sorts before"},
		{"jsonl", object("a", "x") + strings.TrimSuffix(object("b", "x"), "\n"), 1, "line 2: unexpected EOF"},
		{"cdxj", "", 0, ""},
		{"cdxj", a + a + b, 3, ""},
		{"cdxj", b + a, 1, "line 2: the line sorts before the one above it"},
		{"cdxj", a + "x\n", 1, `line 2: CDXJ: the line "x\n" is not`},
		{"cdxj", a + entry("example,c)/", "http://b.example/"), 1, "line 2: the key is not that of http://b.example/"},
		{"cdxj", a + strings.TrimSuffix(b, "\n"), 1, "line 2: unexpected EOF"},
	} {
		n, err := checks[c.kind](strings.NewReader(c.text))
		if n != c.n || (err == nil) != (c.bad == "") || err != nil && !strings.Contains(err.Error(), c.bad) {
			t.Errorf("%s, %q: %d lines, %v, want %d and %q", c.kind, c.text, n, err, c.n, c.bad)
		}
	}
}

// A package lists the HTML pages with a 2xx status. Its main page is the first that is a seed,
// or the target of a seed's redirect.
func TestPagesOfAPackage(t *testing.T) {
	page := func(path, members string) string {
		return strings.Replace(pageLine(noon, members), "a.example/", "a.example/"+path, 1)
	}
	const html = `,"type":"text/html"`
	lines := page("199", html+`,"status":199`) + page("300", html+`,"status":300`) + page("text", `,"type":"text/plain"`) +
		page("deep", html+`,"depth":1`) + page("hop", html+`,"hops":"RLR"`) + "{\n" +
		page("seed", html+`,"hops":"RR","title":"T"`) + page("299", `,"type":"application/xhtml+xml","status":299`)
	s := crawled(t, lines, &warc.Exchange{Response: answer(200, http.Header{"Content-Type": {"text/html"}})})
	reported := 0
	s.Damaged = func(*export.Damage) error { reported++; return nil }
	write := func(p wacz.Package) (map[string]string, int64) {
		t.Helper()
		path := filepath.Join(t.TempDir(), "a.wacz")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		p.Created = noon
		n, err := s.WriteWACZ(t.Context(), f, p)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		return map[string]string{"pages": unzip(t, path, "pages/pages.jsonl"), "package": unzip(t, path, "datapackage.json")}, n
	}
	listed := func(text string) (all []string) {
		for i, line := range strings.Split(strings.TrimSpace(text), "\n")[1:] {
			var p struct{ ID, URL, Title string }
			if err := json.Unmarshal([]byte(line), &p); err != nil {
				t.Fatal(err)
			}
			if p.ID != fmt.Sprint(i+1) {
				t.Errorf("page %d has ID %s", i, p.ID)
			}
			all = append(all, strings.TrimPrefix(p.URL, "http://a.example/")+p.Title)
		}
		return all
	}
	got, n := write(wacz.Package{})
	if all := listed(got["pages"]); n != 4 || !slices.Equal(all, []string{"deep", "hop", "seedT", "299"}) {
		t.Errorf("%d pages: %q", n, all)
	}
	if !strings.Contains(got["package"], `"mainPageUrl": "http://a.example/seed"`) {
		t.Errorf("main page: %s", got["package"])
	}
	if reported != 1 {
		t.Errorf("damage was reported %d times", reported)
	}
	// WriteWACZ does not change the list of pages that the caller has given.
	own := func(yield func(wacz.Page, error) bool) {
		yield(wacz.Page{ID: "1", URL: "http://a.example/own", Time: noon}, nil)
	}
	got, n = write(wacz.Package{MainPageURL: "http://main.example/", Pages: own})
	if all := listed(got["pages"]); n != 1 || !slices.Equal(all, []string{"own"}) || !strings.Contains(got["package"], `"mainPageUrl": "http://main.example/"`) {
		t.Errorf("%d pages: %q; %s", n, all, got["package"])
	}
	// If the list of pages ends with an error, WriteWACZ returns the number of pages before it.
	stop := errors.New("stop")
	bad := func(yield func(wacz.Page, error) bool) {
		if yield(wacz.Page{URL: "http://a.example/", Time: noon}, nil) {
			yield(wacz.Page{}, stop)
		}
	}
	if n, err := s.WriteWACZ(t.Context(), io.Discard, wacz.Package{Created: noon, Pages: bad}); n != 1 || !errors.Is(err, stop) {
		t.Errorf("%d pages, %v", n, err)
	}
	s.Damaged = nil
	var damage *export.Damage
	if _, err := s.WriteWACZ(t.Context(), io.Discard, wacz.Package{Created: noon}); !errors.As(err, &damage) || damage.Line != 6 {
		t.Errorf("a damaged line: %v", err)
	}
	// Without pages.jsonl, the list has the pages of the archive.
	s.Pages = ""
	if got, n = write(wacz.Package{}); n != 1 || !slices.Equal(listed(got["pages"]), []string{""}) || strings.Contains(got["package"], "mainPageUrl") {
		t.Errorf("%d pages: %v", n, got)
	}
	if err := os.WriteFile(s.WARCs[0], []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := s.WriteWACZ(t.Context(), io.Discard, wacz.Package{Created: noon}); err == nil {
		t.Error("a damaged archive is packed")
	}
	// WriteWACZ fails at a page without a URL.
	none := func(yield func(wacz.Page, error) bool) { yield(wacz.Page{}, nil) }
	if _, err := open(t, true, true).WriteWACZ(t.Context(), io.Discard, wacz.Package{Created: noon, Pages: none}); err == nil {
		t.Error("a page without a URL is listed")
	}
	if n, err := (&export.Source{}).WriteWACZ(t.Context(), io.Discard, wacz.Package{Created: noon}); n != 0 || err != export.ErrNoWARC {
		t.Errorf("no WARC files: %d pages, %v", n, err)
	}
	if n, err := (&export.Source{}).WriteCDXJ(t.Context(), io.Discard); n != 0 || err != export.ErrNoWARC {
		t.Errorf("no WARC files: %d lines, %v", n, err)
	}
}

// WriteWACZ puts temporary files into the directory Temp.
func TestTempOfAPackage(t *testing.T) {
	s := open(t, false, true)
	s.Temp = filepath.Join(t.TempDir(), "none")
	s.Memory = 1
	if _, err := s.WriteCDXJ(t.Context(), io.Discard); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("CDXJ: %v", err)
	}
	for r, err := range s.Rows(t.Context()) {
		if !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%v, %v", r, err)
		}
	}
}

// Rows are sorted by the bytes of their URLs, then by time, also before 1970. Invalid UTF-8 in
// a URL is replaced.
func TestOrder(t *testing.T) {
	old := time.Date(1969, 12, 31, 23, 59, 59, 0, time.UTC)
	var exchanges []*warc.Exchange
	for _, path := range []string{"b", "a", "", "a/\xff"} {
		for _, at := range []time.Time{noon, old, time.Unix(0, 0)} {
			exchanges = append(exchanges, &warc.Exchange{URL: "http://a.example/" + path, Date: at, Response: answer(200, nil)})
		}
	}
	var got []string
	for _, r := range collect(t, crawled(t, pageLine(old, ""), exchanges...)) {
		got = append(got, strings.TrimPrefix(r.URL, "http://a.example/")+r.Time.Format(" 2006"))
	}
	want := []string{" 1969", " 1970", " 2030", "a 1969", "a 1970", "a 2030", "a/\uFFFD 1969", "a/\uFFFD 1970", "a/\uFFFD 2030", "b 1969", "b 1970", "b 2030"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// If the disk is full while pages are listed, WriteWACZ fails.
func TestNoRoomForPages(t *testing.T) {
	var lines strings.Builder
	var exchanges []*warc.Exchange
	random := rand.New(rand.NewPCG(1, 2))
	for range 1500 {
		url := fmt.Sprintf("a.example/%016x", random.Uint64())
		lines.WriteString(strings.Replace(pageLine(noon, `,"type":"text/html"`), "a.example/", url, 1))
		exchanges = append(exchanges, &warc.Exchange{URL: "http://" + url, Response: answer(200, http.Header{"Content-Type": {"text/html"}})})
	}
	for _, pages := range []string{lines.String(), ""} {
		s := crawled(t, pages, exchanges...)
		// After ctx has ended, nothing more is written.
		ctx, cancel := context.WithCancel(t.Context())
		writes := 0
		_, err := s.WriteCDXJ(ctx, writerFunc(func(p []byte) (int, error) { writes++; cancel(); return len(p), nil }))
		if writes != 1 || !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %d writes, %v", writes, err)
		}
		if n, err := s.WriteWACZ(t.Context(), &little{}, wacz.Package{Created: noon}); !errors.Is(err, errFull) || n >= 1500 || n == 0 {
			t.Errorf("%d pages, %v", n, err)
		}
	}
}
