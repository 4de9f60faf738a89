package door

import (
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"
)

// A Door answers whoever comes, until it is closed.
type Door struct {
	server *http.Server
	at     *place // nil: an address
	addr   string
	done   chan error
}

// bounds are those of what one who comes, and all together, may take. What is slower
// is cut off.
type bounds struct {
	visitors int           // at once; others wait outside
	header   time.Duration // for the header of a request
	request  time.Duration // for all of it
	answer   time.Duration // for taking the answer, from the end of the header on
	idle     time.Duration // between two requests
	size     int           // of a header, in bytes
}

var usual = bounds{visitors: 16, header: 5 * time.Second, request: 10 * time.Second, answer: 30 * time.Second, idle: 10 * time.Second, size: 16 << 10}

// Open opens the door of the crawl in dir, which this process must hold. Where the path
// is too long for a socket it lies elsewhere, and run.json says so. The error says why
// there is none.
func Open(dir string, h http.Handler) (*Door, error) {
	l, at, err := listen(dir)
	if err != nil {
		return nil, err
	}
	d := serve(l, h, usual)
	d.at = at
	return d, nil
}

// Listen takes a TCP address for ServeAt. One without a host is of this machine alone.
func Listen(address string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		host, port = "", address
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.Listen("tcp", net.JoinHostPort(host, port))
}

// ServeAt answers at an address, which Close lets go.
func ServeAt(l net.Listener, h http.Handler) *Door { return serve(l, h, usual) }

func serve(l net.Listener, h http.Handler, b bounds) *Door {
	d := &Door{addr: l.Addr().String(), done: make(chan error, 1), server: &http.Server{
		Handler: h, ErrorLog: log.New(io.Discard, "", 0),
		ReadHeaderTimeout: b.header, ReadTimeout: b.request, WriteTimeout: b.answer, IdleTimeout: b.idle, MaxHeaderBytes: b.size,
	}}
	// The door. It ends with Close.
	go func() { d.done <- d.server.Serve(netutil.LimitListener(l, b.visitors)) }()
	return d
}

// Where says where the door is: the path of a socket, or an address.
func (d *Door) Where() string {
	if d.at != nil {
		return d.at.path
	}
	return d.addr
}

// Close closes the door: who is in it is cut off, and the socket is removed.
func (d *Door) Close() error {
	err := d.server.Close()
	if end := <-d.done; !errors.Is(end, http.ErrServerClosed) {
		err = errors.Join(err, end)
	}
	if d.at != nil {
		err = errors.Join(err, d.at.leave())
	}
	return err
}
