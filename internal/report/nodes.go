package report

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/internal/diff"
	"github.com/permesso-crawler/permesso/internal/gauge"
	"github.com/permesso-crawler/permesso/internal/store"
)

// A Node is one node of a crawl on several machines.
type Node struct {
	Name  string `json:"name"`
	State string `json:"state"`         // running, killed or ended
	Dir   string `json:"dir,omitempty"` // its directory; empty: its outputs are not part of the report
}

// Nodes reports on a crawl on several machines: from its state, and from the outputs of the nodes
// that have a directory. At least one node must have one. The nodes may run meanwhile. The numbers
// of lines in the report are those of the logs merged by time. Options.Near must not be set. Nodes
// compares with no other crawl; Report.NotCompared says so if one was named. The other errors are
// those of Dir.
func Nodes(ctx context.Context, state *store.Reader, nodes []Node, o Options) (r *Report, err error) {
	var dirs []string
	for _, n := range nodes {
		if n.Dir == "" {
			continue
		}
		dir, err := filepath.Abs(n.Dir)
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, dir)
	}
	switch {
	case len(dirs) == 0:
		return nil, errors.New("report: no node has a directory")
	case o.Near:
		return nil, errors.New("report: near-duplicates are found in the archive of one directory, not in those of nodes")
	}
	rep := newReporter(ctx, dirs, o)
	defer func() { err = errors.Join(err, rep.close()) }()
	rep.state, rep.Report.Nodes = state, nodes
	if more := len(dirs) - 1; more > 0 {
		rep.Name += fmt.Sprintf(" and %d more", more)
	}
	return rep.report()
}

// mergeLogs reads the logs of the nodes as one log.
func (r *reporter) mergeLogs() error {
	var logs []io.Reader
	for _, dir := range r.dirs {
		file, err := openLog(dir)
		if err != nil {
			return err
		}
		defer file.Close()
		logs = append(logs, gauge.Of(r.ctx).Reader(file))
	}
	return crawllog.Merge(logs, r.line, func(_ int, n int64, _ []byte, why error) error { return r.other(n, why) })
}

// openLog opens the crawl.log of the crawl or of the node in dir.
func openLog(dir string) (*os.File, error) {
	name := filepath.Join(dir, store.LogFile)
	file, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, &store.DamagedError{Path: name, Err: errors.New("it is missing, and a report needs it")}
	}
	return file, err
}

// compareNodes says that a crawl on several machines is not compared with another one.
func (r *reporter) compareNodes() (err error) {
	before := r.Options.Since
	if before == "" {
		before, err = diff.Before(r.state)
	}
	if before != "" {
		r.NotCompared = &NotCompared{before, "this crawl is in the directories of its nodes", "make the report of the directory that crawl collect makes"}
	}
	return err
}

// nodeWarnings returns sentences about the nodes of a crawl on several machines.
func (r *Report) nodeWarnings() (all []string) {
	if len(r.Nodes) == 0 {
		return nil
	}
	for _, w := range []struct {
		of   func(n *Node) bool
		text string
	}{
		{func(n *Node) bool { return n.Dir == "" }, "The outputs of these nodes are missing, so that their requests and pages are in none of the figures: "},
		{func(n *Node) bool { return n.State == "running" }, "These nodes are running, and the figures change: "},
	} {
		if names := r.NodeNames(w.of); len(names) > 0 {
			all = append(all, visible(w.text+strings.Join(names, ", ")+"."))
		}
	}
	return append(all, "The numbers of lines are those of the crawl.log that crawl collect makes of these nodes.")
}

// NodeNames returns the names of the nodes for which of returns true.
func (r *Report) NodeNames(of func(*Node) bool) (names []string) {
	for i := range r.Nodes {
		if of(&r.Nodes[i]) {
			names = append(names, r.Nodes[i].Name)
		}
	}
	return names
}
