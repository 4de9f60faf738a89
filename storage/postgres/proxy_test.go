//go:build unix

package postgres

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// A Verdict says what a Proxy does with the statements that a client has sent.
type Verdict int

const (
	Forward   Verdict = iota
	CutBefore         // the connection breaks, and the server receives nothing
	CutAfter          // the connection breaks after the server has answered, and the client receives nothing
	NoRoom            // the client gets the error that the disk of the server is full
	TooMany           // the client gets the error that the server has too many connections
)

// A Proxy is between clients and a server. It calls judge for the statements that a client sends
// before a Sync, or as one simple query.
type Proxy struct {
	judge func(statements string) Verdict

	server string // path of the server's socket
	closed sync.WaitGroup
}

// NewProxy returns a Proxy in front of the server of url, and a connection string for it. judge is
// called by several goroutines.
func NewProxy(t testing.TB, url string, judge func(statements string) Verdict) string {
	t.Helper()
	host, rest, _ := strings.Cut(strings.TrimPrefix(url, "host="), " ")
	p := &Proxy{judge: judge, server: filepath.Join(host, ".s.PGSQL.5432")}
	dir, err := os.MkdirTemp("", "px") // a short directory, because the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, ".s.PGSQL.5432"))
	if err != nil {
		t.Fatal(err)
	}
	p.closed.Go(func() { // this goroutine ends with Close
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.closed.Go(func() { p.serve(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		p.closed.Wait()
		os.RemoveAll(dir)
	})
	return "host=" + dir + " " + rest
}

// message reads one message, including its type and length.
func message(r io.Reader, typed bool) ([]byte, error) {
	head := make([]byte, 5)
	if !typed {
		head = head[:4]
	}
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[len(head)-4:])
	body := make([]byte, n-4)
	_, err := io.ReadFull(r, body)
	return append(head, body...), err
}

func (p *Proxy) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("unix", p.server)
	if err != nil {
		return
	}
	defer server.Close()
	var mu sync.Mutex
	silent := false // true: drop the server's answers
	answered := make(chan struct{}, 1000)
	p.closed.Go(func() {
		defer client.Close()
		for {
			m, err := message(server, true)
			if err != nil {
				return
			}
			mu.Lock()
			if !silent {
				_, err = client.Write(m)
			}
			mu.Unlock()
			if m[0] == 'Z' {
				select {
				case answered <- struct{}{}:
				default:
				}
			}
			if err != nil {
				server.Close()
				return
			}
		}
	})
	first, err := message(client, false)
	if err != nil {
		return
	}
	if _, err := server.Write(first); err != nil {
		return
	}
	names := map[string]string{} // texts of the prepared statements by name
	var pending, said bytes.Buffer
	for {
		m, err := message(client, true)
		if err != nil {
			return
		}
		pending.Write(m)
		parts := strings.SplitN(string(m[5:]), "\x00", 3)
		switch m[0] {
		case 'P':
			names[parts[0]] = parts[1]
			continue
		case 'B':
			said.WriteString(names[parts[1]] + "\n")
			continue
		case 'Q':
			said.WriteString(parts[0])
		case 'S':
		case 'X', 'p', 'H':
			if _, err := server.Write(pending.Bytes()); err != nil {
				return
			}
			pending.Reset()
			continue
		default:
			continue
		}
		verdict := p.judge(said.String())
		said.Reset()
		switch verdict {
		case CutBefore:
			return
		case NoRoom, TooMany:
			// Statements that were prepared in this batch do not exist: the client does not use
			// them after an error.
			text := map[Verdict]string{NoRoom: "C53100\x00Mcould not extend file: No space left on device\x00", TooMany: "C53300\x00Msorry, too many clients already\x00"}[verdict]
			pending.Reset()
			if _, err := client.Write(answer('E', "SERROR\x00VERROR\x00"+text+"\x00")); err != nil {
				return
			}
			if _, err := client.Write(answer('Z', "I")); err != nil {
				return
			}
			continue
		case CutAfter:
			mu.Lock()
			silent = true
			mu.Unlock()
			for len(answered) > 0 {
				<-answered
			}
			if _, err := server.Write(pending.Bytes()); err == nil {
				<-answered
			}
			return
		}
		if _, err := server.Write(pending.Bytes()); err != nil {
			return
		}
		pending.Reset()
	}
}

func answer(kind byte, body string) []byte {
	m := binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(body)+4))
	return append(m, body...)
}
