package main

import (
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/nodes"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/settings"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/spf13/pflag"
)

// nodeState returns the state of a crawl of several machines, which --state names, or nil without
// --state.
func nodeState(f *settings.Flags) (store.State, error) {
	if f.State == "" {
		return nil, nil
	}
	switch {
	case f.Series != "":
		return nil, exit.Usagef("--state and --series: a series is of crawls on one machine; take --dir")
	case f.Fresh:
		return nil, exit.Usagef("--state and --fresh: the state is in the database; begin a new crawl in another database, with another --dir")
	case len(f.Contents) > 0:
		return nil, exit.Usagef("--state and --output %s: a node has a part of the pages; export them after crawl collect", f.Contents[0])
	}
	return nodes.State(f.State)
}

// stateFlag adds the flag with which a command reads a crawl on several machines.
func stateFlag(flags *pflag.FlagSet, to *string) {
	flags.StringVar(to, "state", "", "`URL` of the database of a crawl on several machines, such as postgres://user@host/name, while it runs or not")
}

// directoryOrState returns the argument of a command that reads the crawl in a directory, or the one
// that the flag --state names.
func directoryOrState(name, state string, args []string) (dir string, err error) {
	switch {
	case len(args) == 1:
		return args[0], nil
	case len(args) == 0 && state != "":
		return "", nil
	}
	return "", exit.Usagef("crawl %s takes one argument, the directory of a crawl", name)
}
