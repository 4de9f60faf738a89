package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/storage"
	"github.com/spf13/cobra"
)

// listFlags are the flags of crawl list.
type listFlags struct {
	fates       []string
	sites, tags []string
	json, count bool
}

// fateWords say what the fates of crawl list are, in their order.
var fateWords = []struct {
	fate  crawler.Standing
	words string
}{
	{crawler.StandsFetched, "answered, whatever the status"},
	{crawler.StandsRefused, "forbidden by robots.txt"},
	{crawler.StandsUse, "the owner refuses what the crawl is for"},
	{crawler.StandsFailed, "failed every time"},
	{crawler.StandsScope, "put aside, as the scope is narrower now"},
	{crawler.StandsOptOut, "left alone by the opt-out list"},
	{crawler.StandsQueued, "queued, can be asked for now"},
	{crawler.StandsWaiting, "queued, waiting for a clock"},
	{crawler.StandsBudget, "queued at a site whose budget is spent"},
	{crawler.StandsLimit, "queued, and the limit of the crawl is reached"},
	{crawler.StandsDead, "queued at a site that does not answer"},
	{crawler.StandsUnreachable, "queued at a site whose robots.txt cannot be had"},
}

// notKept are reasons for which links are refused before they enter a crawl.
var notKept = []string{"trap", "depth", "filter", "nofollow", "redirects"}

func (p *program) listCommand() *cobra.Command {
	var f listFlags
	var known strings.Builder
	for _, w := range fateWords {
		fmt.Fprintf(&known, "  %-12s %s\n", w.fate, w.words)
	}
	cmd := &cobra.Command{
		Use:   "list [flags] DIR",
		Short: "list the URLs of a crawl by what became of them",
		Long: `list prints the URLs that have entered a crawl, one on each line, sorted by site,
and within a site in the order in which they were found. --fate picks those with some
fates:

` + known.String() + `
Links that were refused before they entered the crawl (out of scope, too deep,
excluded, nofollow, traps) are counted in the summary of each run and not kept:
crawl explain says why a link was refused.

No crawl may run in the directory.`,
		Example: `  crawl list --fate refused news.crawl
  crawl list --fate failed,waiting --json news.crawl | jq -r .reason
  crawl list --count news.crawl`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("crawl list takes one argument, the directory of a crawl")
			}
			return p.list(&f, args[0])
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.fates, "fate", nil, "fates, with commas between them (default: all)")
	flags.StringArrayVar(&f.sites, "site", nil, "only URLs of this site, as https://example.org, or of this host; may be repeated")
	flags.StringArrayVar(&f.tags, "tag", nil, "only URLs with this tag of a seed; may be repeated")
	flags.BoolVar(&f.json, "json", false, "print a JSON object for each, with the reason, how it was found, and where its answer is archived")
	flags.BoolVar(&f.count, "count", false, "print how many there are, by site and fate")
	return cmd
}

func (p *program) list(f *listFlags, dir string) (err error) {
	if err := f.check(); err != nil {
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
	of, err := f.siteFilter()
	if err != nil {
		return err
	}
	total, any := map[crawler.Standing]int{}, false
	for site, err := range r.Names() {
		if err != nil {
			return err
		}
		if !of(site) {
			continue
		}
		any = true
		if err := p.listSite(account, site, f, total); err != nil {
			return err
		}
	}
	if !any && len(f.sites) > 0 {
		return unknownOf(r, dir, f.sites)
	}
	if f.count {
		return p.counted("", total, f.json)
	}
	return nil
}

// listSite lists, or counts, the URLs of a site.
func (p *program) listSite(account *crawler.Account, site frontier.Site, f *listFlags, total map[crawler.Standing]int) error {
	here := map[crawler.Standing]int{}
	for l, err := range account.List(site) {
		if err != nil {
			return err
		}
		switch {
		case !f.wants(&l):
		case f.count:
			here[l.Standing]++
			total[l.Standing]++
		case f.json:
			err = p.object(listedJSON(&l))
		default:
			err = p.say("%s", l.URL)
		}
		if err != nil {
			return err
		}
	}
	if f.count && len(here) > 0 {
		return p.counted(site, here, f.json)
	}
	return nil
}

// counted prints how many URLs have each fate: at a site, or without one in all.
func (p *program) counted(site frontier.Site, n map[crawler.Standing]int, asJSON bool) error {
	if asJSON {
		return p.object(struct {
			Site  frontier.Site            `json:"site,omitempty"` // none: in all
			Fates map[crawler.Standing]int `json:"fates"`
		}{site, n})
	}
	var parts []string
	for _, w := range fateWords {
		if n[w.fate] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[w.fate], w.fate))
		}
	}
	name := string(site)
	if name == "" {
		name = "in all"
	}
	if parts == nil {
		parts = []string{"none"}
	}
	return p.say("%s: %s", name, strings.Join(parts, ", "))
}

// check finds out what is no fate, and what of it is not kept.
func (f *listFlags) check() error {
	known := make([]string, 0, len(fateWords)+len(notKept))
	for _, w := range fateWords {
		known = append(known, string(w.fate))
	}
	for i, given := range f.fates {
		fate := strings.ToLower(strings.TrimSpace(given))
		switch f.fates[i] = fate; {
		case slices.Contains(known, fate):
		case slices.Contains(notKept, fate):
			return usage("--fate %s: links that were refused before they entered the crawl are counted in the summary of each run, and not kept. "+
				"crawl explain URL --dir DIR says why one was refused; with --output links a run keeps all links in %s", fate, storage.LinksFile)
		default:
			return usage("--fate: %q is no fate: %sthere are %s", given, didYouMean(fate, append(known, notKept...)), strings.Join(known, ", "))
		}
	}
	return nil
}

func (f *listFlags) wants(l *crawler.Listed) bool {
	return (len(f.fates) == 0 || slices.Contains(f.fates, string(l.Standing))) &&
		(len(f.tags) == 0 || slices.Contains(f.tags, l.Tag))
}

// siteFilter reports which sites are wanted.
func (f *listFlags) siteFilter() (func(frontier.Site) bool, error) {
	var sites []frontier.Site
	var hosts []string
	for _, name := range f.sites {
		u, err := seedURL(name)
		switch {
		case err != nil:
			return nil, usage("--site: %q is no site: write it as https://example.org", name)
		case strings.Contains(name, "://"):
			sites = append(sites, u.Site())
		default:
			hosts = append(hosts, u.Site().Authority())
		}
	}
	return func(s frontier.Site) bool {
		return len(f.sites) == 0 || slices.Contains(sites, s) || slices.Contains(hosts, s.Authority())
	}, nil
}

// A listedLine is a line of crawl list --json. The names of its fields are never
// changed.
type listedLine struct {
	URL    string           `json:"url"`
	Fate   crawler.Standing `json:"fate"`
	Reason string           `json:"reason,omitempty"`
	Status int              `json:"status,omitempty"`
	Time   time.Time        `json:"time,omitzero"` // when it ended
	Clock  frontier.Clock   `json:"clock,omitempty"`
	Until  time.Time        `json:"until,omitzero"`
	Robots time.Time        `json:"robots,omitzero"` // when the robots.txt in force was fetched
	Via    string           `json:"via,omitempty"`
	Hops   string           `json:"hops,omitempty"`
	Depth  int              `json:"depth"`
	Tag    string           `json:"tag,omitempty"`
	WARC   string           `json:"warc,omitempty"`
	Offset int64            `json:"offset,omitempty"`
	Digest string           `json:"digest,omitempty"`
}

func listedJSON(l *crawler.Listed) listedLine {
	f := &l.Fate
	return listedLine{
		URL: l.URL.String(), Fate: l.Standing, Reason: l.Reason, Status: f.Status, Time: f.Time.UTC(), Clock: l.Clock, Until: l.Until.UTC(),
		Robots: f.Rules.UTC(), Via: l.Via, Hops: l.Hops, Depth: l.Depth, Tag: l.Tag, WARC: f.Answer.File, Offset: f.Answer.Offset, Digest: f.Digest,
	}
}
