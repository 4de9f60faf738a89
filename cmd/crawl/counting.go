package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/permesso-crawler/permesso/internal/gauge"
)

// countForm is a line on the standard error of a child process: how many bytes it has read, of
// how many.
const countForm = "crawl: counted %d of %d\n"

// counting calls f with a context that has a gauge, and prints the gauge every second, for the
// countReader of the parent process.
func (p *program) counting(ctx context.Context, f func(context.Context) error) (err error) {
	g := new(gauge.Gauge)
	ended, done := make(chan struct{}), make(chan struct{})
	// This goroutine prints the gauge. It ends when f has returned.
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case <-tick.C:
				read, whole := g.Far()
				fmt.Fprintf(p.err, countForm, read, whole)
			}
		}
	}()
	err = f(gauge.With(ctx, g))
	close(ended)
	<-done
	return err
}

// A countReader is the standard error of a child process that counts. It sets g from the lines
// of counting, and writes all other lines to rest.
type countReader struct {
	g    *gauge.Gauge
	rest io.Writer
	line []byte // the beginning of a line whose end was not written yet
}

// longestCount is longer than any line of counting.
const longestCount = 100

func (c *countReader) Write(p []byte) (int, error) {
	for _, part := range bytes.SplitAfter(p, []byte("\n")) {
		if c.line = append(c.line, part...); bytes.HasSuffix(part, []byte("\n")) || len(c.line) > longestCount {
			c.end()
		}
	}
	return len(p), nil
}

// end takes what was written since the last newline as a line.
func (c *countReader) end() {
	var read, whole int64
	if n, err := fmt.Sscanf(string(c.line), countForm, &read, &whole); n == 2 && err == nil {
		c.g.Set(read, whole)
	} else {
		_, _ = c.rest.Write(c.line) // it is in memory
	}
	c.line = c.line[:0]
}
