package main

import (
	"bufio"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/internal/account"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/crawldir"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/looks"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/seeds"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/settings"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/words"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/spf13/cobra"
)

// A listQuery has the flags of crawl list.
type listQuery struct {
	Fates       []string
	Sites, Tags []string
	JSON, Count bool
}

func (*listQuery) name() string { return "list" }

// linkFates returns the codes of links that were refused before they entered the crawl.
func linkFates() []frontier.Code {
	return []frontier.Code{frontier.OutOfScope, frontier.TooDeep, frontier.Filtered, frontier.NoFollow, frontier.Trap, frontier.TooManyRedirects}
}

func (p *program) listCommand() *cobra.Command {
	var f listQuery
	var state string
	var known, links strings.Builder
	for _, c := range frontier.Fates() {
		fmt.Fprintf(&known, "  %-12s %s\n", c, c.Words())
	}
	for _, c := range linkFates() {
		fmt.Fprintf(&links, "  %-12s %s\n", c, words.Link(c))
	}
	cmd := &cobra.Command{
		Use:   "list [flags] [DIR]",
		Short: "list the URLs of a crawl by what became of them",
		Long: `list prints the URLs that have entered a crawl, one on each line, sorted by site,
and within a site in the order in which they were found. --fate selects URLs by
their fates:

` + known.String() + `
Links that were refused before they entered the crawl are counted in the summary of
each run. If links are stored (--output links), these links can be listed, too, in
the order in which they were found, with the reason by the settings of the last
run. For that the command reads links.jsonl:

` + links.String() + `
While a process runs the crawl, the list comes from that process. It has each URL
as it was at some time while the list was made. Docs: docs/reference/explain.md.`,
		Example: `  crawl list --fate refused news.crawl
  crawl list --fate failed,waiting --json news.crawl | jq -r .reason
  crawl list --count news.crawl`,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := directoryOrState("list", state, args)
			if err != nil {
				return err
			}
			if dir == "" && f.asksLinks() {
				return exit.Usagef("links that were refused are in the directories of the nodes: name one, or use crawl collect")
			}
			return p.list(&f, state, dir)
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.Fates, "fate", nil, "`fates`, with commas between them (default: all)")
	if err := flags.SetAnnotation("fate", settings.ChoicesKey, fateNames()); err != nil {
		panic(err) // the flag does not exist
	}
	flags.StringArrayVar(&f.Sites, "site", nil, "only URLs of this `site`, such as https://example.org, or of this host; may be repeated")
	flags.StringArrayVar(&f.Tags, "tag", nil, "only URLs with this `tag` of a seed; may be repeated")
	stateFlag(flags, &state)
	flags.BoolVar(&f.JSON, "json", false, "print a JSON object for each, with the reason, how it was found, and where its answer is archived")
	flags.BoolVar(&f.Count, "count", false, "print how many there are, by site and fate")
	return cmd
}

func (p *program) list(f *listQuery, state, dir string) error {
	if err := f.check(); err != nil {
		return err
	}
	return p.look(f, state, dir)
}

// print lists or counts URLs. On a terminal it prints each URL as soon as it is read.
func (f *listQuery) print(p *program, a *account.Account, _ bool) error {
	if p.width() > 0 {
		return p.listAll(f, a)
	}
	of, out := *p, bufio.NewWriterSize(p.out, 64<<10)
	of.out = out
	return errors.Join(of.listAll(f, a), out.Flush())
}

func (p *program) listAll(f *listQuery, a *account.Account) error {
	of, err := f.siteFilter()
	if err != nil {
		return err
	}
	total, any := map[frontier.Code]int{}, false
	for site, err := range a.Sites() {
		if err != nil {
			return err
		}
		if !of(site) {
			continue
		}
		any = true
		if err := p.listSite(a, site, f, total); err != nil {
			return err
		}
	}
	if !any && len(f.Sites) > 0 && !f.asksLinks() {
		return crawldir.UnknownSites(a.Sites(), f.Sites)
	}
	if err := p.listLinks(a, f, of, total); err != nil {
		return err
	}
	if f.Count {
		return p.counted("", total, f.JSON)
	}
	return nil
}

// listLinks lists or counts the links that were refused, if the flags choose reasons why links
// are refused.
func (p *program) listLinks(a *account.Account, f *listQuery, of func(frontier.Site) bool, total map[frontier.Code]int) (err error) {
	if !f.asksLinks() {
		return nil
	}
	unknown := 0
	for l, err := range a.Refused() {
		if errors.Is(err, account.ErrNoLinks) {
			return exit.Usagef("--fate %s: links that were refused before they entered the crawl are counted in the summary of each run, and this crawl has not kept them: "+
				"crawl run --output links does. crawl explain says what the settings make of a URL", strings.Join(f.Fates, ","))
		}
		if err != nil {
			return err
		}
		if l.Code == frontier.Unknown && of(l.To.Site()) {
			unknown++
		}
		switch {
		case !slices.Contains(linkFates(), l.Code) || !slices.Contains(f.Fates, l.Code.String()) || !of(l.To.Site()):
		case f.Count:
			total[l.Code]++
		case f.JSON:
			err = p.object(refusedLine{l.To.String(), l.Code, l.Detail, l.From, l.Hop, l.Where, l.Rel})
		default:
			err = p.say("%s", l.To)
		}
		if err != nil {
			return err
		}
	}
	if unknown > 0 {
		p.note("crawl: why %s were refused is not kept", say.Plural(unknown, "URL"))
	}
	return nil
}

// asksLinks reports whether the flags choose a reason why links are refused.
func (f *listQuery) asksLinks() bool {
	return slices.ContainsFunc(f.Fates, func(fate string) bool {
		return slices.ContainsFunc(linkFates(), func(c frontier.Code) bool { return c.String() == fate })
	})
}

// listSite lists, or counts, the URLs of a site.
func (p *program) listSite(a *account.Account, site frontier.Site, f *listQuery, total map[frontier.Code]int) error {
	here := map[frontier.Code]int{}
	for l, err := range a.List(site) {
		if err != nil {
			return err
		}
		switch {
		case !f.wants(&l):
		case f.Count:
			here[l.Code]++
			total[l.Code]++
		case f.JSON:
			err = p.object(listedJSON(&l))
		default:
			err = p.say("%s", l.URL)
		}
		if err != nil {
			return err
		}
	}
	if f.Count && len(here) > 0 {
		return p.counted(site, here, f.JSON)
	}
	return nil
}

// counted prints how many URLs have each fate, which is what became of a URL. The URLs are those
// of a site or, if site is empty, those of the whole crawl.
func (p *program) counted(site frontier.Site, n map[frontier.Code]int, asJSON bool) error {
	if asJSON {
		return p.object(struct {
			Site  frontier.Site         `json:"site,omitempty"` // left out: all sites
			URLs  int                   `json:"urls"`           // the sum of the fates
			Fates map[frontier.Code]int `json:"fates"`
		}{site, say.Sum(n), n})
	}
	name := string(site)
	if name == "" {
		name = "in all"
	}
	text := looks.Text{{Style: looks.Strong, Text: name}, {Text: ": " + looks.Whole(say.Plural(say.Sum(n), "URL"))}}
	between := ": "
	for _, fate := range slices.Concat(frontier.Fates(), linkFates()) {
		if n[fate] > 0 {
			text = append(text, looks.Span{Text: between + looks.Whole(fmt.Sprintf("%d ", n[fate]))}, looks.Span{Style: fateStyle(fate), Text: fate.String()})
			between = ", "
		}
	}
	w := p.lines()
	w.Print(text, 2)
	return w.Err
}

// fateStyle returns the style of the word for what became of a URL.
func fateStyle(fate frontier.Code) looks.Style {
	switch fate {
	case frontier.Fetched:
		return looks.Good
	case frontier.Failed, frontier.SiteDead, frontier.RobotsUnreachable:
		return looks.Bad
	case frontier.Queued, frontier.Waiting, frontier.BudgetSpent, frontier.LimitReached, frontier.Excluded:
		return looks.Wait
	}
	return looks.Plain
}

// fateNames returns all values of --fate. The fates of links come last.
func fateNames() (names []string) {
	for _, c := range slices.Concat(frontier.Fates(), linkFates()) {
		names = append(names, c.String())
	}
	return names
}

// check returns an error if a flag has an invalid value.
func (f *listQuery) check() error {
	if err := settings.EachOf("fate", "fate", f.Fates, fateNames()); err != nil {
		return err
	}
	if len(f.Tags) > 0 && f.asksLinks() {
		return exit.Usagef("--tag is for URLs that have entered the crawl: links that were refused have no tag")
	}
	return nil
}

func (f *listQuery) wants(l *account.Listed) bool {
	return (len(f.Fates) == 0 || slices.Contains(f.Fates, l.Code.String())) &&
		(len(f.Tags) == 0 || slices.Contains(f.Tags, l.Tag))
}

// siteFilter returns a function that reports whether a site is chosen by the flags.
func (f *listQuery) siteFilter() (func(frontier.Site) bool, error) {
	var sites []frontier.Site
	var hosts []string
	for _, name := range f.Sites {
		u, err := seeds.URL(name)
		switch {
		case err != nil:
			return nil, exit.Usagef("--site: %q is not a site: write it as https://example.org", name)
		case strings.Contains(name, "://"):
			sites = append(sites, u.Site())
		default:
			hosts = append(hosts, u.Site().Authority())
		}
	}
	return func(s frontier.Site) bool {
		return len(f.Sites) == 0 || slices.Contains(sites, s) || slices.Contains(hosts, s.Authority())
	}, nil
}

// A listedLine is a line of crawl list --json. The names of its fields are never
// changed.
type listedLine struct {
	URL    string         `json:"url"`
	Fate   frontier.Code  `json:"fate"`
	Reason string         `json:"reason,omitempty"`
	Status int            `json:"status,omitempty"`
	Time   time.Time      `json:"time,omitzero"` // when it ended
	Clock  frontier.Clock `json:"clock,omitempty"`
	Until  time.Time      `json:"until,omitzero"`
	Again  time.Time      `json:"again,omitzero"`  // when it is due to be fetched again
	Robots time.Time      `json:"robots,omitzero"` // when the robots.txt in force was fetched
	Via    string         `json:"via,omitempty"`
	Hops   string         `json:"hops,omitempty"`
	Depth  int            `json:"depth"`
	Tag    string         `json:"tag,omitempty"`
	WARC   string         `json:"warc,omitempty"`
	Offset int64          `json:"offset,omitempty"`
	Digest string         `json:"digest,omitempty"`
}

// A refusedLine is the line of a link that was refused. The names of its fields are never
// changed.
type refusedLine struct {
	URL    string        `json:"url"`
	Fate   frontier.Code `json:"fate"`
	Reason string        `json:"reason,omitempty"`
	Via    string        `json:"via"` // the page of the first link to it
	Hop    string        `json:"hop"`
	Where  string        `json:"where,omitempty"`
	Rel    string        `json:"rel,omitempty"`
}

func listedJSON(l *account.Listed) listedLine {
	f := &l.Fate
	return listedLine{
		URL: l.URL.String(), Fate: l.Code, Reason: l.Reason, Status: f.Status, Time: f.Time.UTC(), Clock: l.Clock, Until: l.Until.UTC(), Again: l.Again.UTC(),
		Robots: f.Rules.UTC(), Via: l.Via, Hops: l.Hops, Depth: l.Depth, Tag: l.Tag, WARC: f.Answer.File, Offset: f.Answer.Offset, Digest: f.Digest,
	}
}
