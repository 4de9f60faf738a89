package crawler_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/extract"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/storage/cdxj"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// notedThen is a text digest that no text has. So a page with this digest has copied it from the
// previous crawl.
var notedThen = "sha256:" + strings.Repeat("0", 64)

// handMade writes the first crawl of a series: an archive with the given pages, by target. The text
// digest of each is notedThen.
func (s *series) handMade(shelf *shelf, pages map[string]resource) {
	s.t.Helper()
	s.n++
	db, err := store.Open(s.dir(s.n), store.Options{Archive: &store.Archive{}})
	if err != nil {
		s.t.Fatal(err)
	}
	for target, r := range pages {
		h := http.Header{"Content-Type": {"text/html; charset=utf-8"}}
		if r.etag != "" {
			h.Set("ETag", r.etag)
		}
		x := &warc.Exchange{
			URL: "http://a.example" + target, Date: time.Now(), Metadata: []warc.Field{{Name: store.FieldTextDigest, Value: notedThen}},
			Response: &warc.HTTP{StartLine: warc.StatusLine(200), Header: h, Body: []byte(r.body), Coding: warc.Unchunked},
			Request:  &warc.HTTP{Head: []byte("GET " + target + " HTTP/1.1\r\n\r\n")},
		}
		if refused, err := db.PutVisit(&store.Visit{Exchanges: []*warc.Exchange{x}, Answer: x}); err != nil || len(refused) > 0 {
			s.t.Fatal(err, refused)
		}
		shelf.put(target, r)
	}
	if err := db.Close(); err != nil {
		s.t.Fatal(err)
	}
}

// damageOf flips a bit in the checksum of the record of a URL.
func damageOf(t *testing.T, dir, url string) {
	t.Helper()
	index, err := os.ReadFile(filepath.Join(dir, store.IndexFile))
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range cdxj.Find(bytes.NewReader(index), int64(len(index)), url) {
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, store.ArchiveDir, e.Filename)
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		raw[e.Offset+e.Length-6] ^= 1
		if err := os.WriteFile(path, raw, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// If a page has the same bytes and the same Content-Type as in the previous crawl, its text digest
// is copied and not computed. This works over several crawls.
func TestTextDigestsOfUnchangedBytesAreCopied(t *testing.T) {
	bubble(t, func(s *series, shelf *shelf) {
		all := []string{"/same", "/asked", "/deaf", "/other", "/typed", "/damaged"}
		s.handMade(shelf, map[string]resource{
			"/":        {body: filler + pages(all...)},
			"/same":    {body: filler + "same"},
			"/asked":   {body: filler + "asked", etag: `"1"`},
			"/deaf":    {body: filler + "deaf", etag: `"1"`, ignoresConditions: true},
			"/other":   {body: filler + "other"},
			"/typed":   {body: filler + "typed \xe9"},
			"/damaged": {body: filler + "damaged"},
		})
		damageOf(t, s.dir(1), "http://a.example/damaged")
		shelf.put("/other", resource{body: filler + "another"})
		shelf.put("/typed", resource{body: filler + "typed \xe9", header: http.Header{"Content-Type": {"text/html; charset=iso-8859-1"}}})
		of := func(text string) string { return extract.TextDigest([]byte(text), "text/html") }
		want := map[string]string{
			"/": notedThen, "/same": notedThen, "/asked": notedThen, "/deaf": notedThen,
			"/other": of(filler + "another"), "/typed": of(filler + "typed é"), "/damaged": of(filler + "damaged"),
		}
		for s.n < 4 {
			s.crawl()
			kept := textDigests(t, s.dir(s.n))
			for target, digest := range want {
				if p := s.last[target]; p.text != digest || kept["http://a.example"+target] != digest {
					t.Errorf("crawl %d: %s has %s, and %s is kept; want %s", s.n, target, p.text, kept["http://a.example"+target], digest)
				}
			}
			if p := s.last["/asked"]; !p.notModified || s.last["/same"].change != crawler.ChangeNotModified || s.last["/other"].change == crawler.ChangeNew {
				t.Errorf("crawl %d: %+v", s.n, s.last)
			}
			if unread := s.sum.Unread; (unread == 1) != (s.n == 2) || unread > 1 {
				t.Errorf("crawl %d: %d unread", s.n, unread)
			}
		}
	})
}

// If a body has the same coding and bytes as before, the archived body is not read, and may even be
// damaged. If only the coding differs, the archived body is read, and the page counts as unchanged.
func TestACodedBodyIsComparedAsItWasSent(t *testing.T) {
	zipped := http.Header{"Content-Encoding": {"gzip"}}
	for name, c := range map[string]struct {
		then, now http.Header
		damaged   bool
		repeats   bool
	}{
		"the same coding":               {zipped, zipped, false, true},
		"the same coding, of a bad one": {zipped, zipped, true, false},
		"coded now":                     {nil, zipped, false, false},
		"coded then":                    {zipped, nil, false, false},
	} {
		bubble(t, func(s *series, shelf *shelf) {
			body := filler
			for n := range 200 {
				body += fmt.Sprint(n * n)
			}
			shelf.put("/", resource{body: body, header: c.then})
			s.crawl()
			text := s.last["/"].text
			if c.damaged {
				damageOf(t, s.dir(1), "http://a.example/")
			}
			shelf.put("/", resource{body: body, header: c.now})
			s.crawl()
			if p := s.last["/"]; p.change != crawler.ChangeNotModified || p.text != text || p.body != body || (s.sum.Unread == 1) != c.damaged {
				t.Errorf("%s: %+v, %d unread", name, p, s.sum.Unread)
			}
			if r := captures(t, s.dir(2))["http://a.example/"]; (r.Type == warc.Revisit) != c.repeats {
				t.Errorf("%s: a %s is kept", name, r.Type)
			}
		})
	}
}
