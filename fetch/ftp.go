package fetch

import (
	"context"
	"errors"
	"math"
	"mime"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/jlaffaye/ftp"
)

// statusOfReply returns the HTTP status that corresponds to a reply of an FTP server (RFC
// 959, section 4.2).
func statusOfReply(code int) int {
	switch {
	case code == ftp.StatusNotLoggedIn, code == ftp.StatusStorNeedAccount:
		return http.StatusUnauthorized
	case code/100 == 4: // a transient failure
		return http.StatusServiceUnavailable
	}
	return http.StatusNotFound
}

var errControl = errors.New("the path has control characters, which FTP commands cannot hold")

// retrieve fetches a file from an FTP server. The login is anonymous, the mode is passive, and
// the session only reads (RFC 1635). The data connection goes to the address ep, even if the
// server names another address.
func (h *host) retrieve(ctx context.Context, x *Exchange, w *watch, ep endpoint, a requestSpec) error {
	file, _, _ := strings.Cut(a.url.Target(), "?")
	file, _, _ = strings.Cut(file, ";") // remove the type code (RFC 1738, section 3.2.2)
	file, err := url.PathUnescape(file)
	if err == nil && strings.ContainsFunc(file, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		err = errControl
	}
	if err != nil {
		w.enter(phaseAnswer)
		return h.fail(x, w, err)
	}
	w.enter(phaseConnect)
	s := ftpSession{ctx: w.context(), network: h.fetcher.opts.Network, to: ep}
	defer s.close()
	c, err := ftp.Dial(ep.addr.String(), ftp.DialWithDialFunc(s.dial), ftp.DialWithShutTimeout(5*time.Second))
	if err == nil {
		w.enter(phaseAnswer)
		err = c.Login("anonymous", h.fetcher.opts.UserAgent)
	}
	var r *ftp.Response
	if err == nil {
		r, err = c.Retr(file)
	}
	var reply *textproto.Error
	if errors.As(err, &reply) {
		x.Status, x.Proto, x.Header, x.FirstByte = statusOfReply(reply.Code), "ftp", http.Header{}, time.Now()
		if c != nil {
			c.Quit()
		}
		x.Ended = time.Now()
		return nil
	}
	if err != nil {
		return h.fail(x, w, err)
	}
	x.FirstByte = time.Now()
	x.Status, x.Proto, x.Header = http.StatusOK, "ftp", http.Header{}
	if t := mime.TypeByExtension(path.Ext(file)); t != "" {
		x.Header.Set("Content-Type", t)
	}
	w.enter(phaseBody)
	b := &body{}
	if !a.robots {
		b.share.budget = h.fetcher.bodies
	}
	b.plain.share, b.kept.share = &b.share, &b.share
	in := h.metered(a, r)
	src := source{r: in, read: h.progress(w), most: h.fetcher.portion()}
	err = b.read(&src, a.limit, -1, false)
	b.n = src.n
	err = a.endOf(b, in, x.Status, err)
	if !b.cut && err == nil {
		if err = r.Close(); err == nil {
			c.Quit()
		}
	}
	return h.take(ctx, w, x, b, err)
}

// An ftpSession opens the connections of one exchange and closes them at the end of the
// exchange. The next exchange of the site opens its own connections.
type ftpSession struct {
	ctx     context.Context
	network Network
	to      endpoint
	conns   []net.Conn // the control connection first
	stops   []func() bool
}

func (s *ftpSession) dial(network, address string) (net.Conn, error) {
	_, port, _ := net.SplitHostPort(address) // no error: net.JoinHostPort made the address
	c, err := s.network.DialContext(s.ctx, network, net.JoinHostPort(s.to.addr.Addr().String(), port))
	if err != nil {
		return nil, err
	}
	s.conns = append(s.conns, c)
	s.stops = append(s.stops, context.AfterFunc(s.ctx, func() { c.Close() }))
	conn := &ftpConn{Conn: c, remote: net.TCPAddrFromAddrPort(s.to.addr), most: math.MaxInt}
	if len(s.conns) == 1 {
		conn.most = maxReply
	}
	return conn, nil
}

func (s *ftpSession) close() {
	for i, c := range s.conns {
		s.stops[i]()
		c.Close()
	}
}

// maxReply is the largest number of bytes of the reply to one command, because the FTP client
// keeps the whole reply in memory. It does not limit a body, which comes over the data connection.
const maxReply = 64 << 10

var errReply = errors.New("the server's reply is longer than 64 KiB")

// An ftpConn is a connection that limits the length of a reply. Its RemoteAddr returns a
// *net.TCPAddr, because the FTP client panics if the address has another type.
type ftpConn struct {
	net.Conn
	remote *net.TCPAddr
	most   int // largest number of bytes of one reply
	read   int // bytes read since the last command
}

func (c *ftpConn) RemoteAddr() net.Addr { return c.remote }

func (c *ftpConn) Write(p []byte) (int, error) {
	c.read = 0
	return c.Conn.Write(p)
}

func (c *ftpConn) Read(p []byte) (int, error) {
	if c.read >= c.most {
		c.Conn.Close() // close at once: the FTP client would send QUIT and wait for the reply
		return 0, errReply
	}
	n, err := c.Conn.Read(p)
	c.read += n
	return n, err
}
