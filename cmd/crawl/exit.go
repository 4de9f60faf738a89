package main

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/storage"
)

// The exit codes.
const (
	exitDone     = 0
	exitFatal    = 1
	exitUsage    = 2   // a flag, an argument, the identity, a seed file
	exitCheck    = 3   // done, but a check failed
	exitNothing  = 4   // nothing could be fetched
	exitDiskFull = 5   // or another limit of the machine
	exitState    = 6   // the crawl's directory is in use, or damaged
	exitStopped  = 10  // stopped early; the same command goes on
	exitForced   = 130 // stopped at once; the same command goes on
)

// An exit is an error that names its exit code. The message may be empty.
type exit struct {
	code int
	err  error
}

func (e *exit) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exit) Unwrap() error { return e.err }

func usage(format string, args ...any) error {
	return &exit{exitUsage, fmt.Errorf(format, args...)}
}

func exitCode(err error) int {
	var named *exit
	var option *crawler.OptionError
	var identity *crawler.IdentityError
	var inUse *storage.InUseError
	var damaged *storage.DamagedError
	var version *storage.VersionError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &named):
		return named.code
	case errors.As(err, &option), errors.As(err, &identity):
		return exitUsage
	case errors.As(err, &inUse), errors.As(err, &damaged), errors.As(err, &version):
		return exitState
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG), errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return exitDiskFull
	}
	return exitFatal
}
