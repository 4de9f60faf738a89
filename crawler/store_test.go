package crawler

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/crawler/extract"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// Each answer is archived as it was sent: an answer of an FTP server as a resource record, an
// answer without a body, and an answer whose body was changed. The digest in a record is that of
// the stored body. A request without an answer is not archived.
func TestBodiesOfTheArchive(t *testing.T) {
	dir := t.TempDir()
	o := Options{Identity: partsIdentity, Seeds: []string{"http://a.example/"}, Dir: dir}
	if _, err := o.prepare(); err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(dir, store.Options{Archive: o.archive()})
	if err != nil {
		t.Fatal(err)
	}
	job, err := newJob(o, nil, jobDeps{Snapshots: db, DB: func(frontier.Site) *store.DB { return db }})
	if err != nil {
		t.Fatal(err)
	}
	plain, packed := []byte("plain"), []byte("bytes of the wire")
	for i, x := range []*fetch.Exchange{
		{Proto: "ftp", Status: 200, Body: plain},
		{Proto: "http/1.1", Status: 200, Body: plain, Wire: plain},
		{Proto: "http/1.1", Status: 200, Body: plain, Wire: packed},
		{Proto: "http/1.1", Status: 200, Wire: packed},
		{Proto: "http/1.1", Status: 200},
		{Proto: "http/1.1"}, // a request without an answer
	} {
		u, err := frontier.ParseURL(fmt.Sprintf("http://a.example/%d", i))
		if err != nil {
			t.Fatal(err)
		}
		x.URL, x.Started, x.Header = u, time.Now(), http.Header{}
		if x.Proto != "ftp" {
			x.RequestHead = []byte("GET / HTTP/1.1\r\n\r\n")
		}
		e, res := frontier.Entry{URL: u}, &fetch.Result{Page: x, Exchanges: []*fetch.Exchange{x}}
		if err := job.store(db, e, res, newPage(new(Page), e, res, extract.Options{}), new(recollection)); err != nil {
			t.Fatal(err)
		}
		if was := res.Outcome.Fate.Answer; (was.File != "") != (x.Status != 0) {
			t.Errorf("%s: archived at %+v", u, was)
		}
	}
	job.Close()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Verify(t.Context(), dir, func(err error) { t.Error(err) }); err != nil {
		t.Error(err)
	}
	want := "resource /0 plain, response /1 plain, response /2 bytes of the wire, response /3 bytes of the wire, response /4 , "
	if got := answersIn(t, dir); got != want {
		t.Errorf("the archive holds %s\nwant %s", got, want)
	}
}

// answersIn returns the answers in the only WARC file of a crawl as lines, each with type, target
// and body.
func answersIn(t *testing.T, dir string) (all string) {
	t.Helper()
	files, err := store.ArchiveFiles(dir)
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	f, err := os.Open(files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for in := warc.NewReader(f); ; {
		rec, err := in.Next()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		var body io.Reader = rec
		switch rec.Type {
		case warc.Response:
			resp, err := rec.Response()
			if err != nil {
				t.Fatal(err)
			}
			body = resp.Body
		case warc.Resource:
		default:
			continue
		}
		raw, err := io.ReadAll(body)
		if err != nil {
			t.Fatal(err)
		}
		all += fmt.Sprintf("%s %s %s, ", rec.Type, rec.TargetURI()[len("http://a.example"):], raw)
		if _, err := rec.Close(); err != nil {
			t.Errorf("%s: %v", rec.TargetURI(), err)
		}
	}
}
