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
	"strings"
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
// a quarter, a half and three quarters of its requests, or if it is a task, after a half. It
// prints the runs as JSON.
func all(name, dir string, program []string) error {
	if err := isolate(dir); err != nil {
		return err
	}
	t := taskNamed(name)
	whole, err := once(t, filepath.Join(dir, "whole"), program, 0)
	if err != nil {
		return err
	}
	runs, kills := []run{whole}, []int{1, 2, 3}
	if t != nil {
		kills = []int{2}
	}
	for _, quarters := range kills {
		if whole.Requests == 0 {
			break
		}
		killed, err := once(t, filepath.Join(dir, fmt.Sprint("killed", quarters)), program, max(1, whole.Requests*quarters/4))
		if err != nil {
			return err
		}
		runs = append(runs, killed)
	}
	return json.NewEncoder(os.Stdout).Encode(runs)
}

// once runs a program in a directory, against a new shop. If it is killed at its strike-th
// request, it is started again. t is nil if the program is not a task.
func once(t *task, dir string, program []string, strike int) (r run, err error) {
	if err := os.Mkdir(dir, 0o777); err != nil {
		return r, err
	}
	s := &shop{strike: strike}
	objects := &store{names: map[string]bool{}, records: map[string]int{}}
	if t != nil {
		s.site, s.drive = sites[t.name], t.drive
		err = layOut(dir)
	}
	for at, handler := range map[string]http.Handler{address + ":80": s, storeAddress: objects} {
		l, err := net.Listen("tcp", at)
		if err != nil {
			return r, err
		}
		server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
		go server.Serve(l)
		defer server.Close()
	}
	began := time.Now()
	for again := true; again && err == nil; {
		again, err = start(dir, program, s)
		if !again && t != nil && t.twice && s.phase == 0 {
			s.phase, again = 1, true
		}
	}
	if err != nil {
		return r, err
	}
	if s.strike > 0 {
		return r, fmt.Errorf("%v was not killed: %d requests were missing", program, s.strike)
	}
	r = run{figures: s.figures, Took: time.Since(began)}
	switch {
	case t == nil:
		r.Items, err = items(dir, firstURL)
	case t.record != nil:
		r.Items, err = items(dir, t.record)
	case t.found != nil:
		r.Items = map[string]int{}
		err = t.found(dir, r.Items)
	default:
		r.Items = objects.records
	}
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
	var args []string
	for _, arg := range program[1:] {
		args = append(args, strings.NewReplacer("NEW", fmt.Sprint(s.phase+1), "OLD", fmt.Sprint(s.phase)).Replace(arg))
	}
	cmd := exec.Command(program[0], args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, files[0], files[1]
	cmd.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID=key", "AWS_SECRET_ACCESS_KEY=secret")
	if urls, err := os.Open(filepath.Join(dir, "urls.txt")); err == nil {
		cmd.Stdin = urls
		defer urls.Close()
	}
	s.mu.Lock()
	s.kill = func() { killed = cmd.Process.Kill() == nil }
	err = cmd.Start()
	s.mu.Unlock()
	if err != nil {
		return false, err
	}
	if s.drive != nil {
		if err := s.drive(s); err != nil {
			return false, err
		}
		cmd.Process.Kill() // a service does not end by itself
	}
	err = cmd.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	var exit *exec.ExitError
	if killed || s.drive != nil || errors.As(err, &exit) && exit.ExitCode() == 1 { // linkcheck also exits with 1
		err = nil
	}
	return killed, err
}

var firstURL = regexp.MustCompile(`http://shop\.test/[^\s",]*`)

// items returns what an expression finds first in the lines of a program's outputs. If it has
// groups, these are what is found.
func items(dir string, record *regexp.Regexp) (map[string]int, error) {
	found := map[string]int{}
	for _, name := range []string{"out", "items.jsonl", "books.jsonl", "books/books.jsonl", "corpus/pages.jsonl"} {
		of, err := recordsOf(filepath.Join(dir, name), record)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		for item, n := range of {
			found[item] += n
		}
	}
	return found, nil
}

// recordsOf returns what an expression finds in the lines of a file.
func recordsOf(file string, record *regexp.Regexp) (map[string]int, error) {
	found := map[string]int{}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if m := record.FindStringSubmatch(lines.Text()); m != nil {
			found[strings.TrimSpace(strings.Join(m[min(1, len(m)-1):], " "))]++
		}
	}
	return found, lines.Err()
}
