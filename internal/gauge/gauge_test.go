package gauge

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestTheRestTakesAsLongAsThePartBefore(t *testing.T) {
	g := new(Gauge)
	if _, ok := g.Left(time.Second); ok {
		t.Error("nothing is expected, and there is a time left")
	}
	path := filepath.Join(t.TempDir(), "a")
	if err := os.WriteFile(path, make([]byte, 4000), 0o644); err != nil {
		t.Fatal(err)
	}
	g.Expect(path, path+".missing")
	if _, ok := g.Left(time.Second); ok {
		t.Error("nothing was read, and there is a time left")
	}
	in := g.Reader(strings.NewReader(strings.Repeat("x", 5000)))
	for _, c := range []struct {
		read int64
		left time.Duration
		ok   bool
	}{{1000, 30 * time.Second, true}, {3000, 10 * time.Second / 3, true}, {4000, 0, false}, {5000, 0, false}} {
		before, _ := g.Far()
		if _, err := io.CopyN(io.Discard, in, c.read-before); err != nil {
			t.Fatal(err)
		}
		left, ok := g.Left(10 * time.Second)
		if read, whole := g.Far(); read != min(c.read, 4000) || whole != 4000 || left.Round(time.Millisecond) != c.left.Round(time.Millisecond) || ok != c.ok {
			t.Errorf("%d of %d: %v left, %v; want %v, %v", read, whole, left, ok, c.left, c.ok)
		}
	}
}

func TestWithoutAGaugeNothingIsCounted(t *testing.T) {
	g := Of(t.Context())
	g.Expect("a")
	g.Add(1)
	if in := strings.NewReader(""); g.Reader(in) != io.Reader(in) {
		t.Error("the reader is another one")
	}
	if is := Of(With(t.Context(), new(Gauge))); is == nil {
		t.Error("the context has no gauge")
	}
}
