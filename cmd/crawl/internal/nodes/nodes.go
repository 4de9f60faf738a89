// Package nodes finds the state of a crawl on several machines: in the database that a user names, or
// that the directory of a node names. Its errors have the exit code of a mistake of the user.
package nodes

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/internal/state"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/storage/postgres"
)

// Is reports whether dir is the directory of a node of a crawl on several machines, whose state is
// in a database.
func Is(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, state.NodeFile))
	return err == nil
}

// State returns the state that the flag --state names, as a URL or in words.
func State(flag string) (store.State, error) {
	if hasPassword(flag) {
		return nil, exit.Usagef("--state: leave the password out, because others can read the command line: put it into $PGPASSWORD or ~/.pgpass")
	}
	state, err := postgres.New(flag)
	if err != nil {
		return nil, exit.Usagef("--state: %v", err)
	}
	return state, nil
}

// hasPassword reports whether a connection string has a password. Other users of the machine can
// read the arguments of a process.
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

// StateOf returns the state of the crawl that has a node with the directory dir. The directory
// names the server and the database; the user and the password come from the environment and the
// files of PostgreSQL.
func StateOf(dir string) (store.State, error) {
	note, err := read(dir)
	if err != nil {
		return nil, err
	}
	quoted := func(s string) string { return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'" }
	ports := cmp.Or(note.Ports, strconv.Itoa(int(note.Port)))
	return postgres.New(fmt.Sprintf("host=%s port=%s dbname=%s", quoted(note.Host), quoted(ports), quoted(note.Database)))
}

// Name returns the name of the node with the directory dir.
func Name(dir string) (string, error) {
	note, err := read(dir)
	return note.Node, err
}

// A note is what the directory of a node says about its crawl.
type note struct {
	State, Host, Database, Ports, Node string
	Port                               uint16
}

func read(dir string) (n note, err error) {
	path := filepath.Join(dir, state.NodeFile)
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return n, exit.Usagef("%s is not the directory of a node of a crawl on several machines: it has no %s", dir, state.NodeFile)
	}
	if err != nil {
		return n, err
	}
	if err := json.Unmarshal(raw, &n); err != nil {
		return n, &store.DamagedError{Path: path, Err: err}
	}
	if n.State != "postgres" {
		return n, fmt.Errorf("%s: the state is in %q, which this version does not know", path, n.State)
	}
	return n, nil
}

// Open opens the state of a crawl on several machines, which the flag --state names or, if it is
// empty, the directory dir of a node. dir may be empty if the flag is not. Nodes may run meanwhile.
func Open(flag, dir string) (*store.Reader, error) {
	state, err := Find(flag, dir)
	if err != nil {
		return nil, err
	}
	return store.OpenState(state, dir)
}

// Find returns the state that the flag --state names or, if it is empty, the directory dir of a
// node.
func Find(flag, dir string) (store.State, error) {
	if flag != "" {
		return State(flag)
	}
	return StateOf(dir)
}

// ForDemo returns a state for the nodes of a demo: the one that the flag --state names or, if it is
// empty, a new database on the server that psql would take. drop removes the new database.
func ForDemo(ctx context.Context, flag string) (state store.State, drop func() error, err error) {
	if flag != "" {
		state, err := State(flag)
		return state, func() error { return nil }, err
	}
	url := ""
	if os.Getenv("PGDATABASE") == "" {
		url = "dbname=postgres" // every server has it
	}
	if state, err = postgres.New(url); err != nil {
		return nil, nil, exit.Usagef("%v", err)
	}
	maker, ok := state.(interface {
		Temporary(context.Context) (store.State, func() error, error)
	})
	if !ok {
		return nil, nil, errManyMachines
	}
	if state, drop, err = maker.Temporary(ctx); err != nil {
		return nil, nil, exit.With(exit.Usage, fmt.Errorf("no database can be made for the nodes: %w\n"+
			"Install a server (Debian: apt install postgresql, then sudo -u postgres createuser --createdb $USER), "+
			"set $PGHOST and $PGUSER as for psql, or name an empty database with --state", err))
	}
	return state, drop, nil
}

var errManyMachines = errors.New("this state is not that of several machines")

// Running is the Node.State of a node that runs.
const Running = "running"

// A Node is what the database knows of a node.
type Node struct {
	Name       string    `json:"name"`
	State      string    `json:"state"`      // Running, killed or ended
	Partitions int       `json:"partitions"` // of the crawl, that it has now
	Began      time.Time `json:"began,omitzero"`
	Committed  time.Time `json:"committed,omitzero"` // last commit, by the clock of the database
}

// Of returns the nodes of the crawl in a state, by name.
func Of(ctx context.Context, state store.State) (all []Node, err error) {
	lister, ok := state.(interface {
		Nodes(context.Context) ([]struct {
			Name             string
			Live, Open       bool
			Partitions       int
			Began, Committed time.Time
		}, error)
	})
	if !ok {
		return nil, errManyMachines
	}
	list, err := lister.Nodes(ctx)
	for _, n := range list {
		is := "ended"
		switch {
		case n.Live:
			is = Running
		case n.Open:
			is = "killed"
		}
		all = append(all, Node{n.Name, is, n.Partitions, n.Began, n.Committed})
	}
	return all, err
}
