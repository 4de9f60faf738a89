package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/store"
)

// ErrNobody is returned by Status, Tell and Print if no process runs the crawl.
var ErrNobody = errors.New("no process runs the crawl")

// A ShutError says that a process runs a crawl and does not answer at its socket.
type ShutError struct {
	Dir string
	Run *store.Run // nil if not known
	Err error
}

func (e *ShutError) Error() string {
	process := "a process"
	if e.Run != nil {
		process = fmt.Sprintf("process %d", e.Run.PID)
	}
	return fmt.Sprintf("%s runs the crawl in %s, and does not answer: %v", process, e.Dir, e.Err)
}

func (e *ShutError) Unwrap() error { return e.Err }

// A RefusedError is returned if the crawl has received a request and refused it.
type RefusedError struct {
	Reason string
	Ended  bool // the run has ended, or is about to
}

func (e *RefusedError) Error() string { return e.Reason }

// Status returns the status of the crawl in dir, from the process that runs it. The error
// is ErrNobody, a *RefusedError or a *ShutError.
func Status(ctx context.Context, dir string) (s crawler.Status, err error) {
	return s, call(ctx, dir, http.MethodGet, "/status", nil, &s)
}

// Tell sends the request ask to the process that runs the crawl in dir. do is the command:
// pause, resume, slow, exclude, add or limit. The errors are those of Status.
func Tell(ctx context.Context, dir, do string, ask Ask) error {
	raw, err := json.Marshal(ask)
	if err != nil {
		return err
	}
	if len(raw) > maxBody {
		return &RefusedError{Reason: fmt.Sprintf("that is more than %d bytes at once: tell it in parts", maxBody)}
	}
	return call(ctx, dir, http.MethodPost, "/"+do, raw, &struct{}{})
}

// The process that runs the crawl must answer within maxWait, with at most maxAnswer bytes.
const (
	maxWait   = 30 * time.Second
	maxAnswer = 8 << 20
)

func call(ctx context.Context, dir, method, path string, body []byte, into any) error {
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	conn, err := dial(ctx, dir)
	if err != nil {
		return unanswered(dir, err)
	}
	defer conn.Close()
	transport := over(conn)
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, method, "http://crawl"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return unanswered(dir, err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return unanswered(dir, err)
	}
	if resp.StatusCode != http.StatusOK {
		return refused(resp, raw)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return unanswered(dir, err)
	}
	return nil
}

// over returns an HTTP transport whose only connection is conn.
func over(conn net.Conn) *http.Transport {
	return &http.Transport{DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: 16 << 10,
		DialContext: func(context.Context, string, string) (net.Conn, error) { return conn, nil }}
}

// refused returns the error of an answer that is not a success.
func refused(resp *http.Response, raw []byte) error {
	var body refusal
	if json.Unmarshal(raw, &body) != nil || body.Error == "" {
		body.Error = resp.Status
	}
	if resp.StatusCode == http.StatusInternalServerError {
		return errors.New(body.Error)
	}
	return &RefusedError{body.Error, body.Ended}
}

// dial connects to the socket in dir. If there is no socket in dir, it connects to the
// socket that run.json names.
func dial(ctx context.Context, dir string) (net.Conn, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, Name)
	if _, err := os.Lstat(path); err != nil || len(path) > longest {
		run, rerr := store.ReadRun(dir)
		if rerr != nil || run.Control == "" {
			return nil, errors.Join(fs.ErrNotExist, err)
		}
		path = run.Control
	}
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a socket", path)
	}
	return new(net.Dialer).DialContext(ctx, "unix", path)
}

// unanswered returns the error for a crawl whose socket does not answer. If a process has locked
// the crawl in dir, the result is a *ShutError with err as the reason. Otherwise it is
// ErrNobody.
func unanswered(dir string, err error) error {
	if run, held := store.Holder(dir); held {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
			err = errors.New("it has no control socket: it may be another command, such as crawl export, or a program of your own")
		}
		return &ShutError{dir, run, err}
	}
	return ErrNobody
}
