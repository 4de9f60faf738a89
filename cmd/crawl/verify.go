package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/crawldir"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/seal"
	"github.com/permesso-crawler/permesso/internal/gauge"
	"github.com/permesso-crawler/permesso/internal/provenance"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/spf13/cobra"
)

// verifyFlags are the flags of crawl verify.
type verifyFlags struct {
	json, moved   bool
	here, counted bool // for the child process
	temp          string
}

func (p *program) verifyCommand() *cobra.Command {
	var f verifyFlags
	cmd := &cobra.Command{
		Use:   "verify [flags] DIR",
		Short: "check a crawl's state and outputs for damage",
		Long: `verify reads all files of a crawl and finds damage. In state.db it checks each
record, and that each known URL is queued or has ended. It checks pages.jsonl,
links.jsonl, index.part, index.cdxj, crawl.log and the WARC files by the checksums
in state.db, and each WARC record by its digests. Then it checks that all files say
the same about each URL and each answer.

After a kill, verify checks the part of the files from which the next run
continues. If there is a provenance.json, the files are also compared with it,
as crawl provenance --verify does; if the crawl has changed since, only the
files that no run changes are compared. DATASHEET.md and run.json are for people,
and are not compared.

Each damage is printed with its file and place, and the command exits with 6. It
exits with 3 if nothing is damaged, but an earlier crawl that has bodies of this
crawl is missing. Nothing is changed. No crawl may run in the directory.
Docs: docs/reference/outputs.md.`,
		Example: `  crawl verify news.crawl

Some WARC files were moved to another disk:
  crawl verify --moved news.crawl`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.Usagef("crawl verify takes one argument, the directory of a crawl")
			}
			if !crawldir.Exists(args[0]) {
				return crawldir.Missing(args[0])
			}
			if crawldir.IsOther(args[0]) || !crawldir.Exists(filepath.Join(args[0], store.StateFile)) && store.Remains(args[0]) == "" {
				return crawldir.NoCrawl(args[0])
			}
			if f.here && f.counted {
				return p.counting(cmd.Context(), func(ctx context.Context) error { return p.verify(ctx, args[0], f) })
			}
			if f.here {
				return p.verify(cmd.Context(), args[0], f)
			}
			return p.verifyApart(args[0], f, readingTime(args[0]))
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.json, "json", false, "print what was found as JSON")
	flags.BoolVar(&f.moved, "moved", false, "WARC files that are missing were moved away on purpose: list them")
	flags.StringVar(&f.temp, "temp", "", "`directory` for temporary files, some 300 bytes a URL (default: the system's)")
	flags.BoolVar(&f.here, "in-process", false, "do not start a child process")
	flags.BoolVar(&f.counted, "counted", false, "say on standard error how much was read, for the parent process")
	for _, name := range []string{"in-process", "counted"} {
		if err := flags.MarkHidden(name); err != nil {
			panic(err)
		}
	}
	return cmd
}

// readingTime returns a time that is much longer than reading a directory takes. A reader
// that takes longer is in an endless loop.
func readingTime(dir string) time.Duration {
	var size int64
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil // the reader reports the error
		}
		if info, err := d.Info(); err == nil {
			size += info.Size()
		}
		return nil
	})
	const slow = 1 << 20 // bytes a second
	return 10*time.Minute + time.Duration(size/slow)*time.Second
}

// verifyApart verifies the crawl in dir in a child process, because some kinds of damage make
// bbolt end the process that opens the file, or read without end. most is the longest time that
// the child may take.
func (p *program) verifyApart(dir string, f verifyFlags, most time.Duration) error {
	self, err := exec.LookPath(os.Args[0])
	if err != nil {
		if self, err = os.Executable(); err != nil {
			return err
		}
	}
	args := []string{"verify", "--in-process", "--counted", "--temp", f.temp, "--json=" + strconv.FormatBool(f.json), "--moved=" + strconv.FormatBool(f.moved), "--", dir}
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	child := exec.CommandContext(ctx, self, args...)
	child.WaitDelay = time.Second
	var said limited
	g := new(gauge.Gauge)
	counts := &countReader{g: g, rest: &said}
	child.Stdout, child.Stderr = p.out, counts
	p.meanwhile(reading("verify", dir, g), func() { err = child.Run() })
	counts.end()
	var ended *exec.ExitError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		err = fmt.Errorf("its reader has not come to an end after %v", most)
		return &store.DamagedError{Path: filepath.Join(dir, store.StateFile), Err: err}
	case !errors.As(err, &ended):
		return err
	}
	return childEnded(dir, ended.ProcessState, said.b, p.err)
}

// exitPipe is the exit code by which shells report that SIGPIPE has ended a process. The signal
// comes if the reader of the output has gone.
const exitPipe = 141

// childEnded returns the error of the command if the child process that reads the crawl in dir
// has failed, by an exit code or a signal. said is what the child wrote to its standard error.
// Only a crash of the child means damage, because any other signal came from outside.
func childEnded(dir string, ended *os.ProcessState, said []byte, errOut io.Writer) error {
	status, ok := ended.Sys().(syscall.WaitStatus)
	signaled := ok && status.Signaled()
	switch {
	case crashed(said), signaled && (status.Signal() == syscall.SIGSEGV || status.Signal() == syscall.SIGBUS):
		err := fmt.Errorf("its reader crashed on it (%v)", ended)
		return &store.DamagedError{Path: filepath.Join(dir, store.StateFile), Err: err}
	case signaled && status.Signal() == syscall.SIGPIPE:
		return exit.With(exitPipe, nil)
	case signaled:
		return fmt.Errorf("the process that reads %s was ended by a signal (%v): nothing is known of the crawl", dir, status.Signal())
	}
	if _, err := errOut.Write(said); err != nil {
		return err
	}
	return exit.With(ended.ExitCode(), nil)
}

// crashed reports whether a Go program has written a stack trace.
func crashed(said []byte) bool {
	trace := bytes.Index(said, []byte("\ngoroutine "))
	return trace >= 0 && bytes.Contains(said[trace:], []byte("]:\n"))
}

// limited is a writer that keeps only the beginning of what is written to it.
type limited struct{ b []byte }

func (l *limited) Write(p []byte) (int, error) {
	l.b = append(l.b, p[:min(len(p), 64<<10-len(l.b))]...)
	return len(p), nil
}

func (p *program) verify(ctx context.Context, dir string, f verifyFlags) error {
	debug.SetMaxStack(64 << 20) // a reader that recurses through an endless tree of pages, which damage can make, reaches this soon
	var problems []string
	onlyIndex, onlyAway, onlySeal := true, true, true
	var purge *store.PurgeError
	named := map[string]bool{} // the file names with which the texts of problems begin
	found := func(problem error) {
		text := filepath.ToSlash(strings.TrimPrefix(problem.Error(), filepath.Clean(dir)+string(filepath.Separator)))
		if end := strings.IndexAny(text, ": "); end > 0 {
			named[text[:end]] = true
		}
		if len(problems) < say.MaxProblems {
			problems = append(problems, problem.Error())
		}
		var index *store.IndexError
		onlyIndex = onlyIndex && errors.As(problem, &index)
		var away *store.MissingAnswerError
		onlyAway = onlyAway && errors.As(problem, &away)
		var seal *seal.Error
		onlySeal = onlySeal && errors.As(problem, &seal)
		errors.As(problem, &purge)
	}
	v, err := store.Check{Moved: f.moved, Temp: f.temp, Problem: found}.Verify(ctx, dir)
	if err != nil {
		return err
	}
	var before time.Time
	if purge == nil {
		seal := seal.Check{Dir: dir, Moved: f.moved, Purged: v.Purged > 0, Named: named, Problem: func(problem error) {
			v.Problems++
			found(problem)
		}}
		if before, err = seal.Run(ctx); err != nil {
			return err
		}
	}
	if f.json {
		err = p.verifiedJSON(dir, &v, before, problems)
	} else {
		err = p.verified(dir, &v, before, problems)
	}
	switch {
	case err != nil || v.Problems == 0:
		return err
	case purge != nil:
		return exit.With(exit.State, fmt.Errorf("the crawl cannot be verified before the purge is finished: crawl optout purge %s finishes it", dir))
	case onlyIndex:
		return exit.With(exit.State, fmt.Errorf("the index is damaged, and nothing else: crawl index %s makes it again", dir))
	case onlyAway:
		return exit.With(exit.Check, awayError(dir, v.Away))
	case onlySeal:
		return exit.With(exit.State, fmt.Errorf("these files differ from what %s says, and nothing else is wrong: bring them back from a copy; if they were changed on purpose, crawl provenance %s writes it again, of the crawl as it is", provenance.File, dir))
	}
	return exit.With(exit.State, errors.New("the crawl is damaged: restore the whole directory from a copy, repair what can be repaired with crawl repair, or start again with crawl run --fresh; if WARC files were moved away on purpose, verify --moved lists them"))
}

// awayError returns the error for records whose bodies are in an earlier crawl that is
// missing or cannot be read.
func awayError(dir string, records int) error {
	mend := "the earlier crawl that has them"
	if before := missingBefore(dir); before != "" {
		mend = before + " (or a crawl before that)"
	}
	return fmt.Errorf("nothing of this crawl is damaged; %s an earlier crawl that is missing or cannot be read: bring back %s, beside this one or where it was. "+
		"Until then pages.jsonl, tables and reports are valid, and a crawl that has this one as the one before fetches such pages again; a replay and a WACZ lack their bodies",
		bodiesOf(records), mend)
}

func bodiesOf(records int) string {
	if records == 1 {
		return "1 record repeats a body of"
	}
	return fmt.Sprintf("%d records repeat bodies of", records)
}

// missingBefore follows the crawls before the crawl in dir, each of which is recorded in
// the crawl after it. It returns the first that is missing, or "" if it finds none.
func missingBefore(dir string) string {
	seen := map[string]bool{}
	for !seen[dir] {
		seen[dir] = true
		before := store.Previous(dir)
		if before == "" {
			return ""
		}
		if !crawldir.Exists(filepath.Join(before, store.StateFile)) {
			return before
		}
		dir = before
	}
	return ""
}

func (p *program) verifiedJSON(dir string, v *store.Verified, before time.Time, problems []string) error {
	var written *time.Time
	if !before.IsZero() {
		written = &before
	}
	return p.object(struct {
		Dir       string     `json:"dir"`
		Sites     int        `json:"sites"`
		Entries   int        `json:"entered"`
		Snapshots int        `json:"robots_copies"`
		Pages     int        `json:"page_lines"`
		LogLines  int        `json:"log_lines"`
		Records   int        `json:"warc_records"`
		Purged    int        `json:"purged"`   // records put in the place of records that were purged
		Bodiless  int        `json:"bodiless"` // records whose body was purged
		Away      int        `json:"away"`     // records whose body is in an earlier crawl whose archive is missing
		Unclean   bool       `json:"unclean"`
		Moved     []string   `json:"moved"`
		Problems  int        `json:"problems"`
		List      []string   `json:"list"`
		Before    *time.Time `json:"provenance_before"` // when provenance.json was written, if the crawl has changed since
	}{
		dir, v.Sites, v.Entries, v.Snapshots, v.Pages, v.LogLines, v.Records, v.Purged, v.Bodiless, v.Away, v.Unclean,
		append([]string{}, v.Moved...), v.Problems, append([]string{}, problems...), written,
	})
}

func (p *program) verified(dir string, v *store.Verified, before time.Time, problems []string) error {
	for _, text := range problems {
		if err := p.say("%s", text); err != nil {
			return err
		}
	}
	if more := v.Problems - len(problems); more > 0 {
		if err := p.say("and %d more", more); err != nil {
			return err
		}
	}
	for _, name := range v.Moved {
		if err := p.say("%s was moved away: nothing is known of it", name); err != nil {
			return err
		}
	}
	var gone error
	switch {
	case v.Purged > 0:
		gone = p.say("purged: %s; records that repeated their bodies, which are gone: %d", say.Plural(v.Purged, "record"), v.Bodiless)
	case v.Bodiless > 0:
		gone = p.say("records whose body was purged from a crawl before: %s", say.Plural(v.Bodiless, "record"))
	}
	if gone != nil {
		return gone
	}
	if v.Unclean {
		if err := p.say("the last run broke off (a kill, a full disk): what the next one cuts was not looked at"); err != nil {
			return err
		}
	}
	if !before.IsZero() {
		if err := p.say("%s is from before the last run, purge or crawl index: only what these do not change was compared with it; crawl provenance %s writes it again", filepath.Join(dir, provenance.File), dir); err != nil {
			return err
		}
	}
	said := "no damage found"
	if v.Problems > 0 {
		said = say.Plural(v.Problems, "problem")
	}
	return p.say("%s: %s in %s, %s of robots.txt, %s of pages.jsonl, %s of crawl.log, %s in WARC files: %s", dir,
		say.Plural(v.Entries, "URL"), say.Plural(v.Sites, "site"), say.Copies(v.Snapshots),
		say.Plural(v.Pages, "line"), say.Plural(v.LogLines, "line"), say.Plural(v.Records, "record"), said)
}
