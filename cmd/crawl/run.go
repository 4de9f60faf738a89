package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/crawldir"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/guess"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/jobfile"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/logfile"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/nodes"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/optout"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/seeds"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/settings"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/storage/machine"
	"github.com/spf13/cobra"
)

func (p *program) runCommand() *cobra.Command {
	f := settings.Usual()
	cmd := &cobra.Command{
		Use:   "run [flags] URL|FILE|- ...",
		Short: "start a crawl, or continue it",
		Example: `Crawl a site into example.org.crawl, a second between two requests:
  crawl run --name mybot --contact you@example.org https://example.org/

The sites of a list, at most 100 pages of each ($CRAWL_NAME and $CRAWL_CONTACT
name the crawler):
  crawl run --max-host-pages 100 seeds.txt

The same command continues it, whether it ended or was killed. Begin again, and
move the old crawl aside:
  crawl run --fresh --max-host-pages 100 seeds.txt

A part of a site, without its old pages, slowly:
  crawl run --scope prefix --exclude /old/ --delay 10s https://example.org/docs/

Each week a snapshot of the same job, which is compared with the one before:
  crawl run --job weekly/job.yaml --series weekly

The server of a site that is not public yet:
  crawl run --connect-to example.org:443:127.0.0.1:8443 https://example.org/`,
		Long: `run crawls from URLs, from seed files (one URL per line, # comments; a tag
after a tab marks what is found from it), or from standard input (-). With --column
these files are CSV or TSV.

The crawl is kept in one directory. The same command continues it, whether it
ended or was killed; flags that differ from the last run are printed and logged.
With --series it makes a snapshot in a directory of many. If the last snapshot was
stopped, was killed, or has failed, it continues that one, with the seeds that it
began with, even if the job has changed. A snapshot that has ended by itself (done,
out of patience, or at a limit) is never written to again.

Ctrl-C (or SIGTERM, or SIGHUP) ends it after the requests under way, a second
Ctrl-C at once; neither loses anything.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.runCrawl(cmd.Context(), f, cmd.Flags().Changed, args)
		},
	}
	f.Register(cmd.Flags())
	return cmd
}

func (p *program) runCrawl(ctx context.Context, f *settings.Flags, given func(flag string) bool, args []string) (err error) {
	if f.Show == "json" { // so that each message, from the first on, is an event
		p.beginEvents()
	}
	opts, err := p.runOptions(f, given, args)
	if err != nil {
		return err
	}
	key, err := privateKey("--sign-key", f.SignKey)
	if err != nil {
		return err
	}
	if opts.State == nil && nodes.Is(opts.Dir) {
		return exit.Usagef("%s is the directory of a node of a crawl on several machines: give --state, or another --dir", opts.Dir)
	}
	if f.Dry {
		return p.check(ctx, opts, f)
	}
	if _, err := crawler.New(opts); err != nil { // so that invalid options are an error before any file is made or moved
		return err
	}
	if _, err := logger(io.Discard, f.Log); err != nil {
		return err
	}
	// Everything that may be refused has been checked before this line. After it, files
	// are made and moved.
	show := p.screen(f.Show, f.JSON) // must come before logTo, because log lines are printed above the block of progress
	log, made, err := p.logTo(f.LogFile)
	if err != nil {
		return err
	}
	show.undo.add(made)
	if show.figures, err = listen(f.Metrics); err != nil {
		return errors.Join(err, show.undo.all())
	}
	if show.figures != nil {
		defer show.figures.Close()
	}
	if f.Series != "" {
		snapshot, wrong := p.beginSnapshot(f, &opts)
		if wrong != nil {
			return errors.Join(wrong, show.undo.all())
		}
		show.undo.add(snapshot.Undo)
		defer snapshot.Close()
	} else if f.Fresh {
		back, wrong := p.moveAside(opts.Dir)
		if wrong != nil {
			return errors.Join(wrong, show.undo.all())
		}
		show.undo.add(back)
	}
	if opts.Logger, err = logger(log, f.Log); err != nil {
		return err
	}
	if shared := sharedClocks(opts.Logger); shared != nil {
		defer shared.Close()
		opts.Shared = shared
	}
	show.control, show.onEnd, show.contents = p.control, f.OnEnd, f.Contents
	show.over = f.Series != ""
	show.record = recorder{f.Provenance == "yes" && opts.State == nil, key} // a node has a part of the crawl
	return p.crawl(ctx, opts, show)
}

// runOptions returns the options of the crawl that the command line, and the job file that
// it names, describe.
func (p *program) runOptions(f *settings.Flags, given func(flag string) bool, args []string) (opts crawler.Options, err error) {
	var urls []string
	var dir string
	snapshot, err := checkSeries(f)
	if err != nil {
		return opts, err
	}
	switch {
	case f.Job != "":
		urls, dir, err = p.job(f, given, args)
	case len(args) == 0:
		err = exit.Usagef("no seeds: give a URL, a file with one URL per line, - for standard input, or --job FILE")
	default:
		urls, err = p.seedReader().All(args, f.Column)
		dir = seeds.Dir(args[0])
	}
	if err != nil {
		return opts, err
	}
	if opts, err = f.Options(); err != nil {
		return opts, err
	}
	if opts.OptOut, err = optout.Why(); err != nil {
		return opts, err
	}
	if opts.Signing, err = signing(f.SignRequests, f.Agent); err != nil {
		return opts, err
	}
	if opts.State, err = nodeState(f); err != nil {
		return opts, err
	}
	opts.Seeds, opts.Network, opts.Dir = urls, p.network, cmp.Or(snapshot, f.Dir, dir)
	opts.Identity, err = p.identity(f.Name, f.Contact)
	return opts, err
}

// seedReader returns a reader of the seeds that arguments name.
func (p *program) seedReader() seeds.Reader { return seeds.Reader{In: p.in, Note: p.note} }

// job reads a job file and sets its settings in f. Seeds on the command line replace those
// of the file.
func (p *program) job(f *settings.Flags, given func(flag string) bool, args []string) (urls []string, dir string, err error) {
	j, err := jobfile.Read(f, given)
	if err != nil {
		return nil, "", err
	}
	if len(args) == 0 {
		urls = j.OpenSeeds(p.seedReader())
	} else if urls, err = p.seedReader().All(args, f.Column); err != nil {
		return nil, "", err
	}
	j.Settle(&f.Crawl)
	return urls, j.Dir(), j.Err()
}

func logger(to io.Writer, level string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		of := settings.Usual().Setting("log-level").Choices()
		return nil, exit.Usagef("--log-level: %q is not one of %s%s", level, strings.Join(of, ", "), guess.Meant(level, of))
	}
	return slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{Level: l})), nil
}

// moveAside renames dir to make room for a new crawl. Nothing is deleted. back renames the
// directory back, unless a new crawl has begun in its place; back is nil if nothing was
// moved.
func (p *program) moveAside(dir string) (back func() error, err error) {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if run, held := store.Holder(dir); held {
		return nil, &store.InUseError{Dir: dir, Run: run}
	}
	if !crawldir.Exists(filepath.Join(dir, store.StateFile)) && store.Remains(dir) == "" {
		return nil, exit.Usagef("--fresh: there is no crawl in %s to be moved aside: take another --dir", dir)
	}
	first := dir + ".old-" + time.Now().UTC().Format("20060102-150405")
	to := first
	for n := 2; crawldir.Exists(to); n++ { // another directory was moved in the same second
		to = first + "-" + strconv.Itoa(n)
	}
	if err := os.Rename(dir, to); err != nil {
		return nil, err
	}
	p.note("crawl: the crawl that was in %s is now in %s", dir, to)
	return func() error {
		if crawldir.Exists(dir) {
			return nil
		}
		p.note("crawl: no new crawl has begun: the one in %s is in %s again", to, dir)
		return os.Rename(to, dir)
	}, nil
}

// undos are functions that remove what was made for a run that is then refused. They run
// in reverse order.
type undos []func() error

// add adds undo, if it is not nil.
func (u *undos) add(undo func() error) {
	if undo != nil {
		*u = append(*u, undo)
	}
}

func (u undos) all() (err error) {
	for _, undo := range slices.Backward(u) {
		err = errors.Join(err, undo())
	}
	return err
}

// sharedClocks opens the table through which all crawls of this user on this machine keep the
// pauses between requests together. If the table cannot be opened, it returns nil. Then each
// crawl keeps only its own pauses.
func sharedClocks(log *slog.Logger) *machine.Table {
	path, err := machine.DefaultPath()
	if err == nil {
		var t *machine.Table
		if t, err = machine.Open(path); err == nil {
			return t
		}
	}
	log.Info("clocks are not shared with other crawls of this machine", "error", err)
	return nil
}

// logTo returns the writer for log lines: a file, or standard error. undo removes the file
// if this call has made it and it is still empty. undo is nil if no file was made.
func (p *program) logTo(path string) (to io.Writer, undo func() error, err error) {
	if path == "" {
		return p.err, nil, nil
	}
	l, made, err := logfile.Open(path)
	if err != nil {
		return nil, nil, exit.Usagef("--log-file: %v", err)
	}
	if made {
		undo = l.RemoveEmpty
	}
	return l, undo, nil
}
