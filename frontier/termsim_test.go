package frontier

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A simWeb is the web of a simulated crawl on several nodes. It records the requests that each
// site has received from all nodes.
type simWeb struct {
	mu    sync.Mutex
	c     *simCluster
	pages []URL
	sites map[Site]*simLog
	asked map[string]int // number of answers with 200 for each page, by URL.Key
}

// A simLog records the requests that a site has received.
type simLog struct {
	by        *simNode // the node that sends the current request; nil: no request is under way
	last      *simNode // the node that sent the last request
	ended     time.Time
	least     time.Time          // no request before this time, for any last answer
	not       time.Time          // no request before this time, because of the last answer
	kept      time.Time          // value of not after the last answer that was committed
	committed bool               // the last answer was committed
	heard     map[time.Time]bool // the times at which nodes had received whole answers
}

// links returns the pages that page i links to. Each page is linked from one page only.
func (w *simWeb) links(i int) (links []URL) {
	for k := 2*i + 1; k <= 2*i+2 && k < len(w.pages); k++ {
		links = append(links, w.pages[k])
	}
	return links
}

// gapOf returns the Crawl-delay of a site.
func gapOf(s Site) time.Duration {
	if len(s)%4 == 0 {
		return 3 * time.Second
	}
	return 0
}

// begins is called when a request starts. It checks that the pauses of the site are over.
func (w *simWeb) begins(n *simNode, to Site) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	for name, log := range w.sites {
		switch {
		case name.Host() != to.Host():
			if w.c.opts.DomainDelay == 0 || name.Domain() != to.Domain() {
				continue
			}
			if due := log.ended.Add(w.c.opts.DomainDelay); !log.ended.IsZero() && now.Before(due) {
				w.c.fail("%s: node %d asks %v too early for its domain, after %s", to, n.name, due.Sub(now), name)
			}
		case now.Before(log.not):
			w.c.fail("%s: node %d asks %v too early, after %s", to, n.name, log.not.Sub(now), name)
		}
		if log.by != nil {
			w.c.fail("%s: node %d asks while node %d asks %s", to, n.name, log.by.name, name)
		}
	}
	log := w.sites[to]
	if log == nil {
		log = &simLog{heard: map[time.Time]bool{}}
		w.sites[to] = log
	}
	log.by, log.last, log.committed = n, n, false
}

// ends is called when an answer has ended.
func (w *simWeb) ends(n *simNode, to Site, trouble Trouble, ttfb time.Duration, retryAfter time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	log := w.sites[to]
	if log.by != n {
		return // the process was killed during the request
	}
	log.by, log.ended = nil, time.Now()
	least := max(w.c.opts.Delay, PublicFloor, gapOf(to))
	gap := least
	if w.c.opts.Delay > 0 {
		gap = max(gap, 2*ttfb)
	}
	if trouble == SiteTrouble || trouble == ConnectTrouble {
		gap = max(gap, 5*time.Second)
	}
	log.least, log.not = log.ended.Add(least), log.ended.Add(gap)
	if retryAfter.After(log.not) {
		log.not = retryAfter
	}
}

// heard returns the time at which a node processes an answer. If the process stood still, this is
// later than the end of the answer.
func (w *simWeb) heard(of Site) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	w.sites[of].heard[now.Round(0)] = true
	return now
}

// committed is called for each completion that was committed.
func (w *simWeb) committed(c Completion) {
	if c.Clocks.Ended.IsZero() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	log := w.sites[c.Site]
	if log == nil || !log.heard[c.Clocks.Ended.Round(0)] {
		w.c.fail("%s: a request counts that it has not seen", c.Site)
		return
	}
	if log.by == nil && c.Clocks.Ended.Equal(log.ended) {
		log.committed, log.kept = true, log.not
	}
}

// killed ends the requests of a process that was killed.
func (w *simWeb) killed(n *simNode) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, log := range w.sites {
		if log.by == n {
			log.by, log.ended = nil, time.Now()
			log.least = log.ended.Add(max(w.c.opts.Delay, PublicFloor, gapOf(name)))
			log.not = log.least
		}
	}
}

// forgotten is called when a node is buried (declared dead), because its last answers are not
// known.
func (w *simWeb) forgotten(n *simNode) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, log := range w.sites {
		if log.last == n && !log.committed {
			log.not = log.least
			if log.kept.After(log.not) {
				log.not = log.kept
			}
		}
	}
}

// A simCluster is a crawl on several nodes.
type simCluster struct {
	opts  Options
	rules rules
	db    *simDB
	web   *simWeb
	all   []*simNode // all nodes, including dead ones; guarded by simDB.mu
	jobs  sync.WaitGroup
	ctx   context.Context
	mix   string // events, one letter each: k a node is killed, j a node joins, s a node stands still, d the database is down, m a partition is moved
	slow  bool   // many answers take long, and each node has only one worker

	mu     sync.Mutex
	rand   *rand.Rand
	failed []string
	ended  bool
}

func (c *simCluster) intn(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rand.IntN(n)
}

func (c *simCluster) perm(n int) []int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rand.Perm(n)
}

func (c *simCluster) fail(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed = append(c.failed, fmt.Sprintf(format, args...))
}

// nodes returns the nodes that were not buried. simDB.mu must be held.
func (c *simCluster) nodes() (live []*simNode) {
	for _, n := range c.all {
		if n.fate == "" {
			live = append(live, n)
		}
	}
	return live
}

// bury ends the session of a node that is considered dead. simDB.mu must be held.
func (c *simCluster) bury(n *simNode) {
	n.fate = "buried"
	c.web.forgotten(n)
	rest := n.until
	if now := time.Now(); now.After(rest) {
		rest = now
	}
	for i := range c.db.parts {
		if p := &c.db.parts[i]; p.owner == n {
			p.owner, p.rest = nil, rest.Add(simLongest)
		}
	}
}

// start starts a node. If before is not nil, the node replaces it in the same directory, and
// before is buried at once.
func (c *simCluster) start(before *simNode) {
	n := &simNode{c: c, terms: make([]atomic.Uint64, len(c.db.parts)), rests: make([]time.Time, len(c.db.parts)), cache: map[int]map[Site]*memorySite{},
		changed: make(chan struct{}), wake: make(chan struct{}, 1)}
	n.ctx, n.die = context.WithCancel(c.ctx)
	opts := c.opts
	opts.Term = n.term
	if c.rules.blocked {
		opts.Blocked = n.blocked
	}
	var err error
	if n.f, err = New(n, opts); err != nil {
		c.fail("%v", err)
		return
	}
	if !c.rules.open {
		n.f.Allow(func(l *Limits) { l.Open = false })
	}
	c.db.mu.Lock()
	if before != nil && before.fate == "" {
		c.bury(before)
	}
	n.name, n.until, n.sent = len(c.all), time.Now().Add(simLease), time.Now()
	c.all = append(c.all, n)
	c.db.mu.Unlock()
	c.jobs.Go(n.renew)
	c.jobs.Go(n.commits)
	c.jobs.Go(n.poll)
	c.jobs.Go(n.deliver)
	c.jobs.Go(n.takeFree)
	for range c.workers() {
		c.jobs.Go(n.work)
	}
	c.jobs.Go(func() { // after this process has died, another one starts in the same directory
		<-n.ctx.Done()
		c.web.killed(n)
		time.Sleep(time.Duration(c.intn(4000)) * time.Millisecond)
		if c.ctx.Err() == nil {
			c.start(n)
		}
	})
}

// work takes and finishes turns until the run of the node ends.
func (n *simNode) work() {
	c := n.c
	for {
		turn, err := n.f.Next(n.ctx)
		if !n.wait(0) {
			return
		}
		if err != nil {
			if !errors.Is(err, ErrEnd) || !c.over() {
				c.fail("node %d: Next: %v", n.name, err)
			}
			return
		}
		o := n.visit(turn)
		if n.ctx.Err() != nil {
			return
		}
		if _, err := turn.Finish(o); err != nil {
			c.fail("node %d: Finish: %v", n.name, err)
		}
		if turn.Held() {
			c.jobs.Go(func() {
				if n.wait(time.Duration(c.intn(3000)) * time.Millisecond) {
					if err := turn.Done(); err != nil {
						c.fail("node %d: Done: %v", n.name, err)
					}
				}
			})
		}
	}
}

func (c *simCluster) workers() int {
	if c.slow {
		return 1
	}
	return 1 + c.intn(3)
}

func (c *simCluster) over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}

// visit makes the request of a turn and returns its outcome.
func (n *simNode) visit(turn *Turn) Outcome {
	c := n.c
	switch c.intn(8) {
	case 0: // a delay before the request
		if !n.wait(time.Duration(c.intn(2000)) * time.Millisecond) {
			return Outcome{Again: true}
		}
	case 1: // robots.txt redirects to another site
		if c.intn(3) > 0 {
			break
		}
		hop, err := turn.Hop(c.web.pages[c.intn(len(c.web.pages))].Site())
		if err != nil {
			if c.intn(2) == 0 {
				turn.Forgo()
			}
			return Outcome{Again: true}
		}
		o := n.request(hop)
		o.Again, o.Links, o.Hold = true, nil, false
		if n.ctx.Err() == nil {
			if _, err := hop.Finish(o); err != nil {
				c.fail("node %d: Finish of a hop: %v", n.name, err)
			}
		}
		return Outcome{Again: true}
	}
	return n.request(turn)
}

func (n *simNode) request(turn *Turn) Outcome {
	c, to := n.c, turn.Site()
	if gap := gapOf(to); gap > 0 {
		if err := turn.Pace(Gap{gap, CrawlDelayClock}); err != nil {
			return Outcome{Again: true}
		}
	}
	if c.intn(3) == 0 && !n.wait(time.Duration(c.intn(300))*time.Millisecond) { // the time to look up the host name
		return Outcome{Again: true}
	}
	host := to.Host()
	if err := turn.Bind(netip.AddrFrom4([4]byte{16, 0, host[0], byte(len(host))}), true); err != nil {
		return Outcome{Again: true}
	}
	now := time.Now()
	if !n.certain() { // without a certain session the connection does not write
		return Outcome{Request: &Request{Started: now, Ended: now}, Trouble: ConnectTrouble}
	}
	c.web.begins(n, to)
	ttfb, body := time.Duration(c.intn(400))*time.Millisecond, time.Duration(c.intn(300))*time.Millisecond
	if c.intn(15) == 0 || c.slow && c.intn(3) == 0 {
		body = time.Duration(c.intn(3200)) * time.Millisecond
	}
	time.Sleep(ttfb + body) // always less than simLongest
	o := Outcome{Fate: Fate{Code: Fetched, Status: 200}, Hold: c.intn(3) == 0}
	if turn.Entry().Tries == 0 {
		o.Trouble = []Trouble{NoTrouble, NoTrouble, NoTrouble, NoTrouble, PageTrouble, SiteTrouble, ConnectTrouble}[c.intn(7)]
	}
	if c.intn(10) == 0 {
		o.RetryAfter = time.Now().Add(time.Duration(c.intn(15)) * time.Second)
	}
	if gap := gapOf(to); gap > 0 {
		o.Gap = &Gap{gap, CrawlDelayClock}
	}
	c.web.ends(n, to, o.Trouble, ttfb, o.RetryAfter)
	n.wait(0)
	o.Request = &Request{Started: now, FirstByte: now.Add(ttfb), Ended: c.web.heard(to)}
	if i := slices.Index(c.web.pages, turn.Entry().URL); i >= 0 && o.Trouble == NoTrouble {
		for _, u := range c.web.links(i) {
			o.Links = append(o.Links, turn.Entry().Found(u, HopLink))
		}
		c.web.mu.Lock()
		c.web.asked[turn.Entry().URL.Key()]++
		c.web.mu.Unlock()
	}
	return o
}

// chaos causes the events of simCluster.mix at random times.
func (c *simCluster) chaos() {
	for i := 0; i < 40 && c.ctx.Err() == nil; i++ {
		time.Sleep(time.Duration(c.intn(2000)) * time.Millisecond)
		c.db.mu.Lock()
		live := c.nodes()
		c.db.mu.Unlock()
		if len(live) == 0 {
			continue
		}
		n := live[c.intn(len(live))]
		switch k := c.mix[c.intn(len(c.mix))]; k {
		case 'k':
			n.die()
		case 'j':
			c.jobs.Go(func() { c.start(nil) })
		case 's':
			n.mu.Lock()
			n.stalled = time.Now().Add(time.Duration(c.intn(3*int(simLease/time.Microsecond))) * time.Microsecond)
			n.mu.Unlock()
		case 'd':
			c.db.mu.Lock()
			c.db.down = time.Now().Add(time.Duration(c.intn(2*int(simLease/time.Microsecond))) * time.Microsecond * time.Duration(1+c.intn(4)))
			c.db.mu.Unlock()
		default: // a partition goes to another node, and perhaps returns soon
			other := live[c.intn(len(live))]
			c.jobs.Go(func() {
				i := n.some()
				if i < 0 {
					return
				}
				n.giveBack(i)
				other.takeOne(i)
				if c.intn(2) == 0 && other.wait(time.Duration(c.intn(1500))*time.Millisecond) {
					other.giveBack(i)
					n.takeOne(i)
				}
			})
		}
	}
}

// end waits for the end of the crawl, and ends the run of all nodes.
func (c *simCluster) end() {
	for c.ctx.Err() == nil {
		time.Sleep(time.Duration(c.intn(3000)) * time.Millisecond)
		c.db.mu.Lock()
		live := c.nodes()
		c.db.mu.Unlock()
		atRest := true
		for _, n := range live {
			if r := n.f.Rest(); n.ctx.Err() == nil && (r.Out > 0 || r.Pending > 0 || r.Held > 0 || r.Verdict == nil) {
				atRest = false
			}
		}
		if !atRest || c.rules.exact && !c.db.over() {
			continue
		}
		c.mu.Lock()
		c.ended = true
		c.mu.Unlock()
		for _, n := range live {
			if n.ctx.Err() != nil {
				continue
			}
			if err := n.f.End(ErrEnd); err != nil {
				c.fail("node %d: End: %v, %+v", n.name, err, n.f.Rest())
			}
			if r := n.f.Rest(); !errors.Is(r.Verdict, ErrEnd) {
				c.fail("node %d: after the end: %+v", n.name, r)
			}
		}
		return
	}
}

// simulateNodes simulates a crawl on several nodes, and returns the promises that were broken.
func simulateNodes(t *testing.T, seed uint64, mix string, rules rules) (failed []string) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(context.Background(), 2*time.Hour)
		defer stop()
		c := &simCluster{rules: rules, mix: mix, slow: mix == moves, ctx: ctx, rand: rand.New(rand.NewPCG(seed, 2))}
		c.opts = Options{Delay: []time.Duration{-1, 100 * time.Millisecond, time.Second}[seed%3], ReadAhead: 1 + int(seed)%8, Patience: Forever}
		if seed%4 == 0 {
			c.opts.DomainDelay = 2 * time.Second
		}
		parts, nodes := 1+c.intn(6), 1+c.intn(3)
		if c.slow {
			parts, nodes = 1+c.intn(2), 2
		}
		c.db = newSimDB(parts)
		c.web = &simWeb{c: c, sites: map[Site]*simLog{}, asked: map[string]int{}}
		for i := range 40 {
			name := "abcdefgh"[c.intn(8):][:1] + ".example"
			if c.intn(3) == 0 {
				name = "www." + name
			}
			c.web.pages = append(c.web.pages, mustParse(t, fmt.Sprintf("%s://%s/%d", []string{"http", "https"}[c.intn(2)], name, i)))
		}
		c.db.parts[c.db.part(c.web.pages[0].Site().Domain())].news = nil
		c.db.insert(Entry{URL: c.web.pages[0]})
		for range nodes {
			c.start(nil)
		}
		c.jobs.Go(c.chaos)
		c.end()
		if ctx.Err() != nil {
			c.fail("the crawl does not end")
		}
		stop()
		c.jobs.Wait()
		for _, u := range c.web.pages {
			if c.web.asked[u.Key()] == 0 {
				c.fail("%s was never answered", u)
			}
		}
		failed = c.failed
	})
	return failed
}

// Values of simCluster.mix: each letter is an event.
const (
	all   = "kjssdmmmmmmmmmmm"
	moves = "m"
	kills = "kkjmmm"
)

var clusters = flag.Int("clusters", 40, "seeds of the simulation of several frontiers; .ci/run has more")

// No site gets a request early, or two at once, and no page is lost, even if partitions move
// between nodes, nodes die or stand still, and the database is down. The log of the web is
// checked.
func TestFrontiersThatShareABacklogKeepTheirPromises(t *testing.T) {
	for seed := range uint64(*clusters) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			for _, f := range simulateNodes(t, seed, []string{all, moves, all, kills}[seed%4], allRules()) {
				t.Error(f)
			}
		})
	}
}

// If any one of the rules is off, the simulation fails.
func TestTheSimulationOfFrontiersSeesEachBrokenRule(t *testing.T) {
	for name, test := range map[string]struct {
		mix string
		off func(*rules)
	}{
		"withdraw": {moves, func(r *rules) { r.withdraw = false }},
		"flush":    {moves, func(r *rules) { r.flush = false }},
		"rest":     {kills, func(r *rules) { r.rest = false }},
		"keep":     {kills, func(r *rules) { r.keep = false }},
		"number":   {moves, func(r *rules) { r.number = false }},
		"common":   {moves, func(r *rules) { r.common = false }},
		"again":    {moves, func(r *rules) { r.again = false }},
		"blocked":  {all, func(r *rules) { r.blocked = false }},
		"exact":    {all, func(r *rules) { r.exact = false }},
		"open":     {all, func(r *rules) { r.open = false }},
	} {
		t.Run(name, func(t *testing.T) {
			rules := allRules()
			test.off(&rules)
			for seed := range uint64(2000) {
				if failed := simulateNodes(t, seed, test.mix, rules); len(failed) > 0 {
					t.Logf("seed %d: %s (%d)", seed, failed[0], len(failed))
					return
				}
			}
			t.Error("no seed fails")
		})
	}
}
