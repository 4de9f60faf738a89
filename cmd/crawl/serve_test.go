package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/internal/store"
)

// When crawl serve ends, its streams end as a whole answer does.
func TestStreamsEndWithTheServer(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a.crawl")
	db, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		out, said := io.Pipe()
		ended := make(chan error, 1)
		go func() {
			p := &program{out: said, err: &bytes.Buffer{}}
			err := p.serve(ctx, &serveFlags{listen: "127.0.0.1:0", readOnly: true}, []string{dir})
			said.CloseWithError(err) // so that the test does not wait for an address in vain
			ended <- err
		}()
		home, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		var streams []*http.Response
		for range 8 {
			resp, err := http.Get(strings.TrimSpace(home) + "crawl/a.crawl/live?layout=ended")
			if err != nil {
				t.Fatal(err)
			}
			streams = append(streams, resp)
		}
		cancel()
		for _, resp := range streams {
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				t.Errorf("a stream was broken off: %v", err)
			}
			resp.Body.Close()
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}
