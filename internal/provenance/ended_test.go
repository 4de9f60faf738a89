package provenance_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/permesso-crawler/permesso/internal/account"
	"github.com/permesso-crawler/permesso/internal/audit"
	"github.com/permesso-crawler/permesso/internal/provenance"
	"github.com/permesso-crawler/permesso/internal/store"
)

// A fading is a context that ends when it has been asked a given number of times.
type fading struct {
	context.Context
	left *atomic.Int64
}

func (f fading) Err() error {
	if f.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// Write is cancelled at any moment. All files are as before.
func TestWhereverItIsEndedAllIsAsItWas(t *testing.T) {
	dir := crawled(t)
	write(t, dir, provenance.Options{})
	before := directory(t, dir)
	ended := 0
	for n, next := 0, 1; ; n, next = next, n+next+1 {
		var left atomic.Int64
		left.Store(int64(n))
		_, err := provenance.Write(fading{context.Background(), &left}, dir, provenance.Options{})
		if err == nil {
			break
		}
		ended++
		if !errors.Is(err, context.Canceled) {
			t.Errorf("after %d: %v", n, err)
		}
		if after := directory(t, dir); !maps.Equal(before, after) {
			t.Fatalf("after %d: was %v, is %v", n, before, after)
		}
	}
	if ended < 5 {
		t.Errorf("it was ended %d times", ended)
	}
}

// Write can be cancelled while it reads many links or a long log.
func TestWhatTakesLongIsEnded(t *testing.T) {
	dir := crawled(t)
	enough := errors.New("enough")
	if _, err := audit.Dir(dir, audit.Options{Quit: func() error { return enough }}); !errors.Is(err, enough) {
		t.Error(err)
	}
	spoil(t, filepath.Join(dir, store.LinksFile), func(b []byte) []byte { return bytes.Repeat(b, 300) })
	r, err := store.OpenReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	a, err := account.New(&r.Records, settle)
	if err != nil {
		t.Fatal(err)
	}
	a.Quit = func() error { return enough }
	var last error
	for _, err := range a.Refused() {
		last = err
	}
	if !errors.Is(last, enough) {
		t.Error(last)
	}
}
