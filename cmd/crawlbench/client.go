package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/permesso-crawler/permesso/fetch"
)

// clientCommand runs one client in a process of its own.
const clientCommand = "client-child"

// A clientBench measures the CPU of a request of fetch.Client, beside one of net/http.
type clientBench struct {
	requests, hosts, callers, rounds, size int
	kind, address                          string // of the child
}

func (b *clientBench) flags(name string) *flag.FlagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.IntVar(&b.requests, "requests", 50_000, "requests of each client and round")
	fs.IntVar(&b.hosts, "hosts", 200, "hosts, all at one address")
	fs.IntVar(&b.callers, "callers", 32, "goroutines that make the requests")
	fs.IntVar(&b.size, "size", 8192, "bytes of each answer")
	return fs
}

// runClient is the command "crawlbench client". The web and the client share the processors; the
// CPU is that of the process of the client.
func runClient(ctx context.Context, args []string, out io.Writer) error {
	b := clientBench{}
	fs := b.flags("client")
	fs.IntVar(&b.rounds, "rounds", 7, "how often each client runs, in turns")
	if err := fs.Parse(args); err != nil {
		return err
	}
	body := []byte(strings.Repeat("x", b.size))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		w.Write(body)
	}))
	defer server.Close()
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	cpu, ratios := map[string][]float64{}, map[string][]float64{}
	for range b.rounds {
		for _, kind := range clientKinds {
			p := &process{cmd: childProcess(exe, clientCommand, "--kind", kind, "--address", server.Listener.Addr().String(),
				"--requests", fmt.Sprint(b.requests), "--hosts", fmt.Sprint(b.hosts), "--callers", fmt.Sprint(b.callers), "--size", fmt.Sprint(b.size))}
			if err := p.run(ctx); err != nil {
				return fmt.Errorf("%s: %w", kind, err)
			}
			took := float64(p.cpu.Microseconds()) / float64(b.requests)
			cpu[kind] = append(cpu[kind], took)
			ratios[kind] = append(ratios[kind], took/cpu[clientKinds[0]][len(cpu[clientKinds[0]])-1])
		}
	}
	fmt.Fprintln(out, "| client | CPU of a request, us | of net/http's, in the same round |\n|---|---:|---|")
	for _, kind := range clientKinds {
		all := slices.Sorted(slices.Values(ratios[kind]))
		fmt.Fprintf(out, "| %s | %.1f | %.2f (%.2f to %.2f) |\n", kind, middle(slices.Sorted(slices.Values(cpu[kind]))), middle(all), all[0], all[len(all)-1])
	}
	return nil
}

// clientKinds are the clients that are compared, the reference first.
var clientKinds = []string{"net/http", "fetch.Client", "fetch.Client with Dir"}

// runClientChild makes the requests with one client.
func runClientChild(ctx context.Context, args []string, _ io.Writer) error {
	b := clientBench{}
	fs := b.flags(clientCommand)
	fs.StringVar(&b.kind, "kind", "", "client")
	fs.StringVar(&b.address, "address", "", "of the web")
	if err := fs.Parse(args); err != nil {
		return err
	}
	get, end, err := b.client()
	if err != nil {
		return err
	}
	var next atomic.Int64
	errs := make([]error, b.callers)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() {
			for n := next.Add(1); n <= int64(b.requests) && errs[i] == nil; n = next.Add(1) {
				size, err := get(ctx, fmt.Sprintf("http://s%d.test/%d", n%int64(b.hosts), n))
				if err == nil && size != b.size {
					err = fmt.Errorf("an answer has %d bytes", size)
				}
				errs[i] = err
			}
		})
	}
	all.Wait()
	return errors.Join(append(errs, end())...)
}

// client returns the function that makes a request and returns the length of its answer, and the
// one that ends the client.
func (b *clientBench) client() (get func(ctx context.Context, url string) (int, error), end func() error, err error) {
	if b.kind == clientKinds[0] {
		client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{
			MaxIdleConns: 2 * b.hosts, MaxIdleConnsPerHost: b.callers,
			DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, b.address)
			},
		}}
		return func(ctx context.Context, url string) (int, error) {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
			if err != nil {
				return 0, err
			}
			resp, err := client.Do(req)
			if err != nil {
				return 0, err
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			return len(body), err
		}, func() error { return nil }, nil
	}
	to, err := fetch.ParseConnectTo("::" + b.address)
	if err != nil {
		return nil, nil, err
	}
	o := fetch.ClientOptions{Token: "benchbot", Contact: "https://example.org/", Delay: -1, AllowPrivate: true, ConnectTo: []fetch.ConnectTo{to}}
	if b.kind == clientKinds[2] {
		if o.Dir, err = os.MkdirTemp("", "crawlbench-client-"); err != nil {
			return nil, nil, err
		}
	}
	client, err := fetch.NewClient(o)
	if err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context, url string) (int, error) {
			resp, err := client.Get(ctx, url)
			if err != nil {
				return 0, err
			}
			return len(resp.Body), nil
		}, func() error {
			err := client.Close()
			if o.Dir != "" {
				err = errors.Join(err, os.RemoveAll(o.Dir))
			}
			return err
		}, nil
}
