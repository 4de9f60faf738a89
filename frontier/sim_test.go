package frontier

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A referee checks a simulated crawl, in which workers do random things with their turns. It
// checks the promises of the package, and shares no code with the package.
type referee struct {
	t    *testing.T
	opts Options

	mu     sync.Mutex
	rand   *rand.Rand
	in     force
	out    map[Site]bool
	sites  map[Site]*judged
	hosts  map[string]*judged // key: host name; all schemes and ports of a name are one host
	domain map[string]*judged
	done   map[string]int  // how often each URL has ended
	known  map[string]bool // the URLs that were added
	held   []*Turn
	busy   map[netip.Addr]int
	start  map[netip.Addr]time.Time
}

// judged is the referee's state of a site, an address, a host or a domain.
type judged struct {
	busy      bool
	not       time.Time     // no request before this time
	ttfb      time.Duration // decaying mean of the time to first byte
	strikes   int
	failures  int
	refusals  int // number of requests in a row without an answer
	forgiving int // number of good answers in a row
}

func newReferee(t *testing.T, seed uint64, opts Options) *referee {
	return &referee{
		t: t, opts: opts, rand: rand.New(rand.NewPCG(seed, 1)), in: force{rate: opts.Rate, since: time.Now()},
		out: map[Site]bool{}, sites: map[Site]*judged{}, hosts: map[string]*judged{}, domain: map[string]*judged{},
		done: map[string]int{}, known: map[string]bool{}, busy: map[netip.Addr]int{}, start: map[netip.Addr]time.Time{},
	}
}

func judgedOf[K comparable](m map[K]*judged, key K) *judged {
	j := m[key]
	if j == nil {
		j = &judged{}
		m[key] = j
	}
	return j
}

func (r *referee) intn(n int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rand.IntN(n)
}

// took is called with every turn.
func (r *referee) took(s Site, hop bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.out[s] {
		r.t.Errorf("two turns of %s are out", s)
	}
	r.out[s] = true
	if err := r.in.took(hop); err != nil {
		r.t.Error(err)
	}
}

func (r *referee) gave(s Site, hop bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.out[s] = false
	if !hop {
		r.in.out--
	}
}

// asks is called when a request starts. It fails the test if a pause forbids the request.
func (r *referee) asks(s Site, addr netip.Addr) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	for what, j := range r.judges(s) {
		if j.busy {
			r.t.Errorf("%s got a request while %s answers", s, what)
		}
		if now.Before(j.not) {
			r.t.Errorf("%s got a request %v before %s was due", s, j.not.Sub(now), what)
		}
		j.busy = true
	}
	if r.busy[addr]++; r.busy[addr] > 2 {
		r.t.Errorf("%d requests at %s at once", r.busy[addr], addr)
	}
	if last := r.start[addr]; !last.IsZero() && now.Sub(last) < 250*time.Millisecond {
		r.t.Errorf("%s got a request %v after its last start", addr, now.Sub(last))
	}
	r.start[addr] = now
	if err := r.in.asked(); err != nil {
		r.t.Error(err)
	}
}

// judges returns the site, address, host and domain whose pauses a request to s must keep.
func (r *referee) judges(s Site) map[string]*judged {
	all := map[string]*judged{"the site": judgedOf(r.sites, s), "the host": judgedOf(r.hosts, s.Host())}
	if r.opts.DomainDelay > 0 {
		all["the domain"] = judgedOf(r.domain, s.Domain())
	}
	return all
}

func (r *referee) answered(s Site, addr netip.Addr, o Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy[addr]--
	for _, j := range r.judges(s) {
		j.busy = false
	}
	end := o.Request.Ended
	site := judgedOf(r.sites, s)
	site.take(o)
	// The pause is at least the floor at public addresses. It is also at least twice the time to
	// first byte, unless there is no delay.
	gap := max(r.opts.Delay, 200*time.Millisecond)
	if r.opts.Delay >= 0 {
		gap = max(gap, min(2*max(site.ttfb, o.Request.FirstByte.Sub(o.Request.Started)), time.Minute))
	}
	switch {
	case o.Trouble == NoTrouble:
	case o.Trouble != PageTrouble:
		gap = max(gap, min(5*time.Second<<min(site.strikes-1, 20), time.Hour))
	case site.failures > 1:
		gap = max(gap, min(5*time.Second<<min(site.failures-2, 20), time.Minute))
	}
	not := end.Add(gap)
	if o.RetryAfter.After(not) {
		not = o.RetryAfter
	}
	site.not = not
	if host := judgedOf(r.hosts, s.Host()); not.After(host.not) {
		host.not = not
	}
	judgedOf(r.domain, s.Domain()).not = end.Add(r.opts.DomainDelay)
}

// take updates the record after a request with the given outcome.
func (j *judged) take(o Outcome) {
	ttfb := o.Request.FirstByte.Sub(o.Request.Started)
	if j.ttfb == 0 {
		j.ttfb = ttfb
	}
	j.ttfb += (ttfb - j.ttfb) / 4
	if j.refusals++; o.Trouble != ConnectTrouble && o.Trouble != SilenceTrouble {
		j.refusals = 0
	}
	if o.Trouble == NoTrouble {
		j.failures = 0
		if j.forgiving++; j.forgiving == 3 {
			j.strikes, j.forgiving = j.strikes/2, 0
		}
		return
	}
	j.failures, j.forgiving = j.failures+1, 0
	if o.Trouble != PageTrouble {
		j.strikes++
	}
}

func (r *referee) end(e Entry, fate Fate) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.in.ended(e, fate); err != nil {
		r.t.Error(err)
	}
	if r.done[e.Key()]++; r.done[e.Key()] > 1 {
		r.t.Errorf("%s ended twice", e.URL)
	}
}

func (r *referee) add(entries []Entry) []Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range entries {
		r.known[e.URL.Key()] = true
	}
	return entries
}

// worker does random things with its turns, as a crawl may.
func (r *referee) worker(f *Frontier, urls []URL) error {
	for {
		turn, err := f.Next(context.Background())
		if err != nil {
			return err
		}
		r.took(turn.Site(), false)
		o := r.play(turn, urls)
		r.gave(turn.Site(), false)
		o.Hold = r.intn(3) == 0
		if v := turn.Entry().Visits; (v == nil || v.Seen < 3) && r.intn(2) == 0 {
			o.Revisit, o.Changed = time.Now().Add(time.Duration(r.intn(100))*time.Hour), r.intn(2) == 0
		}
		if r.intn(4) == 0 {
			o.Changes = r.changes(urls)
		}
		fate, err := turn.Finish(o)
		if err != nil {
			return err
		}
		ended := fate.Code != Undecided && fate.Code != Waiting
		if fate.Ends() {
			r.end(turn.Entry(), fate)
		}
		if turn.Held() != (ended && o.Hold) {
			r.t.Errorf("%v with Hold %v is held: %v", fate, o.Hold, turn.Held())
		}
		if turn.Held() {
			r.mu.Lock()
			r.held = append(r.held, turn)
			r.mu.Unlock()
		}
		if _, err := turn.Finish(o); !errors.Is(err, errFinished) {
			r.t.Errorf("second Finish: %v", err)
		}
		turn.Forgo() // after Finish, Forgo has no effect
	}
}

// changes returns changes of some pages, at times within the last ten hours.
func (r *referee) changes(urls []URL) *Changes {
	c := &Changes{Told: time.Now(), Least: time.Duration(r.intn(100)) * time.Minute}
	for range r.intn(50) {
		u := urls[r.intn(len(urls))]
		c.Pages = append(c.Pages, Change{u.Site(), u.Key(), c.Told.Add(-time.Duration(r.intn(600)) * time.Minute)})
	}
	return c
}

// take ends held entries. It waits until only held entries are left, unless sooner is true.
func (r *referee) take(f *Frontier, sooner bool, ended <-chan struct{}) {
	for {
		var now <-chan time.Time
		if sooner {
			now = time.After(time.Duration(r.intn(4000)) * time.Millisecond)
		}
		select {
		case <-f.Idle():
		case <-now:
		case <-ended:
			return
		}
		r.mu.Lock()
		held := r.held
		r.held = nil
		r.mu.Unlock()
		for _, turn := range held {
			if err := turn.Done(); err != nil {
				r.t.Error(err)
			}
			if err := turn.Done(); !errors.Is(err, errNotHeld) || turn.Held() {
				r.t.Errorf("second Done: %v", err)
			}
		}
	}
}

func (r *referee) play(turn *Turn, urls []URL) Outcome {
	addr := netip.AddrFrom4([4]byte{16, 0, 0, byte(len(turn.Site()) % 3)})
	switch r.intn(8) {
	case 0: // a rule forbids the page, so there is no request
		return Outcome{Fate: Fate{Code: RobotsDisallowed}}
	case 1: // robots.txt redirects to another site
		hop, err := turn.Hop(urls[r.intn(len(urls))].Site())
		if err != nil && r.intn(2) == 0 {
			turn.Forgo()
		}
		if err != nil {
			return Outcome{Again: true}
		}
		r.took(hop.Site(), true)
		o, _ := r.request(hop, addr)
		o.Again = true
		r.gave(hop.Site(), true)
		if _, err := hop.Finish(o); err != nil {
			r.t.Error(err)
		}
		return Outcome{Again: true}
	}
	o, bound := r.request(turn, addr)
	if !bound {
		return Outcome{Again: true}
	}
	if r.intn(6) == 0 {
		o.Again = true
	}
	o.Fate = Fate{Code: Fetched, Status: 200}
	var links []Entry
	for range r.intn(4) {
		links = append(links, turn.Entry().Found(urls[r.intn(len(urls))], []Hop{HopLink, HopEmbed}[r.intn(2)]))
	}
	o.Links = r.add(links)
	return o
}

// request makes the request of a turn and returns its outcome. It returns false if the request was
// not permitted.
func (r *referee) request(turn *Turn, addr netip.Addr) (Outcome, bool) {
	if err := turn.Bind(addr, true); err != nil {
		var notYet *NotYet
		if !errors.As(err, &notYet) {
			r.t.Error(err)
		}
		return Outcome{}, false
	}
	r.asks(turn.Site(), addr)
	start := time.Now()
	time.Sleep(time.Duration(r.intn(700)) * time.Millisecond)
	first := time.Now()
	body := time.Duration(r.intn(300)) * time.Millisecond
	if r.intn(10) == 0 { // a long visit, so that the site is slow
		body *= 30
	}
	time.Sleep(body)
	o := Outcome{Request: &Request{Started: start, FirstByte: first, Ended: time.Now()}}
	switch r.intn(12) {
	case 0:
		o.Trouble = SiteTrouble
	case 1, 2:
		o.Trouble = r.refusal(turn.Site())
	case 3, 4:
		o.Trouble = PageTrouble
	}
	if r.intn(10) == 0 {
		o.RetryAfter = time.Now().Add(time.Duration(r.intn(20)) * time.Second)
	}
	r.answered(turn.Site(), addr, o)
	return o, true
}

// refusal returns the trouble of a request without an answer, or a milder trouble if one more
// refusal would give the site up.
func (r *referee) refusal(s Site) Trouble {
	r.mu.Lock()
	defer r.mu.Unlock()
	if judgedOf(r.sites, s).refusals == maxRefusals-1 {
		return NoTrouble
	}
	return []Trouble{ConnectTrouble, SilenceTrouble}[r.rand.IntN(2)]
}

// workers is the number of goroutines that take turns at the same time.
const workers = 5

// simulated returns the URLs of a simulated web: hosts with several services, some in one
// domain.
func simulated(t *testing.T) (urls []URL) {
	for i := range 150 {
		name := "abcdefghij"[:1+i%10] + ".example"
		if i%4 == 1 {
			name = "www." + name
		}
		origin := []string{"http://" + name, "https://" + name, "http://" + name + ":8080"}[i/10%3]
		urls = append(urls, mustParse(t, fmt.Sprintf("%s/%d", origin, i)))
	}
	return urls
}

var sims = flag.Int("sims", 20, "seeds of the simulation; .ci/run has more")

func TestFrontierKeepsItsPromises(t *testing.T) {
	for seed := range uint64(*sims) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				opts := Options{Delay: []time.Duration{-1, 50 * time.Millisecond, time.Second, 3 * time.Second}[seed%4], Patience: 24 * time.Hour}
				if seed%3 == 0 {
					opts.DomainDelay = 2 * time.Second
				}
				if seed%5 == 0 {
					opts.Rate = 2
				}
				opts.Requisites = seed%7 < 4
				if seed%5 < 2 {
					opts.Revisits, opts.Patience = true, 1000*time.Hour
				}
				r := newReferee(t, seed, opts)
				urls := simulated(t)
				f, err := New(new(memory), opts)
				if err != nil {
					t.Fatal(err)
				}
				var seeds []Entry
				for _, u := range urls[:20] {
					seeds = append(seeds, Entry{URL: u})
				}
				if err := f.Add(r.add(seeds)...); err != nil {
					t.Fatal(err)
				}
				var all sync.WaitGroup
				if seed%2 == 1 {
					r.allow(f, func(l *Limits) { l.Open, l.Pages = true, 1 })
					all.Go(func() { r.meddle(f) })
				} else {
					r.allow(f, func(l *Limits) { l.Turns = 1 + int(seed/2)%workers })
				}
				ended := make(chan struct{})
				go r.take(f, seed%3 > 0, ended)
				for range workers {
					all.Go(func() {
						if err := r.worker(f, urls); !errors.Is(err, ErrEnd) {
							t.Errorf("worker ended with %v", err)
						}
					})
				}
				all.Wait()
				close(ended)
				for key := range r.known {
					if r.done[key] != 1 {
						t.Errorf("%s ended %d times", key, r.done[key])
					}
				}
				st := f.Stats()
				if st.Entries != 0 || st.Out != 0 || st.Held != 0 || st.Polite.Early != 0 {
					t.Errorf("at the end: %+v", st)
				}
				if f.reserve.quick != 0 || f.need != 0 || f.unsure != 0 {
					t.Errorf("at the end: %+v", f.reserve)
				}
				if rest := f.Rest(); rest != (Rest{Activity: rest.Activity, Spent: st.Spent, Verdict: ErrEnd}) || rest != f.Rest() {
					t.Errorf("at the end: %+v, %+v", rest, f.Rest())
				}
			})
		})
	}
}
