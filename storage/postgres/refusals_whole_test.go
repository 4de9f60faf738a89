//go:build unix

package postgres_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/storage"
	"github.com/permesso-crawler/permesso/storage/postgres"
)

// options returns the options of a node that crawls a small web.
func options(t *testing.T, url, dir string) crawler.Options {
	t.Helper()
	state, err := postgres.New(url)
	if err != nil {
		t.Fatal(err)
	}
	web := crawltest.New(t)
	web.Site("http://a.example").Page("/", "<a href=/b>b</a>").Page("/b", "b")
	o := crawler.Options{
		Identity: crawler.Identity{Token: "nodebot", Contact: "https://example.org/nodebot"},
		Seeds:    []string{"http://a.example/"}, Dir: dir, State: state,
	}
	o.Network, o.Shared, o.Delay = web, crawler.NoShared, crawler.NoDelay
	return o
}

func run(t *testing.T, o crawler.Options) error {
	t.Helper()
	c, err := crawler.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c.Run(t.Context(), nil)
}

func execute(t *testing.T, url, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

// A node that cannot join the crawl is refused. The error says why, and nothing is changed.
func TestNodesThatAreRefused(t *testing.T) {
	t.Parallel()
	url := postgres.NewDatabase(t)
	first := filepath.Join(t.TempDir(), "first.crawl")
	if err := run(t, options(t, url, first)); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		url  string
		sql  string // executed before the node starts
		undo string
		dir  func(t *testing.T, dir string)
		opts func(*crawler.Options)
		want string
	}{
		"no server":              {url: "host=/nonexistent user=x dbname=y password=secret", want: `the database "y" of PostgreSQL at /nonexistent`},
		"another format":         {sql: "update crawl.crawl set format = 99", undo: "update crawl.crawl set format = 2", want: "has layout 99, this version reads layout 2"},
		"other suffixes":         {sql: "update crawl.crawl set suffixes = 'old ' || suffixes", undo: "update crawl.crawl set suffixes = substr(suffixes, 5)", want: "another list of public suffixes"},
		"another identity":       {opts: func(o *crawler.Options) { o.Identity.Token = "otherbot" }, want: "was begun as nodebot"},
		"a crawl on one machine": {dir: func(t *testing.T, dir string) { write(t, filepath.Join(dir, storage.StateFile), "x") }, want: "give a node another directory"},
		"outputs of a crawl":     {dir: func(t *testing.T, dir string) { write(t, filepath.Join(dir, storage.PagesFile), "{}\n") }, want: "it is a part of a crawl"},
		"another crawl": {dir: func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "crawl.json"), `{"state":"postgres","host":"db","database":"other","node":"n"}`)
		}, want: `of the crawl in the database "other"`},
		"a damaged crawl.json": {dir: func(t *testing.T, dir string) { write(t, filepath.Join(dir, "crawl.json"), "{") }, want: "crawl.json is damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "node.crawl")
			if test.dir != nil {
				test.dir(t, dir)
			}
			if test.sql != "" {
				execute(t, url, test.sql)
				defer execute(t, url, test.undo)
			}
			at := url
			if test.url != "" {
				at = test.url
			}
			o := options(t, at, dir)
			if test.opts != nil {
				test.opts(&o)
			}
			err := run(t, o)
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
	// The crawl was not changed, so the first node can still run.
	if err := run(t, options(t, url, first)); err != nil {
		t.Error(err)
	}
}

// While a node runs, a node with other options is refused, and changes nothing: orders that it
// would revoke hold, and its log has no line. Once no node runs, new options are agreed on, also by
// nodes that begin at the same time.
func TestNodesAgreeOnTheirOptions(t *testing.T) {
	t.Parallel()
	url := postgres.NewDatabase(t)
	dir := t.TempDir()
	first := options(t, url, filepath.Join(dir, "first.crawl"))
	c, err := crawler.New(first)
	if err == nil {
		err = c.Exclude("c.example", "their mail")
	}
	if err != nil {
		t.Fatal(err)
	}
	other := options(t, url, filepath.Join(dir, "other.crawl"))
	other.Scope, other.Lift = crawler.Anywhere(), []string{crawler.LiftAll}
	var refused, agreed error
	var once sync.Once
	err = c.Run(t.Context(), crawler.HandlerFunc(func(ctx context.Context, p *crawler.Page) error {
		once.Do(func() {
			refused = run(t, other)
			own := options(t, url, filepath.Join(dir, "own.crawl"))
			own.Concurrency, own.MaxTime = 3, time.Millisecond // what a node may set for itself
			agreed = run(t, own)
		})
		return nil
	}))
	if want := "another node of this crawl runs with other options (scope: host -> any): use the same ones"; err != nil || agreed != nil || refused == nil || !strings.Contains(refused.Error(), want) {
		t.Errorf("%v; %v; got %v, want an error with %q", err, agreed, refused, want)
	}
	if log, err := os.ReadFile(filepath.Join(other.Dir, storage.LogFile)); err == nil && len(log) > 0 {
		t.Errorf("the log of the refused node has %q", log)
	}
	if s, err := crawler.StatusOf(first.State); err != nil || len(s.Orders) != 1 || s.Orders[0].Do != "exclude" {
		t.Errorf("after the refusal the orders are %v, %v", s.Orders, err)
	}
	var both sync.WaitGroup
	for _, name := range []string{"first.crawl", "own.crawl"} {
		both.Go(func() {
			o := options(t, url, filepath.Join(dir, name))
			o.Scope = crawler.Anywhere()
			if err := run(t, o); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	both.Wait()
}

// A second process in the directory of a node is refused.
func TestTheDirectoryOfANodeHasOneProcess(t *testing.T) {
	t.Parallel()
	url, dir := postgres.NewDatabase(t), filepath.Join(t.TempDir(), "node.crawl")
	o := options(t, url, dir)
	var second error
	c, err := crawler.New(o)
	if err != nil {
		t.Fatal(err)
	}
	err = c.Run(t.Context(), crawler.HandlerFunc(func(ctx context.Context, p *crawler.Page) error {
		second = run(t, options(t, url, dir))
		return nil
	}))
	var inUse *storage.InUseError
	if err != nil || !errors.As(second, &inUse) || inUse.Run == nil || inUse.Run.PID != os.Getpid() {
		t.Errorf("%v; the second: %v", err, second)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
