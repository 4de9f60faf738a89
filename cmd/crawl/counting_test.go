package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/internal/gauge"
)

// What a child process has read is known to its parent, and everything else that it writes to
// its standard error stays as it is, in whatever pieces it comes.
func TestAParentKnowsWhatItsChildHasRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "a")
		if err := os.WriteFile(path, make([]byte, 400), 0o644); err != nil {
			t.Fatal(err)
		}
		var said strings.Builder
		err := (&program{err: &said}).counting(t.Context(), func(ctx context.Context) error {
			gauge.Of(ctx).Expect(path)
			gauge.Of(ctx).Add(100)
			time.Sleep(1500 * time.Millisecond)
			gauge.Of(ctx).Add(100)
			time.Sleep(time.Second)
			return io.ErrUnexpectedEOF
		})
		if want := "crawl: counted 100 of 400\ncrawl: counted 200 of 400\n"; err != io.ErrUnexpectedEOF || said.String() != want {
			t.Errorf("%v: %q, want %q", err, said.String(), want)
		}
		other := "panic: crawl: counted nothing\n\n" + strings.Repeat("x", 1000) + "\ncrawl: counted 7 o"
		for size := 1; size < 300; size++ {
			var g gauge.Gauge
			var rest strings.Builder
			to := &countReader{g: &g, rest: &rest}
			for text := said.String() + other; text != ""; {
				n := min(size, len(text))
				if _, err := io.WriteString(to, text[:n]); err != nil {
					t.Fatal(err)
				}
				text = text[n:]
			}
			to.end()
			if read, whole := g.Far(); read != 200 || whole != 400 || rest.String() != other {
				t.Fatalf("in pieces of %d: %d of %d, and %q", size, read, whole, rest.String())
			}
		}
	})
}

// The text of a command that reads a crawl says how far it is, and how long the rest takes.
func TestHowFarAReaderIs(t *testing.T) {
	const mb = 1e6
	for _, c := range []struct {
		read, whole int64
		want        string
	}{
		{0, 0, ""},
		{0, 100 * mb, ": 100.0 MB to read"},
		{25 * mb, 100 * mb, ": 25.0 MB of 100.0 MB, about 1m30s left"},
		{99 * mb, 100 * mb, ": 99.0 MB of 100.0 MB, about 1s left"},
		{1 * mb, 100 * mb, ": 1.0 MB of 100.0 MB, about 49m30s left"},
		{100 * mb, 100 * mb, ": all of 100.0 MB read, now sorting and comparing"},
		{120 * mb, 100 * mb, ": all of 100.0 MB read, now sorting and comparing"},
	} {
		var g gauge.Gauge
		g.Set(c.read, c.whole)
		want := "verify: reading a.crawl for 30s" + c.want
		if got := reading("verify", "a.crawl", &g)(30 * time.Second); got != want {
			t.Errorf("%d of %d: %q, want %q", c.read, c.whole, got, want)
		}
	}
}
