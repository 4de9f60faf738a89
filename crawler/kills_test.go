package crawler_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/fetch"
	"go.uber.org/goleak"
)

// killedPrograms are programs that tests kill at random points. Each crawls the web at address in
// the directory dir. It prints a line for each step, and "ended" last.
var killedPrograms = map[string]func(dir, address string) error{
	"loop":    killedLoop,
	"second":  killedSecond,
	"endless": killedEndless,
}

const (
	killedProgram = "PERMESSO_KILLED_PROGRAM" // variable with the name of the program, its directory and the address
	killedFailed  = 3                         // exit code of a program that returns an error
)

// TestMain runs a program of killedPrograms if the environment names one. Otherwise it runs the
// tests, and fails if a test has left a goroutine running.
func TestMain(m *testing.M) {
	asked, ok := os.LookupEnv(killedProgram)
	if !ok {
		goleak.VerifyTestMain(m)
	}
	name, where, _ := strings.Cut(asked, "|")
	dir, address, _ := strings.Cut(where, "|")
	program, ok := killedPrograms[name]
	if !ok {
		fmt.Fprintln(os.Stderr, killedProgram, "names no program:", asked)
		os.Exit(killedFailed)
	}
	if err := program(dir, address); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(killedFailed)
	}
	fmt.Println("ended")
	os.Exit(0)
}

// killedOptions returns the options for a crawl of the given number of sites, s0.test and so on.
// All of them are at the same address.
func killedOptions(sites int, dir, address string) (crawler.Options, error) {
	to, err := fetch.ParseConnectTo("::" + address)
	o := crawler.Options{
		Identity: testIdentity, Dir: dir, Pace: crawler.Pace{Delay: 2 * time.Millisecond}, Wire: crawler.Wire{AllowPrivate: true, ConnectTo: []fetch.ConnectTo{to}}, Hooks: crawler.Hooks{Logger: slog.New(slog.DiscardHandler)},
	}
	for s := range sites {
		o.Seeds = append(o.Seeds, fmt.Sprintf("http://s%d.test/0", s))
	}
	return o, err
}

// sayPages runs a crawl that prints a line for each page.
func sayPages(o crawler.Options) error {
	c, err := crawler.New(o)
	if err != nil {
		return err
	}
	return c.Run(context.Background(), crawler.HandlerFunc(func(_ context.Context, p *crawler.Page) error {
		fmt.Println(p.URL, p.Change(), len(p.Body))
		return nil
	}))
}

// A killer runs a program of killedPrograms and kills it, again and again.
type killer struct {
	t       *testing.T
	name    string
	address string // address of the web that the program crawls
	kills   int
	random  *rand.Rand
}

// newKiller serves web until the test ends, and returns a killer for the program name. The
// environment variable named variable may set the number of kills; kills is the default.
func newKiller(t *testing.T, name string, web http.Handler, variable, kills string) *killer {
	t.Helper()
	n, err := strconv.Atoi(cmp.Or(os.Getenv(variable), kills))
	if err != nil {
		t.Fatal(err)
	}
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: web, ReadHeaderTimeout: time.Minute}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listen) }()
	t.Cleanup(func() {
		server.Close()
		<-served
	})
	return &killer{t, name, listen.Addr().String(), n, rand.New(rand.NewPCG(1, 9))}
}

// kill runs the program, and kills it after a random number of printed lines, from one to lines.
func (k *killer) kill(dir string, lines int) {
	k.t.Helper()
	k.run(dir, 1+k.random.IntN(lines))
}

// end runs the program until it ends.
func (k *killer) end(dir string) {
	k.t.Helper()
	k.run(dir, -1)
}

// run runs the program, and kills it after it has printed the given number of lines. If lines is
// negative, it does not kill the program.
func (k *killer) run(dir string, lines int) {
	k.t.Helper()
	program := exec.Command(os.Args[0])
	program.Env = append(os.Environ(), killedProgram+"="+k.name+"|"+dir+"|"+k.address)
	var said bytes.Buffer
	program.Stderr = &said
	out, err := program.StdoutPipe()
	if err == nil {
		err = program.Start()
	}
	if err != nil {
		k.t.Fatal(err)
	}
	last, kill := "", lines > 0
	for in := bufio.NewScanner(out); in.Scan(); {
		last = in.Text()
		if lines--; lines == 0 {
			if err := program.Process.Kill(); err != nil {
				k.t.Fatal(err)
			}
		}
	}
	err = program.Wait()
	var exit *exec.ExitError
	killed := errors.As(err, &exit) && exit.ExitCode() != killedFailed
	if kill != killed || !kill && (err != nil || last != "ended") {
		k.t.Fatalf("the program %s: %v; its last line was %q\n%s", k.name, err, last, said.Bytes())
	}
}
