package http1

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// pair returns the two ends of a connection over loopback.
func pair(t *testing.T) (client, server net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if client, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); server.Close() })
	return client, server
}

// until waits until seen returns true, because bytes from the other end need time to arrive.
func until(seen func() bool) {
	for !seen() {
		runtime.Gosched()
	}
}

// wrapped is a connection of a type that is not from package net.
type wrapped struct{ net.Conn }

func TestAnOpenConnectionIsQuiet(t *testing.T) {
	for name, wrap := range map[string]func(net.Conn) net.Conn{
		"a socket": func(c net.Conn) net.Conn { return c }, "another connection": func(c net.Conn) net.Conn { return wrapped{c} },
	} {
		client, server := pair(t)
		l := NewLine(wrap(client))
		if direct := name == "a socket" && canLook; (l.raw != nil) != direct {
			t.Errorf("%s is read without waiting: %v", name, !direct)
		}
		c := New(l)
		l.SetReadDeadline(time.Unix(1, 0)) // a deadline that an earlier exchange has left
		for range 3 {
			if !c.Quiet(l) {
				t.Fatalf("%s that is open is not quiet", name)
			}
		}
		l.SetReadDeadline(time.Time{})
		io.WriteString(server, ok+"Content-Length: 5\r\n\r\nhello")
		if o := exchangeOn(c, false); o.what() != "whole" || !o.again || !c.Quiet(l) {
			t.Errorf("%s: %v", name, o)
		}
		server.Close()
		until(func() bool { return !c.Quiet(l) })
	}
}

func TestWhatNobodyAskedForIsNotQuiet(t *testing.T) {
	for _, end := range map[string]func(net.Conn){
		"a byte":  func(server net.Conn) { io.WriteString(server, "x") },
		"a close": func(server net.Conn) { server.Close() },
		"a reset": func(server net.Conn) { server.(*net.TCPConn).SetLinger(0); server.Close() },
	} {
		client, server := pair(t)
		l := NewLine(client)
		c := New(l)
		end(server)
		until(func() bool { return !c.Quiet(l) })
	}
	client, _ := pair(t)
	l := NewLine(client)
	if l.Close(); New(l).Quiet(l) {
		t.Error("a closed connection is quiet")
	}
}

// A check distinguishes between data, no data, the end and an error. After a check without data,
// TLS can continue to read.
func TestALookSeesWhatIsThere(t *testing.T) {
	for name, wrap := range map[string]func(net.Conn) net.Conn{
		"a socket": func(c net.Conn) net.Conn { return c }, "another connection": func(c net.Conn) net.Conn { return wrapped{c} },
	} {
		client, server := pair(t)
		l := NewLine(wrap(client))
		l.looking = true
		p := make([]byte, 10)
		look := func() (n int, err error) {
			until(func() bool { n, err = l.Read(p); return err != errNothing })
			return n, err
		}
		n, err := l.Read(p)
		if timeout, ok := err.(net.Error); n != 0 || !ok || !timeout.Timeout() || err != errNothing || err.Error() != "nothing has come" {
			t.Errorf("%s that is open: %d, %v", name, n, err)
		}
		io.WriteString(server, "hello")
		if n, err := look(); string(p[:n]) != "hello" || err != nil {
			t.Errorf("%s: %d, %v", name, n, err)
		}
		server.Close()
		if n, err := look(); n != 0 || err != io.EOF {
			t.Errorf("%s that was closed: %d, %v", name, n, err)
		}
		client.Close()
		if n, err := look(); n != 0 || !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s that we have closed: %d, %v", name, n, err)
		}
		client, server = pair(t)
		l = NewLine(wrap(client))
		l.looking = true
		server.(*net.TCPConn).SetLinger(0)
		server.Close()
		if n, err := look(); n != 0 || err == nil || err == io.EOF {
			t.Errorf("%s that was reset: %d, %v", name, n, err)
		}
	}
}

// refusing is a connection that accepts a number of deadlines, and then refuses them.
type refusing struct {
	net.Conn
	takes int
}

func (r *refusing) SetReadDeadline(t time.Time) error {
	if r.takes--; r.takes < 0 {
		return os.ErrInvalid
	}
	return r.Conn.SetReadDeadline(t)
}

// If a deadline cannot be set or removed, the connection is not used again.
func TestALineWithoutDeadlinesIsBroken(t *testing.T) {
	for takes := range 2 {
		client, _ := pair(t)
		l := NewLine(&refusing{client, takes})
		l.looking = true
		if n, err := l.Read(make([]byte, 1)); n != 0 || !errors.Is(err, os.ErrInvalid) {
			t.Errorf("%d deadlines: %d, %v", takes, n, err)
		}
	}
}

// A check of a pipe takes no time. In a bubble of testing/synctest it would take virtual time.
func TestAPipeIsQuietUntilItIsClosed(t *testing.T) {
	client, server := net.Pipe()
	l := NewLine(wrapped{client})
	c := New(l)
	for range 2 {
		if !c.Quiet(l) {
			t.Error("a pipe that is open is not quiet")
		}
	}
	if server.Close(); c.Quiet(l) {
		t.Error("a pipe that is closed is quiet")
	}
	client.Close()
}

// A write to a pipe waits until the answer is read. A check does not take the written bytes.
func TestALookTakesNothingFromAPipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		defer client.Close()
		go io.WriteString(server, "x") // this goroutine ends with the read below
		synctest.Wait()
		l := NewLine(wrapped{client})
		if !New(l).Quiet(l) {
			t.Error("a pipe is read")
		}
		p := make([]byte, 2)
		if n, err := l.Read(p); string(p[:n]) != "x" || err != nil {
			t.Errorf("%q, %v", p[:n], err)
		}
	})
}

// nowhere is a connection without an address.
type nowhere struct{ net.Conn }

func (nowhere) LocalAddr() net.Addr { return nil }

func TestAConnectionMayHaveNoAddress(t *testing.T) {
	client, server := net.Pipe()
	l := NewLine(nowhere{client})
	if server.Close(); New(l).Quiet(l) {
		t.Error("a connection that is closed is quiet")
	}
}

// Session tickets of TLS may arrive at any time after the handshake. They do not count as an
// answer. Neither they nor the check break the connection.
func TestSessionTicketsAreNoAnswer(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"a.example"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		client, server := pair(t)
		l := NewLine(client)
		over := tls.Client(l, &tls.Config{InsecureSkipVerify: true, MaxVersion: version})
		far := tls.Server(server, config)
		done := make(chan error, 1)
		go func() { done <- far.Handshake() }() // this goroutine ends with the handshake
		if err := errors.Join(over.Handshake(), <-done); err != nil {
			t.Fatal(err)
		}
		c := New(over)
		// The tickets have already arrived, or arrive during the check.
		for range 20 {
			if !c.Quiet(l) {
				t.Fatalf("TLS %x: tickets are taken for an answer", version)
			}
			runtime.Gosched()
		}
		io.WriteString(far, ok+"Content-Length: 5\r\n\r\nhello")
		if o := exchangeOn(c, false); o.what() != "whole" || !o.again || !c.Quiet(l) {
			t.Errorf("TLS %x: %v", version, o)
		}
		io.WriteString(far, "x")
		until(func() bool { return !c.Quiet(l) })

		client, server = pair(t)
		l = NewLine(client)
		over, far = tls.Client(l, &tls.Config{InsecureSkipVerify: true, MaxVersion: version}), tls.Server(server, config)
		go func() { done <- far.Handshake() }()
		if err := errors.Join(over.Handshake(), <-done); err != nil {
			t.Fatal(err)
		}
		far.Close()
		c = New(over)
		until(func() bool { return !c.Quiet(l) })
	}
}
