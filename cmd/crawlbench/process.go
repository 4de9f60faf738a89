package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A process is a child whose CPU and memory are measured.
type process struct {
	cmd     *exec.Cmd
	timeout time.Duration
	cpu     time.Duration
	memory  int64
}

func childProcess(exe string, args ...string) *exec.Cmd {
	cmd := exec.Command(exe, args...)
	cmd.Stderr = os.Stderr
	return cmd
}

// run waits for the child. When ctx ends, the child is killed.
func (p *process) run(ctx context.Context) error {
	if err := p.cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	// This goroutine ends with the child.
	go func() { ended <- p.cmd.Wait() }()
	const often = 20 * time.Millisecond
	tick := time.NewTicker(often)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			p.memory = max(p.memory, anonymousMemory(p.cmd.Process.Pid))
		case <-ctx.Done():
			p.cmd.Process.Kill()
			<-ended
			p.measure()
			return fmt.Errorf("was stopped after %v: %w", p.timeout, context.Cause(ctx))
		case err := <-ended:
			p.measure()
			return err
		}
	}
}

func (p *process) measure() { p.cpu = p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime() }

// anonymousMemory returns the RssAnon of a process and of its children in bytes: their memory
// without mapped files. It is 0 if the system does not report it.
func anonymousMemory(pid int) int64 {
	children, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	all := int64(0)
	for _, path := range children {
		b, _ := os.ReadFile(path) // the thread may have ended
		for _, child := range strings.Fields(string(b)) {
			if pid, err := strconv.Atoi(child); err == nil {
				all += anonymousMemory(pid)
			}
		}
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return all
	}
	_, rest, _ := bytes.Cut(b, []byte("\nRssAnon:"))
	f := bytes.Fields(rest)
	if len(f) == 0 {
		return all
	}
	kib, _ := strconv.ParseInt(string(f[0]), 10, 64)
	return all + kib<<10
}

// A webProcess is a web in its own process.
type webProcess struct {
	cmd   *exec.Cmd
	hello webHello
}

func startWeb(exe string, bc *benchCase) (*webProcess, error) {
	p := &bc.web
	w := &webProcess{cmd: childProcess(exe, "web",
		"--hosts", strconv.Itoa(p.Hosts), "--pages", strconv.Itoa(p.Pages), "--size", strconv.Itoa(p.Size),
		"--links", strconv.Itoa(p.Links), "--cross", strconv.Itoa(p.Cross), "--tree="+strconv.FormatBool(p.Tree),
		"--latency", p.Latency.String(), "--delay", p.Delay.String(),
		"--faults="+strconv.FormatBool(p.Faults), "--validators="+strconv.FormatBool(p.Validators), "--tls="+strconv.FormatBool(bc.tls))}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &w.hello)
	}
	if err != nil {
		_, serr := w.stop()
		return nil, errors.Join(err, serr)
	}
	return w, nil
}

func (w *webProcess) counts() (n WebCounts, err error) {
	res, err := http.Get(w.hello.Control)
	if err != nil {
		return n, err
	}
	defer res.Body.Close()
	return n, json.NewDecoder(res.Body).Decode(&n)
}

// forget resets the counts of the web.
func (w *webProcess) forget() error {
	req, err := http.NewRequest(http.MethodDelete, w.hello.Control, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	return res.Body.Close()
}

// stop ends the web and returns its CPU time.
func (w *webProcess) stop() (time.Duration, error) {
	err := w.cmd.Process.Signal(os.Interrupt)
	err = errors.Join(err, w.cmd.Wait())
	return w.cmd.ProcessState.UserTime() + w.cmd.ProcessState.SystemTime(), err
}
