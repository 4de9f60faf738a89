package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/internal/account"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/crawldir"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/seeds"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/show"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/storage/warc"
	"github.com/spf13/cobra"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
)

// explainFlags are the flags of crawl explain.
type explainFlags struct {
	dir, state string
	explainQuery
}

// An explainQuery is what crawl explain prints.
type explainQuery struct {
	URLs              []string // as they were given
	JSON, Body, Quick bool
}

func (*explainQuery) name() string { return "explain" }

func (p *program) explainCommand() *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:   "explain [flags] [DIR] URL ...",
		Short: "say why a URL was, was not, or will be fetched",
		Long: `explain prints what a crawl knows about a URL: what became of it and when; the
links by which it was found, back to the seed; the rule of robots.txt that
decided, and the longest rule that said the opposite; the clock it waits for; each
try; and the place of its answer in the archive. If a URL has not entered the
crawl, explain prints which setting of the last run keeps it out.

It contacts no site. It reads the tries from crawl.log, and links to URLs that have
not entered the crawl from links.jsonl, if there is one (--output links).

While a process runs the crawl, the answer comes from that process. Docs:
docs/reference/explain.md.`,
		Example: `  crawl explain https://example.org/private/
  crawl explain news.crawl https://example.org/a https://example.org/b
  crawl explain --body news.crawl https://example.org/a > a.html
  crawl list --fate failed news.crawl |
    xargs -d '\n' crawl explain --quick --json news.crawl`,
		RunE: func(cmd *cobra.Command, args []string) error { return p.explain(&f, args) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.dir, "dir", "d", "", "`directory` of the crawl (default: named after the host of the first URL)")
	stateFlag(flags, &f.state)
	flags.BoolVar(&f.JSON, "json", false, "print a JSON object for each URL")
	flags.BoolVar(&f.Quick, "quick", false, "do not read crawl.log and links.jsonl: leave out tries, and links to what has not entered the crawl")
	flags.BoolVar(&f.Body, "body", false, "print the body of the last answer, decoded, and nothing else")
	return cmd
}

// arguments keeps the URLs to explain in f, and returns the directory of the crawl.
func (f *explainFlags) arguments(args []string) (dir string, err error) {
	if f.dir == "" && len(args) > 1 && isDirectory(args[0]) { // the directory comes first, as in every other command
		f.dir, args = args[0], args[1:]
	}
	if len(args) == 0 {
		return "", exit.Usagef("which URL? such as crawl explain news.crawl https://example.org/")
	}
	if f.Body && (len(args) > 1 || f.JSON) {
		return "", exit.Usagef("--body is that of one URL, and goes without --json")
	}
	for _, arg := range args {
		if !strings.Contains(arg, "://") && crawldir.Exists(arg) {
			return "", exit.Usagef("%s is a directory or a file, and no URL follows it: write crawl explain %s https://example.org/", arg, arg)
		}
		u, err := seeds.URL(arg)
		if err != nil {
			return "", exit.Usagef("%v: write it as https://example.org/", err)
		}
		if dir == "" && f.state == "" {
			dir = crawldir.Of(u)
		}
	}
	if f.URLs = args; f.dir != "" || f.state != "" {
		return f.dir, nil
	}
	if !crawldir.Exists(dir) {
		return "", exit.Usagef("which crawl? There is no directory %s: name that of a crawl first, as crawl explain news.crawl %s", dir, args[0])
	}
	return dir, nil
}

// isDirectory reports whether name is a directory, and not a URL.
func isDirectory(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir() && !strings.Contains(name, "://")
}

func (p *program) explain(f *explainFlags, args []string) error {
	dir, err := f.arguments(args)
	if err != nil {
		return err
	}
	if dir == "" { // the log and the archive are in the directories of the nodes
		if f.Body {
			return exit.Usagef("--body and --state: name the directory of the node that has fetched the page, too")
		}
		f.Quick = true
	}
	return p.look(&f.explainQuery, f.state, dir)
}

// print prints what is known of each URL, or the body of the only URL.
func (v *explainQuery) print(p *program, a *account.Account, live bool) error {
	for i, text := range v.URLs {
		u, err := seeds.URL(text)
		if err != nil {
			return err
		}
		if v.Body {
			return p.body(a, u)
		}
		if !strings.Contains(text, "://") { // the URL may be http or https
			if x, err := a.Facts(u); err == nil && !x.Known && !x.Near.IsZero() && x.Near.Target() == u.Target() {
				u = x.Near
			}
		}
		x, err := v.explanation(a, u, live)
		switch {
		case err != nil:
		case v.JSON:
			err = p.object(show.ExplanationJSON(x))
		default:
			w := p.lines()
			if i > 0 {
				_, w.Err = fmt.Fprintln(p.out)
			}
			err = show.Explanation(w, x, time.Now())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// justNow is the longest time for which a request may be in crawl.log and not yet in the state
// of the crawl.
const justNow = time.Second

// explanation returns all that is known of u. In a running crawl, crawl.log may have a request
// that the state does not have yet. In this case explanation looks u up again, at most three
// times.
func (v *explainQuery) explanation(a *account.Account, u frontier.URL, live bool) (*account.Explanation, error) {
	if v.Quick {
		return a.Facts(u)
	}
	for try := 0; ; try++ {
		x, err := a.Explain(u)
		if err != nil || !live || try == 3 || x.Fate.Code != frontier.Undecided || len(x.Tries) == 0 {
			return x, err
		}
		if last := x.Tries[len(x.Tries)-1]; time.Since(last.Time) > justNow {
			return x, nil
		}
		time.Sleep(justNow / 4)
	}
}

// body prints the body of the last answer to u. It prints the body unchanged, except that
// on a terminal it leaves out characters that could control the terminal.
func (p *program) body(a *account.Account, u frontier.URL) error {
	resp, err := a.Answer(u)
	var bad *warc.Error
	switch {
	case errors.Is(err, account.ErrNoBody):
		return exit.With(exit.Nothing, fmt.Errorf("%s: %w: crawl explain says what became of it", u, err))
	case errors.Is(err, fs.ErrNotExist):
		return exit.With(exit.Nothing, fmt.Errorf("%w: bring back the WARC file if it was moved away", err))
	case errors.As(err, &bad):
		return exit.With(exit.State, fmt.Errorf("%w: crawl verify says more", err))
	case err != nil:
		return err
	}
	defer resp.Body.Close()
	out := io.Writer(p.out)
	if p.width() > 0 {
		out = transform.NewWriter(out, runes.Remove(runes.Predicate(say.Steers)))
	}
	if _, err = io.Copy(out, resp.Body); errors.Is(err, io.ErrUnexpectedEOF) {
		return exit.With(exit.Check, fmt.Errorf("%s: the answer was cut, and ends here", u))
	}
	return err
}
