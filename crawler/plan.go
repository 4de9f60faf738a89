package crawler

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
	"golang.org/x/time/rate"
)

// A Plan is what robots.txt says about the seeds of a crawl, before the crawl begins.
type Plan struct {
	Seeds int        // number of seeds, each URL once
	Sites []SitePlan // the sites of the seeds, in the order of the seeds
}

// A SitePlan is what the robots.txt of a site says about the seeds on that site.
type SitePlan struct {
	Site  frontier.Site
	Seeds []SeedPlan

	// Rules is the robots.txt of the site, or the error that the request for it ended with. If
	// robots.txt was not requested, Rules is nil and Problem says why.
	Rules   *robots.Snapshot
	Problem string

	// Delay is the least pause between two requests to the site, and DelayBy the rule that
	// requires it, such as the Crawl-delay of its robots.txt. A site that answers slowly gets
	// longer pauses.
	Delay   time.Duration
	DelayBy frontier.Clock
}

// A SeedPlan is the verdict of robots.txt on a seed. The verdict is robots.Defer if the
// robots.txt is not known. It is also robots.Defer if the seed is opted out, and so never
// requested; OptOut then says why.
type SeedPlan struct {
	URL     frontier.URL
	Verdict robots.Verdict
	OptOut  string // why Options.OptOut excludes the seed; empty: the seed may be requested
}

// Allowed returns how many seeds robots.txt allows.
func (s *SitePlan) Allowed() (n int) {
	for _, seed := range s.Seeds {
		if seed.Verdict.Access == robots.Allow {
			n++
		}
	}
	return n
}

// PlanOf requests the robots.txt of the sites of the seeds, and nothing else, as a crawl with
// these options would: under the same Identity, with the same Wire options and the same pauses.
// It writes nothing, and ignores Options.Dir. If a site fails, the plan says so. The error is
// an *OptionError, or the error of the context.
func PlanOf(ctx context.Context, opts Options) (*Plan, error) {
	if ctx == nil {
		return nil, errNoContext
	}
	opts.Revisit = nil // with a Revisit the frontier would never end
	seeds, err := opts.prepare()
	if err != nil {
		return nil, err
	}
	if len(seeds) == 0 {
		return nil, errNoSeeds
	}
	opts.Dir = ""
	job, err := newJob(opts, nil, jobDeps{})
	if err != nil {
		return nil, err
	}
	defer job.Close()
	p, err := newPlanner(job, seeds)
	if err != nil {
		return nil, err
	}
	front, err := frontier.New(frontier.NewMemory(), frontier.Options{
		Delay: opts.Delay, IPDelay: opts.IPDelay, DomainDelay: opts.DomainDelay, Shared: opts.clocks(), Patience: opts.Patience,
		Rate: rate.Limit(opts.Rate),
	})
	if err != nil {
		return nil, err
	}
	for _, i := range p.at {
		seed := p.plan.Sites[i].asked()
		if seed == nil {
			continue
		}
		if err := front.Add(frontier.Entry{URL: seed.URL}); err != nil {
			return nil, err
		}
	}
	err = p.askAll(ctx, front)
	return p.plan, err
}

// A planner requests robots.txt of sites.
type planner struct {
	job  *job
	at   map[frontier.Site]int // index of a site in plan.Sites
	plan *Plan                 // each SitePlan in it is written only by visits to its site, and only one visit to a site runs at a time
}

// asked returns the first seed of the site that is not opted out: the one for which robots.txt
// is requested. It returns nil if all are opted out; then the site gets no request.
func (s *SitePlan) asked() *SeedPlan {
	for i := range s.Seeds {
		if s.Seeds[i].OptOut == "" {
			return &s.Seeds[i]
		}
	}
	return nil
}

func newPlanner(job *job, seeds []frontier.Entry) (*planner, error) {
	p := &planner{job: job, at: map[frontier.Site]int{}, plan: &Plan{}}
	seen := map[string]bool{}
	for _, e := range seeds {
		if seen[e.URL.Key()] {
			continue
		}
		seen[e.URL.Key()] = true
		i, known := p.at[e.URL.Site()]
		if !known {
			i = len(p.plan.Sites)
			p.at[e.URL.Site()] = i
			p.plan.Sites = append(p.plan.Sites, SitePlan{Site: e.URL.Site(), Problem: "it is not to be asked within the patience"})
		}
		why, err := job.sites.optedOut(e.URL)
		if err != nil {
			return nil, err
		}
		site := &p.plan.Sites[i]
		site.Seeds = append(site.Seeds, SeedPlan{URL: e.URL, Verdict: robots.Verdict{Access: robots.Defer}, OptOut: why})
		p.plan.Seeds++
	}
	for i := range p.plan.Sites {
		if site := &p.plan.Sites[i]; site.asked() == nil {
			site.Problem = "it is left alone: " + site.Seeds[0].OptOut
		}
	}
	return p, nil
}

// askAll requests the robots.txt of all sites. It returns when each site has answered, or may
// not be requested within Options.Patience.
func (p *planner) askAll(ctx context.Context, front *frontier.Frontier) error {
	errs := make([]error, min(p.job.opts.Concurrency, len(p.plan.Sites)))
	var workers sync.WaitGroup
	for i := range errs {
		// A worker that requests robots.txt. It ends when the frontier hands out no more turns.
		workers.Go(func() {
			defer front.Stop()
			errs[i] = errGoexit
			errs[i] = p.ask(ctx, front)
		})
	}
	workers.Wait()
	return distinct(errs...)
}

func (p *planner) ask(ctx context.Context, front *frontier.Frontier) error {
	for {
		turn, err := front.Next(ctx)
		switch {
		case errors.Is(err, frontier.ErrEnd), errors.Is(err, frontier.ErrUnasked), errors.Is(err, frontier.ErrPatience), errors.Is(err, frontier.ErrStopped):
			return nil
		case err != nil:
			return err
		}
		res, err := p.job.request(ctx, turn, fetch.Validators{})
		site := &p.plan.Sites[p.at[turn.Site()]]
		o := res.Outcome
		switch {
		case err != nil:
		case res.Snapshot != nil:
			p.take(site, res.Snapshot)
			o.Again = false
		case !o.Again || o.Gone:
			site.Problem = o.Fate.Detail
			if o.Fate.Code == frontier.OptedOut {
				site.Problem = "it is left alone: " + o.Fate.Detail
			}
			o.Again = false
		}
		if !o.Again {
			// With this outcome, the frontier hands out neither the page nor, after an error,
			// robots.txt again.
			o = frontier.Outcome{Request: o.Request, RetryAfter: o.RetryAfter, Fate: frontier.Fate{Code: frontier.ScopeNarrowed, Time: time.Now()}}
		}
		res.Release()
		if _, ferr := turn.Finish(o); err == nil {
			err = ferr
		}
		if err != nil {
			return err
		}
	}
}

// take writes the result of requesting robots.txt, s, into the plan of a site.
func (p *planner) take(site *SitePlan, s *robots.Snapshot) {
	o, own := &p.job.opts, p.job.sites.of(site.Site)
	policy := o.policy()
	policy.AllowForbidden = policy.AllowForbidden || own.AllowForbidden
	group := s.Group(policy, time.Now())
	site.Rules, site.Problem = s, ""
	for i := range site.Seeds {
		if seed := &site.Seeds[i]; seed.OptOut == "" {
			seed.Verdict = group.Match(seed.URL.Target())
		}
	}
	site.Delay, site.DelayBy = max(o.Delay, own.Delay, 0), frontier.OwnClock
	if !o.AllowPrivate && len(o.ConnectTo) == 0 {
		site.Delay = max(site.Delay, frontier.PublicFloor)
	}
	if d, ok := group.CrawlDelay(); ok && d > site.Delay {
		site.Delay, site.DelayBy = d, frontier.CrawlDelayClock
	}
	if d, ok := group.RequestRate(); ok && d > site.Delay {
		site.Delay, site.DelayBy = d, frontier.RateClock
	}
}
