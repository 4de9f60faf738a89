package report_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/internal/report"
	"github.com/permesso-crawler/permesso/internal/store"
)

// For any log, Dir makes a report, and a page that runs no script.
func FuzzReport(f *testing.F) {
	f.Add(logged(1, "200", "http://a.test/1", "-", "text/html", own) + logged(3, "503", "http://a.test/2", "http://a.test/1", "text/html", own))
	f.Add("0001-01-01T00:00:00.000Z 0 - permesso:run - - unknown #000 - - - begin:unclean\n" + strings.Replace(logged(9, "99999", "http://a.test/1", "-", "-", own), "2026", "9999", 1))
	f.Add("2026-05-04T10:00:00.000Z -9998 - http://a.test/<b> L http://a.test/ unknown #001 - - - rule:2\n2026-05-04T10:00:00.000Z -61 - http://b.test/ - - unknown #000 - - - queued:7\n")
	dir := f.TempDir()
	db, err := store.Open(dir, store.Options{})
	if err != nil {
		f.Fatal(err)
	}
	if err := db.Close(); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, log string) {
		if err := os.WriteFile(filepath.Join(dir, store.LogFile), []byte(log), 0o644); err != nil {
			t.Fatal(err)
		}
		r, err := report.Dir(t.Context(), dir, report.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := json.Marshal(r); err != nil {
			t.Fatal(err)
		}
		if got, lines := r.Lines+r.Others, int64(strings.Count(log, "\n")); got < lines || got > lines+1 {
			t.Errorf("%d of %d lines are reported", got, lines)
		}
		raw, tree := pageOf(t, r)
		if strings.Contains(raw, "NaN") || len(all(tree, "figure")) != 11 || len(all(tree, "script", "img", "b")) > 0 {
			t.Errorf("%s", raw)
		}
	})
}
