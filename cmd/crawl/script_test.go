package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/series"
	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"crawl": main})
}

// The scripts show what a user types and sees. Each has a small web on loopback at $WEB,
// for --connect-to; at $PROXY is a proxy to that web.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			web, err := startWeb(env.WorkDir)
			if err != nil {
				return err
			}
			env.Defer(web.close)
			env.Setenv("WEB", "::"+web.address)
			env.Setenv("PROXY", "http://"+web.address)
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, "config"))
			env.Setenv("HOME", env.WorkDir)
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond != "sighup" { // SIGHUP is not ignored, as it is under nohup
				return false, fmt.Errorf("unknown condition %q", cond)
			}
			return !signal.Ignored(syscall.SIGHUP), nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":      exits,
			"hold":       hold,
			"holdseries": holdSeries,
			"truncate":   truncate,
			"spoil":      spoil,
			"lines":      lineCount,
			"archive":    archive,
			"garble":     garble,
			"figures":    figures,
			"crowd":      crowd,
			"answer":     answer,
			"keys":       keys,
			"page":       page,
		},
	})
}

// exits CODE COMMAND ... checks the exit code of a command.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	code := 0
	var ended *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &ended) {
		code = ended.ExitCode()
	} else {
		ts.Check(err)
	}
	if fmt.Sprint(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

// hold DIR keeps the state of a crawl locked until the script ends.
func hold(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(holdDir(ts, ts.MkAbs(args[0])))
}

// holdseries DIR makes a snapshot of a series until the script ends.
func holdSeries(ts *testscript.TestScript, neg bool, args []string) {
	r, err := series.Series{Dir: ts.MkAbs(args[0])}.Begin(series.Job{Options: &crawler.Options{}}, series.Moment{Now: time.Now(), Due: time.Now().AddDate(100, 0, 0)})
	ts.Check(err)
	ts.Defer(func() { r.Close() })
}

// keys PRIVATE PUBLIC writes the files of a key of Ed25519.
func keys(ts *testscript.TestScript, neg bool, args []string) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	ts.Check(err)
	own, err := x509.MarshalPKCS8PrivateKey(private)
	ts.Check(err)
	others, err := x509.MarshalPKIXPublicKey(public)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: own}), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: others}), 0o600))
}

// truncate FILE leaves the first five pages of a state file.
func truncate(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(os.Truncate(ts.MkAbs(args[0]), 5*4096))
}

// spoil FILE OLD NEW replaces bytes by others of the same length, at all places.
func spoil(ts *testscript.TestScript, neg bool, args []string) {
	raw := ts.ReadFile(args[0])
	if len(args[1]) != len(args[2]) || !strings.Contains(raw, args[1]) {
		ts.Fatalf("%s does not hold %q, or %q is not as long", args[0], args[1], args[2])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.ReplaceAll(raw, args[1], args[2])), 0o644))
}

// garble DIR overwrites all files of a directory with zeros.
func garble(ts *testscript.TestScript, neg bool, args []string) {
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	for _, e := range entries {
		path := filepath.Join(ts.MkAbs(args[0]), e.Name())
		info, err := e.Info()
		ts.Check(err)
		ts.Check(os.WriteFile(path, make([]byte, info.Size()), 0o644))
	}
}

// lines FILE N checks how many lines a file has.
func lineCount(ts *testscript.TestScript, neg bool, args []string) {
	n := strings.Count(ts.ReadFile(args[0]), "\n")
	if fmt.Sprint(n) != args[1] {
		ts.Fatalf("%s has %d lines, want %s", args[0], n, args[1])
	}
}

// crowd SOCKET connects forty clients to a control socket, which stay until the script
// ends. Half of them send nonsense, and half send nothing.
func crowd(ts *testscript.TestScript, neg bool, args []string) {
	for i := range 40 {
		conn, err := net.Dial("unix", ts.MkAbs(args[0]))
		ts.Check(err)
		ts.Defer(func() { conn.Close() })
		if i%2 == 0 {
			_, err := conn.Write(bytes.Repeat([]byte{0, byte(i), '\n'}, 100))
			ts.Check(err)
		}
	}
}

// figures TALK PATH FILE fetches PATH from the address of metrics that a crawl has printed,
// and writes the answer into a file.
func figures(ts *testscript.TestScript, neg bool, args []string) {
	at := regexp.MustCompile(`figures at (http://\S+)/metrics`).FindStringSubmatch(ts.ReadFile(args[0]))
	if at == nil {
		ts.Fatalf("%s names no address", args[0])
	}
	resp, err := http.Get(at[1] + args[1])
	ts.Check(err)
	defer resp.Body.Close()
	said, err := io.ReadAll(resp.Body)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), said, 0o644))
}

// page PATH FILE fetches a page of crawl serve, which has printed its address into the file
// address, and writes it into a file.
func page(ts *testscript.TestScript, neg bool, args []string) {
	at, _, _ := strings.Cut(ts.ReadFile("address"), "/#")
	r, err := http.NewRequest(http.MethodGet, strings.TrimSpace(at)+args[0], nil)
	ts.Check(err)
	r.Header.Set("Accept", "text/html")
	resp, err := http.DefaultClient.Do(r)
	ts.Check(err)
	defer resp.Body.Close()
	said, err := io.ReadAll(resp.Body)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), said, 0o644))
}

type web struct {
	address string
	server  *http.Server
	done    chan error
}

func startWeb(dir string) (*web, error) {
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/robots.txt", func(w http.ResponseWriter, r *http.Request) {
		switch r.Host {
		case "closed.test":
			w.WriteHeader(http.StatusForbidden)
		case "broken.test":
			w.WriteHeader(http.StatusInternalServerError)
		case "gone.test":
			http.NotFound(w, r)
		case "moved.test":
			http.Redirect(w, r, "http://full.test/robots.txt", http.StatusMovedPermanently)
		case "full.test":
			fmt.Fprint(w, "# All that it may ask.\nUser-agent: testbot\nUser-agent: otherbot\nDisallow: /private/\nDissalow: /x\n"+
				"Crawl-delay: 2.5\nRequest-rate: 1/5\nVisit-time: 1200-1859\nVisit-time: 2159-2300\nSitemap: http://full.test/map.xml\nSitemap: http://full.test/news.xml\n")
		case "signals.test":
			fmt.Fprint(w, "User-agent: *\nContent-Signal: /a search=yes, ai-train=no\n")
		default:
			fmt.Fprint(w, "User-agent: *\nDisallow: /private/\n")
		}
	})
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<title>Home</title><a href="/a">a</a> <a href="/b">b</a> <a href="/private/x">x</a>`)
	})
	for _, p := range []string{"/a", "/b"} {
		mux.HandleFunc(p, func(w http.ResponseWriter, r *http.Request) {
			if project := r.Header.Get("X-Project"); project != "" {
				os.WriteFile(filepath.Join(dir, "fields"), []byte(r.Header.Get("Accept-Language")+" "+project+"\n"), 0o644)
			}
			if agent := r.Header.Get("Signature-Agent"); agent != "" && r.Header.Get("Signature") != "" {
				os.WriteFile(filepath.Join(dir, "signed"), []byte(agent+" "+r.Header.Get("Signature-Input")+"\n"), 0o644)
			}
			w.Header().Set("Content-Type", "text/html")
			if r.Host == "signals.test" {
				w.Header().Set("X-Robots-Tag", "noai")
			}
			fmt.Fprintf(w, "<title>%s</title>", p)
		})
	}
	mux.HandleFunc("/more", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<a href="/a">a</a> <a href="/none">a page that is not there</a>`)
	})
	// An answer that never comes, so that a script can interrupt the crawl after it was
	// requested.
	mux.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) {
		os.WriteFile(filepath.Join(dir, "asked"), nil, 0o644)
		<-r.Context().Done()
	})
	w := &web{listen.Addr().String(), &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}, make(chan error, 1)}
	// The web of one script. It ends with close.
	go func() { w.done <- w.server.Serve(listen) }()
	return w, nil
}

func (w *web) close() {
	w.server.Close()
	<-w.done
}
