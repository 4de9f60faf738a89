package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/storage/warc"
	"github.com/spf13/cobra"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
)

// explainFlags are the flags of crawl explain.
type explainFlags struct {
	dir               string
	json, body, quick bool
}

func (p *program) explainCommand() *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:   "explain [flags] URL ...",
		Short: "say why a URL was, was not, or will be fetched",
		Long: `explain says all that a crawl knows of a URL: what became of it and when; how it was
found, back to the seed; the rule of robots.txt that decided, and the one that lost;
what it waits for; each try; where its answer lies. Of a URL that has not entered the
crawl it says which setting of the last run keeps it out.

It asks nobody. Each try is looked up in crawl.log, and links to what has not entered
the crawl in links.jsonl, if that was written (--output links).

No crawl may run in the directory. Docs: docs/explain.md.`,
		Example: `  crawl explain https://example.org/private/
  crawl explain --dir news.crawl https://example.org/a https://example.org/b
  crawl explain --dir news.crawl --body https://example.org/a > a.html
  crawl list --fate failed news.crawl |
    xargs -d '\n' crawl explain --dir news.crawl --quick --json`,
		RunE: func(cmd *cobra.Command, args []string) error { return p.explain(&f, args) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.dir, "dir", "d", "", "`directory` of the crawl (default: named after the host of the first URL)")
	flags.BoolVar(&f.json, "json", false, "print a JSON object for each URL")
	flags.BoolVar(&f.quick, "quick", false, "leave out what crawl.log and links.jsonl say: tries, and links to what has not entered the crawl")
	flags.BoolVar(&f.body, "body", false, "print the body of the last answer, decoded, and nothing else")
	return cmd
}

// arguments are the URLs that are asked about, and the directory of the crawl.
func (f *explainFlags) arguments(args []string) (urls []frontier.URL, dir string, err error) {
	if len(args) == 0 {
		return nil, "", usage("which URL? such as crawl explain --dir news.crawl https://example.org/")
	}
	if f.body && (len(args) > 1 || f.json) {
		return nil, "", usage("--body is that of one URL, and goes without --json")
	}
	for _, arg := range args {
		if !strings.Contains(arg, "://") && exists(arg) {
			return nil, "", usage("%s is a directory or a file: a URL is written as https://example.org/, and the directory of the crawl is given as --dir %s", arg, arg)
		}
		u, err := seedURL(arg)
		if err != nil {
			return nil, "", usage("%v: write it as https://example.org/", err)
		}
		urls = append(urls, u)
	}
	if dir = f.dir; dir == "" {
		dir = strings.ReplaceAll(urls[0].Host(), ":", "_") + ".crawl"
		if !exists(dir) {
			return nil, "", usage("--dir: which crawl? There is no directory %s: give that of a crawl, as --dir news.crawl", dir)
		}
	}
	return urls, dir, nil
}

func (p *program) explain(f *explainFlags, args []string) (err error) {
	urls, dir, err := f.arguments(args)
	if err != nil {
		return err
	}
	r, _, err := openReader(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	account, err := crawler.NewAccount(r, dir, time.Now())
	if err != nil {
		return err
	}
	if account.OptOut, err = optOut(); err != nil {
		return err
	}
	if f.body {
		return p.body(account, urls[0])
	}
	for i, u := range urls {
		if !strings.Contains(args[i], "://") { // whether it is https is not said
			if x, err := account.Facts(u); err == nil && !x.Known && !x.Near.IsZero() && x.Near.Target() == u.Target() {
				u = x.Near
			}
		}
		var x *crawler.Explanation
		ask := account.Explain
		if f.quick {
			ask = account.Facts
		}
		p.meanwhile(reading("explain", dir), func() { x, err = ask(u) })
		switch {
		case err != nil:
		case f.json:
			err = p.object(explainedJSON(x))
		default:
			err = p.explained(x, i > 0, time.Now())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// body prints the body of the last answer to u, byte by byte; on a terminal without
// what could steer it.
func (p *program) body(account *crawler.Account, u frontier.URL) error {
	resp, err := account.Answer(u)
	var bad *warc.Error
	switch {
	case errors.Is(err, crawler.ErrNoBody):
		return &exit{exitNothing, fmt.Errorf("%s: %w: crawl explain says what became of it", u, err)}
	case errors.Is(err, fs.ErrNotExist):
		return &exit{exitNothing, fmt.Errorf("%w: bring back the WARC file if it was moved away", err)}
	case errors.As(err, &bad):
		return &exit{exitState, fmt.Errorf("%w: crawl verify says more", err)}
	case err != nil:
		return err
	}
	defer resp.Body.Close()
	out := io.Writer(p.out)
	if isTerminal(p.out) {
		out = transform.NewWriter(out, runes.Remove(runes.Predicate(steers)))
	}
	if _, err = io.Copy(out, resp.Body); errors.Is(err, io.ErrUnexpectedEOF) {
		return &exit{exitCheck, fmt.Errorf("%s: the answer was cut, and ends here", u)}
	}
	return err
}
