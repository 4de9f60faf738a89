//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/internal/pgtest"
	"github.com/permesso-crawler/permesso/storage/postgres"
)

// Three nodes print each page once.
func TestThreeNodes(t *testing.T) {
	t.Parallel()
	server, err := pgtest.Start("fsync=off")
	if errors.Is(err, pgtest.ErrNone) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	url, err := server.Create("titles")
	if err != nil {
		t.Fatal(err)
	}
	w := crawltest.New(t)
	var seeds []string
	for host := range 6 {
		origin := fmt.Sprintf("http://h%d.example", host)
		site := w.Site(origin)
		site.Page("/", fmt.Sprintf("<title>Home</title><a href=/1>1</a><a href=/2>2</a><a href=http://h%d.example/3>3</a>", (host+1)%6))
		for page := 1; page <= 3; page++ {
			site.Page(fmt.Sprint("/", page), fmt.Sprintf("<title>Page %d</title>", page))
		}
		seeds = append(seeds, origin+"/")
	}
	var out bytes.Buffer
	var mu sync.Mutex
	var nodes sync.WaitGroup
	dir := t.TempDir()
	for i := range 3 {
		state, err := postgres.New(url)
		if err != nil {
			t.Fatal(err)
		}
		nodes.Go(func() {
			err := node(t.Context(), crawler.Options{
				Identity: crawler.Identity{Token: "titlebot", Contact: "https://example.org/titlebot"},
				Seeds:    seeds, Dir: filepath.Join(dir, fmt.Sprint(i)), State: state, Scope: crawler.Anywhere(),
				Wire: crawler.Wire{Network: w}, Pace: crawler.Pace{Delay: 20 * time.Millisecond, Shared: crawler.NoShared}, // each node is another machine
			}, writer{&mu, &out})
			if err != nil {
				t.Error(err)
			}
		})
	}
	nodes.Wait()
	if n := strings.Count(out.String(), "200 http://"); n != 24 {
		t.Errorf("%d pages, want 24:\n%s", n, out.String())
	}
	state, err := postgres.New(url)
	if err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if err := printStatus(&out, state); err != nil || out.String() != "24 of 24 known URLs, 0 sites have some left\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

// A writer has a lock.
type writer struct {
	mu *sync.Mutex
	to *bytes.Buffer
}

func (w writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(p)
}
