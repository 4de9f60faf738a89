//go:build unix

package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/fetch"
)

const (
	sites  = 40
	failed = 3 // status of the program if it ends with an error of its own
)

// options returns the options of a crawl of a web at an address of this machine.
func options(dir, address string) (crawler.Options, error) {
	to, err := fetch.ParseConnectTo("::" + address)
	opts := crawler.Options{
		Identity: crawler.Identity{Token: "testbot", Contact: "https://example.org/testbot"},
		Dir:      dir,
		Pace:     crawler.Pace{Delay: 2 * time.Millisecond},
		Wire:     crawler.Wire{AllowPrivate: true, ConnectTo: []fetch.ConnectTo{to}},
	}
	for i := range sites {
		opts.Seeds = append(opts.Seeds, fmt.Sprintf("http://s%d.test/0", i))
	}
	return opts, err
}

// TestMain runs the program to be killed if the environment says so.
func TestMain(m *testing.M) {
	asked := strings.Split(os.Getenv("PERMESSO_KILLED"), "|")
	if len(asked) != 3 {
		os.Exit(m.Run())
	}
	opts, err := options(asked[1], asked[2])
	if err == nil {
		err = run(context.Background(), asked[0], opts)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(failed)
	}
	os.Exit(0)
}

// A moment is a point at which the program can be killed: a request arrives or is answered, or
// some bytes pass between the program and the database.
type moments struct {
	mu   sync.Mutex
	left int // moments until it is killed
	kill func()
	at   map[string]int // number of kills by kind of moment
}

// pass reports whether the program still runs.
func (m *moments) pass(what string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.left--; m.left == 0 {
		m.kill()
		m.at[what]++
	}
	return m.left != 0
}

// A web has one more page after each page, until it is stopped.
type web struct {
	*moments
	mu    sync.Mutex
	grow  bool
	pages map[string]string // bodies by URL, as they were first served; they do not change
}

func (w *web) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.pass("request")
	defer w.pass("answer")
	n, err := strconv.Atoi(r.URL.Path[1:])
	if err != nil {
		http.NotFound(rw, r)
		return
	}
	url := "http://" + r.Host + r.URL.Path
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.pages[url]; !ok {
		w.pages[url] = fmt.Sprintf("<title>Page %s</title>", url)
		if w.grow {
			w.pages[url] += fmt.Sprintf(`<a href="/%d">1</a> <a href="/%d">2</a>`, n+1, n/2)
		}
	}
	rw.Header().Set("Content-Type", "text/html")
	io.WriteString(rw, w.pages[url])
}

// between passes on the data between the program and the database, some bytes at a time. Data
// in transit when the program is killed is lost.
func between(l net.Listener, socket string, m *moments) {
	for {
		program, err := l.Accept()
		if err != nil {
			return
		}
		database, err := net.Dial("unix", socket)
		if err != nil {
			program.Close()
			continue
		}
		hand := func(to, from net.Conn, what string, size int) {
			defer to.Close()
			some := make([]byte, size)
			for {
				n, err := from.Read(some)
				if err != nil || !m.pass(what) {
					return
				}
				if _, err := to.Write(some[:n]); err != nil {
					return
				}
			}
		}
		// Both goroutines end with the connection, which ends with the program.
		go hand(database, program, "statement", 100)
		go hand(program, database, "result", 20)
	}
}

// The program is killed again and again at any point: while it crawls, within a transaction,
// and after one whose commit it has not seen yet. In the end each page that the web has served
// is in the table, once.
func TestKillsLoseNoPage(t *testing.T) {
	kills, err := strconv.Atoi(cmp.Or(os.Getenv("PERMESSO_POSTGRES_KILLS"), "100"))
	if err != nil {
		t.Fatal(err)
	}
	sockets := postgres(t)
	m := &moments{at: map[string]int{}}
	w := &web{moments: m, grow: true, pages: map[string]string{}}
	pages, database := listen(t), listen(t)
	server := &http.Server{Handler: w, ReadHeaderTimeout: time.Minute}
	go server.Serve(pages)
	defer server.Close()
	go between(database, filepath.Join(sockets, ".s.PGSQL.5432"), m)
	defer database.Close()

	port := database.Addr().(*net.TCPAddr).Port
	asked := fmt.Sprintf("host=127.0.0.1 port=%d user=permesso dbname=postgres sslmode=disable|%s|%s",
		port, filepath.Join(t.TempDir(), "crawl"), pages.Addr())
	random := rand.New(rand.NewPCG(1, 15))
	for range kills {
		runProgram(t, m, asked, 1+random.IntN(1200))
	}
	w.mu.Lock()
	w.grow = false
	w.mu.Unlock()
	runProgram(t, m, asked, -1)

	table := contents(t, sockets)
	lost := 0
	for url := range w.pages {
		if table[url] != (row{url, "Page " + url, http.StatusOK}) {
			lost++
			t.Errorf("%s: the table has %+v", url, table[url])
		}
	}
	if len(table) != len(w.pages) {
		t.Errorf("%d rows of %d pages", len(table), len(w.pages))
	}
	for _, what := range []string{"request", "answer", "statement", "result"} {
		if kills >= 100 && m.at[what] == 0 {
			t.Errorf("no kill at a %s: %v", what, m.at)
		}
	}
	t.Logf("%d of %d pages lost by %d kills: %v", lost, len(w.pages), kills, m.at)
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// runProgram kills the program after a number of moments; if it is negative, the program runs
// to its end.
func runProgram(t *testing.T, m *moments, asked string, moments int) {
	t.Helper()
	program := exec.Command(os.Args[0])
	program.Env = append(os.Environ(), "PERMESSO_KILLED="+asked)
	var said bytes.Buffer
	program.Stderr = &said
	killed := false
	m.mu.Lock()
	m.left, m.kill = moments, func() { killed = program.Process.Kill() == nil }
	err := program.Start()
	m.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	err = program.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left = -1
	var exit *exec.ExitError
	if own := errors.As(err, &exit) && exit.ExitCode() == failed; own || killed != (moments > 0) || !killed && err != nil {
		t.Fatalf("the program: %v, killed: %v\n%s", err, killed, said.Bytes())
	}
}

// contents returns the table, by URL.
func contents(t *testing.T, sockets string) map[string]row {
	t.Helper()
	db := connect(t, sockets)
	result, err := db.Query(t.Context(), "SELECT url, title, status FROM pages")
	if err != nil {
		t.Fatal(err)
	}
	table := map[string]row{}
	var r row
	_, err = pgx.ForEachRow(result, []any{&r.url, &r.title, &r.status}, func() error {
		if _, ok := table[r.url]; ok {
			t.Errorf("%s has two rows", r.url)
		}
		table[r.url] = r
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func connect(t *testing.T, sockets string) *pgx.Conn {
	t.Helper()
	db, err := pgx.Connect(t.Context(), at(sockets))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close(context.Background()) })
	return db
}

func at(sockets string) string { return "host=" + sockets + " user=permesso dbname=postgres" }
