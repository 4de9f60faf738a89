package main

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/terminal"
)

// A counted writer counts what was written.
type counted struct {
	io.Writer
	n atomic.Int64
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.n.Add(int64(n))
	return n, err
}

// whileQuiet calls f, whose output goes to out. If it takes long, it prints what f reads,
// unless lines of output are on a terminal already.
func (p *program) whileQuiet(far func(took time.Duration) string, f func(out io.Writer) error) (err error) {
	out, seen, before := &counted{Writer: p.out}, terminal.Is(p.out), int64(0)
	p.meanwhile(func(took time.Duration) string {
		if now := out.n.Load(); seen && now != before {
			before = now
			return ""
		}
		return far(took)
	}, func() { err = f(out) })
	return err
}

// readingLog returns the text that is printed while a log is read.
func readingLog(name string) func(time.Duration) string {
	if name == "-" {
		name = "standard input"
	}
	return func(took time.Duration) string { return fmt.Sprintf("audit: reading %s for %s", name, say.Short(took)) }
}
