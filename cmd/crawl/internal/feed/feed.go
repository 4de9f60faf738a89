package feed

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"
)

// A Part is a part of a page.
type Part struct {
	ID   string
	HTML string
}

// A Run makes the parts of a page. It calls publish with all parts whenever they may have
// changed, and returns when ctx ends. The layout names the arrangement of the parts: readers
// whose page has another layout have to load the page again.
type Run func(ctx context.Context, publish func(layout string, parts []Part))

// A Feed has the parts of one page. It is safe for concurrent use.
type Feed struct {
	run    Run
	linger time.Duration

	mu      sync.Mutex // guards the fields below
	readers int
	leaving *time.Timer        // cancels the run, if no reader comes; nil while there are readers
	cancel  context.CancelFunc // ends the run; nil between runs
	done    chan struct{}      // closed when the last run has ended; nil if there was none
	now     *Update            // of all parts; nil before the first
	changed chan struct{}      // closed with the next change
}

// An Update has the parts of a page at a time. It is not changed afterwards.
type Update struct {
	Version uint64
	Layout  string
	Parts   []Part
	since   []uint64 // of each part: the version in which it changed
	texts   [][]byte // of each part, as text of JSON: "id":"html"
}

// New returns a Feed that calls run while it has readers, and until there were none for linger.
func New(linger time.Duration, run Run) *Feed {
	return &Feed{run: run, linger: linger, changed: make(chan struct{})}
}

// A Reader reads the updates of a Feed. It is not safe for concurrent use.
type Reader struct {
	feed *Feed
	seen uint64
}

// Join returns a new reader, whose first update has all parts. The caller must call Leave.
func (f *Feed) Join() *Reader {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.readers++
	if f.leaving != nil {
		f.leaving.Stop()
		f.leaving = nil
	}
	if f.cancel == nil {
		f.start()
	}
	return &Reader{feed: f}
}

// start starts the run. f.mu is held.
func (f *Feed) start() {
	before := f.done
	ctx, cancel := context.WithCancel(context.Background())
	f.cancel, f.done = cancel, make(chan struct{})
	done := f.done
	// This goroutine makes the parts. It ends some time after the last reader has left.
	go func() {
		defer close(done)
		if before != nil {
			<-before
		}
		f.run(ctx, func(layout string, parts []Part) {
			if ctx.Err() == nil {
				f.publish(layout, parts)
			}
		})
	}()
}

// Leave ends the reading.
func (r *Reader) Leave() {
	f := r.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.readers--; f.readers > 0 || f.cancel == nil {
		return
	}
	f.leaving = time.AfterFunc(f.linger, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.readers == 0 {
			f.stop()
		}
	})
}

// stop ends the run. The parts are forgotten, because they are no longer up to date when the
// next reader comes. f.mu is held.
func (f *Feed) stop() {
	if f.cancel != nil {
		f.cancel()
	}
	f.cancel, f.leaving = nil, nil
	if f.now != nil {
		f.now = &Update{Version: f.now.Version}
	}
}

// Close ends the run, and waits for its end. Readers get no more updates.
func (f *Feed) Close() {
	f.mu.Lock()
	if f.leaving != nil {
		f.leaving.Stop()
	}
	f.stop()
	done := f.done
	f.mu.Unlock()
	if done != nil {
		<-done
	}
}

func (f *Feed) publish(layout string, parts []Part) {
	f.mu.Lock()
	defer f.mu.Unlock()
	was := f.now
	if was == nil {
		was = &Update{}
	}
	now := &Update{Version: was.Version + 1, Layout: layout, Parts: slices.Clone(parts)}
	any := layout != was.Layout || len(parts) != len(was.Parts)
	for _, p := range parts {
		i := slices.Index(was.Parts, p)
		if i >= 0 {
			now.since, now.texts = append(now.since, was.since[i]), append(now.texts, was.texts[i])
			continue
		}
		any = true
		now.since, now.texts = append(now.since, now.Version), append(now.texts, inJSON(p))
	}
	if !any {
		return
	}
	f.now = now
	close(f.changed)
	f.changed = make(chan struct{})
}

// inJSON returns a part as a member of a JSON object, without line ends.
func inJSON(p Part) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for i, text := range []string{p.ID, p.HTML} {
		if i > 0 {
			b.WriteByte(':')
		}
		_ = enc.Encode(text) // a text can always be encoded
		b.Truncate(b.Len() - 1)
	}
	return b.Bytes()
}

// Next waits until something has changed that the reader has not seen, and returns all parts.
// It fails with the error of ctx.
func (r *Reader) Next(ctx context.Context) (*Update, error) {
	for {
		r.feed.mu.Lock()
		now, changed := r.feed.now, r.feed.changed
		r.feed.mu.Unlock()
		if now != nil && len(now.Parts) > 0 && now.Version > r.seen {
			r.seen = now.Version
			return now, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Since returns the parts that have changed after a version, as the members of a JSON object
// whose names are the identifiers of the parts. The parts are shared, and must not be changed.
func (u *Update) Since(version uint64) (members [][]byte) {
	for i, since := range u.since {
		if since > version {
			members = append(members, u.texts[i])
		}
	}
	return members
}
