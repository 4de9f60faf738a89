package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/control"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/settings"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/setting"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A steering is a command that steers a running crawl.
type steering struct {
	use, short, long string
	example          string
	aliases          []string
	flags            func(*pflag.FlagSet)
	ask              func(cmd *cobra.Command, rest []string) ([]control.Ask, error)
	done             func([]control.Ask) string // what to print when it is done
	next             string                     // printed if no process runs the crawl: how to do the same in the next run
}

func (p *program) steerCommands() []*cobra.Command {
	var all []*cobra.Command
	for _, s := range []steering{pausing, resuming, slowing(), excluding, p.adding(), limiting()} {
		all = append(all, p.steerCommand(s))
	}
	return all
}

// recorded is the end of the help text of each steering command.
const recorded = `

It is recorded in crawl.log with the time and --reason. Docs: docs/guide/steering.md.`

func (p *program) steerCommand(s steering) *cobra.Command {
	var reason string
	name, _, _ := strings.Cut(s.use, " ")
	cmd := &cobra.Command{
		Use: s.use, Aliases: s.aliases, Short: s.short, Long: s.long + recorded, Example: s.example,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, rest, err := oneDirectory(name, args)
			if err != nil {
				return err
			}
			asks, err := s.ask(cmd, rest)
			if err != nil {
				return err
			}
			for i := range asks {
				asks[i].Reason = reason
				if err := tell(cmd.Context(), dir, name, asks[i], s.next); err != nil {
					return err
				}
			}
			return p.say("%s: %s", dir, s.done(asks))
		},
	}
	if s.flags != nil {
		s.flags(cmd.Flags())
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the readers of crawl.log")
	return cmd
}

// tell sends the command do, with the request ask, to the process that runs the crawl in dir.
// If no process runs the crawl, the text of the error ends with next.
func tell(ctx context.Context, dir, do string, ask control.Ask, next string) error {
	err := control.Tell(ctx, dir, do, ask)
	var refused *control.RefusedError
	if errors.Is(err, control.ErrNobody) || errors.As(err, &refused) && refused.Ended {
		return exit.Usagef("no process runs the crawl in %s: %s", dir, next)
	}
	return shut(err)
}

func noMore(cmd *cobra.Command, rest []string) ([]control.Ask, error) {
	return []control.Ask{{}}, tooMany(cmd.Name(), rest)
}

var pausing = steering{
	use: "pause [flags] DIR", short: "pause a running crawl, until crawl resume",
	example: "  crawl pause seeds.crawl",
	long: `pause stops starting visits; those under way are finished. All clocks go on, and so
does --max-time. The paused run ends only by --max-time, or by an interrupt.
The next run is not paused.`,
	ask:  noMore,
	done: func([]control.Ask) string { return "paused: visits under way are finished, no new ones start" },
	next: "there is nothing to pause",
}

var resuming = steering{
	use: "resume [flags] DIR", aliases: []string{"go"}, short: "continue a crawl that is paused",
	example: "  crawl resume seeds.crawl",
	long:    "resume undoes crawl pause. A crawl that has ended is continued by the command that began it.",
	ask:     noMore,
	done:    func([]control.Ask) string { return "it goes on" },
	next:    "the command that began it goes on with it",
}

func slowing() steering {
	var delay string
	return steering{
		use: "slow [flags] DIR [SITE|HOST]", short: "lengthen the pause of a running crawl between two requests to a site",
		example: "  crawl slow seeds.crawl example.org --delay 10s --reason \"mail of 3 May\"",
		long: `slow makes the least pause of a site longer (https://example.org), of a host with all
its schemes and ports but not its subdomains (example.org), or of all sites. The pause
counts from the end of the last answer. A pause is never made shorter.

It also holds in later runs of the crawl, until crawl run --lift undoes it.`,
		flags: func(fs *pflag.FlagSet) { fs.StringVar(&delay, "delay", "", "least pause, such as 10s") },
		ask: func(cmd *cobra.Command, rest []string) ([]control.Ask, error) {
			if delay == "" {
				return nil, exit.Usagef("--delay is missing: give the pause, as --delay 10s")
			}
			ask := control.Ask{Delay: delay}
			if len(rest) > 0 {
				ask.Of, rest = rest[0], rest[1:]
			}
			return []control.Ask{ask}, tooMany("slow", rest)
		},
		done: func(asks []control.Ask) string {
			of := asks[0].Of
			if of == "" {
				of = "every site"
			}
			return fmt.Sprintf("%s gets no request for %s after each answer; --lift revokes this in a later run", of, asks[0].Delay)
		},
		next: "the next run takes --delay, for all sites",
	}
}

var excluding = steering{
	use: "exclude [flags] DIR SITE|HOST ...", short: "stop all requests of a running crawl to a site",
	example: "  crawl exclude seeds.crawl example.org --reason \"the owner's mail of 3 May\"",
	long: `exclude ends all requests to a site (https://example.org), or to a host with all its
schemes and ports but not its subdomains (example.org), even those for robots.txt.
What is queued there stays queued, and is listed with the reason, which is
required.

It also holds in later runs of the crawl, until crawl run --lift undoes it.`,
	ask: func(cmd *cobra.Command, rest []string) ([]control.Ask, error) {
		if len(rest) == 0 {
			return nil, exit.Usagef("crawl exclude needs a site or a host, such as https://example.org or example.org")
		}
		if reason := cmd.Flags().Lookup("reason"); strings.TrimSpace(reason.Value.String()) == "" {
			return nil, exit.Usagef("--reason is missing: say why, as --reason \"the owner's mail of 3 May\"")
		}
		var asks []control.Ask
		for _, of := range rest {
			asks = append(asks, control.Ask{Of: of})
		}
		return asks, nil
	},
	done: func(asks []control.Ask) string {
		var all []string
		for _, a := range asks {
			all = append(all, a.Of)
		}
		return strings.Join(all, ", ") + " gets no more requests; --lift revokes this in a later run"
	},
	next: "the next run takes --exclude REGEXP, or --exclude-from FILE",
}

// mostSeeds is how many seeds are sent in one request.
const mostSeeds = 1000

func (p *program) adding() steering {
	return steering{
		use: "add [flags] DIR URL|FILE|- ...", short: "add seeds to a crawl that runs",
		example: "  crawl add seeds.crawl https://example.org/new/",
		long: `add queues more seeds, written as for crawl run, and brings their surroundings
into scope. The crawl keeps them: another run need not name them again.`,
		ask: func(cmd *cobra.Command, rest []string) (asks []control.Ask, err error) {
			if len(rest) == 0 {
				return nil, exit.Usagef("crawl add needs seeds: a URL, a file with one URL per line, or - for standard input")
			}
			seeds, err := p.seedReader().All(rest, "")
			for some := range slices.Chunk(seeds, mostSeeds) {
				asks = append(asks, control.Ask{Seeds: some})
			}
			return asks, err
		},
		done: func(asks []control.Ask) string {
			n := 0
			for _, a := range asks {
				n += len(a.Seeds)
			}
			return say.Plural(n, "seed") + " added; those already known are not fetched again"
		},
		next: "give the seeds to crawl run, with --dir",
	}
}

func limiting() steering {
	var o crawler.Options
	limits := []string{"limit", "max-bytes", "max-time", "rate", "patience", "concurrency"}
	given := func(fs *pflag.FlagSet) map[string]string {
		all := map[string]string{}
		fs.Visit(func(f *pflag.Flag) {
			if slices.Contains(limits, f.Name) {
				all[f.Name] = f.Value.String()
			}
		})
		return all
	}
	return steering{
		use: "limit [flags] DIR", short: "change the limits of a crawl that runs",
		example: "  crawl limit seeds.crawl --limit 5000 --max-time 2h",
		long: `limit raises or lowers limits of the run, from the next visit on. A limit below what
the crawl has used already ends the run. They hold for this run: the next begins with its
flags. --max-time counts from the start of the run, and --concurrency is at most what
the run was begun with.`,
		flags: func(fs *pflag.FlagSet) { settings.Borrow(fs, &o, "", limits...) },
		ask: func(cmd *cobra.Command, rest []string) ([]control.Ask, error) {
			ask := control.Ask{Limits: given(cmd.Flags())}
			if len(ask.Limits) == 0 {
				return nil, exit.Usagef("crawl limit needs a limit: --%s", strings.Join(limits, ", --"))
			}
			return []control.Ask{ask}, tooMany("limit", rest)
		},
		done: func(asks []control.Ask) string {
			var all []string
			for _, name := range limits {
				if text, ok := asks[0].Limits[name]; ok {
					all = append(all, name+" "+setting.InWords(text))
				}
			}
			return strings.Join(all, ", ")
		},
		next: "give the same flags to crawl run",
	}
}
