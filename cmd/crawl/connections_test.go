package main

import (
	"net"
	"net/http"
	"sync"
	"testing"
)

// connections counts the open connections of a server.
type connections struct {
	mu   sync.Mutex
	none *sync.Cond
	open map[net.Conn]bool
}

func newConnections() *connections {
	c := &connections{open: map[net.Conn]bool{}}
	c.none = sync.NewCond(&c.mu)
	return c
}

// state is for http.Server.ConnState.
func (c *connections) state(conn net.Conn, s http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch s {
	case http.StateNew:
		c.open[conn] = true
	case http.StateClosed, http.StateHijacked:
		delete(c.open, conn)
	}
	if len(c.open) == 0 {
		c.none.Broadcast()
	}
}

// probeHost is the host of the request of drain, which is not counted.
const probeHost = "probe"

// drain waits until the server at address has answered everything that a killed crawler had
// requested. Connections are accepted in order: after that of drain, all earlier ones have
// been.
func (c *connections) drain(t *testing.T, address string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	req, err := http.NewRequest("GET", "http://"+address, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = probeHost
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.open) > 0 {
		c.none.Wait()
	}
}
