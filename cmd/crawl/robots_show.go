package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/crawldir"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/optout"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/robotsfetch"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/seeds"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/settings"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/show"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/words"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/account"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/robots"
	"github.com/permesso-crawler/permesso/storage/warc"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func (p *program) showCommand() *cobra.Command {
	var f siteFlags
	var read readFlags
	var kept keptFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show --site URL [--agent TOKEN] [--dialect NAME] | show DIR SITE [--at TIME] [--raw]",
		Short: "show a site's robots.txt, now or as a crawl saw it, and what it means",
		Long: `show fetches the robots.txt of a site, as a crawl would, and prints the
result: the answer, the group that applies, the pause it requires, its sitemaps, and when
a crawl fetches it again. With --json the file itself is in "body".

With the directory of a crawl and a site it fetches nothing: it shows the last copy that
the crawl has fetched, or with --at the one that was in force at a time, by the name
and the dialect of the crawl. A crawl keeps all copies.`,
		Example: `  crawl robots show --site https://example.org/
  crawl robots show news.crawl example.org
  crawl robots show news.crawl example.org --at 2026-07-01T12:00:00Z --raw`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case f.site != "":
				if err := noArgs(cmd, args); err != nil {
					return err
				}
				if kept != (keptFlags{}) {
					return exit.Usagef("--at and --raw are for what a crawl has kept: give its directory and a site instead of --site")
				}
			case len(args) == 2:
				return p.robotsKept(args[0], args[1], &kept, read.overrides(cmd.Flags()), asJSON)
			case len(args) > 0:
				return exit.Usagef("give the directory of a crawl and one site, as news.crawl example.org; or --site URL to ask a site")
			default:
				return exit.Usagef("--site: which site? such as --site https://example.org/")
			}
			policy, err := read.policy()
			if err != nil {
				return err
			}
			s, err := p.snapshot(cmd.Context(), &f)
			if err != nil {
				return err
			}
			if policy.Token == "" {
				id, err := p.identity(f.name, f.contact)
				if err != nil {
					return err
				}
				policy.Token = id.Token
			}
			return p.show(s, policy, asJSON)
		},
	}
	fs := cmd.Flags()
	f.register(fs)
	read.register(fs, "product `token` whose group is shown (default: that of --name)")
	kept.register(fs)
	fs.BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}

func (p *program) show(s *robots.Snapshot, policy robots.Policy, asJSON bool) error {
	out, v := show.RobotsOf(s, policy)
	if asJSON {
		return p.object(out)
	}
	return show.WriteRobots(&say.Lines{W: p.out}, &out, v, s, policy)
}

// keptFlags are the flags that choose one of the copies of a robots.txt that a crawl has
// kept.
type keptFlags struct {
	at  string
	raw bool
}

func (f *keptFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.at, "at", "", "with DIR SITE: the copy that was in force at a `time`, such as 2026-07-01T12:00:00Z; a date is its end, in UTC (default: the last one)")
	fs.BoolVar(&f.raw, "raw", false, "with DIR SITE: print the file and nothing else, byte by byte")
}

// A keptCopy is one of the copies of a robots.txt that a crawl has kept.
type keptCopy struct {
	*robots.Snapshot
	number, of int       // which of all copies it is (1 is the oldest), and how many there are
	next       time.Time // when the next copy was fetched; zero for the last
}

// robotsKept shows the robots.txt of a site that was in force at some time.
func (p *program) robotsKept(dir, name string, f *keptFlags, policyOf func(robots.Policy) (robots.Policy, error), asJSON bool) (err error) {
	at, err := f.time()
	if err != nil {
		return err
	}
	r, _, err := crawldir.Open(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	site, err := p.keptSite(r, dir, name)
	if err != nil {
		return err
	}
	a, err := account.New(&r.Records, time.Now())
	if err != nil {
		return err
	}
	settings, err := a.Site(site)
	if err != nil {
		return err
	}
	policy, err := policyOf(settings.Policy)
	if err != nil {
		return err
	}
	c, err := copyAt(r, site, at)
	if err != nil {
		return err
	}
	good := cmp.Or(c.Good(), c.Snapshot)
	switch {
	case f.raw && good.Status/100 != 2:
		return exit.With(exit.Nothing, fmt.Errorf("there is no file of %s: %s", c.URL, words.Answered(c.Snapshot)))
	case f.raw:
		_, err := p.out.Write(good.Body)
		return err
	}
	out := show.Kept{Number: c.number, Of: c.of, InForce: c.next.UTC()}
	var v robots.Verdict
	out.Robots, v = show.RobotsOf(c.Snapshot, policy)
	if len(good.Body) > 0 {
		out.Digest = warc.PayloadDigest(&warc.HTTP{Body: good.Body})
		out.Body, out.Size, out.Cut = string(good.Body), len(good.Body), good.Cut
	}
	if good != c.Snapshot {
		out.Copy = good.Fetched.UTC()
	}
	if asJSON {
		return p.object(out)
	}
	return show.WriteKept(&say.Lines{W: p.out}, &out, v, c.Snapshot, policy)
}

// time returns the time of --at. If the flag was not given, it returns the zero time.
func (f *keptFlags) time() (time.Time, error) {
	if f.at == "" {
		return time.Time{}, nil
	}
	if day, err := time.Parse(time.DateOnly, f.at); err == nil {
		return day.AddDate(0, 0, 1).Add(-1), nil
	}
	at, err := time.Parse(time.RFC3339Nano, f.at)
	if err != nil {
		return at, exit.Usagef("--at: %q is not a time: write it as 2026-07-01 or 2026-07-01T12:00:00Z", f.at)
	}
	return at, nil
}

// copyAt returns the copy of a site's robots.txt that was in force at a time. If the time
// is zero, it returns the last copy.
func copyAt(r *store.Reader, site frontier.Site, at time.Time) (keptCopy, error) {
	var c keptCopy
	var first time.Time
	for s, err := range r.Snapshots(site) {
		if err != nil {
			return c, err
		}
		if c.of++; c.of == 1 {
			first = s.Fetched
		}
		switch {
		case at.IsZero() || !s.Fetched.After(at):
			c.Snapshot, c.number, c.next = s, c.of, time.Time{}
		case c.next.IsZero():
			c.next = s.Fetched
		}
	}
	if c.Snapshot == nil {
		return c, exit.Usagef("--at: no robots.txt of %s was in force by then: the first one was fetched at %s", site, first.UTC().Format(time.RFC3339))
	}
	return c, nil
}

// keptSite returns the site that a user names. If the user names a host, it returns the
// site of that host that has a robots.txt in the crawl.
func (p *program) keptSite(r *store.Reader, dir, name string) (frontier.Site, error) {
	schemes := []string{"https://", "http://", "ftp://"}
	if strings.Contains(name, "://") {
		schemes = []string{""}
	}
	var found []frontier.Site
	for _, scheme := range schemes {
		u, err := frontier.ParseURL(scheme + name)
		if err != nil {
			return "", exit.Usagef("%q is not a site: write it as https://example.org", name)
		}
		for _, err := range r.Snapshots(u.Site()) {
			if err != nil {
				return "", err
			}
			found = append(found, u.Site())
			break
		}
	}
	if len(found) == 0 {
		like, err := crawldir.LikeSite(r.Names(), name)
		if err != nil {
			return "", err
		}
		return "", exit.Usagef("the crawl in %s never requested a robots.txt of %s%s", dir, name, like)
	}
	if len(found) > 1 {
		p.note("crawl: this is %s; %s has a robots.txt of its own: name it so", found[0], found[1])
	}
	return found[0], nil
}

// siteFlags are the flags that say from which site to fetch the robots.txt, and how to fetch
// it.
type siteFlags struct {
	site, name string
	contact    []string
	way        crawler.Options // settings for reaching the site
}

func (f *siteFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.site, "site", "", "`URL` of the site whose robots.txt is fetched")
	fs.StringVar(&f.name, "name", "", "with --site: product `token` of the request (or $CRAWL_NAME)")
	fs.StringArrayVar(&f.contact, "contact", nil, "with --site: `URL` or e-mail address of the request, or both (or $CRAWL_CONTACT)")
	settings.Borrow(fs, &f.way, "with --site: ", "allow-private", "connect-to")
}

// snapshot fetches the robots.txt of a site as a crawl would, with the same client, pauses and
// checks. If no answer came, the result says that the robots.txt is unreachable.
func (p *program) snapshot(ctx context.Context, f *siteFlags) (*robots.Snapshot, error) {
	id, err := p.identity(f.name, f.contact)
	if err != nil {
		return nil, err
	}
	urls, bad, err := crawler.ReadSeeds(strings.NewReader(f.site), "--site")
	if err != nil || len(bad) > 0 || len(urls) != 1 {
		return nil, exit.Usagef("--site: %q is not a URL: write it as https://example.org/", f.site)
	}
	u, err := seeds.URL(urls[0])
	if err != nil {
		return nil, exit.Usagef("--site: %v", err)
	}
	never, err := optout.Why()
	if err != nil {
		return nil, err
	}
	o := robotsfetch.Options{Identity: id, Network: p.network, OptOut: never, AllowPrivate: f.way.AllowPrivate, ConnectTo: f.way.ConnectTo}
	if shared := sharedClocks(slog.New(slog.DiscardHandler)); shared != nil {
		defer shared.Close()
		o.Shared = shared
	}
	return robotsfetch.Get(ctx, u, o)
}
