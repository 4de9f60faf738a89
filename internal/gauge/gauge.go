// Package gauge counts how much of the files of a crawl has been read, so that a command that
// reads a whole crawl can say how far it is, and how long the rest will take.
package gauge

import (
	"context"
	"io"
	"os"
	"sync/atomic"
	"time"
)

// A Gauge counts the bytes that were read, and the bytes that are to be read. The methods may be
// called by several goroutines. A nil Gauge counts nothing.
type Gauge struct{ read, whole atomic.Int64 }

// Expect adds the sizes of files that will be read. It leaves out files that do not exist: the
// reader reports them.
func (g *Gauge) Expect(paths ...string) {
	if g == nil {
		return
	}
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil {
			g.whole.Add(info.Size())
		}
	}
}

// Add counts n bytes as read.
func (g *Gauge) Add(n int64) {
	if g != nil {
		g.read.Add(n)
	}
}

// Set replaces both numbers. A process calls it for a Gauge of another process.
func (g *Gauge) Set(read, whole int64) {
	g.read.Store(read)
	g.whole.Store(whole)
}

// Reader returns a reader that reads from r and counts what it has read.
func (g *Gauge) Reader(r io.Reader) io.Reader {
	if g == nil {
		return r
	}
	return &reader{r, g}
}

type reader struct {
	io.Reader
	to *Gauge
}

func (r *reader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.to.Add(int64(n))
	return n, err
}

// Far returns how many bytes were read, and how many are to be read in all.
func (g *Gauge) Far() (read, whole int64) {
	read, whole = g.read.Load(), g.whole.Load()
	return min(read, whole), whole // a file may have grown since Expect
}

// Left returns how long the rest will take if it is read as fast as the part before, which has
// taken the time took. ok is false if nothing was read yet, and if everything was read.
func (g *Gauge) Left(took time.Duration) (left time.Duration, ok bool) {
	read, whole := g.Far()
	if read <= 0 || read == whole {
		return 0, false
	}
	return time.Duration(float64(took) * float64(whole-read) / float64(read)), true
}

type key struct{}

// With returns a context whose readers count in g.
func With(ctx context.Context, g *Gauge) context.Context { return context.WithValue(ctx, key{}, g) }

// Of returns the Gauge of With, or nil.
func Of(ctx context.Context) *Gauge {
	g, _ := ctx.Value(key{}).(*Gauge)
	return g
}
