package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
)

// A growth is a crawl without a web. Workers take turns from a frontier over a state file, and
// report pages with made-up links, until the given number of URLs is known.
type growth struct {
	urls, hosts, links int
	active             int
	seen, same         float64
	workers            int
	dir, svg, profile  string
	syncDelay, maxTime time.Duration
	reopenOnly         bool

	deadline time.Time // zero: none

	pages []atomic.Uint32 // URLs found so far, by host
	found atomic.Int64
	done  atomic.Int64
	rows  []growthRow
}

// runFrontier is the command "crawlbench frontier".
func runFrontier(_ context.Context, args []string, out io.Writer) error {
	g := growth{}
	fs := flag.NewFlagSet("frontier", flag.ContinueOnError)
	fs.IntVar(&g.urls, "urls", 1_000_000, "URLs to find")
	fs.IntVar(&g.hosts, "hosts", 100_000, "hosts they are on")
	fs.IntVar(&g.active, "active", 2000, "hosts that are asked at a time, one after the other; 0: all, by way of the frontier")
	fs.IntVar(&g.links, "links", 50, "links of a page")
	fs.Float64Var(&g.seen, "seen", 0.9, "part of the links that were seen before")
	fs.Float64Var(&g.same, "same", 0.75, "part of the links that lead to the same host")
	fs.IntVar(&g.workers, "workers", 64, "turns at once")
	fs.StringVar(&g.dir, "dir", "", "where the state lives; empty: a temporary directory")
	fs.DurationVar(&g.syncDelay, "sync-delay", 0, "added to each sync, for what a slower disk would do")
	fs.BoolVar(&g.reopenOnly, "reopen", false, "measure the cold start of the state in --dir, and nothing else")
	fs.DurationVar(&g.maxTime, "max-time", 0, "end after this time, however many URLs there are; 0: no limit")
	fs.StringVar(&g.svg, "svg", "", "`file` to which the growth is drawn as SVG")
	fs.StringVar(&g.profile, "profile", "", "`path`: write profiles of the CPU and of the heap at the end to path.cpu and path.heap, and of the cold start to path-start.cpu and path-start.heap")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if g.maxTime > 0 {
		g.deadline = time.Now().Add(g.maxTime)
	}
	if g.reopenOnly {
		return g.reopen(out, g.startProfile())
	}
	if g.dir == "" {
		dir, err := os.MkdirTemp("", "crawlbench-frontier-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		g.dir = dir
	}
	return g.run(out)
}

func (g *growth) run(out io.Writer) error {
	g.pages = make([]atomic.Uint32, g.hosts)
	fmt.Fprintf(out, "%d hosts, %d active, %d links a page, %.0f %% of them seen, %.0f %% on the same host, sync delay %v\n",
		g.hosts, g.active, g.links, 100*g.seen, 100*g.same, g.syncDelay)
	generator := g.generatorCost()
	fmt.Fprintf(out, "making the links costs %.1f us CPU a page, which is subtracted\n\n", generator)
	fmt.Fprintln(out, "| URLs | pages | pages/s | links/s | us CPU/page | KB written/page | anonymous MiB | B of disk/URL |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|---|---|")
	for i := range g.pages {
		g.pages[i].Store(0)
	}
	g.found.Store(0)
	db, err := store.Open(g.dir, store.Options{NoPages: true, SyncDelay: g.syncDelay})
	if err != nil {
		return err
	}
	steps := g.steps()
	reached := make(chan struct{}, len(steps))
	stop := make(chan struct{})
	watched := make(chan error, 1)
	endProfile, err := startProfile(g.profile, "heap")
	if err != nil {
		return errors.Join(err, db.Close())
	}
	go g.watch(out, steps, generator, stop, watched)
	close(reached)
	if g.active > 0 {
		err = g.roundRobin(db)
	} else {
		err = g.byFrontier(db)
	}
	close(stop)
	if err := errors.Join(err, <-watched, endProfile(), db.Close()); err != nil {
		return err
	}
	if g.svg != "" {
		if err := os.WriteFile(g.svg, drawGrowth(g.rows), 0o644); err != nil {
			return err
		}
	}
	return g.reopen(out, g.startProfile())
}

// startProfile returns the path of the profiles of the cold start, or "" for none.
func (g *growth) startProfile() string {
	if g.profile == "" {
		return ""
	}
	return g.profile + "-start"
}

// steps returns the numbers of URLs at which samples are taken.
func (g *growth) steps() []int64 {
	var steps []int64
	for n := int64(100_000); n < int64(g.urls); n *= 10 {
		for _, k := range []int64{1, 2, 5} {
			if n*k < int64(g.urls) {
				steps = append(steps, n*k)
			}
		}
	}
	return append(steps, int64(g.urls))
}

// watch prints a row at each step, about the time since the last step.
func (g *growth) watch(out io.Writer, steps []int64, generator float64, stop chan struct{}, done chan error) {
	last := g.sample()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for len(steps) > 0 {
		stopped := false
		select {
		case <-tick.C:
		case <-stop:
			stopped = true
		}
		if g.found.Load() < steps[0] && !stopped {
			continue
		}
		s := g.sample()
		r := g.row(&last, &s, generator)
		g.rows = append(g.rows, r)
		fmt.Fprintf(out, "| %d | %d | %.0f | %.0f | %.1f | %.1f | %.0f | %.0f |\n", s.urls, s.pages,
			r.Rate, r.Rate*float64(g.links), r.CPU, r.Written, r.Memory, r.Disk)
		last = s
		for len(steps) > 0 && g.found.Load() >= steps[0] {
			steps = steps[1:]
		}
		if stopped {
			break
		}
	}
	done <- nil
}

type sample struct {
	at          time.Time
	urls, pages int64
	cpu         time.Duration
	written     int64
	anon, disk  int64
}

func (g *growth) sample() sample {
	s := sample{at: time.Now(), urls: g.found.Load(), pages: g.done.Load(), cpu: cpuTime()}
	s.written = deviceWrites(g.dir)
	s.anon = procValue("/proc/self/status", "RssAnon:") * 1024
	s.disk = onDisk(filepath.Join(g.dir, store.StateFile))
	return s
}

// A growthRow is what happened between two samples.
type growthRow struct {
	URLs         int64   // at its end
	Rate         float64 // pages/s
	CPU, Written float64 // microseconds and kB per page
	Memory, Disk float64 // MiB in total, and bytes per URL; at its end
}

func (g *growth) row(from, to *sample, generator float64) growthRow {
	pages := float64(to.pages - from.pages)
	return growthRow{
		URLs: to.urls, Rate: pages / to.at.Sub(from.at).Seconds(),
		CPU: (to.cpu-from.cpu).Seconds()*1e6/pages - generator, Written: float64(to.written-from.written) / 1e3 / pages,
		Memory: float64(to.anon) / (1 << 20), Disk: float64(to.disk) / float64(to.urls),
	}
}

func procValue(path, name string) int64 {
	raw, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(raw), name)
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	n, _ := strconv.ParseInt(fields[0], 10, 64)
	return n
}

// generatorCost returns the CPU time for making the links of a page, in microseconds: the
// median of several rounds.
func (g *growth) generatorCost() float64 {
	const n = 5000
	r := rand.New(rand.NewPCG(1, 1))
	for i := range g.pages {
		g.pages[i].Store(100)
	}
	var rounds [7]float64
	for k := range rounds {
		start := cpuTime()
		for i := range n {
			g.page(r, frontier.Entry{URL: g.url(i%g.hosts, 0)}, i%g.hosts)
		}
		rounds[k] = (cpuTime() - start).Seconds() * 1e6 / n
	}
	slices.Sort(rounds[:])
	return rounds[len(rounds)/2]
}

func (g *growth) url(host, page int) frontier.URL {
	b := make([]byte, 0, 96)
	b = append(b, "https://www.h"...)
	b = strconv.AppendInt(b, int64(host), 10)
	b = append(b, ".example/section-"...)
	b = strconv.AppendInt(b, int64(page%13), 10)
	b = append(b, "/articles/a-title-of-some-words-"...)
	b = strconv.AppendInt(b, int64(page), 10)
	u, err := frontier.ParseURL(string(b))
	if err != nil {
		panic(err)
	}
	return u
}

// navigation is how many pages of a host receive half of the links within the host.
const navigation = 20

// page returns the links of a page.
func (g *growth) page(r *rand.Rand, e frontier.Entry, host int) []frontier.Entry {
	links := make([]frontier.Entry, g.links)
	via := e.URL.String()
	for i := range links {
		to := host
		if r.Float64() >= g.same {
			to = r.IntN(g.hosts)
		}
		known := int(g.pages[to].Load())
		page := 0
		switch {
		case known == 0 || r.Float64() >= g.seen:
			page = int(g.pages[to].Add(1)) - 1
			g.found.Add(1)
		case to == host && r.IntN(2) == 0:
			page = r.IntN(min(known, navigation))
		default:
			page = r.IntN(known)
		}
		links[i] = frontier.Entry{URL: g.url(to, page), Via: via, Hops: "LL", Depth: min(page/8, 5), Rank: uint8(min(page/8, 5))}
	}
	return links
}

func (g *growth) seeds() []frontier.Entry {
	// The first pages. The other hosts are found by links.
	n := g.hosts / 10
	if g.active == 0 {
		n = g.hosts
	}
	seeds := make([]frontier.Entry, 0, n)
	for h := range n {
		g.pages[h].Store(1)
		g.found.Add(1)
		seeds = append(seeds, frontier.Entry{URL: g.url(h, 0)})
	}
	return seeds
}

func hostOf(s frontier.Site) int {
	name := strings.TrimPrefix(strings.TrimSuffix(s.Host(), ".example"), "www.h")
	n, err := strconv.Atoi(name)
	if err != nil {
		panic(err)
	}
	return n
}

func (g *growth) enough() bool {
	return g.found.Load() >= int64(g.urls) || !g.deadline.IsZero() && time.Now().After(g.deadline)
}

// byFrontier crawls all hosts in the order of the frontier, as a crawl without pauses does.
func (g *growth) byFrontier(db *store.DB) error {
	f, err := frontier.New(db, frontier.Options{Delay: -1, Patience: -1})
	if err != nil {
		return err
	}
	if err := f.Add(g.seeds()...); err != nil {
		return err
	}
	errs := make([]error, g.workers)
	var workers sync.WaitGroup
	for i := range errs {
		workers.Go(func() { errs[i] = g.worker(f, rand.New(rand.NewPCG(uint64(i), 1))) })
	}
	workers.Wait()
	return errors.Join(errs...)
}

func (g *growth) worker(f *frontier.Frontier, r *rand.Rand) error {
	for {
		t, err := f.Next(context.Background())
		if errors.Is(err, frontier.ErrEnd) || errors.Is(err, frontier.ErrStopped) {
			return nil
		}
		if err != nil {
			return err
		}
		now := time.Now()
		_, err = t.Finish(frontier.Outcome{
			Request: &frontier.Request{Started: now, FirstByte: now, Ended: now, Bytes: 20 << 10},
			Fate:    g.fate(r, now),
			Links:   g.page(r, t.Entry(), hostOf(t.Site())),
		})
		if err != nil {
			return err
		}
		g.done.Add(1)
		if g.enough() {
			f.Stop()
		}
	}
}

func (g *growth) fate(r *rand.Rand, now time.Time) frontier.Fate {
	return frontier.Fate{Code: frontier.Fetched, Status: 200, Digest: digest(r), Rules: now.Add(-time.Hour), Time: now}
}

func digest(r *rand.Rand) string {
	const base32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	b := []byte("sha1:")
	for range 32 {
		b = append(b, base32[r.IntN(32)])
	}
	return string(b)
}

// roundRobin crawls g.active hosts in turn, as a crawl with pauses does. A host with nothing
// left is replaced by another.
func (g *growth) roundRobin(db *store.DB) error {
	seeds := g.seeds()
	for len(seeds) > 0 {
		n := min(1000, len(seeds))
		if err := db.Submit(frontier.Completion{Links: seeds[:n]}); err != nil {
			return err
		}
		seeds = seeds[n:]
	}
	var pending atomic.Int64
	pending.Store(int64((g.hosts/10 + 999) / 1000))
	failed := make(chan error, 1)
	go func() {
		for n := range db.Grown() {
			if n.Err != nil {
				failed <- n.Err
			}
			pending.Add(int64(-n.Settled))
		}
	}()
	for pending.Load() > 0 {
		time.Sleep(time.Millisecond)
	}
	errs := make([]error, g.workers)
	var workers sync.WaitGroup
	for i := range errs {
		workers.Go(func() { errs[i] = g.rounds(db, i) })
	}
	workers.Wait()
	select {
	case err := <-failed:
		return err
	default:
	}
	return errors.Join(errs...)
}

// rounds crawls a worker's share of the active hosts.
func (g *growth) rounds(db *store.DB, worker int) error {
	r := rand.New(rand.NewPCG(uint64(worker), 2))
	type site struct {
		name  frontier.Site
		ahead []frontier.Entry
		left  int
	}
	// Workers have different hosts.
	next := worker
	fresh := func() site {
		h := next
		next += g.workers
		if next >= g.hosts {
			next = worker
		}
		return site{name: g.url(h, 0).Site(), left: 200}
	}
	sites := make([]site, max(1, g.active/g.workers))
	for i := range sites {
		sites[i] = fresh()
	}
	for !g.enough() {
		for i := range sites {
			s := &sites[i]
			if len(s.ahead) == 0 {
				var buf [8]frontier.Entry
				n, err := db.Read(s.name, time.Now(), buf[:])
				if err != nil {
					return err
				}
				s.ahead = append([]frontier.Entry(nil), buf[:n]...)
				if n == 0 || s.left == 0 {
					if n > 0 { // use the entries that were read
						s.left = 200
					} else {
						*s = fresh()
						continue
					}
				}
			}
			e := s.ahead[0]
			s.ahead = s.ahead[1:]
			s.left = max(0, s.left-1)
			now := time.Now()
			err := db.Submit(frontier.Completion{
				Site: s.name, Entry: e, Fate: g.fate(r, now), Links: g.page(r, e, hostOf(s.name)),
				Clocks: frontier.Clocks{Due: now, Ended: now, By: frontier.OwnClock, TTFB: 20e6, LastTTFB: 20e6, Good: 3},
				Spent:  frontier.Spent{Pages: 1, Bytes: 20 << 10},
			})
			if err != nil {
				return err
			}
			g.done.Add(1)
		}
	}
	return nil
}
