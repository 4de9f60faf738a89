package serve

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/feed"
)

// Bounds of one stream.
const (
	maxStall  = 10 * time.Second // in which a browser must take an event
	heartbeat = 15 * time.Second // after which a line is sent if there is no event
	maxStream = 64 << 20         // bytes, after which the browser has to connect again
)

// stream sends the updates of a feed as server-sent events, until the client leaves, is too
// slow, or has got maxStream bytes. The query of r names the layout of the page that it is for.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, f *feed.Feed) {
	if r.Method != http.MethodGet { // HEAD: there is no end to wait for
		refuse(w, r, http.StatusMethodNotAllowed, "A stream is only for GET.")
		return
	}
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		w.Header().Set("Retry-After", "10")
		refuse(w, r, http.StatusServiceUnavailable, fmt.Sprintf("This server has %d streams already.", mostStreams))
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.ended, cancel)()
	reader := f.Join()
	defer reader.Leave()
	out := &stalling{w: w, control: http.NewResponseController(w)}
	_ = out.control.SetReadDeadline(time.Time{}) // the request has been read
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	out.text("retry: 3000\n\n")
	out.flush()
	seen, layout := uint64(0), r.URL.Query().Get("layout")
	for out.err == nil && out.n < maxStream {
		next, end := context.WithTimeout(ctx, heartbeat)
		now, err := reader.Next(next)
		end()
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			out.text(": nothing new\n\n")
		case now.Layout != layout:
			out.text("event: reload\ndata: {}\n\n")
		default:
			out.text("data: {")
			for i, member := range now.Since(seen) {
				if i > 0 {
					out.text(",")
				}
				out.write(member)
			}
			out.text("}\n\n")
			seen = now.Version
		}
		out.flush()
	}
}

// A stalling writer gives the client maxStall for each part of the text. After the first error
// it writes nothing.
type stalling struct {
	w       http.ResponseWriter
	control *http.ResponseController
	n       int64
	err     error
}

func (s *stalling) write(p []byte) {
	if s.err == nil {
		_ = s.control.SetWriteDeadline(time.Now().Add(maxStall))
		_, s.err = s.w.Write(p)
		s.n += int64(len(p))
	}
}

func (s *stalling) text(text string) { s.write([]byte(text)) }

func (s *stalling) flush() {
	if s.err == nil {
		s.err = s.control.Flush()
	}
}
