//go:build unix

package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/internal/collect"
	"github.com/permesso-crawler/permesso/storage"
)

// SetLease sets the lease of a node.
func SetLease(s storage.State, lease time.Duration) { s.(*database).lease = lease }

// Collect makes a crawl of one machine from the nodes with the directories dirs.
func Collect(ctx context.Context, s storage.State, dirs []string, into string) (collect.Result, error) {
	return s.(*database).Collect(ctx, dirs, into, false)
}

// Rewind permits the node with the directory dir to use a database that is older than its files.
func Rewind(t testing.TB, url, dir string) error {
	t.Helper()
	s, err := New(url)
	if err != nil {
		return err
	}
	return s.(*database).Rewind(dir)
}

// SetSearchPath sets the schemas in which the connections of s find names. A schema before
// pg_catalog can replace functions.
func SetSearchPath(s storage.State, path string) {
	s.(*database).config.ConnConfig.RuntimeParams["search_path"] = path
}
