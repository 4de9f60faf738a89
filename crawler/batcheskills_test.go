package crawler_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/storage"
	"go.uber.org/goleak"
)

const (
	killedSites = 7
	killedRows  = 3 // of a page
	killedBatch = 8 // rows: of more pages than one, and pages are cut

	killedFailed = 3 // status of the program where it ends by an error of its own
)

// killedLoop is the program that is killed: it appends the rows of its batches to a
// file, and says on its output where it is.
func killedLoop(dir, address string) error {
	var seeds []string
	for s := range killedSites {
		seeds = append(seeds, fmt.Sprintf("http://s%d.test/0", s))
	}
	to, err := fetch.ParseConnectTo("::" + address)
	if err != nil {
		return err
	}
	c, err := crawler.New(crawler.Options{
		Identity: testIdentity, Seeds: seeds, Dir: filepath.Join(dir, "crawl.d"), Delay: 2 * time.Millisecond, AllowPrivate: true,
		ConnectTo: []fetch.ConnectTo{to}, Output: []crawler.Output{crawler.OutputWARC, crawler.OutputPages},
	})
	if err != nil {
		return err
	}
	out, err := os.OpenFile(filepath.Join(dir, "rows"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer out.Close()
	parse := func(_ context.Context, p *crawler.Page) (rows []string, err error) {
		for i := range killedRows {
			rows = append(rows, fmt.Sprintf("%s %d\n", p.URL, i))
		}
		return rows, nil
	}
	for rows, err := range crawler.Batches(context.Background(), c, killedBatch, 50*time.Millisecond, parse) {
		if err != nil {
			return err
		}
		fmt.Println("has a batch")
		if _, err := io.WriteString(out, strings.Join(rows, "")); err != nil {
			return err
		}
		fmt.Println("has written it")
	}
	fmt.Println("ended")
	return nil
}

// TestMain is that program, or that of killedSecond or killedEndless, where it is asked to be. Otherwise it fails where a test has
// left a goroutine behind.
func TestMain(m *testing.M) {
	program := killedLoop
	dir, address, ok := strings.Cut(os.Getenv("PERMESSO_KILLED_LOOP"), "|")
	if !ok {
		program = killedSecond
		dir, address, ok = strings.Cut(os.Getenv("PERMESSO_KILLED_SECOND"), "|")
	}
	if !ok {
		program = killedEndless
		dir, address, ok = strings.Cut(os.Getenv("PERMESSO_KILLED_ENDLESS"), "|")
	}
	if !ok {
		goleak.VerifyTestMain(m)
	}
	if err := program(dir, address); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(killedFailed)
	}
	os.Exit(0)
}

// A killedWeb has one more page behind each, and a link to another site, until it is
// told that it is enough.
type killedWeb struct {
	mu    sync.Mutex
	grow  bool
	pages map[string]string // by URL, as they were served first: so they stay
	asked map[string]int
}

func (w *killedWeb) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := strconv.Atoi(r.URL.Path[1:])
	if err != nil {
		http.NotFound(rw, r)
		return
	}
	url := "http://" + r.Host + r.URL.Path
	if _, ok := w.pages[url]; !ok {
		w.pages[url] = ""
		if w.grow {
			w.pages[url] = fmt.Sprintf(`<a href="/%d">1</a> <a href="/%d">2</a>`, n+1, n/2)
		}
	}
	w.asked[url]++
	rw.Header().Set("Content-Type", "text/html")
	io.WriteString(rw, w.pages[url])
}

// A loop over Batches is killed again and again, wherever it is: between the end of a
// visit and that of its page, within the body, behind it. In the end each row of each
// page was written at least once.
func TestKillsLoseNoRow(t *testing.T) {
	kills, err := strconv.Atoi(cmp.Or(os.Getenv("PERMESSO_BATCH_KILLS"), "20"))
	if err != nil {
		t.Fatal(err)
	}
	w := &killedWeb{grow: true, pages: map[string]string{}, asked: map[string]int{}}
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: w, ReadHeaderTimeout: time.Minute}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listen) }()
	defer func() {
		server.Close()
		<-served
	}()
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(1, 9))
	for range kills {
		// So many lines of the program, two for each batch, and then at once.
		killedAfter(t, dir, listen.Addr().String(), 1+random.IntN(60))
	}
	w.mu.Lock()
	w.grow = false
	w.mu.Unlock()
	killedAfter(t, dir, listen.Addr().String(), -1)
	raw, err := os.ReadFile(filepath.Join(dir, "rows"))
	if err != nil {
		t.Fatal(err)
	}
	written := map[string]int{}
	for row := range bytes.Lines(raw) {
		written[string(row)]++
	}
	lost, again := 0, 0
	for _, url := range slices.Sorted(maps.Keys(w.pages)) {
		for i := range killedRows {
			n := written[fmt.Sprintf("%s %d\n", url, i)]
			if n == 0 {
				lost++
				t.Errorf("row %d of %s was lost, which was asked for %d times", i, url, w.asked[url])
			}
			again += max(0, n-1)
		}
	}
	if rows := killedRows * len(w.pages); lost > 0 || len(written) != rows {
		t.Errorf("%d rows of %d, %d lost", len(written), rows, lost)
	}
	if _, err := storage.Verify(filepath.Join(dir, "crawl.d"), func(err error) { t.Errorf("storage.Verify: %v", err) }); err != nil {
		t.Error(err)
	}
	t.Logf("%d rows of %d pages after %d kills; %d came again", len(written), len(w.pages), kills, again)
}

// killedAfter kills the program when it has said so many lines; negative: it is to come
// to its end.
func killedAfter(t *testing.T, dir, address string, lines int) {
	t.Helper()
	killedProgram(t, "PERMESSO_KILLED_LOOP="+dir+"|"+address, lines)
}

// killedProgram is killedAfter of the program that a variable of the environment asks for.
func killedProgram(t *testing.T, env string, lines int) {
	t.Helper()
	program := exec.Command(os.Args[0])
	program.Env = append(os.Environ(), env)
	var said bytes.Buffer
	program.Stderr = &said
	out, err := program.StdoutPipe()
	if err == nil {
		err = program.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	last, kill := "", lines > 0
	for in := bufio.NewScanner(out); in.Scan(); {
		last = in.Text()
		if lines--; lines == 0 {
			if err := program.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	err = program.Wait()
	var exit *exec.ExitError
	killed := errors.As(err, &exit) && exit.ExitCode() != killedFailed
	if kill != killed || !kill && (err != nil || last != "ended") {
		t.Fatalf("the program: %v; it said %q last\n%s", err, last, said.Bytes())
	}
}
