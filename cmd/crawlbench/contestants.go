package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"time"
)

// A task is the work of a contestant.
type task struct {
	Contestant  string
	Seeds       []string // roots of all hosts, by address
	Hosts       int
	Pages       int    // of each host
	Port        int    // of all hosts
	Scheme      string // "http" or "https"
	Cert        string // PEM of the hosts' certificate
	Delay       time.Duration
	Concurrency int
	Limit       int    // pages after which to stop; 0: no limit
	Anywhere    bool   // the crawl starts at the name of the first host and follows links to all hosts
	Shown       bool   // embedded resources are requested, too, if the contestant has a switch for them
	Dir         string // directory for the contestant's files
	Program     string // path of the program, if the contestant is one
	Profile     string // path before ".cpu" and ".mem"; empty: no profiles
}

// A report is what a built-in contestant reports about itself.
type report struct {
	Goroutines     int // maximum at one time
	Seen           int // known distinct URLs, fetched or not
	ProgramVersion string
}

// A contestant is a crawler, or a loop that does part of the work of a crawler.
type contestant struct {
	name, about string
	keeps       []string // a subset of kept
	floor       bool     // fetches a list: it neither finds nor remembers URLs
	delays      bool     // has a setting for the pause between two requests
	tls         bool     // has a setting to trust the certificate of the web
	names       bool     // can reach hosts without DNS
	limit       bool     // can stop at a number of pages
	after       string   // contestant that crawls the same web before it, unmeasured
	named       bool     // takes part only if it is named
	path        string   // of a program that is not searched in PATH
	run         func(ctx context.Context, t *task) (report, error)
	command     func(t *task) (*exec.Cmd, error) // of a program; instead of run
}

// What a contestant keeps in addition to fetching pages, and what that means.
const (
	keepsRobots  = "robots"
	keepsSeen    = "seen"
	keepsQueue   = "queue"
	keepsArchive = "archive"
	keepsRevisit = "revisit"
)

var kept = []struct{ word, means string }{
	{keepsRobots, "robots.txt is asked for and obeyed"},
	{keepsSeen, "a URL that was found before is known, and not fetched again"},
	{keepsQueue, "what is queued and what was seen lies on the disk, and outlives a kill"},
	{keepsArchive, "requests and answers are written as WARC files"},
	{keepsRevisit, "a later crawl can ask for only what has changed since"},
}

var (
	inMemory  = []string{keepsRobots, keepsSeen}
	durable   = append(inMemory[:2:2], keepsQueue)
	archiving = append(durable[:3:3], keepsArchive, keepsRevisit)
)

// available reports whether a program is installed or the contestant is built in.
func (c *contestant) available() bool {
	if c.command == nil {
		return true
	}
	_, err := exec.LookPath(c.program())
	return err == nil
}

// program returns the program of a contestant that is not built in.
func (c *contestant) program() string { return cmp.Or(c.path, c.name) }

// contestants returns all contestants in the order of the table.
func contestants() []contestant {
	return []contestant{
		{name: "raw-discard", about: "net/http, 64 goroutines on a list of URLs, bodies discarded", floor: true, tls: true, run: rawRunner(discardBody)},
		{name: "raw-readall", about: "the same with io.ReadAll", floor: true, tls: true, run: rawRunner(readBody)},
		{name: "raw-tokenizer", about: "the same with x/net/html's tokenizer and net/url", floor: true, tls: true, run: rawRunner(tokenizeBody)},
		{name: "raw-goquery", about: "the same with goquery and net/url", floor: true, tls: true, run: rawRunner(queryBody)},
		{name: "permesso-memory", about: "queue and seen set in memory, nothing written", keeps: inMemory, delays: true, tls: true, names: true, limit: true, run: runPermessoMemory},
		{name: "permesso", about: "durable queue, seen set and clocks, crawl.log; no archive", keeps: durable, delays: true, tls: true, names: true, limit: true, run: runPermessoDurable},
		{name: "permesso-warc", about: "and WARC files with their index, and pages.jsonl", keeps: archiving, delays: true, tls: true, names: true, limit: true, run: runPermessoArchive},
		{name: "permesso-pages", about: "as permesso, and pages.jsonl with the bodies", keeps: durable, delays: true, tls: true, names: true, limit: true, run: runPermessoPages},
		{name: "permesso-snapshot", about: "permesso-warc as a series has it, with digests of texts", keeps: archiving, named: true, delays: true, tls: true, names: true, limit: true, run: runPermessoSnapshot},
		{name: "permesso-again", about: "the same behind a permesso-snapshot, which it knows (--previous)", keeps: archiving, named: true, tls: true, names: true, after: "permesso-snapshot", run: runPermessoAgain},
		{name: "crawl", about: "permesso's command with its defaults: as permesso-warc, and the provenance at its end", keeps: archiving, delays: true, tls: true, names: true, limit: true, command: crawlCommand},
		{name: "wget2", about: "-r, pages deleted once read", keeps: inMemory, delays: true, tls: true, command: wget2Command},
		{name: "fetchbot", about: "with goquery and a map of URLs in the handler", keeps: inMemory, delays: true, run: runFetchbot},
		{name: "gocrawl", about: "DefaultExtender", keeps: inMemory, delays: true, run: runGocrawl},
		{name: "geziyor", about: "HTML parsed, links in ParseFunc", keeps: inMemory, delays: true, run: runGeziyor},
		{name: "colly", about: "Async, OnHTML", keeps: inMemory, delays: true, run: runColly},
		{name: "scrapy", about: "a Spider with response.css", keeps: inMemory, delays: true, command: scrapyCommand},
	}
}

func findContestant(name string) (contestant, error) {
	all := contestants()
	if i := slices.IndexFunc(all, func(c contestant) bool { return c.name == name }); i >= 0 {
		return all[i], nil
	}
	return contestant{}, fmt.Errorf("no contestant is named %q", name)
}

// childCommand runs one contestant in its own process, so that its CPU and memory can be
// measured separately.
const childCommand = "child"

func runChild(ctx context.Context, args []string, out io.Writer) error {
	f := flag.NewFlagSet(childCommand, flag.ContinueOnError)
	if err := f.Parse(args); err != nil {
		return err
	}
	var t task
	if err := json.NewDecoder(os.Stdin).Decode(&t); err != nil {
		return err
	}
	c, err := findContestant(t.Contestant)
	if err != nil {
		return err
	}
	if c.run == nil {
		return fmt.Errorf("%s is a program of its own", c.name)
	}
	stop, err := startProfile(t.Profile, "allocs", "block", "mutex")
	if err != nil {
		return err
	}
	watch := watchGoroutines()
	r, err := c.run(ctx, &t)
	r.Goroutines = watch()
	return errors.Join(err, stop(), json.NewEncoder(out).Encode(r))
}

// client returns an http.Client for peers that take one.
func (t *task) client() *http.Client {
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig: t.tlsConfig(), MaxIdleConns: 0, MaxIdleConnsPerHost: t.Concurrency,
	}}
}

func (t *task) tlsConfig() *tls.Config {
	if t.Cert == "" {
		return nil
	}
	return &tls.Config{RootCAs: t.rootCAs()}
}

func (t *task) rootCAs() *x509.CertPool {
	if t.Cert == "" {
		return nil
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(t.Cert))
	return pool
}

// hosts returns the addresses of all hosts, without port.
func (t *task) hosts() []string {
	var list []string
	for n := range t.Hosts {
		list = append(list, hostAddr(n).String())
	}
	return list
}
