//go:build unix

package postgres_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/permesso-crawler/permesso/crawler"
)

// An instruction is what the test tells a node to order.
type instruction struct{ Do, Of, Reason string }

// slower is the pause that an order gives a site.
const slower = 400 * time.Millisecond

// obey gives the orders that a reader has, one on a line.
func obey(c *crawler.Crawler, from io.Reader) {
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		var i instruction
		if err := json.Unmarshal(lines.Bytes(), &i); err != nil {
			fmt.Println("refused:", err)
			continue
		}
		var err error
		switch i.Do {
		case "add":
			err = c.Seed(i.Reason, "http://"+i.Of+"/")
		case "exclude":
			err = c.Exclude(i.Of, i.Reason)
		case "slow":
			err = c.Slow(i.Of, slower, i.Reason)
		case "limit":
			err = c.Limit(i.Reason, func(l *crawler.Limits) { l.Rate++ })
		}
		if err != nil {
			fmt.Println("refused:", err)
		} else {
			fmt.Printf("stored: %s.\n", i.Reason)
		}
	}
}

// A listener prints the reason of each order that the crawl has, once.
type listener struct {
	mu   sync.Mutex
	told map[string]bool
}

// tell prints orders as long as the process runs.
func (l *listener) tell(c *crawler.Crawler) {
	for ; ; time.Sleep(20 * time.Millisecond) {
		l.tellNew(c)
	}
}

// tellNew prints the orders that were not printed before.
func (l *listener) tellNew(c *crawler.Crawler) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range c.Orders() {
		if !l.told[o.Reason] {
			l.told[o.Reason] = true
			fmt.Printf("heard: %s.\n", o.Reason)
		}
	}
}

// nextInChain returns the next page of a host that has its pages in a chain without end: x0, x1 and
// so on, s0, s1 and so on.
func nextInChain(host, path string) (next string, ok bool) {
	n, err := strconv.Atoi("0" + path[1:])
	if err != nil || host[0] != 'x' && host[0] != 's' {
		return "", false
	}
	return "/" + strconv.Itoa(n+1), true
}

// A giver gives orders to nodes, one after the other. After each it kills the node, or another one,
// or nothing. It waits until all nodes have heard the order. A node that was killed before it
// acknowledged the order may not have committed it: then the order is given again.
type giver struct {
	t      *testing.T
	run    *faultyRun
	web    *web
	url    func() string
	random *rand.Rand

	at     int      // the order that is under way, of all
	to     *process // the node that got it
	given  time.Time
	tries  int
	killed bool // all nodes at once, after the last order
	heard  map[string]time.Time
	again  int // orders that were given again
}

// all returns the orders in their sequence: sites are added, slowed, and excluded when some requests
// have come with the new pause. The sites have pages without end. The first of them is linked from
// the seed, and one of them is crawled until the last order, so that the crawl does not end before.
func (g *giver) all() (list []instruction) {
	if g.run.orders == 0 {
		return nil
	}
	give := func(do, of string) {
		list = append(list, instruction{do, of, fmt.Sprintf("order %d, %s %s", len(list), do, of)})
	}
	for i := range g.run.orders {
		s := fmt.Sprintf("s%d.example", i)
		give("add", s)
		give("add", fmt.Sprintf("x%d.example", i+1))
		give("slow", s)
		give("limit", "")
		give("exclude", fmt.Sprintf("x%d.example", i))
		give("exclude", s)
	}
	give("exclude", fmt.Sprintf("x%d.example", g.run.orders))
	return list
}

// next does the next step.
func (g *giver) next(nodes []*process) {
	list := g.all()
	if g.at >= len(list) {
		if g.run.orders > 0 && !g.killed { // all nodes begin anew, and still have the orders
			g.killed = true
			for _, p := range nodes {
				p.cmd.Process.Kill()
			}
		}
		return
	}
	i := list[g.at]
	switch {
	case g.given.IsZero():
		after := g.heard["slow "+i.Of] // zero for the others
		if !after.IsZero() {
			after = after.Add(g.grace())
		}
		if g.at == 0 && g.web.requests("", after) < 20 || i.Do != "add" && i.Of != "" && g.web.requests(i.Of, after) < 3 {
			return
		}
		g.give(nodes[g.random.IntN(len(nodes))], i)
		switch g.random.IntN(3) {
		case 0:
			p := nodes[g.random.IntN(len(nodes))]
			time.AfterFunc(time.Duration(g.random.IntN(400))*time.Millisecond, func() { p.cmd.Process.Kill() })
		case 1:
			nodes[g.random.IntN(len(nodes))].cmd.Process.Kill()
		}
	case !slices.ContainsFunc(nodes, func(p *process) bool { return !p.said("heard: " + i.Reason + ".\n") }):
		if g.heard == nil {
			g.heard = map[string]time.Time{}
		}
		g.heard[i.Do+" "+i.Of] = time.Now()
		g.at, g.given, g.tries = g.at+1, time.Time{}, 0
	case time.Since(g.given) > 20*time.Second:
		if g.tries++; g.tries > 4 {
			g.t.Fatalf("%v is not heard by all nodes", i)
		}
		stored, thisRun := g.stored(i)
		if thisRun {
			g.given = time.Now()
			return
		}
		if !stored && g.to.said("stored: "+i.Reason+".\n") {
			g.t.Errorf("%v was acknowledged, and the database does not have it", i)
		}
		g.again++
		g.give(nodes[g.random.IntN(len(nodes))], i)
	}
}

func (g *giver) give(p *process, i instruction) {
	line, err := json.Marshal(i)
	if err != nil {
		g.t.Fatal(err)
	}
	p.orders.Write(append(line, '\n')) // if it has ended, the order is given again
	g.given, g.to = time.Now(), p
}

// stored reports whether the database has an order, and whether it is one of this run. If no node was
// left, the node that began first has begun a new run. If the server is down, both are true.
func (g *giver) stored(i instruction) (stored, thisRun bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, g.url())
	if err != nil {
		return true, true
	}
	defer conn.Close(context.Background())
	err = conn.QueryRow(ctx, "select count(*) > 0, count(*) filter (where o.n > c.since) > 0 from crawl.orders o, crawl.crawl c where o.body->'Order'->>'reason' = $1", i.Reason).Scan(&stored, &thisRun)
	return stored || err != nil, thisRun || err != nil
}

// said reports whether the process has printed a text.
func (p *process) said(text string) bool {
	f, err := os.Open(p.dir + ".log")
	if err != nil {
		return false
	}
	defer f.Close()
	log, err := io.ReadAll(io.NewSectionReader(f, p.from, 1<<30))
	return err == nil && strings.Contains(string(log), text)
}

// requests returns how many requests that began after a time a host has answered, or all hosts.
func (w *web) requests(host string, after time.Time) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range w.all {
		if (host == "" || a.host == host) && a.begin.After(after) {
			n++
		}
	}
	return n
}

// grace is how long after an order that was heard a request may come which a node had begun before.
func (g *giver) grace() time.Duration {
	if g.run.killsOnly {
		return 2 * time.Second
	}
	return 7 * time.Second
}

// check fails unless all orders were heard, and the web's log has no request against them. A
// request that is under way when an order is heard is finished.
func (g *giver) check() {
	if g.run.orders == 0 {
		return
	}
	list := g.all()
	if g.at < len(list) {
		g.t.Errorf("%d of %d orders were given", g.at, len(list))
	}
	grace, after := g.grace(), 0
	last := map[string]time.Time{}
	g.web.mu.Lock()
	defer g.web.mu.Unlock()
	for _, a := range g.web.all {
		before := last[a.host]
		last[a.host] = a.end
		if heard, ok := g.heard["exclude "+a.host]; ok && a.begin.After(heard.Add(grace)) {
			g.t.Errorf("%s%s was requested %v after its exclusion was heard", a.host, a.path, a.begin.Sub(heard))
		}
		if heard, ok := g.heard["slow "+a.host]; ok && before.After(heard.Add(grace)) {
			if after++; a.begin.Sub(before) < slower {
				g.t.Errorf("%s%s was requested after %v, and its pause is %v", a.host, a.path, a.begin.Sub(before), slower)
			}
		}
	}
	g.t.Logf("%d orders were heard by all nodes, %d of them were given again; %d requests with a longer pause", g.at, g.again, after)
	if after == 0 {
		g.t.Error("no request came after a site was slowed")
	}
}

// Orders that are given while nodes and the server are killed are heard by all nodes, and by those
// that begin later. No request is against them. The environment makes the run longer.
func TestOrdersWhileNodesAreKilled(t *testing.T) {
	t.Parallel()
	r := &faultyRun{nodes: 3, hosts: 6, pages: 10, delay: 100 * time.Millisecond, faults: 2, crashes: 1, every: 2 * time.Second, seed: 1, orders: 1, killsOnly: true}
	r.longer()
	r.run(t)
}

// addresses is how many public addresses the hosts of a publicNetwork have.
const addresses = 2

// addressOf returns the public address of a host like h12.example.
func addressOf(host string) netip.Addr {
	n, _ := strconv.Atoi(strings.TrimSuffix(host[1:], ".example"))
	return netip.AddrFrom4([4]byte{93, 184, 216, byte(1 + n%addresses)})
}

// A publicNetwork has all hosts at public addresses, and leads to the server that it names.
type publicNetwork string

func (publicNetwork) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	return []netip.Addr{addressOf(host)}, nil
}

func (n publicNetwork) DialContext(ctx context.Context, network, _ string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, network, string(n))
}

// checkAddresses fails if requests to an address began too soon one after the other. On a busy
// machine a request reaches the web later than it begins, so half of the pause is enough.
func (w *web) checkAddresses(t *testing.T) {
	if w.run.gap == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	begins := map[netip.Addr][]time.Time{}
	for _, a := range w.all {
		at := addressOf(a.host)
		begins[at] = append(begins[at], a.begin)
	}
	least, mean := time.Hour, time.Duration(0)
	for at, all := range begins {
		slices.SortFunc(all, time.Time.Compare)
		for i := 1; i < len(all); i++ {
			d := all[i].Sub(all[i-1])
			if least = min(least, d); d < w.run.gap/2 {
				t.Errorf("%v got two requests within %v, and its pause is %v", at, d, w.run.gap)
			}
		}
		each := all[len(all)-1].Sub(all[0]) / time.Duration(max(1, len(all)-1))
		if mean = max(mean, each); each < w.run.gap {
			t.Errorf("%v got a request each %v, and its pause is %v", at, each, w.run.gap)
		}
	}
	t.Logf("%d addresses, least pause %v, mean %v", len(begins), least, mean)
}

// Sites of several nodes that have one address keep its pause while nodes are killed and the server
// crashes. The environment makes the run longer.
func TestAddressesWhileNodesAreKilled(t *testing.T) {
	t.Parallel()
	r := &faultyRun{nodes: 3, hosts: 8, pages: 3, delay: 100 * time.Millisecond, faults: 2, crashes: 1, every: 1500 * time.Millisecond, seed: 2, killsOnly: true, gap: 800 * time.Millisecond}
	r.longer()
	r.run(t)
}
