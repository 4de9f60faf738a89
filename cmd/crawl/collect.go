package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/crawldir"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/nodes"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/spf13/cobra"
)

// collectFlags are the flags of crawl collect.
type collectFlags struct {
	state       string
	json, moved bool
}

func (p *program) collectCommand() *cobra.Command {
	var f collectFlags
	cmd := &cobra.Command{
		Use:   "collect [flags] NODE... DIR",
		Short: "make one crawl of the nodes of a crawl on several machines",
		Long: `collect makes a new directory DIR of the directories of all nodes (crawl run --state)
and of their database. Every command works on it as on a crawl of one machine, and
crawl run continues it there.

WARC files are linked, or copied if DIR is on another file system; a link is the same
file, so a purge of DIR also changes the file of the node. Pages, links and logs are
copied, and the index is made again. What a killed node did not commit is left out. The
nodes and the database are not changed.

All nodes must have ended. The database is the one that the directory of the first node
names, or that of --state, if it has another address now. The password comes from
$PGPASSWORD or ~/.pgpass.

DIR appears when it is complete. If the command is interrupted, nothing remains. It exits
with 3 if an output of a node is damaged; crawl verify then finds the damage in DIR.`,
		Example: `  crawl collect node1.crawl node2.crawl node3.crawl news.crawl
  crawl collect --state postgres://crawler@db/news node?.crawl news.crawl`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return exit.Usagef("crawl collect takes the directories of all nodes, and a new directory")
			}
			return p.collect(cmd.Context(), args[:len(args)-1], args[len(args)-1], f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.state, "state", "", "`URL` of the database, such as postgres://user@host/name (default: that of the first node)")
	flags.BoolVar(&f.json, "json", false, "print what was made as a JSON object")
	flags.BoolVar(&f.moved, "moved", false, "WARC files that are missing were moved away on purpose")
	return cmd
}

// A collected says what was made: numbers, the paths of outputs that are not as they were written,
// and the names of WARC files that are missing.
type collected = struct {
	Nodes, Sites, URLs, Pages, WARCs int
	Damaged                          []string
	Moved                            []string
}

func (p *program) collect(ctx context.Context, dirs []string, into string, f collectFlags) error {
	state, err := collectState(dirs, into, f)
	if err != nil {
		return err
	}
	return p.collectFrom(ctx, state, dirs, into, f)
}

// collectFrom makes one crawl of the nodes of a crawl, which has the given state.
func (p *program) collectFrom(ctx context.Context, state store.State, dirs []string, into string, f collectFlags) (err error) {
	collector, ok := state.(interface {
		Collect(ctx context.Context, dirs []string, into string, moved bool) (collected, error)
	})
	if !ok {
		return errors.New("this state is not that of several machines")
	}
	var done collected
	p.patiently(ctx, "collect", strings.Join(dirs, ", "), func(ctx context.Context) {
		done, err = collector.Collect(ctx, dirs, into, f.moved)
	})
	if errors.Is(err, fs.ErrExist) {
		return exists(into)
	}
	if err != nil {
		return interrupted(err)
	}
	return p.toldCollected(into, done, f)
}

// collectState checks the arguments, and returns the state of the crawl.
func collectState(dirs []string, into string, f collectFlags) (store.State, error) {
	for i, dir := range dirs {
		switch {
		case slices.Index(dirs, dir) < i:
			return nil, exit.Usagef("%s is named twice", dir)
		case !crawldir.Exists(dir):
			return nil, crawldir.Missing(dir)
		}
	}
	if _, err := os.Lstat(into); err == nil {
		return nil, exists(into)
	}
	if f.state == "" {
		return nodes.StateOf(dirs[0])
	}
	return nodes.State(f.state)
}

func exists(into string) error {
	return exit.Usagef("%s exists: the last argument is the directory that is made, so give another name", into)
}

// A collectedLine is what crawl collect prints with --json. The names of its fields are never
// changed.
type collectedLine struct {
	Dir     string   `json:"dir"`
	Nodes   int      `json:"nodes"`
	Sites   int      `json:"sites"`
	URLs    int      `json:"urls"`
	Pages   int      `json:"pages"`
	WARCs   int      `json:"warc_files"`
	Damaged []string `json:"damaged"`
	Moved   []string `json:"moved"`
}

// toldCollected prints what was made.
func (p *program) toldCollected(into string, done collected, f collectFlags) (err error) {
	all := func(s []string) []string { return append([]string{}, s...) }
	if f.json {
		err = p.object(collectedLine{into, done.Nodes, done.Sites, done.URLs, done.Pages, done.WARCs, all(done.Damaged), all(done.Moved)})
	} else {
		for _, path := range done.Damaged {
			p.note("%s is not as it was written", path)
		}
		moved := ""
		if n := len(done.Moved); n > 0 {
			moved = fmt.Sprintf(", without %d that were moved away", n)
		}
		err = p.say("%s: %s, %s, %s, %s%s", into, say.Plural(done.Nodes, "node"), say.Plural(done.URLs, "URL"),
			say.Plural(done.Pages, "page"), say.Plural(done.WARCs, "WARC file"), moved)
	}
	if err != nil || len(done.Damaged) == 0 {
		return err
	}
	return exit.With(exit.Check, errors.New(say.Plural(len(done.Damaged), "output")+" of the nodes is damaged, and so is "+into+": crawl verify says more, crawl repair repairs what can be repaired"))
}
