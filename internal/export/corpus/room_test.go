package corpus

import (
	"bytes"
	"compress/gzip"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/internal/export"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// Without pages.jsonl, the size of a body is only known after reading it, because a small
// record may have a large body. The memory budget must hold for such crawls, too.
func TestTheRoomOfAPageIsThatOfItsBody(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	var zipped, archive bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, err := z.Write(bytes.Repeat([]byte("word word\n"), size/10))
	err = errors.Join(err, z.Close())
	dir := t.TempDir()
	enc, err2 := warc.NewEncoder(warc.Options{})
	if err = errors.Join(err, err2, os.Mkdir(filepath.Join(dir, "warc"), 0o755)); err != nil {
		t.Fatal(err)
	}
	_, err = enc.WriteExchange(&archive, &warc.Exchange{URL: "http://a.test/", Date: time.Unix(1e9, 0), Response: &warc.HTTP{
		StartLine: warc.StatusLine(200), Header: http.Header{"Content-Type": {"text/plain"}, "Content-Encoding": {"gzip"}}, Body: zipped.Bytes(),
	}})
	if err = errors.Join(err, os.WriteFile(filepath.Join(dir, "warc", "a.warc.gz"), archive.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
	s, err := export.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	w, n := &work{bodies: newBodies(s)}, 0
	for row, err := range s.Rows(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		if j := w.begin(row); j.err != nil || row.Size != nil || j.room != roomOf(int64(len(j.body))) || j.room < size {
			t.Errorf("a body of %d bytes, in %d bytes of the archive, has room for %d; %v", len(j.body), *row.WARCLength, j.room, j.err)
		}
	}
	if n != 1 {
		t.Errorf("%d rows", n)
	}
}
