package export_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/permesso-crawler/permesso/internal/export"
	"github.com/permesso-crawler/permesso/internal/export/internal/sample"
	"github.com/permesso-crawler/permesso/internal/wacz"
	"github.com/permesso-crawler/permesso/storage/warc"
)

var update = flag.Bool("update", false, "write the files in testdata")

func open(t *testing.T, pages, archive bool) *export.Source {
	t.Helper()
	dir := t.TempDir()
	if err := sample.Write(dir, pages, archive); err != nil {
		t.Fatal(err)
	}
	s, err := export.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	s.Temp = t.TempDir()
	return s
}

func collect(t *testing.T, s *export.Source) []export.Row {
	t.Helper()
	var rows []export.Row
	for r, err := range s.Rows(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, *r)
	}
	return rows
}

// The files equal those in testdata. The columns are promised to users, so only new columns at
// the end may change the files.
func TestColumnsAreAsPromised(t *testing.T) {
	for _, c := range []struct {
		name           string
		pages, archive bool
	}{{"both", true, true}, {"pages", true, false}, {"archive", false, true}} {
		s := open(t, c.pages, c.archive)
		var csv, exact, jsonl bytes.Buffer
		n, err := export.CSV{}.Write(&csv, s.Rows(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (export.CSV{Exact: true}).Write(&exact, s.Rows(t.Context())); err != nil {
			t.Fatal(err)
		}
		if _, err := export.WriteJSONL(&jsonl, s.Rows(t.Context())); err != nil {
			t.Fatal(err)
		}
		golden(t, c.name+".csv", csv.Bytes())
		golden(t, c.name+".jsonl", jsonl.Bytes())
		if got := bytes.ReplaceAll(csv.Bytes(), []byte(`'=1+1`), []byte(`=1+1`)); !bytes.Equal(got, exact.Bytes()) || c.pages == bytes.Equal(csv.Bytes(), exact.Bytes()) {
			t.Errorf("%s: exact CSV differs in more than the apostrophe:\n%s", c.name, exact.Bytes())
		}
		for kind, check := range map[string]func() (int64, error){
			"csv":   func() (int64, error) { return export.CheckCSV(&csv) },
			"jsonl": func() (int64, error) { return export.CheckJSONL(&jsonl) },
		} {
			if m, err := check(); m != n || err != nil {
				t.Errorf("%s: check of %s reads %d of %d rows: %v", c.name, kind, m, n, err)
			}
		}
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// CSV and JSON lines have the same column names in the same order.
func TestNamesAreThoseOfTheTags(t *testing.T) {
	full := export.Row{SURT: "a", URL: "a", Host: "a", Domain: "a", Time: sample.Start, Fate: "a"}
	for r := range open(t, true, true).Rows(t.Context()) {
		if r.Page && r.WARCFile != "" && r.Usage != "" {
			full = *r
		}
	}
	full.Type, full.SentType, full.DetectedType, full.Charset, full.Truncated = "a", "a", "a", "a", "a"
	full.PayloadDigest, full.Title, full.Location, full.Hops, full.Via, full.Tag, full.Rule = "a", "a", "a", "a", "a", "a", "a"
	full.Refused, full.Canonical, full.OpenGraph, full.Method = "a", "a", "a", "a"
	full.Change, full.TextDigest = "a", "a"
	full.IP = sample.Captures()[0].Exchange.IP
	b, err := json.Marshal(full)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	dec := json.NewDecoder(bytes.NewReader(b))
	if _, err := dec.Token(); err != nil {
		t.Fatal(err)
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name.(string))
		if _, err := dec.Token(); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(export.Columns(), names); diff != "" {
		t.Errorf("columns of CSV (-) and members of JSON (+):\n%s", diff)
	}
}

// Each capture is one row, whether it is in pages.jsonl, in the archive or in both, and however
// often the sort writes to disk.
func TestEveryCaptureIsOneRow(t *testing.T) {
	want := collect(t, open(t, true, true))
	captures := sample.Captures()
	if len(want) != len(captures) {
		t.Errorf("%d rows of %d captures", len(want), len(captures))
	}
	for _, c := range captures {
		i := slices.IndexFunc(want, func(r export.Row) bool {
			return (c.Page == nil || r.URL == c.Page.URL && r.Time.Equal(c.Page.Time.Truncate(time.Microsecond))) &&
				(c.Exchange == nil || r.URL == c.Exchange.URL && r.Time.Equal(c.Exchange.Date))
		})
		if i < 0 {
			t.Errorf("no row for %+v", c)
		} else if r := want[i]; r.Page != (c.Page != nil) || (r.WARCFile != "") != (c.Exchange != nil) {
			t.Errorf("%s at %v: page %v, archived in %q", r.URL, r.Time, r.Page, r.WARCFile)
		}
	}
	small := open(t, true, true)
	small.Memory = 1
	if diff := cmp.Diff(want, collect(t, small), cmp.Comparer(func(a, b export.Row) bool { return fmt.Sprint(jsonOf(a)) == fmt.Sprint(jsonOf(b)) })); diff != "" {
		t.Errorf("rows sorted on disk (+) and in memory (-):\n%s", diff)
	}
}

func jsonOf(r export.Row) string {
	b, err := json.Marshal(r)
	return string(b) + fmt.Sprint(err)
}

// The sort works with more temporary runs than may be open at once, and with texts that differ
// only in length.
func TestManyRuns(t *testing.T) {
	dir := t.TempDir()
	var b bytes.Buffer
	const n = 300
	for i := range n {
		fmt.Fprintf(&b, `{"url":"http://a.example/%d","time":"2030-01-02T03:04:05Z","status":200}`+"\n", i*7919%n)
	}
	if err := os.WriteFile(filepath.Join(dir, "pages.jsonl"), b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := export.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	s.Memory, s.Temp = 1, t.TempDir()
	rows := collect(t, s)
	if len(rows) != n || !slices.IsSortedFunc(rows, func(a, b export.Row) int { return strings.Compare(a.URL, b.URL) }) {
		t.Errorf("%d of %d rows, or not sorted", len(rows), n)
	}
	if left, err := os.ReadDir(s.Temp); len(left) > 0 || err != nil {
		t.Errorf("temporary files are left: %v, %v", left, err)
	}
	for r := range s.Rows(t.Context()) {
		if r.URL != rows[0].URL {
			t.Error("rows can be read once only")
		}
		break
	}
}

// If the times in a WARC file have no fractions of a second, pages are still joined with their
// records.
func TestTimesOfWARC10(t *testing.T) {
	s := open(t, true, true)
	b, err := os.ReadFile(s.WARCs[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.WARCs[0], bytes.ReplaceAll(b, []byte(".678901Z"), []byte("Z")), 0o644); err != nil {
		t.Fatal(err)
	}
	joined := 0
	rows := collect(t, s)
	for _, r := range rows {
		if r.Page && r.SentType != "" {
			joined++
		}
	}
	if joined != 5 || len(rows) != len(sample.Captures()) {
		t.Errorf("%d captures are joined in %d rows, want 5 in %d", joined, len(rows), len(sample.Captures()))
	}
}

// Damage is reported, and all undamaged captures are exported.
func TestDamage(t *testing.T) {
	s := open(t, true, true)
	b, err := os.ReadFile(s.Pages)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(b, []byte("\n"))
	damaged := slices.Concat(lines[0], []byte("{\"url\":\"http://torn.example/\",\"body\":\"abc\n"), bytes.Join(lines[1:], nil), []byte(`{"url":"http://last.exam`))
	if err := os.WriteFile(s.Pages, damaged, 0o644); err != nil {
		t.Fatal(err)
	}
	w, err := os.ReadFile(s.WARCs[0])
	if err != nil {
		t.Fatal(err)
	}
	// the second response
	i := bytes.Index(w, []byte("http://www.a.example/\r\n"))
	at := bytes.LastIndex(w[:i], []byte("WARC/1.1"))
	copy(w[at:], "WORK")
	if err := os.WriteFile(s.WARCs[0], w, 0o644); err != nil {
		t.Fatal(err)
	}
	var reported []string
	s.Damaged = func(d *export.Damage) error {
		reported = append(reported, strings.TrimPrefix(d.Error(), filepath.Dir(s.Pages)))
		return nil
	}
	rows := collect(t, s)
	if len(rows) != len(sample.Captures()) {
		t.Errorf("%d of %d rows", len(rows), len(sample.Captures()))
	}
	want := []string{"/pages.jsonl:2: unexpected end of JSON input", "/pages.jsonl:12: the last line is not whole", fmt.Sprintf("/warc/sample-00000.warc: at byte %d: the record does not begin with WARC", at)}
	if !slices.EqualFunc(reported, want, strings.HasPrefix) {
		t.Errorf("reported: %q, want %q", reported, want)
	}

	stop := errors.New("enough")
	s.Damaged = func(*export.Damage) error { return stop }
	for _, err := range s.Rows(t.Context()) {
		if err != stop {
			t.Errorf("error %v, want that of Damaged", err)
		}
	}
	s.Damaged = nil
	var damage *export.Damage
	for _, err := range s.Rows(t.Context()) {
		if !errors.As(err, &damage) || damage.Line != 2 {
			t.Errorf("error %v, want a Damage in line 2", err)
		}
	}
}

func TestLinesThatAreNoPages(t *testing.T) {
	for line, want := range map[string]string{
		`{"time":"2030-01-02T03:04:05Z","status":200}`:                                              "no url",
		`{"url":"http://a.example/","status":200}`:                                                  "no time",
		`{"url":"http://a.example/","time":"0001-01-01T00:00:00+23:00","status":200}`:               "no time",
		`{"url":"http://a.example/","time":"2030-01-02T03:04:05Z","status":-1}`:                     "status -1",
		`{"url":"http://a.example/","time":"2030-01-02T03:04:05Z","status":1000}`:                   "status 1000",
		`{"url":"http://a.example/","time":"2030-01-02T03:04:05Z","depth":2147483648}`:              "depth",
		`{"url":"http://a.example/","time":"2030-01-02T03:04:05Z","robots":"0000-01-01T00:00:00Z"}`: "robots",
		`[]`: "cannot unmarshal",
		`{"url":"http://a.example/","time":"2030-01-02T03:04:05Z","title":"` + strings.Repeat("a", 8<<20) + `"}`: "longer than",
	} {
		s := write(t, line+"\n")
		var damage *export.Damage
		for _, err := range s.Rows(t.Context()) {
			if !errors.As(err, &damage) || !strings.Contains(err.Error(), want) {
				t.Errorf("%.80s: error %v, want one of %q", line, err, want)
			}
		}
	}
}

func write(t testing.TB, pages string) *export.Source {
	t.Helper()
	s := &export.Source{Pages: filepath.Join(t.TempDir(), "pages.jsonl")}
	if err := os.WriteFile(s.Pages, []byte(pages), 0o644); err != nil {
		t.Fatal(err)
	}
	return s
}

// A large body in pages.jsonl needs no memory.
func TestBodiesAreNotHeld(t *testing.T) {
	const size = 64 << 20
	body := bytes.Repeat([]byte(`\"body\":\\`), size/10)
	s := write(t, `{"url":"http://a.example/","time":"2030-01-02T03:04:05Z","status":200,"body":"`+string(body)+`","title":"behind"}`+"\n")
	body = nil
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	rows := collect(t, s)
	runtime.ReadMemStats(&after)
	if len(rows) != 1 || rows[0].Title != "behind" {
		t.Errorf("rows %+v", rows)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > size/16 {
		t.Errorf("%d bytes are allocated for a body of %d", got, size)
	}
}

func TestCDXJ(t *testing.T) {
	s := open(t, true, true)
	var b bytes.Buffer
	n, err := s.WriteCDXJ(t.Context(), &b)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "index.cdxj", b.Bytes())
	if m, err := export.CheckCDXJ(&b); m != n || n != 8 || err != nil {
		t.Errorf("%d lines of %d, want 8: %v", m, n, err)
	}
	if _, err := open(t, true, false).WriteCDXJ(t.Context(), &b); !errors.Is(err, export.ErrNoWARC) {
		t.Errorf("without WARC files: %v", err)
	}
}

func TestWACZ(t *testing.T) {
	for _, pages := range []bool{true, false} {
		s := open(t, pages, true)
		path := filepath.Join(t.TempDir(), "a.wacz")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		n, err := s.WriteWACZ(t.Context(), f, wacz.Package{Title: "a", Created: sample.Start})
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		if err := wacz.Verify(path); err != nil {
			t.Error(err)
		}
		if n != 2 {
			t.Errorf("%d pages are listed, want the 2 of HTML and with status 200", n)
		}
		// The list has the order of the crawl, and all facts of pages.jsonl.
		want := map[string]string{
			"pages/pages.jsonl": `{"id":"1","url":"http://www.a.example/","ts":"2030-01-02T03:04:06.678901999Z","title":"=1+1"}`,
			"datapackage.json":  `"mainPageUrl": "http://www.a.example/"`,
		}
		if !pages {
			want = map[string]string{"pages/pages.jsonl": `{"id":"1","url":"http://www.a.example/","ts":"2030-01-02T03:04:06.678901Z"}`}
		}
		for name, part := range want {
			if got := unzip(t, path, name); !strings.Contains(got, part) {
				t.Errorf("with pages %v: %s has no %s:\n%s", pages, name, part, got)
			}
		}
	}
	s := open(t, true, true)
	if err := os.Rename(s.WARCs[0], s.WARCs[0]+".open"); err != nil {
		t.Fatal(err)
	}
	grows, err := export.Open(filepath.Dir(s.Pages))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := grows.WriteWACZ(t.Context(), &bytes.Buffer{}, wacz.Package{Created: sample.Start}); n != 0 || !errors.Is(err, export.ErrOpen) {
		t.Errorf("with a file that still grows: %v", err)
	}
	for i, r := range collect(t, grows) {
		if want := collect(t, open(t, true, true))[i]; r.WARCFile != want.WARCFile {
			t.Errorf("%s is in %q, want %q", r.URL, r.WARCFile, want.WARCFile)
		}
	}
}

// A kill leaves an incomplete record at the end of an unfinished file. Everything before it is
// exported. The text of the Damage says that a kill is the cause, and what the user can do.
func TestTheLastRecordOfACrawlThatWasKilled(t *testing.T) {
	whole := open(t, false, true)
	path := whole.WARCs[0]
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, end := range []string{"", ".open"} {
		if err := errors.Join(os.Truncate(path, info.Size()-10), os.Rename(path, path+end)); err != nil {
			t.Fatal(err)
		}
		s, err := export.Open(filepath.Dir(filepath.Dir(path)))
		if err != nil {
			t.Fatal(err)
		}
		var damage []error
		s.Damaged = func(d *export.Damage) error { damage = append(damage, d); return nil }
		if len(collect(t, s)) == 0 {
			t.Error("nothing is exported")
		}
		if len(damage) != 1 || !errors.Is(damage[0], warc.ErrCut) || strings.Contains(damage[0].Error(), "crawl run on it mends that") != (end != "") {
			t.Errorf("a file that ends with %q: %v", end, damage)
		}
	}
}

func TestNoCrawl(t *testing.T) {
	if _, err := export.Open(t.TempDir()); !errors.Is(err, export.ErrNoCrawl) {
		t.Errorf("empty directory: %v", err)
	}
	if _, err := export.Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
}

func TestEndsWithItsContext(t *testing.T) {
	s := open(t, true, true)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var ended error
	for _, err := range s.Rows(ctx) {
		cancel()
		ended = err
	}
	if !errors.Is(ended, context.Canceled) {
		t.Errorf("rows end with %v", ended)
	}
	if _, err := s.WriteCDXJ(ctx, &bytes.Buffer{}); !errors.Is(err, context.Canceled) {
		t.Errorf("CDXJ ends with %v", err)
	}
	if _, err := s.WriteWACZ(ctx, &bytes.Buffer{}, wacz.Package{Created: sample.Start}); !errors.Is(err, context.Canceled) {
		t.Errorf("WACZ ends with %v", err)
	}
}

// The Check functions find each kind of damage.
func TestChecksFindDamage(t *testing.T) {
	s := open(t, true, true)
	var table, lines, index bytes.Buffer
	if _, err := (export.CSV{}).Write(&table, s.Rows(t.Context())); err != nil {
		t.Fatal(err)
	}
	if _, err := export.WriteJSONL(&lines, s.Rows(t.Context())); err != nil {
		t.Fatal(err)
	}
	if _, err := s.WriteCDXJ(t.Context(), &index); err != nil {
		t.Fatal(err)
	}
	swap := func(s string) string {
		all := strings.SplitAfter(s, "\n")
		all[1], all[3] = all[3], all[1]
		return strings.Join(all, "")
	}
	cut := func(s string) string { return s[:len(s)-20] }
	for name, c := range map[string]struct {
		text  string
		check func(string) error
	}{
		"CSV in another order":   {swap(table.String()), func(s string) error { _, err := export.CheckCSV(strings.NewReader(s)); return err }},
		"CSV that is cut":        {table.String()[:len(table.String())-200], func(s string) error { _, err := export.CheckCSV(strings.NewReader(s)); return err }},
		"CSV without names":      {strings.Replace(table.String(), "surt,", "", 1), func(s string) error { _, err := export.CheckCSV(strings.NewReader(s)); return err }},
		"JSONL in another order": {swap(lines.String()), func(s string) error { _, err := export.CheckJSONL(strings.NewReader(s)); return err }},
		"JSONL that is cut":      {cut(lines.String()), func(s string) error { _, err := export.CheckJSONL(strings.NewReader(s)); return err }},
		"JSONL with other names": {strings.Replace(lines.String(), `"url"`, `"uri"`, 1), func(s string) error { _, err := export.CheckJSONL(strings.NewReader(s)); return err }},
		"CDXJ in another order":  {swap(index.String()), func(s string) error { _, err := export.CheckCDXJ(strings.NewReader(s)); return err }},
		"CDXJ that is cut":       {cut(index.String()), func(s string) error { _, err := export.CheckCDXJ(strings.NewReader(s)); return err }},
		"CDXJ with another key":  {strings.Replace(index.String(), "example,a)/ ", "example,a)/! ", 1), func(s string) error { _, err := export.CheckCDXJ(strings.NewReader(s)); return err }},
	} {
		if err := c.check(c.text); err == nil {
			t.Errorf("%s passes", name)
		}
	}
}

// The CSV reader of Go, which follows RFC 4180, reads the exact texts of the rows.
func TestCSVComesBack(t *testing.T) {
	title := "a \"b\",\r\n'c' \x00 ü \t=1"
	row := export.Row{SURT: "a", URL: "http://a.example/", Title: title, Tag: "-1", Time: sample.Start}
	for exact, tag := range map[bool]string{true: "-1", false: "'-1"} {
		var b bytes.Buffer
		_, err := export.CSV{Exact: exact}.Write(&b, func(yield func(*export.Row, error) bool) { yield(&row, nil) })
		if err != nil {
			t.Fatal(err)
		}
		all, err := csv.NewReader(&b).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		// encoding/csv reads CR LF in a cell as LF.
		if got := all[1][slices.Index(all[0], "title")]; got != strings.ReplaceAll(title, "\r\n", "\n") {
			t.Errorf("title %q comes back as %q", title, got)
		}
		if got := all[1][slices.Index(all[0], "tag")]; got != tag {
			t.Errorf("exact %v: tag is %q, want %q", exact, got, tag)
		}
	}
}

func unzip(t *testing.T, path, name string) string {
	t.Helper()
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	f, err := z.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
