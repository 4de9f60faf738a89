package export_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/permesso-crawler/permesso/internal/export"
	"github.com/permesso-crawler/permesso/internal/export/internal/sample"
)

func series(t *testing.T) export.Series {
	return export.Series{{Start: sample.Start, Source: open(t, true, true)}, {Start: sample.Start.Add(7 * 24 * time.Hour), Source: open(t, true, false)}}
}

// The table of a series has the rows of its crawls, one crawl after the other. Each row has the
// start of its crawl.
func TestTheRowsOfASeriesAreThoseOfItsCrawls(t *testing.T) {
	s := series(t)
	want := collect(t, s[0].Source)
	for i := range want {
		want[i].Snapshot = sample.Start
	}
	for _, r := range collect(t, s[1].Source) {
		r.Snapshot = s[1].Start
		want = append(want, r)
	}
	var got []export.Row
	for r, err := range s.Rows(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, *r)
	}
	if d := cmp.Diff(want, got, cmp.Comparer(func(a, b export.Row) bool {
		return a.Snapshot.Equal(b.Snapshot) && a.URL == b.URL && a.Time.Equal(b.Time) && a.Digest == b.Digest
	})); d != "" || len(got) == 0 {
		t.Errorf("-want +got\n%s", d)
	}
	size, err := s.Size()
	if a, b := s[0].Source, s[1].Source; err != nil || s.Read() != a.Read()+b.Read() || size == 0 || s.Read() != 2*size {
		t.Errorf("%d bytes read twice of %d, %v", s.Read(), size, err)
	}
	n := 0
	for range s.Rows(t.Context()) { // the loop ends after the first row
		if n++; n == len(want)-1 {
			break
		}
	}
	if n != len(want)-1 {
		t.Errorf("%d rows", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	n = 0
	for _, err := range s.Rows(ctx) {
		if n++; !errors.Is(err, context.Canceled) || n > 1 {
			t.Errorf("%d: %v", n, err)
		}
	}
	if err := os.Remove(s[1].Source.Pages); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Size(); n != 0 || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%d, %v", n, err)
	}
}

// The snapshot column is the first in each format, and the Check functions check its order.
func TestTheTableOfASeriesSaysOfWhichCrawlEachRowIs(t *testing.T) {
	s := series(t)
	var table, objects bytes.Buffer
	n, err := export.CSV{Snapshots: true}.Write(&table, s.Rows(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(table.Bytes())).ReadAll()
	if err != nil || !slices.Equal(rows[0], append([]string{"snapshot"}, export.Columns()...)) {
		t.Fatalf("%v, %q", err, rows[0])
	}
	for i, of := range map[int]export.Snapshot{1: s[0], int(n): s[1]} {
		if want := of.Start.Format(time.RFC3339Nano); rows[i][0] != want {
			t.Errorf("row %d: %q, want %s", i, rows[i][0], want)
		}
	}
	if m, err := export.WriteJSONL(&objects, s.Rows(t.Context())); m != n || err != nil {
		t.Errorf("%d objects of %d rows, %v", m, n, err)
	}
	if want := `{"snapshot":"` + s[0].Start.Format(time.RFC3339Nano) + `","surt":`; !strings.HasPrefix(objects.String(), want) {
		t.Errorf("%.100s, want %s", objects.String(), want)
	}
	if m, err := export.CheckCSV(&table); m != n || err != nil {
		t.Errorf("CSV is read again: %d of %d, %v", m, n, err)
	}
	if m, err := export.CheckJSONL(&objects); m != n || err != nil {
		t.Errorf("JSON lines are read again: %d of %d, %v", m, n, err)
	}
	slices.Reverse(s)
	table.Reset()
	objects.Reset()
	if _, err := (export.CSV{Snapshots: true}).Write(&table, s.Rows(t.Context())); err != nil {
		t.Fatal(err)
	}
	if _, err := export.WriteJSONL(&objects, s.Rows(t.Context())); err != nil {
		t.Fatal(err)
	}
	if _, err := export.CheckCSV(&table); err == nil || !strings.Contains(err.Error(), "sorts before the one above it") {
		t.Errorf("crawls in disorder, as CSV: %v", err)
	}
	if _, err := export.CheckJSONL(&objects); err == nil || !strings.Contains(err.Error(), "sorts before the one above it") {
		t.Errorf("crawls in disorder, as JSON lines: %v", err)
	}
}
