//go:build unix

package postgres_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/internal/pgtest"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/storage/postgres"
)

// A faultyRun is a crawl of several nodes that are killed or stopped. The crawled web records each
// request.
type faultyRun struct {
	nodes, hosts, pages int // number of nodes, of hosts, and of pages of each host
	delay               time.Duration
	faults, crashes     int  // number of faults of nodes, and of crashes of the server
	promotions          int  // number of promotions of the standby
	skewed              bool // the server's clock is three days ahead, and ten minutes more after each promotion
	every               time.Duration
	settings            []string // settings of the server
	seed                uint64
	limit               int           // of the pages of the whole crawl; 0: none
	orders              int           // of each kind, given meanwhile (see giver)
	killsOnly           bool          // nodes are killed, and do not stand still
	gap                 time.Duration // between requests to an address, if the hosts have public ones
	troubled            bool          // the first answers of some pages have the status 500 or 503, or break off
}

const runNode = "PERMESSO_TEST_NODE"

func TestMain(m *testing.M) {
	if os.Getenv(runNode) != "" {
		os.Exit(node())
	}
	os.Exit(postgres.RunTests(m))
}

// node runs one node as the command does. Exit status 3 says that the node must be started again,
// and 4 that the database could not be reached.
func node() int {
	ctx := context.Background()
	var args struct {
		State, Path, Dir, Web string
		Hosts                 int
		Delay                 time.Duration
		Lease                 time.Duration
		Limit                 int
		Gap                   time.Duration
	}
	if err := json.Unmarshal([]byte(os.Getenv(runNode)), &args); err != nil {
		fmt.Println(err)
		return 1
	}
	state, err := postgres.New(args.State)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	postgres.SetLease(state, args.Lease)
	if args.Path != "" {
		postgres.SetSearchPath(state, args.Path)
	}
	opts := crawler.Options{
		Identity: crawler.Identity{Token: "nodebot", Contact: "https://example.org/nodebot"},
		Seeds:    []string{"http://h0.example/"}, Scope: crawler.Anywhere(), Dir: args.Dir, State: state,
		Hooks: crawler.Hooks{Logger: slog.New(slog.NewTextHandler(os.Stdout, nil))},
	}
	opts.Delay, opts.Concurrency, opts.AllowPrivate, opts.Patience = args.Delay, 50, true, 90*time.Second // patience longer than a site rests if a stopped node did not get its robots.txt
	opts.Timeout, opts.Shared, opts.MaxArchive = time.Second, crawler.NoShared, 20_000
	opts.Limit = args.Limit
	if args.Gap > 0 {
		opts.Network, opts.IPDelay = publicNetwork(args.Web), args.Gap
		args.Hosts = 0
	}
	for i := range 4 * args.Hosts {
		to, err := fetch.ParseConnectTo(fmt.Sprintf("%c%d.example:80:%s", "hrxs"[i%4], i/4, args.Web))
		if err != nil {
			fmt.Println(err)
			return 1
		}
		opts.ConnectTo = append(opts.ConnectTo, to)
	}
	var c *crawler.Crawler
	heard := &listener{told: map[string]bool{}}
	opts.OnStart = func(crawler.Start) { // orders that were given earlier would be acknowledged before they are stored
		go obey(c, os.Stdin)
		go heard.tell(c)
	}
	if c, err = crawler.New(opts); err == nil {
		err = c.Run(ctx, nil)
		heard.tellNew(c)
	}
	switch {
	case errors.Is(err, postgres.ErrSession):
		fmt.Println("again:", err)
		return 3
	case away(err):
		fmt.Println("again:", err)
		return 4
	case err != nil:
		fmt.Println(err)
		return 1
	}
	return 0
}

// away reports whether err says that the server cannot be reached.
func away(err error) bool {
	var ends *pgconn.PgError
	return errors.As(err, new(*pgconn.ConnectError)) || errors.As(err, &ends) && strings.HasPrefix(ends.Code, "57P") ||
		errors.As(err, new(*net.OpError)) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}

type process struct {
	cmd    *exec.Cmd
	orders io.WriteCloser // its standard input
	from   int64          // where its part of the log begins
	dir    string
	log    *os.File
	ended  chan struct{}
	status int
}

func (r *faultyRun) run(t *testing.T) {
	pg, err := pgtest.Start(r.settings...)
	if errors.Is(err, pgtest.ErrNone) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pg.Close(); err != nil {
			t.Error(err)
		}
	})
	url, err := pg.Create("crawl")
	if err != nil {
		t.Fatal(err)
	}
	primary, standby := pg, (*pgtest.Server)(nil)
	if r.promotions > 0 {
		second, err := pg.Standby()
		if err != nil {
			t.Fatal(err)
		}
		standby = second
		t.Cleanup(func() {
			if err := second.Close(); err != nil {
				t.Error(err)
			}
		})
		url = fmt.Sprintf("host=%s,%s user=permesso dbname=crawl target_session_attrs=read-write", pg.Dir, standby.Dir)
	}
	path := ""
	if r.skewed {
		execute(t, pg.URL("crawl"), `create schema skew; create function skew.clock_timestamp() returns timestamptz language sql as $$
			select pg_catalog.clock_timestamp() + interval '3 days'
				+ interval '10 minutes' * ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int $$`)
		path = "skew, crawl, pg_catalog"
	}
	w := &web{run: r, open: map[string]int{}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.addr = l.Addr().String()
	server := &http.Server{Handler: w}
	go server.Serve(l) // this goroutine ends when l is closed
	t.Cleanup(func() { server.Close() })

	dir := t.TempDir()
	start := func(i int) *process {
		p := &process{dir: filepath.Join(dir, fmt.Sprintf("node%d.crawl", i)), ended: make(chan struct{})}
		args, err := json.Marshal(map[string]any{"State": url, "Path": path, "Dir": p.dir, "Web": w.addr, "Hosts": r.hosts, "Delay": r.delay, "Lease": 2 * time.Second, "Limit": r.limit, "Gap": r.gap})
		if err != nil {
			t.Fatal(err)
		}
		if p.log, err = os.OpenFile(p.dir+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644); err != nil {
			t.Fatal(err)
		}
		p.cmd = exec.Command(os.Args[0])
		p.cmd.Env = append(os.Environ(), runNode+"="+string(args))
		p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
		if info, err := p.log.Stat(); err == nil {
			p.from = info.Size()
		}
		if p.orders, err = p.cmd.StdinPipe(); err != nil {
			t.Fatal(err)
		}
		if err := p.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		go func() {
			p.cmd.Wait()
			p.status = p.cmd.ProcessState.ExitCode()
			p.log.Close()
			close(p.ended)
		}()
		return p
	}
	var all []*process
	for i := range r.nodes {
		all = append(all, start(i))
	}
	t.Cleanup(func() {
		for _, p := range all {
			p.cmd.Process.Kill()
			<-p.ended
		}
	})
	random := rand.New(rand.NewPCG(r.seed, 1))
	give := &giver{t: t, run: r, web: w, url: func() string { return url }, random: random}
	faults, crashes, promotions, over := 0, 0, 0, 0
	next := time.Now().Add(r.every)
	forgets := r.promotions > 0 || len(r.settings) > 0
	kept := false // the tables are on the disks of the servers
	deadline := time.Now().Add(5*time.Minute + 4*time.Duration(r.pages)*r.delay + time.Duration(r.faults+r.crashes+r.promotions)*(r.every+5*time.Second))
	for {
		running := 0
		for i, p := range all {
			select {
			case <-p.ended:
				if p.status != 0 {
					if p.status != 3 && p.status != 4 && p.status != -1 {
						said, _ := os.ReadFile(p.dir + ".log")
						t.Fatalf("node %d ended with status %d:\n%s", i, p.status, said)
					}
					if p.status == 3 {
						over++
					}
					all[i] = start(i)
					running++
				}
			default:
				running++
			}
		}
		if running == 0 {
			break
		}
		if time.Now().After(deadline) {
			for _, p := range all {
				p.cmd.Process.Signal(syscall.SIGQUIT)
				<-p.ended
				said, _ := os.ReadFile(p.dir + ".log")
				t.Logf("%s", said[max(0, len(said)-20000):])
			}
			t.Fatal("the crawl did not end")
		}
		time.Sleep(20 * time.Millisecond)
		give.next(all)
		if forgets && !kept {
			kept, next = keepsTables(t, primary, standby), time.Now().Add(r.every)
		}
		if time.Now().Before(next) || faults+crashes+promotions >= r.faults+r.crashes+r.promotions {
			continue
		}
		next = time.Now().Add(r.every)
		p := all[random.IntN(len(all))]
		switch n := random.IntN(r.faults + r.crashes + r.promotions); {
		case n >= r.faults+r.crashes && promotions < r.promotions:
			promotions++
			primary, standby = promote(t, primary, standby, time.Duration(random.IntN(2000))*time.Millisecond)
		case n < r.crashes && crashes < r.crashes:
			crashes++
			if err := primary.Kill(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Duration(random.IntN(1500)) * time.Millisecond)
			for try := 0; ; try++ {
				if err := primary.Begin(); err == nil {
					break
				} else if try == 20 {
					t.Fatal(err)
				}
				time.Sleep(200 * time.Millisecond)
			}
		case n%2 == 0 || r.killsOnly:
			faults++
			p.cmd.Process.Kill()
		default:
			faults++
			p.cmd.Process.Signal(syscall.SIGSTOP)
			time.AfterFunc(time.Duration(200+random.IntN(4000))*time.Millisecond, func() { p.cmd.Process.Signal(syscall.SIGCONT) })
		}
	}
	// If a server forgot commits of a node after the node ended, the next run of the node reports
	// it.
	for i := range all {
		if r.crashes+r.promotions > 0 {
			all[i] = start(i)
		}
	}
	for i, p := range all {
		if <-p.ended; p.status != 0 {
			said, _ := os.ReadFile(p.dir + ".log")
			t.Fatalf("node %d ended with status %d:\n%s", i, p.status, said[max(0, len(said)-4000):])
		}
	}
	cpu := time.Duration(0)
	for _, p := range all {
		cpu += p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
	}
	t.Logf("%v of CPU for each page, without processes that were killed", cpu/time.Duration(w.total()))
	w.check(t, all, waiting(t, url), fmt.Sprintf("%d faults of nodes, %d crashes of the server, %d promotions, %d sessions over", faults, crashes, promotions, over))
	give.check()
	w.checkAddresses(t)
	if r.limit > 0 {
		checkLimit(t, url, r.limit, faults)
	}
	collected(t, url, all)
}

// keepsTables reports whether the server has written the tables to its disk, and the standby has
// them, too, if there is one. If a server forgets the whole crawl, its nodes are refused: that is not
// what these tests are about.
func keepsTables(t *testing.T, primary, standby *pgtest.Server) bool {
	t.Helper()
	servers := []*pgtest.Server{primary}
	if standby != nil {
		servers = append(servers, standby)
	}
	for _, s := range servers {
		n, err := s.Query("crawl", "select count(*) from pg_class where oid = to_regclass('crawl.crawl')")
		if err != nil {
			t.Fatal(err)
		}
		if strings.TrimSpace(n) != "1" {
			return false
		}
		if s == primary {
			if _, err := s.Query("crawl", "checkpoint"); err != nil {
				t.Fatal(err)
			}
		}
	}
	return true
}

// promote stops replication to the standby, kills the primary after the time lag, promotes the
// standby, and makes the old primary its standby.
func promote(t *testing.T, primary, standby *pgtest.Server, lag time.Duration) (newPrimary, newStandby *pgtest.Server) {
	t.Helper()
	if err := primary.Hold(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(lag)
	for _, step := range []func() error{primary.Kill, standby.Promote, func() error { return primary.Follow(standby) }} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	return standby, primary
}

// collected makes a crawl of one machine from the nodes, and verifies it.
func collected(t *testing.T, url string, all []*process) {
	t.Helper()
	state, err := postgres.New(url)
	if err != nil {
		t.Fatal(err)
	}
	var dirs []string
	aside := 0
	for _, p := range all {
		dirs = append(dirs, p.dir)
		found, err := filepath.Glob(p.dir + "/forgotten-*")
		if err != nil {
			t.Fatal(err)
		}
		aside += len(found)
	}
	into := filepath.Join(t.TempDir(), "all.crawl")
	done, err := postgres.Collect(t.Context(), state, dirs, into)
	if err != nil || len(done.Damaged) > 0 {
		t.Fatal(err, done.Damaged)
	}
	if _, err := store.Verify(t.Context(), into, func(err error) { t.Error(err) }); err != nil {
		t.Error(err)
	}
	t.Logf("%d pages in one crawl, %d directories of what the database had forgotten", done.Pages, aside)
}

// Nodes are killed or stand still, and the server crashes. No page is lost, no site gets a request
// too early or two at once, and the crawl ends by itself. Environment variables can make the run
// longer.
func TestNodesThatAreKilled(t *testing.T) {
	t.Parallel()
	r := &faultyRun{nodes: 3, hosts: 20, pages: 15, delay: 100 * time.Millisecond, faults: 3, crashes: 1, every: 700 * time.Millisecond, seed: 1}
	r.longer()
	r.run(t)
}

// longer sets fields of r from environment variables.
func (r *faultyRun) longer() {
	for name, to := range map[string]*int{"ORDERS": &r.orders, "NODES": &r.nodes, "FAULTS": &r.faults, "CRASHES": &r.crashes, "PAGES": &r.pages, "HOSTS": &r.hosts, "PROMOTIONS": &r.promotions} {
		if n, err := strconv.Atoi(os.Getenv("PERMESSO_POSTGRES_" + name)); err == nil {
			*to = n
		}
	}
	for name, to := range map[string]*time.Duration{"DELAY": &r.delay, "EVERY": &r.every} {
		if d, err := time.ParseDuration(os.Getenv("PERMESSO_POSTGRES_" + name)); err == nil {
			*to = d
		}
	}
	if n, err := strconv.ParseUint(os.Getenv("PERMESSO_POSTGRES_SEED"), 10, 64); err == nil {
		r.seed = n
	}
}

// A server that does not wait for its disk is killed. A standby that lags, and whose clock is
// ahead, is promoted. Both lose acknowledged commits. The nodes, which know both servers, detect
// this and start again. No page is lost, and no request is early.
func TestServersThatForget(t *testing.T) {
	t.Parallel()
	r := &faultyRun{nodes: 3, hosts: 20, pages: 20, delay: 100 * time.Millisecond, crashes: 1, promotions: 1, skewed: true, every: time.Second, seed: 3,
		settings: []string{"synchronous_commit=off", "wal_writer_delay=5s", "wal_writer_flush_after=1GB", "wal_buffers=64MB"}}
	r.longer()
	r.run(t)
}

// With a limit of pages, kills do not make the database exceed the limit, and no site gets a
// request too early or two at once.
func TestALimitWithNodesThatAreKilled(t *testing.T) {
	t.Parallel()
	(&faultyRun{nodes: 3, hosts: 20, pages: 15, delay: 100 * time.Millisecond, faults: 3, every: 700 * time.Millisecond, seed: 3, limit: 200}).run(t)
}

// Some pages fail at first. Their retries are requested in the same run, and not before the time in
// the field Retry-After.
func TestRetriesOfSeveralNodes(t *testing.T) {
	t.Parallel()
	(&faultyRun{nodes: 3, hosts: 30, pages: 3, delay: 100 * time.Millisecond, every: time.Second, seed: 1, troubled: true}).run(t)
}
