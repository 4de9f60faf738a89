package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/crawler"
)

// A second interrupt ends the process, also if the crawl does not finish, for example
// because a disk hangs.
func TestASecondInterruptEndsTheProcess(t *testing.T) {
	for _, hangs := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c, err := crawler.New(crawler.Options{
				Identity: crawler.Identity{Token: "testbot", Contact: "https://example.org/testbot"}, Seeds: []string{"http://a.test/"},
			})
			if err != nil {
				t.Fatal(err)
			}
			var said strings.Builder
			code, ended := -1, make(chan struct{})
			p := &program{out: io.Discard, err: &said, exit: func(n int) { code = n; close(ended) }}
			ctx, cancel := context.WithCancelCause(t.Context())
			signals := make(chan os.Signal, 2)
			done := make(chan struct{})
			// The watcher. It ends once ended is closed.
			go func() {
				defer close(done)
				p.watch(c, cancel, signals, ended, screen{})
			}()
			signals <- os.Interrupt
			synctest.Wait()
			if ctx.Err() != nil {
				t.Error("the first interrupt breaks requests off")
			}
			begin := time.Now()
			signals <- os.Interrupt
			synctest.Wait()
			if context.Cause(ctx) != errForced {
				t.Errorf("after the second interrupt: %v", context.Cause(ctx))
			}
			if !hangs {
				close(ended)
			}
			<-done
			took := time.Since(begin)
			if hangs && (code != exit.Forced || took > 2*time.Second || !strings.Contains(said.String(), "the same command goes on")) {
				t.Errorf("exit %d after %v: %s", code, took, said.String())
			}
			if !hangs && (code != -1 || took != 0) {
				t.Errorf("exit %d after %v, though the crawl has ended", code, took)
			}
		})
	}
}

// A lockedText can be read while others write to it.
type lockedText struct {
	mu   sync.Mutex // guards text
	text strings.Builder
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// A message explains why no new requests are sent when the time is up.
func TestTheTimeIsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := crawler.New(crawler.Options{
			Identity: crawler.Identity{Token: "testbot", Contact: "https://example.org/testbot"}, Seeds: []string{"http://a.test/"},
		})
		if err != nil {
			t.Fatal(err)
		}
		var said lockedText
		p := &program{out: io.Discard, err: &said}
		ended, done := make(chan struct{}), make(chan struct{})
		// The watcher. It ends once ended is closed.
		go func() {
			defer close(done)
			p.watch(c, nil, nil, ended, screen{every: time.Hour, most: time.Minute})
		}()
		for _, want := range []string{"", "crawl: the time is up: requests in progress have 10s more\n"} {
			time.Sleep(59 * time.Second)
			synctest.Wait()
			if said.String() != want {
				t.Errorf("said %q, want %q", said.String(), want)
			}
		}
		close(ended)
		<-done
	})
}

// Commands that read a crawl print what they read if the user sees no other output, and
// keep their lines together if the user does.
func TestWhileQuiet(t *testing.T) {
	for _, c := range []struct {
		wrote bool // wrote to an output that is not a terminal
		want  string
	}{
		{false, "crawl: list: reading a.crawl for 30s\ncrawl: list: reading a.crawl for 1m0s\n"},
		{true, "crawl: list: reading a.crawl for 30s\ncrawl: list: reading a.crawl for 1m0s\n"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var out, said strings.Builder
			failed := errors.New("failed")
			err := (&program{out: &out, err: &said}).whileQuiet(reading("list", "a.crawl", nil), func(out io.Writer) error {
				for range 61 {
					if c.wrote {
						fmt.Fprintln(out, "a line")
					}
					time.Sleep(time.Second)
				}
				return failed
			})
			if err != failed || said.String() != c.want || c.wrote == (out.Len() == 0) {
				t.Errorf("%v: said %q, want %q, wrote %q", err, said.String(), c.want, out.String())
			}
		})
	}
}

// If something takes long that is printed, but nothing for half a minute if no terminal
// shows it.
func TestMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said strings.Builder
		p := &program{err: &said}
		p.meanwhile(reading("verify", "a.crawl", nil), func() { time.Sleep(29 * time.Second) })
		if said.Len() > 0 {
			t.Errorf("said %q", said.String())
		}
		p.meanwhile(reading("verify", "a.crawl", nil), func() { time.Sleep(31 * time.Second) })
		if want := "crawl: verify: reading a.crawl for 30s\n"; said.String() != want {
			t.Errorf("said %q, want %q", said.String(), want)
		}
	})
}
