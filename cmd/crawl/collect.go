package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/crawldir"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/storage"
	"github.com/permesso-crawler/permesso/storage/postgres"
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
	flags.StringVar(&f.state, "state", "", "`URL` of the database, as postgres://user@host/name (default: that of the first node)")
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

func (p *program) collect(ctx context.Context, nodes []string, into string, f collectFlags) error {
	state, err := collectState(nodes, into, f)
	if err != nil {
		return err
	}
	collector, ok := state.(interface {
		Collect(ctx context.Context, dirs []string, into string, moved bool) (collected, error)
	})
	if !ok {
		return errors.New("this state is not that of several machines")
	}
	var done collected
	p.patiently(ctx, reading("collect", strings.Join(nodes, ", ")), func(ctx context.Context) {
		done, err = collector.Collect(ctx, nodes, into, f.moved)
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
func collectState(nodes []string, into string, f collectFlags) (storage.State, error) {
	for i, dir := range nodes {
		switch {
		case slices.Index(nodes, dir) < i:
			return nil, exit.Usagef("%s is named twice", dir)
		case !crawldir.Exists(dir):
			return nil, crawldir.Missing(dir)
		}
	}
	if _, err := os.Lstat(into); err == nil {
		return nil, exists(into)
	}
	if f.state == "" {
		return stateOf(nodes[0])
	}
	if hasPassword(f.state) {
		return nil, errPassword
	}
	state, err := postgres.New(f.state)
	if err != nil {
		return nil, exit.Usagef("--state: %v", err)
	}
	return state, nil
}

// stateOf returns the state of the crawl that has a node with the directory dir. The directory
// names the server and the database; the user and the password come from the environment and the
// files of PostgreSQL.
func stateOf(dir string) (storage.State, error) {
	path := filepath.Join(dir, "crawl.json")
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, exit.Usagef("%s is not the directory of a node of a crawl on several machines: it has no crawl.json", dir)
	}
	if err != nil {
		return nil, err
	}
	var note struct {
		State, Host, Database, Ports string
		Port                         uint16
	}
	if err := json.Unmarshal(raw, &note); err != nil {
		return nil, &storage.DamagedError{Path: path, Err: err}
	}
	if note.State != "postgres" {
		return nil, fmt.Errorf("%s: the state is in %q, which this version does not know", path, note.State)
	}
	quoted := func(s string) string { return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'" }
	ports := cmp.Or(note.Ports, strconv.Itoa(int(note.Port)))
	return postgres.New(fmt.Sprintf("host=%s port=%s dbname=%s", quoted(note.Host), quoted(ports), quoted(note.Database)))
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
