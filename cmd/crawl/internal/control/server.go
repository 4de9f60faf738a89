package control

import (
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"
)

// A Server answers clients, at the socket or at an address, until it is closed.
type Server struct {
	server *http.Server
	at     *place // of the socket; nil if addr is a TCP address
	addr   string
	done   chan error
}

// bounds are the limits for each client, and for all clients together. The connection of a
// client that exceeds them is closed.
type bounds struct {
	clients int           // maximum number of clients at once; further clients wait to be accepted
	header  time.Duration // for the header of a request
	request time.Duration // for the whole request, with its body
	answer  time.Duration // for reading the answer, after the end of the header
	idle    time.Duration // between two requests
	size    int           // maximum size of the header of a request, in bytes
}

var usual = bounds{clients: 16, header: 5 * time.Second, request: 10 * time.Second, answer: 30 * time.Second, idle: 10 * time.Second, size: 16 << 10}

// Open opens the control socket of the crawl in dir, whose lock this process must hold. If the
// path in dir is too long for a socket, Open makes the socket elsewhere and writes its path
// into run.json.
func Open(dir string, h http.Handler) (*Server, error) {
	l, at, err := listen(dir)
	if err != nil {
		return nil, err
	}
	d := serve(l, h, usual)
	d.at = at
	return d, nil
}

// Listen listens on a TCP address for ServeAt. An address without a host means 127.0.0.1.
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

// ServeAt answers HTTP requests of the clients that connect to l. Server.Close closes l.
func ServeAt(l net.Listener, h http.Handler) *Server { return serve(l, h, usual) }

func serve(l net.Listener, h http.Handler, b bounds) *Server {
	d := &Server{addr: l.Addr().String(), done: make(chan error, 1), server: &http.Server{
		Handler: h, ErrorLog: log.New(io.Discard, "", 0),
		ReadHeaderTimeout: b.header, ReadTimeout: b.request, WriteTimeout: b.answer, IdleTimeout: b.idle, MaxHeaderBytes: b.size,
	}}
	// This goroutine is the server. It ends with Close.
	go func() { d.done <- d.server.Serve(netutil.LimitListener(l, b.clients)) }()
	return d
}

// Where returns the path of the socket, or the TCP address.
func (d *Server) Where() string {
	if d.at != nil {
		return d.at.path
	}
	return d.addr
}

// Close cuts off all clients and removes the socket.
func (d *Server) Close() error {
	err := d.server.Close()
	if end := <-d.done; !errors.Is(end, http.ErrServerClosed) {
		err = errors.Join(err, end)
	}
	if d.at != nil {
		err = errors.Join(err, d.at.leave())
	}
	return err
}
