package crawler_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A chromium is a headless browser. The test controls it with the DevTools protocol over pipes.
type chromium struct {
	cmd *exec.Cmd
	to  *os.File

	// Guards the fields below, and writing to the browser, because pages are loaded concurrently.
	mu      sync.Mutex
	id      int
	answers map[int]chan answerOfChromium
	loaded  map[string]chan bool // by session
}

type answerOfChromium struct {
	ID        int
	Method    string
	SessionID string `json:"sessionId"`
	Result    json.RawMessage
	Error     *struct{ Message string }
}

// startChromium starts a browser that connects to address for all host names.
func startChromium(t *testing.T, program, address string) *chromium {
	ours, theirs, err := os.Pipe()
	theirIn, ourOut, err2 := os.Pipe()
	if err = errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	c := &chromium{to: ourOut, answers: map[int]chan answerOfChromium{}, loaded: map[string]chan bool{}}
	c.cmd = exec.Command(program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--remote-debugging-pipe",
		"--disable-features=HttpsFirstBalancedMode,HttpsUpgrades", "--no-proxy-server", "--host-resolver-rules=MAP * "+address, "--user-data-dir="+t.TempDir())
	c.cmd.ExtraFiles = []*os.File{theirIn, theirs}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirIn.Close()
	theirs.Close()
	read := make(chan struct{})
	go func() { // ends with the browser
		defer close(read)
		c.read(ours)
	}()
	t.Cleanup(func() {
		c.call(leastPatience, "", "Browser.close", nil)
		ourOut.Close()
		c.cmd.Wait()
		<-read
		ours.Close()
	})
	return c
}

// read reads the messages of the browser.
func (c *chromium) read(from *os.File) {
	in := bufio.NewReader(from)
	for {
		line, err := in.ReadBytes(0)
		if err != nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			for _, ch := range c.answers {
				close(ch)
			}
			c.answers = nil
			return
		}
		var a answerOfChromium
		if json.Unmarshal(bytes.TrimSuffix(line, []byte{0}), &a) != nil {
			continue
		}
		c.mu.Lock()
		if ch := c.answers[a.ID]; a.ID > 0 && ch != nil {
			ch <- a
			delete(c.answers, a.ID)
		}
		if ch := c.loaded[a.SessionID]; a.Method == "Page.loadEventFired" && ch != nil {
			close(ch)
			delete(c.loaded, a.SessionID)
		}
		c.mu.Unlock()
	}
}

// The time to wait for a command of the browser, at first and at most. An endless page never
// finishes loading, and on a busy machine a browser is slow. So a page is loaded several times,
// with longer waits: a browser that reads the part before a fault together with the fault shows
// nothing.
const (
	leastPatience = 3 * time.Second
	mostPatience  = 27 * time.Second
	mostTries     = 6
)

func (c *chromium) call(patience time.Duration, session, method string, params any) (map[string]any, error) {
	c.mu.Lock()
	if c.answers == nil {
		c.mu.Unlock()
		return nil, errors.New("the browser has ended")
	}
	c.id++
	ch := make(chan answerOfChromium, 1)
	c.answers[c.id] = ch
	message := map[string]any{"id": c.id, "method": method}
	if params != nil {
		message["params"] = params
	}
	if session != "" {
		message["sessionId"] = session
	}
	text, err := json.Marshal(message)
	if err == nil {
		_, err = c.to.Write(append(text, 0))
	}
	c.mu.Unlock()
	if err != nil {
		return nil, err
	}
	select {
	case a, ok := <-ch:
		if !ok || a.Error != nil {
			return nil, fmt.Errorf("%s: %+v", method, a.Error)
		}
		result := map[string]any{}
		return result, json.Unmarshal(a.Result, &result)
	case <-time.After(patience):
		return nil, fmt.Errorf("%s: no answer", method)
	}
}

// show loads a page, and returns the text that the browser shows. If the page does not finish
// loading within patience, it returns the text that is shown then.
func (c *chromium) show(url string, patience time.Duration) (string, error) {
	target, err := c.call(patience, "", "Target.createTarget", map[string]any{"url": "about:blank"})
	if err != nil {
		return "", err
	}
	defer c.call(patience, "", "Target.closeTarget", target)
	attached, err := c.call(patience, "", "Target.attachToTarget", map[string]any{"targetId": target["targetId"], "flatten": true})
	if err != nil {
		return "", err
	}
	session, _ := attached["sessionId"].(string)
	if _, err := c.call(patience, session, "Page.enable", nil); err != nil {
		return "", err
	}
	loaded := make(chan bool)
	c.mu.Lock()
	c.loaded[session] = loaded
	c.mu.Unlock()
	c.call(patience, session, "Page.navigate", map[string]any{"url": url}) // the browser shows failures as pages
	select {
	case <-loaded:
	case <-time.After(patience / 2):
	}
	shown, err := c.call(patience, session, "Runtime.evaluate", map[string]any{"expression": "document.documentElement ? document.documentElement.textContent : ''"})
	if err != nil {
		return "", err
	}
	result, _ := shown["result"].(map[string]any)
	text, _ := result["value"].(string)
	return text, nil
}

// If PERMESSO_CHROMIUM is the path of a browser, it must show of each page what a crawl keeps.
// Differences need a reason in the table.
func TestOddAnswersShownByChromium(t *testing.T) {
	program := os.Getenv("PERMESSO_CHROMIUM")
	if program == "" {
		t.Skip("PERMESSO_CHROMIUM is not set")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	all := cells()
	go func() { // ends when l is closed; its connections end with the browser
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go serveCells(conn, all)
		}
	}()
	defer l.Close()
	browser := startChromium(t, program, l.Addr().String())
	hosts := slices.Sorted(maps.Keys(all))
	hosts = slices.DeleteFunc(hosts, func(h string) bool { return all[h].at != "/odd" })
	work := make(chan string)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for host := range work {
				c := all[host]
				want, got, text, err := c.shown(), "", "", error(nil)
				patience := leastPatience
				for try := 0; try < mostTries && (got != want || err != nil); try++ {
					text, err = browser.show("http://"+host+c.at, patience)
					got = textOf(text)
					if c.leads != "" {
						got = iff(strings.Contains(text, "TARGET"), "followed", "lost")
					}
					patience = min(3*patience, mostPatience)
				}
				if err != nil || got != want {
					t.Errorf("%s, %s: Chromium shows %s, want %s: %.80q, %v", c.question.name, c.fault.name, got, want, text, err)
				}
			}
		})
	}
	for _, host := range hosts {
		work <- host
	}
	close(work)
	wait.Wait()
	t.Logf("%d answers", len(hosts))
}

// shown returns what Chromium should show of the cell according to the table.
func (c *cell) shown() string {
	switch {
	case c.leads != "" && c.none:
		return "lost"
	case c.leads != "":
		return "followed"
	case c.chromium != "":
		return c.chromium
	}
	text, _, _ := strings.Cut(c.page, ",")
	return text
}
