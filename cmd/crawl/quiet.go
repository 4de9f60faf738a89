package main

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// A counted writer knows how much was written.
type counted struct {
	io.Writer
	n atomic.Int64
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.n.Add(int64(n))
	return n, err
}

// whileQuiet calls f, whose output goes to out, and says what it reads when it takes long:
// not between lines that somebody sees coming.
func (p *program) whileQuiet(far func(took time.Duration) string, f func(out io.Writer) error) (err error) {
	out, seen, before := &counted{Writer: p.out}, isTerminal(p.out), int64(0)
	p.meanwhile(func(took time.Duration) string {
		if now := out.n.Load(); seen && now != before {
			before = now
			return ""
		}
		return far(took)
	}, func() { err = f(out) })
	return err
}

// readingLog is what is said while a log is read.
func readingLog(name string) func(time.Duration) string {
	if name == "-" {
		name = "standard input"
	}
	return func(took time.Duration) string { return fmt.Sprintf("audit: reading %s for %s", name, short(took)) }
}
