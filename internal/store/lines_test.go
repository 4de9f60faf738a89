package store

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/internal/lines"
)

// holed appends a hole, a large part without data, to a file. The mark in the state does not
// cover the hole.
func holed(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	if err == nil {
		err = os.Truncate(path, info.Size()+lines.Max+10)
	}
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		_, err = f.WriteString("\n")
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A hole in a file is one very long line of zero bytes. A reader without a limit for lines
// would need as much memory.
func TestVerifyReadsOverHoles(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir)
	now := time.Now()
	if err := db.Log().Write(&crawllog.Line{Time: now, Size: -1, URL: crawllog.RunURL}); err != nil {
		t.Fatal(err)
	}
	killed := t.TempDir()
	if err := db.Put("key", 1); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(killed, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	holed(t, filepath.Join(killed, LogFile)) // after a kill, the log is read beyond its committed length
	var problems []string
	if _, err := Verify(t.Context(), killed, func(err error) { problems = append(problems, err.Error()) }); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, LogFile+":2: "+lines.ErrLong.Error()) }) {
		t.Errorf("problems: %.300q", problems)
	}
}

// MakeIndex copies the valid lines of an old index, although there is a hole between them.
func TestAHoleInAnIndexIsReadOver(t *testing.T) {
	dir := filled(t)
	db, err := Open(dir, Options{Archive: &Archive{}})
	if err != nil {
		t.Fatal(err)
	}
	visitOf(t, db, 1)
	visitOf(t, db, 2)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	index := filepath.Join(dir, IndexFile)
	holed(t, index)
	holed(t, filepath.Join(dir, indexPart))
	if err := os.RemoveAll(filepath.Join(dir, ArchiveDir)); err != nil { // stands for an archive that was moved away
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, ArchiveDir), 0o755); err != nil {
		t.Fatal(err)
	}
	done, err := MakeIndex(t.Context(), dir, func(err error) { t.Error(err) })
	if err != nil || done.Lines != 2 || len(done.Moved) != 1 {
		t.Errorf("%+v, %v", done, err)
	}
}

// Verify reads a line of pages.jsonl without its body, so a large body needs no memory.
func TestVerifyOfALargeBody(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir)
	body := strings.Repeat("<\"x\\", lines.Max/4)
	for _, p := range []*PageRecord{{URL: "http://a.example/", Body: Text(body)}, {URL: "http://a.example/2"}} {
		if err := db.PutPage(p); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if v := verified(t, dir); v.Pages != 2 {
		t.Errorf("%+v", v)
	}
	raw, err := os.ReadFile(filepath.Join(dir, PagesFile))
	if err != nil || len(raw) < lines.Max {
		t.Fatal(len(raw), err)
	}
	var p PageRecord
	if first, _, _ := strings.Cut(string(raw), "\n"); json.Unmarshal([]byte(first), &p) != nil || string(p.Body) != body {
		t.Error("the body is another one")
	}
}
