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

// A Plan lists the seeds of a crawl that robots.txt allows and forbids, before the crawl begins.
type Plan struct {
	Seeds int        // number of seeds; duplicates count once
	Sites []SitePlan // the sites of the seeds, in the order in which the seeds name them
}

// A SitePlan holds the robots.txt of one site, and its verdicts on the seeds on that site.
type SitePlan struct {
	Site  frontier.Site
	Seeds []SeedPlan

	// Rules is the robots.txt of the site, or the error of the request for it. If robots.txt was
	// not requested, Rules is nil and Problem gives the reason.
	Rules   *robots.Snapshot
	Problem string

	// Delay is the minimum pause between two requests to the site. DelayBy is the rule that
	// requires it, such as the Crawl-delay of its robots.txt. A site that answers slowly gets
	// longer pauses.
	Delay   time.Duration
	DelayBy frontier.Clock
}

// A SeedPlan is the verdict of robots.txt on one seed. The verdict is robots.Defer if the
// robots.txt is not known, or if the seed is opted out. A seed that is opted out is never
// requested; OptOut then gives the reason.
type SeedPlan struct {
	URL     frontier.URL
	Verdict robots.Verdict
	// The reason why Options.OptOut excludes the seed; empty if it may be requested.
	OptOut string
}

// Allowed returns the number of seeds that robots.txt allows.
func (s *SitePlan) Allowed() (n int) {
	for _, seed := range s.Seeds {
		if seed.Verdict.Access == robots.Allow {
			n++
		}
	}
	return n
}

// PlanOf requests the robots.txt of each seed's site, and no other URLs. The requests are like
// those of a crawl with these options: same Identity, same Wire options, same pauses. PlanOf writes
// nothing and ignores Options.Dir. Failures of a site are in its SitePlan. The error is an
// *OptionError, or the error of the context.
func PlanOf(ctx context.Context, opts Options) (*Plan, error) {
	if ctx == nil {
		return nil, errNoContext
	}
	opts.Revisit = nil // with a Revisit policy the frontier would never end
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
	for _, i := range p.siteIndex {
		seed := p.plan.Sites[i].firstSeed()
		if seed == nil {
			continue
		}
		if err := front.Add(frontier.Entry{URL: seed.URL}); err != nil {
			return nil, err
		}
	}
	err = p.requestAll(ctx, front)
	return p.plan, err
}

// A planner requests the robots.txt of sites and fills in a Plan.
type planner struct {
	job       *job
	siteIndex map[frontier.Site]int // index of each site in plan.Sites
	// Visits of a site write its SitePlan; no lock is needed, because only one visit of a site runs
	// at a time.
	plan *Plan
}

// firstSeed returns the first seed of the site that is not opted out. The request for robots.txt is
// made for this seed. If all seeds are opted out, firstSeed returns nil, and the site gets no
// request.
func (s *SitePlan) firstSeed() *SeedPlan {
	for i := range s.Seeds {
		if s.Seeds[i].OptOut == "" {
			return &s.Seeds[i]
		}
	}
	return nil
}

func newPlanner(job *job, seeds []frontier.Entry) (*planner, error) {
	p := &planner{job: job, siteIndex: map[frontier.Site]int{}, plan: &Plan{}}
	seen := map[string]bool{}
	for _, e := range seeds {
		if seen[e.URL.Key()] {
			continue
		}
		seen[e.URL.Key()] = true
		i, known := p.siteIndex[e.URL.Site()]
		if !known {
			i = len(p.plan.Sites)
			p.siteIndex[e.URL.Site()] = i
			p.plan.Sites = append(p.plan.Sites, SitePlan{Site: e.URL.Site(), Problem: "its robots.txt cannot be fetched within the patience"})
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
		if site := &p.plan.Sites[i]; site.firstSeed() == nil {
			site.Problem = "it is left alone: " + site.Seeds[0].OptOut
		}
	}
	return p, nil
}

// requestAll requests the robots.txt of all sites. It returns when each site has answered, or
// cannot be requested within Options.Patience.
func (p *planner) requestAll(ctx context.Context, front *frontier.Frontier) error {
	errs := make([]error, min(p.job.opts.Concurrency, len(p.plan.Sites)))
	var workers sync.WaitGroup
	for i := range errs {
		// A worker that requests robots.txt. It ends when the frontier hands out no more turns,
		// which are rights to make one request.
		workers.Go(func() {
			defer front.Stop()
			errs[i] = errGoexit
			errs[i] = p.work(ctx, front)
		})
	}
	workers.Wait()
	return distinct(errs...)
}

func (p *planner) work(ctx context.Context, front *frontier.Frontier) error {
	for {
		turn, err := front.Next(ctx)
		switch {
		case errors.Is(err, frontier.ErrEnd), errors.Is(err, frontier.ErrUnasked), errors.Is(err, frontier.ErrPatience), errors.Is(err, frontier.ErrStopped):
			return nil
		case err != nil:
			return err
		}
		res, err := p.job.request(ctx, turn, fetch.Validators{})
		site := &p.plan.Sites[p.siteIndex[turn.Site()]]
		o := res.Outcome
		switch {
		case err != nil:
		case res.Snapshot != nil:
			p.judgeSeeds(site, res.Snapshot)
			o.Again = false
		case !o.Again || o.Gone:
			site.Problem = o.Fate.Detail
			if o.Fate.Code == frontier.OptedOut {
				site.Problem = "it is left alone: " + o.Fate.Detail
			}
			o.Again = false
		}
		if !o.Again {
			// This outcome removes the seed from the frontier. So neither the page is requested,
			// nor robots.txt again after an error.
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

// judgeSeeds fills in the plan of a site from s, the robots.txt of the site.
func (p *planner) judgeSeeds(site *SitePlan, s *robots.Snapshot) {
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
