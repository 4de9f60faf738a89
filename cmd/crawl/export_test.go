package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/terminal"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/storage/warc"
	"github.com/rogpeppe/go-internal/testscript"
)

// archive DIR makes the directory of a crawl: robots.txt and two pages, in warc/
// and in pages.jsonl.
func archive(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(writeArchive(ts.MkAbs(args[0])))
}

func writeArchive(dir string) error {
	e, err := warc.NewEncoder(warc.Options{Random: rand.NewChaCha8([32]byte{})})
	if err != nil {
		return err
	}
	var records, lines bytes.Buffer
	start := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	_, err = e.WriteInfo(&records, &warc.Info{Filename: "a-00000.warc.gz", Date: start, Software: "permesso"})
	if err != nil {
		return err
	}
	for i, url := range []string{"http://a.test/robots.txt", "http://a.test/", "http://a.test/b?x"} {
		at := start.Add(time.Duration(i) * time.Second)
		_, err := e.WriteExchange(&records, &warc.Exchange{
			URL: url, Date: at,
			Response: &warc.HTTP{StartLine: warc.StatusLine(200), Header: http.Header{"Content-Type": {"text/html"}}, Body: []byte(url)},
		})
		if err != nil {
			return err
		}
		if i == 0 {
			continue
		}
		line, err := json.Marshal(store.PageRecord{
			URL: url, Time: at, Status: 200, Type: "text/html", Title: "=" + strings.ToUpper(url), Depth: i - 1, Hops: "L"[:i-1], Robots: start, Body: store.Text(url),
		})
		if err != nil {
			return err
		}
		lines.Write(append(line, '\n'))
	}
	return errors.Join(
		os.MkdirAll(filepath.Join(dir, "warc"), 0o755),
		os.WriteFile(filepath.Join(dir, "warc", "a-00000.warc.gz"), records.Bytes(), 0o644),
		os.WriteFile(filepath.Join(dir, "pages.jsonl"), lines.Bytes(), 0o644),
	)
}

// A terminal would read the bytes of a package as control sequences.
func TestBinaryIsNotForTerminals(t *testing.T) {
	tty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("there is no pseudo-terminal here: ", err)
	}
	defer tty.Close()
	if !terminal.Is(tty) {
		t.Skip("the pseudo-terminal is not a terminal")
	}
	dir := t.TempDir()
	if err := writeArchive(dir); err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"wacz", "parquet"} {
		var said bytes.Buffer
		if code := run([]string{"export", dir, "--format", format, "--output", "-"}, nil, tty, &said); code != exit.Usage {
			t.Errorf("%s: exit code %d, want %d", format, code, exit.Usage)
		}
		if want := format + " is binary and standard output is a terminal: give --output FILE"; !strings.Contains(said.String(), want) {
			t.Errorf("%s: said %q, want %q", format, said.String(), want)
		}
	}
}

func TestExportExitCodes(t *testing.T) {
	damaged, growing, pages := t.TempDir(), t.TempDir(), t.TempDir()
	for _, dir := range []string{damaged, growing, pages} {
		if err := writeArchive(dir); err != nil {
			t.Fatal(err)
		}
	}
	file := func(dir string) string { return filepath.Join(dir, "warc", "a-00000.warc.gz") }
	if err := errors.Join(os.Truncate(file(damaged), 900), os.Rename(file(growing), file(growing)+".open"), os.Remove(file(pages))); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		dir, format string
		code        int
	}{
		{damaged, "csv", exit.Check}, {damaged, "cdxj", exit.Check}, {damaged, "wacz", exit.State},
		{damaged, "text", exit.Check}, {damaged, "wet", exit.Check},
		{growing, "csv", exit.Done}, {growing, "wacz", exit.State}, {growing, "text", exit.Done},
		{pages, "csv", exit.Done}, {pages, "cdxj", exit.Usage}, {filepath.Join(pages, "none"), "csv", exit.Usage},
	} {
		var out, said bytes.Buffer
		if code := run([]string{"export", c.dir, "--format", c.format, "--output", filepath.Join(t.TempDir(), "file"), "--check"}, nil, &out, &said); code != c.code {
			t.Errorf("%s of %s: exit code %d, want %d\n%s", c.format, c.dir, code, c.code, said.String())
		}
	}
}

// The number of near-duplicates is printed, if there are any.
func TestNearDuplicatesAreCounted(t *testing.T) {
	for near, want := range map[int64]string{0: "", 1: "crawl: near-duplicates of other pages: 1 page;", 2: "crawl: near-duplicates of other pages: 2 pages;"} {
		var said bytes.Buffer
		if lacks := (&program{err: &said}).endTexts(&texts{near: near}); len(lacks) > 0 || !strings.HasPrefix(said.String(), want) || want == "" && said.Len() > 0 {
			t.Errorf("%d: %q, lacks %q", near, said.String(), lacks)
		}
	}
}
