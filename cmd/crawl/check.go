package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/crawldir"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/looks"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/settings"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/timetable"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/words"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/robots"
	"github.com/spf13/cobra"
)

func (p *program) checkCommand() *cobra.Command {
	f := settings.Usual()
	cmd := &cobra.Command{
		Use:   "check [flags] JOB.yaml",
		Short: "validate a job file, and show the plan",
		Long: `check reads a job file, prints all its mistakes at once, and shows the
plan: each site, what its robots.txt says about the seeds, the pause between two
requests, and how long the crawl takes at least; if it has a schedule, when the
next runs are, and by which command. It fetches only robots.txt,
and writes nothing. Its flags are those of crawl run, which win over the file.

The exit code is 3 if robots.txt does not allow a seed, or does not answer.`,
		Example: `  crawl check library.yaml
  crawl check --delay 10s --json library.yaml`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && strings.Contains(args[0], "://") {
				return exit.Usagef("%s is a URL, and check reads a job file: crawl run --dry-run %s shows the plan of a crawl from this seed", args[0], say.ShellQuoted(args[0]))
			}
			if len(args) != 1 {
				return exit.Usagef("check reads one job file: crawl init writes one to begin with")
			}
			if !crawldir.Exists(args[0]) {
				return exit.Usagef("there is no job file %s: crawl init %s writes one to begin with", args[0], args[0])
			}
			f.Job = args[0]
			opts, err := p.runOptions(f, cmd.Flags().Changed, nil)
			if err != nil {
				return err
			}
			return p.check(cmd.Context(), opts, f)
		},
	}
	f.Register(cmd.Flags())
	for _, of := range []string{"job", "dry-run", "fresh", "rescan", "due", "progress"} {
		cmd.Flags().Lookup(of).Hidden = true
	}
	return cmd
}

func (p *program) check(ctx context.Context, opts crawler.Options, f *settings.Flags) error {
	plan, err := planOf(ctx, opts)
	if err != nil {
		return err
	}
	if f.Schedule != nil {
		if plan.Schedule, err = timetable.PlanOf(f.Schedule, f.Job, f.Series, time.Now(), planTimes); err != nil {
			return err
		}
		plan.started = timetable.StartedBy(f.Job, f.Series)
	}
	if f.JSON {
		err = p.object(plan)
	} else {
		err = p.showPlan(plan)
	}
	if err == nil && !plan.OK {
		err = exit.With(exit.Check, nil)
	}
	return err
}

// A plan is what crawl check prints. The names of its fields are never changed.
type plan struct {
	Version int          `json:"version"` // version of these fields: 2
	OK      bool         `json:"ok"`      // whether each seed is allowed
	Name    string       `json:"token"`
	Dir     string       `json:"dir"`
	Resumes *planResumed `json:"resumes,omitempty"`
	Seeds   int          `json:"seeds"`
	Sites   []planSite   `json:"sites"`

	LeastForSeeds float64 `json:"seeds_least_seconds"`

	// HostPages is the limit for the pages of one site, if there is one. LeastForPages is the
	// shortest time in which HostPages pages of SlowestSite can be fetched.
	HostPages     int           `json:"host_pages,omitempty"`
	LeastForPages float64       `json:"host_pages_least_seconds,omitempty"`
	SlowestSite   frontier.Site `json:"slowest_site,omitempty"`

	Revisit string `json:"revisit,omitempty"` // the policy by which pages are fetched again

	Schedule *timetable.Plan `json:"schedule,omitempty"`

	allowed int      // number of seeds that may be fetched; printed without --json only
	started []string // how the user can start the runs of the schedule; printed without --json only
}

// planResumed describes the crawl that is already in the directory.
type planResumed struct {
	Pages int `json:"budget_pages"` // number of pages, counted as the limits on pages count: a page that was fetched again counts once
	Left  int `json:"left"`
	Again int `json:"again,omitempty"` // pages that will be fetched again
}

type planSite struct {
	Site         frontier.Site `json:"site"`
	Seeds        int           `json:"seeds"`
	Access       string        `json:"access"` // of the seeds: allow; disallow if every seed is refused; defer if that is not known
	Answered     string        `json:"answered,omitempty"`
	Problem      string        `json:"problem,omitempty"`
	Delay        float64       `json:"delay_seconds,omitempty"`
	DelayBy      string        `json:"delay_by,omitempty"`
	PagesPerHour int           `json:"pages_per_hour,omitempty"`
	Refused      []planRefusal `json:"refused,omitempty"`
	LeftAlone    []planOptOut  `json:"left_alone,omitempty"`
	Sitemaps     int           `json:"sitemaps,omitempty"`
	Better       string        `json:"better,omitempty"`
}

// A planRefusal is a seed that robots.txt refuses.
type planRefusal struct {
	URL    string `json:"url"`
	Reason string `json:"reason"`
	Rule   string `json:"rule,omitempty"`
	Line   int    `json:"line,omitempty"`
}

// A planOptOut is a seed that is on the opt-out list.
type planOptOut struct {
	URL    string `json:"url"`
	Reason string `json:"reason"`
}

// planOf fetches the robots.txt of the sites of a crawl, and returns the plan.
func planOf(ctx context.Context, opts crawler.Options) (*plan, error) {
	was, err := resumed(opts.Dir)
	if err != nil {
		return nil, err
	}
	if shared := sharedClocks(slog.New(slog.DiscardHandler)); shared != nil {
		defer shared.Close()
		opts.Shared = shared
	}
	asked, err := crawler.PlanOf(ctx, opts)
	if err != nil {
		return nil, err
	}
	out := &plan{Version: 2, OK: true, Name: opts.Identity.Token, Dir: opts.Dir, Resumes: was, Seeds: asked.Seeds, Sites: []planSite{}}
	for _, s := range opts.Settings() {
		if s.Name == "revisit" {
			out.Revisit = s.String()
		}
	}
	var slowest time.Duration
	for i := range asked.Sites {
		s := &asked.Sites[i]
		site := planSiteOf(s, opts.Dialect)
		out.OK = out.OK && s.Allowed() == len(s.Seeds)
		out.allowed += s.Allowed()
		out.LeastForSeeds = max(out.LeastForSeeds, (time.Duration(s.Allowed()) * s.Delay).Seconds())
		if s.Allowed() > 0 && s.Delay > slowest {
			slowest, out.SlowestSite = s.Delay, s.Site
		}
		out.Sites = append(out.Sites, site)
	}
	if pages := hostPages(opts); pages > 0 && slowest > 0 {
		out.HostPages, out.LeastForPages = pages, (time.Duration(pages) * slowest).Seconds()
	}
	return out, nil
}

// hostPages returns how many pages a site may have in the crawl; 0 means no limit.
func hostPages(o crawler.Options) int {
	pages := o.MaxHostPages
	switch {
	case pages < 0:
		pages = o.Limit
	case pages == 0:
		pages = crawler.DefaultHostPages
	}
	if o.Limit > 0 {
		pages = min(pages, o.Limit)
	}
	return pages
}

func planSiteOf(s *crawler.SitePlan, dialect robots.Dialect) planSite {
	out := planSite{Site: s.Site, Seeds: len(s.Seeds), Access: robots.Defer.String(), Problem: s.Problem, Better: better(s.Site.Host())}
	if s.Rules == nil {
		return out
	}
	out.Answered = words.Answered(s.Rules)
	if f := s.Rules.File(dialect); f != nil && s.Rules.Status/100 == 2 {
		out.Sitemaps = len(f.Sitemaps())
	}
	for _, seed := range s.Seeds {
		v := seed.Verdict
		switch {
		case seed.OptOut != "":
			out.LeftAlone = append(out.LeftAlone, planOptOut{seed.URL.String(), seed.OptOut})
		case v.Access != robots.Allow:
			out.Refused = append(out.Refused, refusalOf(seed.URL, v))
		}
		if v.Access != robots.Defer && out.Access != robots.Allow.String() {
			out.Access = v.Access.String()
		}
	}
	if out.Access == robots.Defer.String() {
		out.Refused = nil // every seed is refused, for the same reason
		return out
	}
	out.Delay, out.DelayBy = s.Delay.Seconds(), words.Asks(s.DelayBy)
	if s.Delay > 0 {
		out.PagesPerHour = int(time.Hour / s.Delay)
	}
	return out
}

func refusalOf(u frontier.URL, v robots.Verdict) planRefusal {
	r := planRefusal{URL: u.String(), Reason: v.Reason.String()}
	if v.Rule.Line > 0 {
		r.Line, r.Rule = v.Rule.Line, "Disallow: "+v.Rule.Pattern
	}
	return r
}

// resumed returns the state of the crawl in dir, or nil if there is no crawl or it has
// not begun.
func resumed(dir string) (*planResumed, error) {
	if !crawldir.Exists(filepath.Join(dir, store.StateFile)) {
		return nil, nil
	}
	r, err := store.OpenReader(dir)
	if errors.Is(err, store.ErrNoCrawl) {
		return nil, nil // it has not begun
	}
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var was planResumed
	for s, err := range r.Sites() {
		if err != nil {
			return nil, err
		}
		was.Pages += s.Spent.Pages
		was.Left += s.Queued
		was.Again += s.Again
	}
	return &was, nil
}

// showPlan prints a plan for people.
func (p *program) showPlan(plan *plan) error {
	w := p.lines()
	style := looks.Good
	if !plan.OK {
		style = looks.Bad
	}
	w.Verdict(looks.Span{Style: style, Text: fmt.Sprintf("%d of %s may be fetched", plan.allowed, say.Plural(plan.Seeds, "seed"))},
		looks.Span{Style: looks.Strong, Text: ", in " + say.InSeconds(plan.LeastForSeeds) + " at least"})
	print := func(format string, args ...any) {
		text := say.OneLine(fmt.Sprintf(format, args...))
		w.Print(looks.Line(text), len(text)-len(strings.TrimLeft(text, " "))+2)
	}
	print("%s of %s, as %s into %s", say.Plural(plan.Seeds, "seed"), say.Plural(len(plan.Sites), "site"), plan.Name, plan.Dir)
	if was := plan.Resumes; was != nil {
		text := fmt.Sprintf("the crawl in the directory is continued: %s, %d left", say.Plural(was.Pages, "budget page"), was.Left)
		if was.Again > 0 {
			text += fmt.Sprintf(", %d to be fetched again", was.Again)
		}
		print("%s", text)
	}
	for i := range plan.Sites {
		plan.Sites[i].print(w)
	}
	print("")
	print("%s", plan.least())
	if plan.Revisit != "" {
		print("it does not end by itself: pages are fetched again (--revisit %s)", plan.Revisit)
	}
	if s := plan.Schedule; s != nil {
		print("")
		print("schedule: %s", s.Words())
		for _, at := range s.Next {
			print("  %s", s.At(at))
		}
		for _, line := range plan.started {
			print("%s", line)
		}
	}
	return w.Err
}

// print prints what is known about a site.
func (s *planSite) print(w *say.Lines) {
	w.Print(nil, 0)
	w.Print(looks.Text{{Style: looks.Strong, Text: say.OneLine(string(s.Site))}, {Text: "  " + say.Plural(s.Seeds, "seed")}}, 2)
	add := func(style looks.Style, word, format string, args ...any) {
		w.Print(looks.Text{{Text: "  "}, {Style: style, Text: word}, {Text: say.OneLine(fmt.Sprintf(format, args...))}}, 4)
	}
	switch {
	case s.Problem != "":
		add(looks.Bad, "was not contacted", ": %s", s.Problem+words.Permits(s.Problem))
	case s.Access == robots.Defer.String():
		add(looks.Bad, "robots.txt: "+say.OneLine(s.Answered), ": nothing of the site is fetched before it answers")
	default:
		add(looks.Plain, "robots.txt", ": %s", s.Answered)
	}
	for _, r := range s.Refused {
		why := r.Reason
		if r.Line > 0 {
			why = fmt.Sprintf("line %d: %s", r.Line, r.Rule)
		}
		add(looks.Bad, "refused", ": %s (%s)", r.URL, why)
	}
	for _, l := range s.LeftAlone {
		add(looks.Wait, "is left alone", ": %s (%s)", l.URL, l.Reason)
	}
	if s.Delay > 0 {
		add(looks.Plain, "", "%s between two requests (%s): %s an hour at most", say.InSeconds(s.Delay), s.DelayBy, say.Plural(s.PagesPerHour, "page"))
	}
	if s.Sitemaps > 0 {
		add(looks.Plain, "", "names %s", say.Plural(s.Sitemaps, "sitemap"))
	}
	if s.Better != "" {
		add(looks.Plain, "", "better than crawling it: %s", s.Better)
	}
}

// least returns a sentence with the shortest time that the crawl needs for its seeds. If there
// is a limit on the pages of a site, the sentence also has the shortest time for that number of
// pages of the slowest site.
func (plan *plan) least() string {
	var b strings.Builder
	fmt.Fprintf(&b, "least time: %s for the seeds", say.InSeconds(plan.LeastForSeeds))
	if plan.LeastForPages > 0 {
		fmt.Fprintf(&b, ", %s where %s has %s", say.InSeconds(plan.LeastForPages), plan.SlowestSite, say.Plural(plan.HostPages, "page"))
	}
	return b.String()
}

// planTimes is the number of start times that crawl check prints for a schedule.
const planTimes = 3

// A bulkSource says where data can be downloaded that a crawl of a large site would collect
// page by page.
type bulkSource struct {
	domain string // and all hosts below it
	where  string
}

var bulkSources = []bulkSource{
	{"wikipedia.org", "dumps of all its text at https://dumps.wikimedia.org/"},
	{"wiktionary.org", "dumps of all its text at https://dumps.wikimedia.org/"},
	{"wikimedia.org", "dumps at https://dumps.wikimedia.org/"},
	{"wikidata.org", "dumps at https://dumps.wikimedia.org/wikidatawiki/entities/"},
	{"wikisource.org", "dumps of all its text at https://dumps.wikimedia.org/"},
	{"arxiv.org", "all papers and their metadata, see https://info.arxiv.org/help/bulk_data.html"},
	{"openstreetmap.org", "the whole map at https://planet.openstreetmap.org/"},
	{"stackoverflow.com", "data dumps, see https://archive.org/details/stackexchange"},
	{"stackexchange.com", "data dumps, see https://archive.org/details/stackexchange"},
	{"gutenberg.org", "mirrors and feeds, see https://www.gutenberg.org/policy/robot_access.html"},
	{"ncbi.nlm.nih.gov", "files at https://ftp.ncbi.nlm.nih.gov/ and the E-utilities, see https://www.ncbi.nlm.nih.gov/home/develop/"},
	{"europepmc.org", "bulk downloads, see https://europepmc.org/downloads"},
	{"openalex.org", "a snapshot of everything, see https://docs.openalex.org/"},
	{"openlibrary.org", "dumps, see https://openlibrary.org/developers/dumps"},
	{"musicbrainz.org", "dumps, see https://musicbrainz.org/doc/MusicBrainz_Database/Download"},
	{"discogs.com", "monthly dumps at https://data.discogs.com/"},
	{"imdb.com", "data sets, see https://developer.imdb.com/non-commercial-datasets/"},
	{"dblp.org", "all records as XML and RDF, see https://dblp.org/xml/"},
	{"github.com", "the REST and GraphQL API, and https://www.gharchive.org/"},
	{"news.ycombinator.com", "its API, see https://github.com/HackerNews/API"},
	{"archive.org", "its API and bulk downloads, see https://archive.org/developers/"},
	{"commoncrawl.org", "its files, see https://commoncrawl.org/get-started"},
}

// better returns where to download the content of a host instead of crawling it, or "" if no
// such place is known.
func better(host string) string {
	for _, s := range bulkSources {
		if host == s.domain || strings.HasSuffix(host, "."+s.domain) {
			return s.where
		}
	}
	return ""
}
