package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/crawler"
)

// mostEnd is the longest time that the command of --on-end may take.
const mostEnd = 5 * time.Minute

// tellEnd runs the command of --on-end: the summary is its standard input, and its output
// goes to standard error. A failure is printed, and changes neither the crawl nor its exit
// code. An interrupt ends the command. After a second interrupt of the crawl it is not run,
// because the user wants everything to end.
func (p *program) tellEnd(c *crawler.Crawler, dir string, crawled error, command string, signals <-chan os.Signal) {
	if code := exit.Code(crawled); command != "" && code != exit.Forced {
		if err := p.runEnd(c, dir, code, command, signals); err != nil {
			p.note("crawl: --on-end %q: %v; the crawl is not affected", command, err)
		}
	}
}

func (p *program) runEnd(c *crawler.Crawler, dir string, code int, command string, signals <-chan os.Signal) error {
	var summary bytes.Buffer
	if err := say.Object(&summary, summaryJSON(c.Summary(), dir)); err != nil {
		return err
	}
	late, cancelLate := context.WithTimeoutCause(context.Background(), mostEnd, fmt.Errorf("it took longer than %v, and was ended", mostEnd))
	defer cancelLate()
	ctx, cancel := context.WithCancelCause(late)
	defer cancel(nil)
	shell := []string{"/bin/sh", "-c"}
	if runtime.GOOS == "windows" {
		shell = []string{"cmd", "/c"}
	}
	cmd := exec.CommandContext(ctx, shell[0], shell[1], command)
	cmd.Env = append(os.Environ(), "PERMESSO_DIR="+dir, "PERMESSO_EXIT="+strconv.Itoa(code))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &summary, p.err, p.err
	cmd.WaitDelay = time.Second
	done := make(chan error, 1)
	// It ends with the command.
	go func() { done <- cmd.Run() }()
	for {
		select {
		case err := <-done:
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return err
		case <-signals:
			cancel(errors.New("it was interrupted"))
		}
	}
}
