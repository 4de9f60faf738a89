package control

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/internal/store"
)

// asked opens the socket of a crawl that this process holds, with queries, and returns a
// function that prints one of them.
func asked(t *testing.T, queries map[string]Query) (print func(name string, out io.Writer) (errs string, err error), d *Server) {
	t.Helper()
	dir := short(t)
	db, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	mux := http.NewServeMux()
	Queries(mux, queries)
	d = opened(t, dir, mux)
	return func(name string, out io.Writer) (string, error) {
		var errs bytes.Buffer
		err := Print(t.Context(), dir, name, "what", out, &errs)
		return errs.String(), err
	}, d
}

// The output of a query of any size is copied unchanged, with its exit code and
// error.
func TestAQueryPrintsInAnotherProcess(t *testing.T) {
	large := strings.Repeat("\x00\xff line\n", 100_000)
	print, _ := asked(t, map[string]Query{
		"good": func(ask json.RawMessage, out, errs io.Writer, quit func() error) (int, error) {
			fmt.Fprint(out, string(ask), "\n", large)
			fmt.Fprint(errs, "a note")
			return 0, quit()
		},
		"bad":   func(_ json.RawMessage, out, _ io.Writer, _ func() error) (int, error) { return 3, errors.New("no") },
		"quiet": func(json.RawMessage, io.Writer, io.Writer, func() error) (int, error) { return 4, nil },
	})
	var out bytes.Buffer
	if errs, err := print("good", &out); err != nil || errs != "a note" || out.String() != "\"what\"\n"+large {
		t.Errorf("%d bytes, %q, %v", out.Len(), errs, err)
	}
	for name, want := range map[string]QueryError{"bad": {3, "no"}, "quiet": {4, ""}} {
		var ended *QueryError
		if _, err := print(name, io.Discard); !errors.As(err, &ended) || *ended != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	var refused *RefusedError
	if _, err := print("unknown", io.Discard); !errors.As(err, &refused) {
		t.Errorf("a query that does not exist: %v", err)
	}
}

// The number of queries at once is limited, an answer that is cut is an error, and a query
// ends if its client has left.
func TestQueriesHaveBounds(t *testing.T) {
	begun, left := make(chan bool, maxQueries), make(chan error, maxQueries)
	print, d := asked(t, map[string]Query{"endless": func(_ json.RawMessage, out, _ io.Writer, quit func() error) (int, error) {
		begun <- true
		for {
			fmt.Fprint(out, strings.Repeat("x", frameSize))
			if err := quit(); err != nil {
				left <- err
				return 0, err
			}
		}
	}})
	full, ends := errors.New("the disk is full"), make(chan error, maxQueries)
	stop := make(chan bool)
	for i := range maxQueries {
		go func() {
			_, err := print("endless", writerFunc(func(p []byte) (int, error) {
				if i == 0 { // this client leaves
					<-stop
					return 0, full
				}
				return len(p), nil
			}))
			ends <- err
		}()
		<-begun
	}
	var refused *RefusedError
	if _, err := print("endless", io.Discard); !errors.As(err, &refused) || !strings.Contains(err.Error(), "wait until one of them ends") {
		t.Errorf("one too many: %v", err)
	}
	close(stop)
	if err := <-ends; err != full {
		t.Errorf("the client that left: %v", err)
	}
	<-left
	if err := d.server.Close(); err != nil {
		t.Error(err)
	}
	for range maxQueries - 1 {
		<-left
		if err := <-ends; !errors.Is(err, ErrCut) {
			t.Errorf("the run has ended: %v", err)
		}
	}
}
