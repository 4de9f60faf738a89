package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/terminal"
	"github.com/permesso-crawler/permesso/internal/gauge"
)

// meanwhile calls f. If f takes long, meanwhile prints the result of far now and then, unless
// the result is empty. The argument of far is how long f has run so far.
func (p *program) meanwhile(far func(took time.Duration) string, f func()) {
	ended, done := make(chan struct{}), make(chan struct{})
	begin := time.Now()
	// This goroutine prints the progress. It ends when f has returned.
	go func() {
		defer close(done)
		tick := time.NewTicker(p.screen("plain", false).every)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case now := <-tick.C:
				if text := far(now.Sub(begin)); text != "" {
					p.note("crawl: %s", text)
				}
			}
		}
	}()
	f()
	close(ended)
	<-done
}

// interrupted returns the error of a command that an interrupt has ended before it changed
// anything. Other errors are returned as they are.
func interrupted(err error) error {
	if !errors.Is(err, context.Canceled) {
		return err
	}
	return exit.With(exit.Forced, errors.New("interrupted: nothing was changed; the same command begins again"))
}

// reading returns the text that is printed while dir is read. If g is not nil, the text also says
// how much of the files was read, and how long the rest will take.
func reading(what, dir string, g *gauge.Gauge) func(time.Duration) string {
	return func(took time.Duration) string {
		text := fmt.Sprintf("%s: reading %s for %s", what, dir, say.Short(took))
		if g == nil {
			return text
		}
		if how := far(g, took); how != "" {
			text += ": " + how
		}
		return text
	}
}

// far returns how much of the files was read, and how long the rest will take at the same speed.
// It returns "" if it is not known how much there is to read. took is the time since the beginning.
func far(g *gauge.Gauge, took time.Duration) string {
	read, whole := g.Far()
	left, known := g.Left(took)
	switch {
	case whole == 0:
		return ""
	case read == whole:
		return fmt.Sprintf("all of %s read, now sorting and comparing", say.Size(whole))
	case !known:
		return fmt.Sprintf("%s to read", say.Size(whole))
	}
	round := time.Second
	if left > time.Minute {
		round = 10 * time.Second
	}
	return fmt.Sprintf("%s of %s, about %v left", say.Size(read), say.Size(whole), max(left.Round(round), time.Second))
}

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

// whileQuiet calls f with the writer for its output. If f takes long, whileQuiet prints the
// result of far now and then, except while f writes to a terminal.
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
