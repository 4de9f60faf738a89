package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"
)

// A Query answers a question of another process about a crawl. It runs in the process that runs
// the crawl. The other process sends ask, and prints what the query writes to out and errs. The
// query must call quit now and then, and must end if quit returns an error. code is the exit
// code with which the other process ends, and err is the error that the other process prints,
// or nil.
type Query func(ask json.RawMessage, out, errs io.Writer, quit func() error) (code int, err error)

// A QueryError is returned by Print if the query ended with an error or a nonzero exit
// code.
type QueryError struct {
	Code   int
	Reason string
}

func (e *QueryError) Error() string { return e.Reason }

// ErrCut is returned by Print if the answer is not whole, because the run has ended
// meanwhile, or because the run has cut off this process as too slow.
var ErrCut = errors.New("the answer was cut: the run has ended meanwhile")

// A frame is one line of JSON in the answer to a query. It carries part of the output of the
// query. The last frame has an End.
type frame struct {
	Out  []byte    `json:"out,omitempty"`
	Errs []byte    `json:"errs,omitempty"`
	End  *queryEnd `json:"end,omitempty"`
}

type queryEnd struct {
	Code   int    `json:"code"`
	Reason string `json:"reason,omitempty"`
}

// Bounds of queries. At most maxQueries run at once. A query whose client reads nothing for
// maxStall ends. A frame has about frameSize bytes. Each call of quit sleeps for as long as the
// query has worked since the call before, but at most for maxRest. So a query uses about half
// of a processor.
const (
	maxQueries = 4
	maxStall   = 10 * time.Minute
	frameSize  = 32 << 10
	maxRest    = 100 * time.Millisecond
)

// Queries adds the handlers of queries to mux: POST /query/NAME, with the keys of queries as
// NAME.
func Queries(mux *http.ServeMux, queries map[string]Query) {
	slots := semaphore.NewWeighted(maxQueries)
	for name, query := range queries {
		mux.HandleFunc("POST /query/"+name, func(w http.ResponseWriter, r *http.Request) {
			raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
			if err != nil {
				answer(w, http.StatusRequestEntityTooLarge, refusal{Error: fmt.Sprintf("the request cannot be read: %v", err)})
				return
			}
			if !slots.TryAcquire(1) {
				answer(w, http.StatusServiceUnavailable, refusal{Error: fmt.Sprintf("%d other queries are running: wait until one of them ends", maxQueries)})
				return
			}
			defer slots.Release(1)
			show(w, r, raw, query)
		})
	}
}

// show answers a request with a query.
func show(w http.ResponseWriter, r *http.Request, ask json.RawMessage, query Query) {
	f := &framer{w: w, control: http.NewResponseController(w), enc: json.NewEncoder(w)}
	defer func() { _ = f.control.SetWriteDeadline(time.Now().Add(usual.answer)) }()
	_ = f.control.SetReadDeadline(time.Time{}) // the request has been read; the answer may take longer
	w.WriteHeader(http.StatusOK)
	f.err = f.control.Flush()
	last := time.Now()
	code, err := query(ask, f.to(func(fr *frame) *[]byte { return &fr.Out }), f.to(func(fr *frame) *[]byte { return &fr.Errs }), func() error {
		if err := errors.Join(r.Context().Err(), f.err); err != nil {
			return err
		}
		rest := time.NewTimer(min(time.Since(last), maxRest))
		defer rest.Stop()
		select {
		case <-r.Context().Done():
		case <-rest.C:
		}
		last = time.Now()
		return r.Context().Err()
	})
	end := queryEnd{Code: code}
	if err != nil {
		end.Reason = err.Error()
	}
	f.flush()
	f.put(&frame{End: &end})
}

// A framer writes frames. After the first error it writes nothing more.
type framer struct {
	w       http.ResponseWriter
	control *http.ResponseController
	enc     *json.Encoder
	err     error
	waiting frame
}

func (f *framer) put(one *frame) {
	if f.err != nil {
		return
	}
	_ = f.control.SetWriteDeadline(time.Now().Add(maxStall))
	f.err = f.enc.Encode(one)
}

// flush sends the frame that waits to be sent.
func (f *framer) flush() {
	if len(f.waiting.Out)+len(f.waiting.Errs) == 0 {
		return
	}
	f.put(&f.waiting)
	if f.err == nil {
		f.err = f.control.Flush()
	}
	f.waiting.Out, f.waiting.Errs = f.waiting.Out[:0], f.waiting.Errs[:0]
}

// to returns a writer that appends to one field of the waiting frame. The argument is a
// function that returns this field of a frame.
func (f *framer) to(of func(*frame) *[]byte) io.Writer {
	return writerFunc(func(p []byte) (int, error) {
		for rest := p; len(rest) > 0 && f.err == nil; {
			n := min(len(rest), frameSize)
			text := of(&f.waiting)
			*text, rest = append(*text, rest[:n]...), rest[n:]
			if len(f.waiting.Out)+len(f.waiting.Errs) >= frameSize {
				f.flush()
			}
		}
		return len(p), f.err
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// Print makes the process that runs the crawl in dir run a query, and copies its output to
// out and errs. The error is a *QueryError if the query failed, a *RefusedError, ErrNobody,
// ErrCut, a *ShutError, or an error of out or errs.
func Print(ctx context.Context, dir, name string, ask any, out, errs io.Writer) error {
	raw, err := json.Marshal(ask)
	if err != nil {
		return err
	}
	if len(raw) > maxBody {
		return &RefusedError{Reason: fmt.Sprintf("that is more than %d bytes at once: ask in parts", maxBody)}
	}
	begin, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	conn, err := dial(begin, dir)
	if err != nil {
		return unanswered(dir, err)
	}
	defer conn.Close()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://crawl/query/"+name, bytes.NewReader(raw))
	if err != nil {
		return err
	}
	transport := over(conn)
	transport.ResponseHeaderTimeout = maxWait
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return unanswered(dir, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
		if err != nil {
			return unanswered(dir, err)
		}
		return refused(resp, raw)
	}
	frames := json.NewDecoder(resp.Body)
	for {
		var one frame
		if frames.Decode(&one) != nil {
			return ErrCut
		}
		if _, err := out.Write(one.Out); err != nil {
			return err
		}
		if _, err := errs.Write(one.Errs); err != nil {
			return err
		}
		switch {
		case one.End == nil:
		case one.End.Code == 0 && one.End.Reason == "":
			return nil
		default:
			return &QueryError{one.End.Code, one.End.Reason}
		}
	}
}
