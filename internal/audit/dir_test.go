package audit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/permesso-crawler/permesso/internal/store"
)

// record returns the text of a WARC record.
func record(kind, contentType, block string) string {
	return fmt.Sprintf("WARC/1.1\r\nWARC-Type: %s\r\nWARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000001>\r\nWARC-Date: 2026-05-04T00:00:00Z\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n",
		kind, contentType, len(block), block)
}

// agents returns the different User-Agents at the beginning of the WARC files. It skips files
// without one.
func TestNamesOfAnArchive(t *testing.T) {
	t.Parallel()
	const fields = "application/warc-fields"
	dir := t.TempDir()
	for name, text := range map[string]string{
		"1.warc":     record("warcinfo", fields, "software: x\r\nHTTP-Header-User-Agent: twobot/1\r\n"),
		"2.warc":     record("warcinfo", fields, "http-header-user-agent: onebot/1\r\nhttp-header-user-agent: lastbot/1\r\n"),
		"3.warc":     record("warcinfo", fields, "http-header-user-agent: twobot/1\r\n"),
		"none.warc":  record("warcinfo", fields, "software: x\r\n"),
		"page.warc":  record("metadata", fields, "http-header-user-agent: pagebot/1\r\n"),
		"odd.warc":   "odd",
		"empty.warc": "", "text.warc": record("warcinfo", fields, "no field"), "notes.txt": record("warcinfo", fields, "http-header-user-agent: notesbot/1\r\n"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "dir.warc"), 0o755); err != nil {
		t.Fatal(err)
	}
	if all, err := agents(dir); err != nil || !slices.Equal(all, []string{"onebot/1", "twobot/1"}) {
		t.Errorf("%q, %v", all, err)
	}
	if all, err := agents(filepath.Join(dir, "missing")); all != nil || err != nil {
		t.Errorf("an archive that is missing: %q, %v", all, err)
	}
	if all, err := agents(filepath.Join(dir, "notes.txt")); all != nil || err == nil {
		t.Errorf("a file in its place: %q", all)
	}
	if err := os.Symlink("lost.warc", filepath.Join(dir, "lost.warc")); err != nil {
		t.Fatal(err)
	}
	if all, err := agents(dir); all != nil || err == nil {
		t.Errorf("a file that cannot be opened: %q", all)
	}
}

// Dir fails for a directory without a crawl, and for a crawl without its log.
func TestADirectoryThatProvesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if r, err := Dir(dir, Options{}); r != nil || !errors.Is(err, store.ErrNoCrawl) {
		t.Errorf("an empty one: %+v, %v", r, err)
	}
	db, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var inUse *store.InUseError
	if r, err := Dir(dir, Options{}); r != nil || !errors.As(err, &inUse) {
		t.Errorf("one in use: %+v, %v", r, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if r, err := Dir(dir, Options{}); r != nil || !errors.Is(err, store.ErrNoCrawl) {
		t.Errorf("one in which no run has begun: %+v, %v", r, err)
	}
}

// All lines that prove nothing are counted, but only the first 1000 are listed.
func TestTheFirstUnprovenLinesAreListed(t *testing.T) {
	t.Parallel()
	a := &auditor{report: &Report{}}
	for n := range int64(1002) {
		a.open(n+1, "why")
	}
	if r := a.report; r.UnprovenLines != 1002 || len(r.Unproven) != 1000 || r.Unproven[0] != (Unproven{1, "why"}) || r.Unproven[999].Line != 1000 {
		t.Errorf("%d of %d", len(r.Unproven), r.UnprovenLines)
	}
}
