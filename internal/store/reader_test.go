package store

import (
	"errors"
	"os"
	"testing"

	"github.com/permesso-crawler/permesso/frontier"
)

// A Reader returns the same values as the DB before it, also after a kill.
func TestAReaderSaysWhatIsThere(t *testing.T) {
	dir := everything(t)
	r, err := OpenReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Unclean() || r.LastCommit().IsZero() {
		t.Errorf("unclean %v, last commit %v", r.Unclean(), r.LastCommit())
	}
	const site = frontier.Site("http://h0.example")
	sites, clocks, queued, snapshots, keys := 0, 0, 0, 0, 0
	for _, is := range r.Sites() {
		err = errors.Join(err, is)
		sites++
	}
	for _, is := range r.Common() {
		err = errors.Join(err, is)
		clocks++
	}
	for _, is := range r.Keys("k") {
		err = errors.Join(err, is)
		keys++
	}
	for _, is := range r.Queued(site) {
		err = errors.Join(err, is)
		queued++
	}
	for _, is := range r.Snapshots(site) {
		err = errors.Join(err, is)
		snapshots++
	}
	if err != nil || sites != 4 || clocks != 1 || queued == 0 || snapshots != 1 || keys != 1 {
		t.Errorf("%d sites, %d clocks, %d are queued, %d snapshots, %d keys, %v", sites, clocks, queued, snapshots, keys, err)
	}
	if st, err := r.State(site); err != nil || st.Site != site || st.Queued == 0 {
		t.Errorf("%+v, %v", st, err)
	}
	if fate, ok, err := r.Fate(entry(t, "http://h0.example/0").URL); !ok || err != nil || fate.Code != frontier.Fetched {
		t.Errorf("%+v, %v, %v", fate, ok, err)
	}
	k, ok, err := r.Entry(entry(t, "http://h0.example/0").URL)
	if !ok || err != nil || k.Fate.Code != frontier.Fetched || k.Number == 0 {
		t.Errorf("%+v, %v, %v", k, ok, err)
	}
	names, entries := 0, 0
	for name, err := range r.Names() {
		names++
		for k, is := range r.Entries(name) {
			if entries++; errors.Join(err, is) != nil || k.URL.Site() != name {
				t.Errorf("%+v of %s, %v, %v", k, name, err, is)
			}
		}
	}
	if n, err := r.Ahead(k); names != 4 || entries <= queued || n != 0 || err != nil {
		t.Errorf("%d names, %d entries, %d ahead, %v", names, entries, n, err)
	}
	var v string
	if ok, err := r.Get("key", &v); !ok || err != nil || v != "value" {
		t.Errorf("%q, %v, %v", v, ok, err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.State(site); !errors.Is(err, ErrClosed) {
		t.Errorf("State after Close: %v", err)
	}
	if _, err := OpenReader(t.TempDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of no crawl: %v", err)
	}
}
