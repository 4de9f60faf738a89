package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/storage/warc"
)

// The lines have the documented form: plain JSON, without needless escapes.
func TestLinesOfPagesAndLinks(t *testing.T) {
	db, err := Open(t.TempDir(), Options{Gather: -1, Links: true})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, v := range []*Visit{
		{Page: &PageRecord{URL: "http://a.example/?a&b", Time: at, Status: 200, Title: "<1>"}},
		{Page: &PageRecord{URL: "u", Time: at, Body: Text("a<b>\n"), Base64: []byte("x")}, Links: []LinkRecord{{From: "u", To: "v?a&b", Hop: "L"}, {From: "u", To: "w"}}},
		{Page: &PageRecord{URL: "t", Time: at, Body: Text("b")}},
		{Links: []LinkRecord{{From: "x", To: "y"}}},
	} {
		if refused, err := db.PutVisit(v); err != nil || len(refused) > 0 {
			t.Error(refused, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		PagesFile: `{"url":"http://a.example/?a&b","time":"2030-01-02T03:04:05Z","status":200,"size":0,"title":"<1>","links":0,"depth":0}` + "\n" +
			`{"url":"u","time":"2030-01-02T03:04:05Z","status":0,"size":0,"links":0,"depth":0,"body":"a<b>\n","base64":"eA=="}` + "\n" +
			`{"url":"t","time":"2030-01-02T03:04:05Z","status":0,"size":0,"links":0,"depth":0,"body":"b"}` + "\n",
		LinksFile: `{"from":"u","to":"v?a&b","hop":"L"}` + "\n" + `{"from":"u","to":"w","hop":""}` + "\n" + `{"from":"x","to":"y","hop":""}` + "\n",
	} {
		if raw, err := os.ReadFile(filepath.Join(db.Dir(), name)); err != nil || string(raw) != want {
			t.Errorf("%s, %v:\n%s\nwant\n%s", name, err, raw, want)
		}
	}
	verified(t, db.Dir())
}

// Several goroutines write large pages at the same time. Each page is written in turn, and no
// goroutine waits forever.
func TestLargePagesFollowEachOther(t *testing.T) {
	db := open(t, t.TempDir())
	for range 3 {
		if err := db.PutPage(&PageRecord{URL: "u", Body: Text(strings.Repeat("x", largeBody)), Base64: []byte("x")}); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if v := verified(t, db.Dir()); v.Pages != 3 {
		t.Errorf("%+v", v)
	}
}

// A lineWriter passes on each line whole and once, however the bytes are split into writes.
func TestALineWriterCutsLines(t *testing.T) {
	const text = "one\n\ntwo and\nthree\n"
	for step := 1; step <= len(text); step++ {
		var got []string
		w := &lineWriter{each: func(line []byte) error { got = append(got, string(line)); return nil }}
		for rest := text; rest != ""; {
			k := min(step, len(rest))
			if n, err := w.Write([]byte(rest[:k])); n != k || err != nil {
				t.Fatal(n, err)
			}
			rest = rest[k:]
		}
		if strings.Join(got, "|") != "one\n|\n|two and\n|three\n" || len(w.rest) > 0 {
			t.Errorf("%d bytes at a time: %q, left are %q", step, got, w.rest)
		}
	}
	stop := errors.New("stop")
	told := 0
	w := &lineWriter{each: func([]byte) error { told++; return stop }}
	if n, err := w.Write([]byte(text)); n != 0 || err != stop || told != 1 {
		t.Errorf("%d bytes, %v, called %d times", n, err, told)
	}
}

func TestWhetherPagesAreKept(t *testing.T) {
	for _, without := range []bool{false, true} {
		dir := t.TempDir()
		db, err := Open(dir, Options{Gather: -1, NoPages: without})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(dir, PagesFile)); (err != nil) != without {
			t.Errorf("NoPages is %v: %v", without, err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// head, place and tail together make the same line as encoding the record at once.
func TestTheLineOfAPageIsWholeWhereverItsAnswerStands(t *testing.T) {
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, p := range []*PageRecord{
		{URL: "http://a.example/", Time: at, WARC: "a-20300102030405-00000.warc.gz", Offset: 12, Length: 345},
		{URL: "http://a.example/", Time: at, WARC: "a-20300102030405-00000.warc.gz", Length: 345, OpenGraph: "http://a.example/\"", Body: Text("<p>")},
		{URL: "http://a.example/", Time: at, WARC: "b", Offset: 1, Base64: []byte{0xff}},
		{URL: "http://a.example/", Time: at, Body: Text("hello")},
	} {
		placed := p.WARC != ""
		line, err := p.head(placed)
		if placed {
			line = append(line, p.place()...)
		}
		tail, err2 := p.tail()
		want, err3 := jsonLine(p)
		if got := string(append(line, tail...)); err != nil || err2 != nil || err3 != nil || got != string(want) {
			t.Errorf("got  %s\nwant %s (%v)", got, want, errors.Join(err, err2, err3))
		}
	}
}

// PutVisit replaces the place that the caller has set in Page, unless no record is written.
func TestAPageThatHasAPlaceAlreadyIsGivenTheNewOne(t *testing.T) {
	for _, archive := range []*Archive{nil, {}} {
		db, err := Open(t.TempDir(), Options{Gather: -1, Archive: archive})
		if err != nil {
			t.Fatal(err)
		}
		x := &warc.Exchange{URL: "http://a.example/", Date: time.Now(), Response: &warc.HTTP{StartLine: warc.StatusLine(200), Body: []byte("hello")}}
		page := &PageRecord{URL: x.URL, WARC: "elsewhere", Offset: 7, Length: 8}
		if refused, err := db.PutVisit(&Visit{Exchanges: []*warc.Exchange{x}, Answer: x, Page: page}); err != nil || len(refused) > 0 {
			t.Fatal(refused, err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		raw, err := os.ReadFile(filepath.Join(db.Dir(), PagesFile))
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(raw), `"warc":`); n != 1 || strings.Contains(string(raw), "elsewhere") != (archive == nil) {
			t.Errorf("with an archive: %v\n%s", archive != nil, raw)
		}
	}
}
