package fetch_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
)

func init() { fetch.ClientProgram = killedClient }

const (
	killedSites   = 200
	killedCallers = 32
	killedDelay   = 20 * time.Millisecond
)

// killedClient requests random URLs of many sites in many goroutines, and prints a line for
// each answer.
func killedClient(where string) error {
	dir, address, _ := strings.Cut(where, "|")
	to, err := fetch.ParseConnectTo("::" + address)
	if err != nil {
		return err
	}
	c, err := fetch.NewClient(fetch.ClientOptions{
		Token: "feedbot", Contact: "https://example.org/bot", Dir: dir, Delay: killedDelay, Patience: time.Second,
		Header:       http.Header{"X-Run": {strconv.Itoa(os.Getpid())}},
		AllowPrivate: true, ConnectTo: []fetch.ConnectTo{to}, Shared: frontier.NewSharedClocks(),
	})
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	for range killedCallers {
		all.Go(func() {
			for range 40 {
				site := rand.IntN(killedSites)
				path := []string{"/", "/feed", "/private/x", "/moved"}[rand.IntN(4)]
				_, err := c.Get(context.Background(), fmt.Sprintf("http://s%d.test%s", site, path))
				var not *fetch.NotYetError
				var refused *fetch.RefusedError
				if err != nil && !errors.As(err, &not) && !errors.As(err, &refused) {
					fmt.Fprintln(os.Stderr, err)
				}
				fmt.Println("done")
			}
		})
	}
	all.Wait()
	return c.Close()
}

// A killedWeb answers the requests of killedClient. The number of a site determines its behaviour.
type killedWeb struct {
	mu   sync.Mutex
	seen map[string][]killedRequest
}

type killedRequest struct {
	path, run  string
	start, end time.Time
	until      time.Time // time of the last Retry-After
}

// asks returns the pause that the site with this number demands.
func asks(site int) time.Duration {
	if site%8 == 0 {
		return 300 * time.Millisecond
	}
	return killedDelay
}

func (w *killedWeb) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	start := time.Now()
	site, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(r.Host, "s"), ".test"))
	w.mu.Lock()
	n := len(w.seen[r.Host])
	w.mu.Unlock()
	until := time.Time{}
	switch {
	case r.URL.Path == "/robots.txt" && site%8 == 0:
		fmt.Fprint(rw, "User-agent: *\nCrawl-delay: 0.3\nDisallow: /private/\n")
	case r.URL.Path == "/robots.txt" && site%8 == 3 && n < 2:
		rw.WriteHeader(http.StatusServiceUnavailable)
	case r.URL.Path == "/robots.txt":
		fmt.Fprint(rw, "User-agent: *\nDisallow: /private/\n")
	case r.URL.Path == "/moved":
		http.Redirect(rw, r, fmt.Sprintf("http://s%d.test/feed", (site+7)%killedSites), http.StatusFound)
	case site%8 == 1 && n%5 == 4:
		until = start.Add(time.Second)
		rw.Header().Set("Retry-After", "1")
		rw.WriteHeader(http.StatusTooManyRequests)
	default:
		fmt.Fprint(rw, "answer")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[r.Host] = append(w.seen[r.Host], killedRequest{r.URL.Path, r.Header.Get("X-Run"), start, time.Now(), until})
}

// check returns the violations among the requests so far. After a kill a site must rest its pause.
// There are two exceptions: the next run may not know an answer that came just before the kill,
// within the time of a commit, and a client cannot know of a request that the server handled after
// the kill.
func (w *killedWeb) check(kills []time.Time) (all int, wrong []string) {
	const commit = time.Second
	// cut returns the time of the kill between two requests of different runs.
	cut := func(last, next *killedRequest) (at time.Time, ok bool) {
		if last.run == next.run {
			return at, false
		}
		for _, at := range kills {
			if at.After(last.start.Add(-commit)) && at.Before(next.start) && at.Sub(last.start) < commit {
				return at, true
			}
		}
		return at, false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for host, requests := range w.seen {
		site, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(host, "s"), ".test"))
		all += len(requests)
		if requests[0].path != "/robots.txt" {
			wrong = append(wrong, host+": the first request was "+requests[0].path)
		}
		for i, r := range requests {
			if strings.HasPrefix(r.path, "/private/") {
				wrong = append(wrong, host+r.path+" is forbidden")
			}
			if i == 0 {
				continue
			}
			last := requests[i-1]
			pause := asks(site)
			at, unsure := cut(&last, &r)
			if unsure && last.end.After(at) {
				continue
			}
			if unsure && last.path == "/robots.txt" {
				pause = killedDelay
			}
			if gap := r.start.Sub(last.end); gap < pause-time.Millisecond {
				wrong = append(wrong, fmt.Sprintf("%s%s came %v after %s, want %v", host, r.path, gap, last.path, pause))
			}
			if r.start.Before(last.until) && !unsure {
				wrong = append(wrong, fmt.Sprintf("%s%s came %v before Retry-After", host, r.path, last.until.Sub(r.start)))
			}
		}
	}
	return all, wrong
}

// By the log of the server, no kill causes a request that is early or forbidden. PERMESSO_KILLS
// sets the number of kills.
func TestAKilledClientStaysPolite(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs a program for some seconds")
	}
	t.Parallel()
	web := &killedWeb{seen: map[string][]killedRequest{}}
	server := httptest.NewServer(web)
	defer server.Close()
	n, err := strconv.Atoi(cmp.Or(os.Getenv("PERMESSO_KILLS"), "2"))
	if err != nil {
		t.Fatal(err)
	}
	dir, random := t.TempDir(), rand.New(rand.NewPCG(1, 25))
	var kills []time.Time
	for range n {
		kills = append(kills, runClient(t, dir, server.Listener.Addr().String(), 1+random.IntN(600)))
	}
	runClient(t, dir, server.Listener.Addr().String(), -1)
	all, wrong := web.check(kills)
	if len(wrong) > 0 || all < 1000 {
		t.Errorf("%d requests, wrong are\n%s", all, strings.Join(wrong[:min(20, len(wrong))], "\n"))
	}
	t.Logf("%d requests, %d kills, %d wrong", all, len(kills), len(wrong))
}

// runClient runs killedClient and kills it after a number of lines. If the number is negative, it
// lets it run to its end. It returns the time of the kill.
func runClient(t *testing.T, dir, address string, lines int) (killed time.Time) {
	t.Helper()
	program := exec.Command(os.Args[0])
	program.Env = append(os.Environ(), "PERMESSO_CLIENT_PROGRAM="+dir+"|"+address)
	var said bytes.Buffer
	program.Stderr = &said
	out, err := program.StdoutPipe()
	if err == nil {
		err = program.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	last := ""
	for in := bufio.NewScanner(out); in.Scan(); {
		last = in.Text()
		if lines--; lines == 0 {
			killed = time.Now()
			if err := program.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	err = program.Wait()
	if killed.IsZero() && (err != nil || last != "ended") || said.Len() > 0 {
		t.Fatalf("the program: %v; its last line was %q\n%s", err, last, said.Bytes())
	}
	return killed
}
