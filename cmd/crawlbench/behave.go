package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// behaved are the contestants whose behaviour is compared.
var behaved = []string{"permesso", "scrapy", "wget2", "colly", "fetchbot", "gocrawl"}

// runBehave prints what each contestant does on each probe, as a table in Markdown. Its waiting
// is in real time.
func runBehave(ctx context.Context, args []string, out io.Writer) error {
	f := flag.NewFlagSet("behave", flag.ContinueOnError)
	only := f.String("probe", "", "the probe to run; empty: all")
	if err := f.Parse(args); err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "| probe | %s |\n|---|%s\n", strings.Join(behaved, " | "), strings.Repeat("---|", len(behaved)))
	for _, p := range probes() {
		if *only != "" && p.name != *only {
			continue
		}
		cells := make([]string, len(behaved))
		var all sync.WaitGroup
		for i, name := range behaved {
			// One contestant with its own server.
			all.Go(func() {
				if cells[i], err = p.run(ctx, exe, name); err != nil {
					cells[i] = err.Error()
				}
			})
		}
		all.Wait()
		fmt.Fprintf(out, "| %s | %s |\n", p.says, strings.Join(cells, " | "))
	}
	return nil
}

// A probe is a small site, and a check of the log of its server.
type probe struct {
	name, says string
	rules      string            // robots.txt; empty: 404
	pages      map[string]string // HTML by target
	serve      func(v *visits, rw http.ResponseWriter, r *http.Request) bool
	shown      bool          // embedded resources are requested
	wait       time.Duration // after this time a running contestant is stopped
	judge      func(v *visits) string
}

// visits are the requests to the server of a probe.
type visits struct {
	mu   sync.Mutex // guards the fields below: a server handles several requests at once
	all  []visit
	port int
	most int64 // maximum bytes of memory of the contestant
}

type visit struct {
	host, target string
	begin, end   time.Time
}

// asked returns how often a target was requested.
func (v *visits) asked(target string) (n int) {
	for _, one := range v.all {
		if one.target == target {
			n++
		}
	}
	return n
}

// yes returns the cell for a yes or a no, or the cell for unknown if the contestant has not
// come far enough to show it.
func (v *visits) yes(shown, is bool) string {
	switch {
	case !shown:
		return "-"
	case is:
		return "yes"
	}
	return "no"
}

// never returns a judge that requires that no target was requested.
func never(targets ...string) func(*visits) string {
	return func(v *visits) string {
		n := 0
		for _, t := range targets {
			n += v.asked(t)
		}
		return v.yes(v.asked("/") > 0, n == 0)
	}
}

// found returns a judge that requires a request for the target.
func found(target string) func(*visits) string {
	return func(v *visits) string { return v.yes(v.asked("/") > 0, v.asked(target) > 0) }
}

// foundAll returns a judge that requires requests for all targets.
func foundAll(targets ...string) func(*visits) string {
	return func(v *visits) string {
		for _, t := range targets {
			if v.asked(t) == 0 {
				return v.yes(v.asked("/") > 0, false)
			}
		}
		return v.yes(v.asked("/") > 0, true)
	}
}

// run runs a contestant on the probe.
func (p *probe) run(ctx context.Context, exe, name string) (string, error) {
	v := &visits{}
	stop, err := p.start(v)
	if err != nil {
		return "", err
	}
	defer stop()
	dir, err := os.MkdirTemp("", "behave")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	c, err := findContestant(name)
	if err != nil {
		return "", err
	}
	t := &task{Contestant: name, Program: c.program(), Hosts: 1, Pages: 1, Port: v.port, Scheme: "http", Concurrency: 8, Shown: p.shown, Dir: dir,
		Seeds: []string{fmt.Sprintf("http://%s:%d/", hostAddr(0), v.port)}}
	if !c.available() {
		return "not installed", nil
	}
	var cmd *exec.Cmd
	if c.command != nil {
		cmd, err = c.command(t)
	} else {
		cmd = exec.Command(exe, childCommand)
		var raw []byte
		raw, err = json.Marshal(t)
		cmd.Stdin = bytes.NewReader(raw)
	}
	if err != nil {
		return "", err
	}
	within, cancel := context.WithTimeout(ctx, p.wait)
	defer cancel()
	child := &process{cmd: cmd, timeout: p.wait}
	child.run(within) // the error is ignored: many contestants do not end by themselves
	v.mu.Lock()
	defer v.mu.Unlock()
	v.most = child.memory
	return p.judge(v), ctx.Err()
}

// start serves the probe at two addresses.
func (p *probe) start(v *visits) (stop func(), err error) {
	first, err := net.Listen("tcp", hostAddr(0).String()+":0")
	if err != nil {
		return nil, err
	}
	v.port = first.Addr().(*net.TCPAddr).Port
	other, err := net.Listen("tcp", fmt.Sprintf("%s:%d", hostAddr(1), v.port))
	if err != nil {
		first.Close()
		return nil, err
	}
	server := &http.Server{ErrorLog: log.New(io.Discard, "", 0), Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { p.answer(v, rw, r) })}
	for _, l := range []net.Listener{first, other} {
		// It ends with the server.
		go server.Serve(l)
	}
	return func() { server.Close() }, nil
}

func (p *probe) answer(v *visits, rw http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	at := len(v.all)
	host, _, _ := net.SplitHostPort(r.Host)
	v.all = append(v.all, visit{host: host, target: r.RequestURI, begin: time.Now()})
	v.mu.Unlock()
	defer func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.all[at].end = time.Now()
	}()
	if p.serve != nil && p.serve(v, rw, r) {
		return
	}
	page, ok := p.pages[r.RequestURI]
	switch {
	case r.RequestURI == "/robots.txt" && p.rules != "":
		rw.Header().Set("Content-Type", "text/plain")
		io.WriteString(rw, p.rules)
	case ok:
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(rw, "<!doctype html><title>x</title>"+page)
	default:
		http.NotFound(rw, r)
	}
}
