package crawler

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// A visit that waits for a free slot to read a sitemap ends when the run ends.
func TestWaitingForRoomForAListEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := make(listSlots, maxLists)
		ctx, cancel := context.WithCancelCause(t.Context())
		var leave []func()
		for range maxLists {
			f, err := l.enter(ctx)
			if err != nil {
				t.Fatal(err)
			}
			leave = append(leave, f)
		}
		entered := make(chan error)
		wait := func(ctx context.Context) {
			f, err := l.enter(ctx)
			if err == nil {
				f()
			}
			entered <- err
		}
		go wait(ctx)
		go wait(t.Context())
		synctest.Wait()
		bang := errors.New("bang")
		cancel(bang)
		if err := <-entered; err != bang {
			t.Error(err)
		}
		leave[0]()
		if err := <-entered; err != nil {
			t.Error(err)
		}
	})
}
