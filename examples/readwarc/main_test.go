package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
)

// The pages of a crawl are read from its archive, including compressed ones.
func TestThePagesOfAnArchive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("https://a.example").
			Page("/", `<title>Home</title><a href="/packed">1</a> <a href="/none">2</a>`).
			Func("/packed", func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/html; charset=windows-1252")
				w.Header().Set("Content-Encoding", "gzip")
				z := gzip.NewWriter(w)
				io.WriteString(z, "<title>caf\xe9</title>")
				z.Close()
			})
		dir := filepath.Join(t.TempDir(), "crawl")
		c, err := crawler.New(crawler.Options{
			Identity: crawler.Identity{Token: "testbot", Contact: "https://example.org/testbot"},
			Seeds:    []string{"https://a.example/"}, Wire: crawler.Wire{Network: w, RootCAs: w.RootCAs()}, Dir: dir, Keep: crawler.Keep{Output: []crawler.Output{crawler.OutputWARC}},
		})
		if err == nil {
			err = c.Run(t.Context(), nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(dir, "warc", "*.warc.gz"))
		if err != nil || len(files) != 1 {
			t.Fatalf("archives %q, %v", files, err)
		}
		raw, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := read(bytes.NewReader(raw), &out); err != nil {
			t.Fatal(err)
		}
		got := slices.Sorted(strings.Lines(out.String()))
		want := []string{
			"200 https://a.example/ Home\n", "200 https://a.example/packed café\n", "404 https://a.example/none \n", "404 https://a.example/robots.txt \n",
		}
		if !slices.Equal(got, want) {
			t.Errorf("got\n%q, want\n%q", got, want)
		}
		if err := read(bytes.NewReader(raw[:len(raw)-40]), io.Discard); err == nil {
			t.Error("no error for an archive that was cut")
		}
	})
}

// A record whose body cannot be decoded is reported, and the other records are read.
func TestARecordThatIsWrong(t *testing.T) {
	record := func(url, head, body string) string {
		block := "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" + head + "\r\n" + body
		return "WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:6d058047-ede2-4a13-be79-90c17c631dd4>\r\n" +
			"WARC-Date: 2026-05-01T12:00:00Z\r\nWARC-Target-URI: " + url + "\r\nContent-Type: application/http;msgtype=response\r\n" +
			"Content-Length: " + strconv.Itoa(len(block)) + "\r\n\r\n" + block + "\r\n\r\n"
	}
	in := record("https://a.example/1", "Content-Encoding: br\r\n", "not brotli, though the header says so") +
		record("https://a.example/2", "", "<title>Two</title>")
	var out strings.Builder
	err := read(strings.NewReader(in), &out)
	if err == nil || !strings.Contains(err.Error(), "https://a.example/1: ") || strings.Contains(err.Error(), "/2") {
		t.Errorf("the error is %v", err)
	}
	if out.String() != "200 https://a.example/2 Two\n" {
		t.Errorf("got %q", out.String())
	}
}
