package export_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/internal/export"
	"github.com/permesso-crawler/permesso/internal/export/internal/sample"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// A damaged line is reported with its number, and all other lines are exported.
func FuzzPages(f *testing.F) {
	f.Add(`{"url":"http://a.example/","time":"2030-01-02T03:04:05Z","status":200,"body":"a\"b"}`)
	f.Add(`{"url":"http://a.example/","time":"2030-01-02T03:04:05Z","body":{"body":"}"},"base64":"QQ==","title":"t"}`)
	f.Add(`{"url":"http://a.exa`)
	f.Add("{\"body\":\"\n\"}")
	f.Add(`{"base64":"\`)
	f.Add(`{"url":"\ud800","time":"9999-12-31T23:59:59-23:59"}`)
	const good = `{"url":"http://good.example/%d","time":"2030-01-02T03:04:05Z","status":200,"body":"x"}` + "\n"
	f.Fuzz(func(t *testing.T, text string) {
		s := write(t, fmt.Sprintf(good, 1)+text+"\n"+fmt.Sprintf(good, 2))
		lines := strings.Split(text, "\n")
		bad := map[int]bool{}
		s.Damaged = func(d *export.Damage) error {
			if d.Line < 2 || d.Line > len(lines)+1 {
				t.Errorf("damage in line %d of %d: %v", d.Line, len(lines), d)
			}
			bad[d.Line] = true
			return nil
		}
		found, others := 0, 0
		for r, err := range s.Rows(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(r.URL, "http://good.example/") && r.Status == 200 && r.SURT != "" {
				found++
			} else {
				others++
			}
		}
		if found < 2 {
			t.Errorf("%d of 2 good lines", found)
		}
		// If encoding/json can read a line as a page, the line must be a page.
		for i, line := range lines {
			var p store.PageRecord
			if json.Unmarshal([]byte(line), &p) == nil && p.URL != "" && p.Status >= 0 && p.Status < 1000 && p.Size >= 0 && p.Links == 0 && p.Depth == 0 &&
				p.Time.Year() > 1 && p.Time.Year() < 9999 && p.Robots.IsZero() && bad[i+2] {
				t.Errorf("line %d is damaged: %q", i+2, line)
			}
		}
		blank := 0
		for _, line := range lines {
			if strings.TrimSpace(line) == "" {
				blank++
			}
		}
		if found+others+len(bad)+blank != len(lines)+2 {
			t.Errorf("%d lines: %d good, %d others, %d damaged, %d blank", len(lines)+2, found, others, len(bad), blank)
		}
	})
}

// Bytes that are no archive cause a Damage and no panic.
func FuzzCaptures(f *testing.F) {
	dir := f.TempDir()
	if err := sample.Write(dir, false, true); err != nil {
		f.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "warc", sample.WARC))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(b[:len(b)/2])
	f.Add(bytes.Replace(b, []byte("HTTP/1.1"), []byte("HTTP/9.x"), 1))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := &export.Source{WARCs: []string{filepath.Join(t.TempDir(), "a.warc")}, Damaged: func(d *export.Damage) error {
			if d.Offset < 0 || d.Offset > int64(len(b)) {
				t.Errorf("damage at %d of %d bytes", d.Offset, len(b))
			}
			return nil
		}}
		if err := os.WriteFile(s.WARCs[0], b, 0o644); err != nil {
			t.Fatal(err)
		}
		var table bytes.Buffer
		n, err := export.WriteJSONL(&table, s.Rows(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		if m, err := export.CheckJSONL(&table); n != m || err != nil {
			t.Errorf("%d of %d rows come back: %v", m, n, err)
		}
		in, err := os.Open(s.WARCs[0])
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		for r, err := range s.Rows(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if rec, err := warc.ReadAt(in, *r.WARCOffset); err != nil || rec.TargetURI() != r.URL && strings.ToValidUTF8(rec.TargetURI(), "\uFFFD") != r.URL {
				t.Errorf("no record of %q at %d: %v", r.URL, *r.WARCOffset, err)
			}
		}
	})
}
