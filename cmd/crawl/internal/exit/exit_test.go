package exit

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/store"
)

func TestEachLimitNamesItsMend(t *testing.T) {
	for _, c := range []struct {
		err    error
		crawls bool
		want   []string
	}{
		{syscall.ENOSPC, true, []string{"make room", "the same command goes on"}},
		{fmt.Errorf("state.db: %w", syscall.EFBIG), true, []string{"ulimit -f"}},
		{syscall.EMFILE, true, []string{"ulimit -n", "--concurrency"}},
		{syscall.EMFILE, false, []string{"ulimit -n", "nothing of the crawl was changed"}},
		{syscall.ENOSPC, false, []string{"make room", "nothing of the crawl was changed"}},
	} {
		got := MendLimit(c.err, c.crawls)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%v: %q, want %q in it", c.err, got, want)
			}
		}
		if !c.crawls && strings.Contains(got, "goes on") {
			t.Errorf("%v: %q, but nothing goes on", c.err, got)
		}
	}
}

// Each kind of error has its exit code and its advice, however it is wrapped.
func TestEachErrorHasItsExitCode(t *testing.T) {
	for _, c := range []struct {
		err         error
		code        int
		Mend, other string // advice of crawl run, and of other commands
	}{
		{nil, Done, "", ""},
		{errors.New("odd"), Fatal, "", ""},
		{Usagef("odd"), Usage, "", ""},
		{With(Check, nil), Check, "", ""},
		{&crawler.OptionError{Field: "Delay", Reason: "odd"}, Usage, "", ""},
		{&crawler.IdentityError{Dir: "a.crawl"}, Usage, ", or start again with --fresh", ", or start again with crawl run --fresh"},
		{&store.InUseError{Dir: "a.crawl"}, InUse, ": wait until it ends, or take another --dir", ": wait until it ends"},
		{&store.DamagedError{Path: "state.db", Err: errors.New("odd")}, State,
			": restore the whole directory from a copy, repair what can be repaired with crawl repair, or start again with --fresh", ": restore the whole directory from a copy, repair what can be repaired with crawl repair, or start again with crawl run --fresh"},
		{&store.VersionError{Path: "state.db", Have: 2, Can: 1}, Layout, ", or start again with --fresh", ", or start again with crawl run --fresh"},
		{syscall.ENOSPC, DiskFull, "", ""}, {syscall.EDQUOT, DiskFull, "", ""}, {syscall.EFBIG, DiskFull, "", ""}, {syscall.EMFILE, DiskFull, "", ""},
		// The error of a damaged file may look like a full disk: it is damage all the same.
		{&store.DamagedError{Path: "state.db", Err: syscall.EFBIG}, State,
			": restore the whole directory from a copy, repair what can be repaired with crawl repair, or start again with --fresh", ": restore the whole directory from a copy, repair what can be repaired with crawl repair, or start again with crawl run --fresh"},
	} {
		for _, err := range []error{c.err, fmt.Errorf("while it ran: %w", c.err), errors.Join(errors.New("first"), c.err)} {
			if c.err == nil {
				err = nil
			}
			if got := Code(err); got != c.code {
				t.Errorf("%v: exit code %d, want %d", err, got, c.code)
			}
			if run, other := Mend(err, true), Mend(err, false); run != c.Mend || other != c.other {
				t.Errorf("%v: mends %q and %q, want %q and %q", err, run, other, c.Mend, c.other)
			}
		}
	}
}
