package export

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/internal/lines"
	"github.com/permesso-crawler/permesso/storage/warc"
	"pgregory.net/rapid"
)

// exchanges writes an archive whose answers have metadata records, and a pages.jsonl with a
// line for each page.
func exchanges(t *rapid.T, warcFile, pages string) {
	var archive, text bytes.Buffer
	e, err := warc.NewEncoder(warc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for n := range rapid.IntRange(0, 12).Draw(t, "exchanges") {
		date := time.Date(2026, 1, 2, 3, 4, n, 0, time.UTC)
		url := fmt.Sprintf("http://a.example/%d", n%7)
		x := &warc.Exchange{URL: url, Date: date, Response: &warc.HTTP{
			StartLine: warc.StatusLine(200), Coding: warc.Unchunked, Body: bytes.Repeat([]byte("text "), 20*n),
		}}
		if rapid.Bool().Draw(t, "described") {
			x.Metadata = []warc.Field{{Name: "usage", Value: "tdm=n by x"}, {Name: "via", Value: "http://b.example/"}}
		}
		if _, err := e.WriteExchange(&archive, x); err != nil {
			t.Fatal(err)
		}
		if n%3 > 0 {
			fmt.Fprintf(&text, "{\"url\":%q,\"time\":%q,\"status\":200,\"title\":\"page %d\"}\n", url, date.Format(time.RFC3339), n)
		}
	}
	for path, raw := range map[string][]byte{warcFile: archive.Bytes(), pages: text.Bytes()} {
		if len(raw) > 0 && rapid.Bool().Draw(t, "damaged") {
			at := rapid.IntRange(0, len(raw)-1).Draw(t, "at")
			if raw[at] ^= byte(rapid.IntRange(1, 255).Draw(t, "bits")); rapid.Bool().Draw(t, "cut") {
				raw = raw[:at]
			}
		}
		if err := os.WriteFile(path, raw, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Any number of workers exports the same bytes as one worker, and reports the same damage in
// the same order.
func TestManyWorkersExportWhatOneDoes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		s := &Source{Pages: filepath.Join(dir, "pages.jsonl"), WARCs: []string{filepath.Join(dir, "a.warc.gz"), filepath.Join(dir, "b.warc.gz.open")}, Temp: dir}
		for _, path := range s.WARCs {
			exchanges(rt, path, s.Pages)
		}
		if rapid.IntRange(0, 9).Draw(rt, "missing") == 0 {
			if err := os.Remove(s.WARCs[rapid.IntRange(0, 1).Draw(rt, "which")]); err != nil {
				rt.Fatal(err)
			}
		}
		most := rapid.IntRange(0, 4).Draw(rt, "damages") // number of damages after which the export ends
		export := func(split lines.Split) (all []string) {
			s.split = split
			n := 0
			s.Damaged = func(d *Damage) error {
				all = append(all, d.Error())
				if n++; n > most {
					return d
				}
				return nil
			}
			var table, index bytes.Buffer
			before := s.Read()
			_, err := WriteJSONL(&table, s.Rows(context.Background()))
			_, err2 := s.WriteCDXJ(context.Background(), &index)
			if all = append(all, table.String(), index.String(), fmt.Sprint(err, err2)); err == nil && err2 == nil {
				all = append(all, fmt.Sprint("read: ", s.Read()-before))
			}
			return all
		}
		want := export(lines.Split{Workers: 1})
		for range 2 {
			split := lines.Split{Workers: rapid.IntRange(2, 5).Draw(rt, "workers"), Block: rapid.IntRange(1, 1000).Draw(rt, "block")}
			if got := export(split); !slices.Equal(got, want) {
				rt.Fatalf("%+v:\n%s\nwant\n%s", split, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
	})
}
