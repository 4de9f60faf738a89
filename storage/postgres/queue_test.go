//go:build unix

package postgres

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/internal/state"
)

// A caller that waits for a commit before the committer has seen the operation does not wait until
// more operations are gathered.
func TestACallerThatWaitsDoesNotWaitForMore(t *testing.T) {
	for name, bounds := range map[string]state.Bounds{"Sync": {}, "a full queue": {Queue: 1}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db := &node{closing: make(chan struct{}), opts: state.Options{Gather: time.Hour}}
				db.queue.init(bounds)
				if err := db.queue.put(op{key: "k", value: []byte("1")}); err != nil {
					t.Fatal(err)
				}
				done := make(chan error, 1)
				go func() {
					if bounds.Queue > 0 {
						done <- db.queue.put(op{key: "k", value: []byte("2")})
					} else {
						done <- db.Sync(t.Context())
					}
				}()
				synctest.Wait()
				began := time.Now()
				db.gather()
				db.queue.done(db.queue.take(false))
				if err := <-done; err != nil || time.Since(began) > 0 {
					t.Errorf("%v after %v", err, time.Since(began))
				}
			})
		})
	}
}
