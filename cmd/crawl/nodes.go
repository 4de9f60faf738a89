package main

import (
	"net/url"
	"strings"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/settings"
	"github.com/permesso-crawler/permesso/storage"
	"github.com/permesso-crawler/permesso/storage/postgres"
)

// nodeState returns the state of a crawl of several machines, which --state names, or nil without
// --state.
func nodeState(f *settings.Flags) (storage.State, error) {
	if f.State == "" {
		return nil, nil
	}
	if hasPassword(f.State) {
		return nil, errPassword
	}
	switch {
	case f.Series != "":
		return nil, exit.Usagef("--state and --series: a series is of crawls on one machine; take --dir")
	case f.Fresh:
		return nil, exit.Usagef("--state and --fresh: the state is in the database; begin a new crawl in another database, with another --dir")
	case len(f.Contents) > 0:
		return nil, exit.Usagef("--state and --output %s: a node has a part of the pages; export them after crawl collect", f.Contents[0])
	}
	state, err := postgres.New(f.State)
	if err != nil {
		return nil, exit.Usagef("--state: %v", err)
	}
	return state, nil
}

// errPassword is the error of a password in --state: other users of the machine can read the
// arguments of a process.
var errPassword = exit.Usagef("--state: leave the password out, because others can read the command line: put it into $PGPASSWORD or ~/.pgpass")

// hasPassword reports whether a connection string has a password.
func hasPassword(state string) bool {
	if u, err := url.Parse(state); err == nil && u.User != nil {
		if _, ok := u.User.Password(); ok {
			return true
		}
	}
	// A URL with several hosts may not be one that package url reads.
	_, rest, _ := strings.Cut(state, "://")
	user, _, ok := strings.Cut(rest, "@")
	return ok && strings.Contains(user, ":") || strings.Contains(state, "password")
}
