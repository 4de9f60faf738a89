package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"time"
)

// address is the address of the shop, on the loopback device of a network namespace: one
// that counts as public, so that no program needs a setting for it.
const address = "11.22.33.44"

// A run is the result of a program that was started, and started again if it was killed.
type run struct {
	figures
	Items map[string]int // by URL, how often it was reported
	Took  time.Duration
}

// isolate makes only shop.test resolve in the namespaces of this process.
func isolate(dir string) error {
	hosts := filepath.Join(dir, "hosts")
	err := os.WriteFile(hosts, []byte("127.0.0.1 localhost\n"+address+" shop.test\n"), 0o644)
	if err == nil {
		err = syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "")
	}
	if err == nil {
		err = syscall.Mount(hosts, "/etc/hosts", "", syscall.MS_BIND, "")
	}
	for _, args := range [][]string{{"link", "set", "lo", "up"}, {"addr", "add", address + "/32", "dev", "lo"}} {
		if err == nil {
			err = exec.Command("ip", args...).Run()
		}
	}
	return err
}

// all runs a program several times in a namespace of its own: undisturbed, and killed after
// a quarter, a half and three quarters of its requests. It prints the runs as JSON.
func all(dir string, program []string) error {
	if err := isolate(dir); err != nil {
		return err
	}
	whole, err := once(filepath.Join(dir, "whole"), program, 0)
	if err != nil {
		return err
	}
	runs := []run{whole}
	for quarters := 1; quarters <= 3; quarters++ {
		killed, err := once(filepath.Join(dir, fmt.Sprint("killed", quarters)), program, max(1, whole.Requests*quarters/4))
		if err != nil {
			return err
		}
		runs = append(runs, killed)
	}
	return json.NewEncoder(os.Stdout).Encode(runs)
}

// once runs a program in a directory, against a new shop. If it is killed at its strike-th
// request, it is started again.
func once(dir string, program []string, strike int) (r run, err error) {
	if err := os.Mkdir(dir, 0o777); err != nil {
		return r, err
	}
	s := &shop{strike: strike}
	l, err := net.Listen("tcp", address+":80")
	if err != nil {
		return r, err
	}
	server := &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	go server.Serve(l)
	defer server.Close()
	began := time.Now()
	for again := true; again; {
		if again, err = start(dir, program, s); err != nil {
			return r, err
		}
	}
	if s.strike > 0 {
		return r, fmt.Errorf("%v was not killed: %d requests were missing", program, s.strike)
	}
	r = run{figures: s.figures, Took: time.Since(began)}
	r.Items, err = items(dir)
	return r, err
}

// start runs the program until it ends, and reports whether it was killed. It appends the
// program's output to a file.
func start(dir string, program []string, s *shop) (killed bool, err error) {
	var files [2]*os.File
	for i, name := range []string{"out", "err"} {
		if files[i], err = os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666); err != nil {
			return false, err
		}
		defer files[i].Close()
	}
	cmd := exec.Command(program[0], program[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, files[0], files[1]
	s.mu.Lock()
	s.kill = func() { killed = cmd.Process.Kill() == nil }
	err = cmd.Start()
	s.mu.Unlock()
	if err != nil {
		return false, err
	}
	err = cmd.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	var exit *exec.ExitError
	if killed || errors.As(err, &exit) && exit.ExitCode() == 1 { // linkcheck also exits with 1
		err = nil
	}
	return killed, err
}

var firstURL = regexp.MustCompile(`http://shop\.test/[^\s",]*`)

// items returns the URLs at the beginning of the lines of a program's outputs.
func items(dir string) (map[string]int, error) {
	found := map[string]int{}
	for _, name := range []string{"out", "items.jsonl", "books.jsonl", "books/books.jsonl"} {
		f, err := os.Open(filepath.Join(dir, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			if url := firstURL.FindString(lines.Text()); url != "" {
				found[url]++
			}
		}
		if err := lines.Err(); err != nil {
			return nil, err
		}
	}
	return found, nil
}
