package fetch

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/textproto"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// A wire is a Network whose connections are pipes to one function. Tests use it for faults that no
// well-behaved server has.
type wire struct {
	addrs map[string][][]netip.Addr // answers of the resolver by host; the last one is repeated
	serve func(c net.Conn, n int)   // serves a connection; n is its number

	refuse map[string]bool // addresses at which connections are refused

	mu      sync.Mutex
	dialed  []string
	lookups int
	wait    sync.WaitGroup
}

func (w *wire) LookupNetIP(ctx context.Context, _, host string) ([]netip.Addr, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lookups++
	answers := w.addrs[host]
	if len(answers) == 0 {
		return []netip.Addr{netip.MustParseAddr("16.0.0.1")}, nil
	}
	if len(answers) > 1 {
		w.addrs[host] = answers[1:]
	}
	return answers[0], nil
}

func (w *wire) DialContext(ctx context.Context, _, address string) (net.Conn, error) {
	w.mu.Lock()
	w.dialed = append(w.dialed, address)
	n := len(w.dialed)
	w.mu.Unlock()
	if w.refuse[address] {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	if w.serve == nil {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	client, server := net.Pipe()
	w.wait.Go(func() {
		defer server.Close()
		w.serve(server, n)
	})
	return client, nil
}

// A request is a request in its form on the wire. The tests do not read it with net/http, which
// refuses targets that servers use.
type request struct {
	method, target string
	header         http.Header
}

func readRequest(in *bufio.Reader) (*request, error) {
	lines := textproto.NewReader(in)
	first, err := lines.ReadLine()
	if err != nil {
		return nil, err
	}
	header, err := lines.ReadMIMEHeader()
	if err != nil {
		return nil, err
	}
	words := strings.Fields(first)
	return &request{words[0], words[1], http.Header(header)}, nil
}

// answers serves each request of a connection with the result of f. It closes the connection when
// the result is empty.
func answers(f func(r *request, n int) string) func(net.Conn, int) {
	return func(c net.Conn, n int) {
		in := bufio.NewReader(c)
		for {
			r, err := readRequest(in)
			if err != nil {
				return
			}
			a := f(r, n)
			if a == "" {
				return
			}
			if _, err := io.WriteString(c, a); err != nil {
				return
			}
		}
	}
}

// noRobots answers robots.txt with 404, and calls f for all other requests.
func noRobots(f func(r *request, n int) string) func(*request, int) string {
	return func(r *request, n int) string {
		if r.target == "/robots.txt" {
			return "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
		}
		return f(r, n)
	}
}

func page(body string) string {
	return "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
}

// A tour visits URLs turn by turn, and keeps the results.
type tour struct {
	t       testing.TB
	fetcher *Fetcher
	delay   time.Duration
	once    bool // take one turn only
	head    bool // use HEAD
	have    Validators
}

func newTour(t testing.TB, opts Options) *tour {
	t.Helper()
	opts.Policy.Token, opts.UserAgent = "testbot", "testbot (+https://example.org/testbot)"
	f, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	if w, ok := opts.Network.(*wire); ok {
		t.Cleanup(w.wait.Wait)
	}
	t.Cleanup(f.Close)
	return &tour{t: t, fetcher: f}
}

// frontOf returns a frontier that has queued urls.
func frontOf(t testing.TB, opts frontier.Options, urls ...string) *frontier.Frontier {
	t.Helper()
	front, err := frontier.New(frontier.NewMemory(), opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, raw := range urls {
		u, err := frontier.ParseURL(raw)
		if err != nil {
			t.Fatal(err)
		}
		if err := front.Add(frontier.Entry{URL: u}); err != nil {
			t.Fatal(err)
		}
	}
	return front
}

// visit takes turns for a URL until its entry has ended, or its site is given up. It returns the
// last result and all exchanges.
func (v *tour) visit(raw string) (Result, []*Exchange) {
	v.t.Helper()
	opts := frontier.Options{Delay: v.delay, Patience: 10 * time.Minute}
	front := frontOf(v.t, opts, raw)
	if v.head {
		u, err := frontier.ParseURL(raw)
		front = frontOf(v.t, opts)
		if err := errors.Join(err, front.Add(frontier.Entry{URL: u, Head: true})); err != nil {
			v.t.Fatal(err)
		}
	}
	var last Result
	var all []*Exchange
	for {
		turn, err := front.Next(context.Background())
		if errors.Is(err, frontier.ErrEnd) {
			return last, all
		}
		if err != nil {
			v.t.Fatal(err)
		}
		if last, err = v.fetcher.Revalidate(context.Background(), turn, v.have); err != nil {
			v.t.Fatal(err)
		}
		all = append(all, last.Exchanges...)
		if _, err := turn.Finish(last.Outcome); err != nil {
			v.t.Fatal(err)
		}
		if v.once {
			return last, all
		}
	}
}

// stage returns the stage at which an exchange failed.
func stage(x *Exchange) Stage {
	if x.Err == nil {
		return ""
	}
	return x.Err.Stage
}

func last(all []*Exchange) *Exchange { return all[len(all)-1] }
