package crawler_test

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/robots"
)

// An end says what a server does after an answer.
type end uint8

const (
	goesOn end = iota // waits for the next request
	closes
	resets // breaks the connection
	stays  // keeps the connection open, and sends nothing more
)

// A fault is an unusual way to send a body, or an answer without a body.
type fault struct {
	name string
	send func(status string, fields string, body []byte) (answer string, end end)

	page  string // how much of a page with status 200 is kept
	rules string // the effect of a robots.txt with status 200
	large bool   // the body is longer than Options.MaxSize
	none  bool   // the answer is invalid, with any status

	chromium string // what Chromium shows of a page with status 200, if it differs from page
	why      string // reason for the difference
}

// How much of a page is kept: all of its text, some of it, or nothing. "3 tries" means that it was
// requested three times.
const (
	wholeText  = "whole"
	wholeAgain = "whole, 3 tries"
	partText   = "part"
	partAgain  = "part, 3 tries"
	noText     = "none"
	noneAgain  = "none, 3 tries"
)

// The effects of a robots.txt: it is obeyed, all pages are allowed, or all pages are forbidden.
const (
	obeyed = "obeyed"
	inPart = "as far as they came"
	open   = "open"
	closed = "closed"
)

// Reasons why Chromium shows another result.
const (
	whyBound  = "at most three codings are undone"
	whyBrotli = "Chromium reads br over HTTPS alone, as it asks for it"
	whySize   = "`--max-size`"
)

var faults = []fault{
	{name: "as it should be", send: plainly, page: wholeText, rules: obeyed},
	{name: "chunks", send: inChunks(1, "0\r\n\r\n", goesOn), page: wholeText, rules: obeyed},
	{name: "no length, up to the end of the connection", send: func(status, fields string, body []byte) (string, end) {
		return head(status, fields) + string(body), closes
	}, page: wholeText, rules: obeyed},
	{name: "gzip", send: coded("gzip", zipped), page: wholeText, rules: obeyed},
	{name: "deflate, in the format of zlib", send: coded("deflate", zlibbed), page: wholeText, rules: obeyed},
	{name: "deflate, bare", send: coded("deflate", deflated), page: wholeText, rules: obeyed},
	{name: "gzip twice", send: coded("gzip, gzip", zipped, zipped), page: wholeText, rules: obeyed},
	{name: "gzip twice, in two fields", send: coded("gzip\r\nContent-Encoding: gzip", zipped, zipped), page: wholeText, rules: obeyed},
	{name: "br", send: coded("br", brotlied), page: wholeText, rules: obeyed, chromium: noText, why: whyBrotli},
	{name: "deflate, and gzip", send: coded("deflate, gzip", zlibbed, zipped), page: wholeText, rules: obeyed},
	{name: "br, and deflate, and gzip", send: coded("br, deflate, gzip", brotlied, zlibbed, zipped), page: wholeText, rules: obeyed, chromium: noText, why: whyBrotli},
	{name: "gzip four times", send: coded("gzip,gzip,gzip,gzip", zipped, zipped, zipped, zipped), page: noneAgain, rules: closed, chromium: wholeText, why: whyBound},
	{name: "`gzip,`", send: coded("gzip,", zipped), page: wholeText, rules: obeyed, chromium: noText, why: "an empty name says nothing (RFC 9110, 5.6.1); Chromium shows the bytes of gzip"},
	{name: "a name that is no coding", send: coded("utf-8"), page: wholeText, rules: obeyed},
	{name: "a coding that we do not read", send: coded("compress"), page: noneAgain, rules: closed, chromium: wholeText, why: "the body of the test is plain text; Chromium would show the bytes of the coding"},
	{name: "text declared as gzip", send: coded("gzip"), page: noneAgain, rules: closed},
	{name: "gzip that is cut", send: coded("gzip", zipped, half), page: partAgain, rules: closed},
	{name: "gzip without its trailer", send: coded("gzip", zipped, without(8)), page: wholeAgain, rules: closed},
	{name: "gzip with a wrong checksum", send: coded("gzip", zipped, without(8), followed("12345678")), page: wholeAgain, rules: closed},
	{name: "gzip in two members", send: coded("gzip", inTwo(zipped)), page: wholeText, rules: obeyed, chromium: partText, why: "RFC 1952, section 2.2"},
	{name: "gzip, and bytes after it", send: coded("gzip", zipped, followed("hello")), page: wholeText, rules: closed},
	{name: "shorter than its length", send: short(closes), page: partAgain, rules: closed},
	{name: "shorter than its length, and reset", send: short(resets), page: partAgain, rules: closed},
	{name: "shorter than its length, and kept open", send: short(stays), page: partAgain, rules: closed},
	{name: "chunks without the last", send: inChunks(2, "", closes), page: partAgain, rules: closed},
	{name: "chunks without the last, and kept open", send: inChunks(2, "", stays), page: partAgain, rules: closed},
	{name: "a malformed size of a chunk", send: inChunks(2, "zz\r\nhello\r\n0\r\n\r\n", goesOn), page: partAgain, rules: closed},
	{name: "no length, and kept open", send: func(status, fields string, body []byte) (string, end) {
		return head(status, fields) + string(body), stays
	}, page: wholeAgain, rules: closed},
	{name: "empty", send: func(status, fields string, _ []byte) (string, end) { return plainly(status, fields, nil) }, page: noText, rules: open},
	{name: "too large", send: plainly, large: true, page: partText, rules: inPart, chromium: wholeText, why: whySize},
	{name: "a line without a colon in the head", send: func(status, fields string, body []byte) (string, end) {
		return plainly(status, "<br />\r\n"+fields, body)
	}, page: wholeText, rules: obeyed},
	{name: "a length that is no number", send: func(status, fields string, body []byte) (string, end) {
		return head(status, fields+"Content-Length: 5x\r\n") + string(body), closes
	}, page: wholeText, rules: obeyed},
	{name: "twenty zeros before the size of a chunk", send: func(status, fields string, body []byte) (string, end) {
		return head(status, fields+"Transfer-Encoding: chunked\r\n") + fmt.Sprintf("%020x\r\n%s\r\n0\r\n\r\n", len(body), body), goesOn
	}, page: wholeText, rules: obeyed},
	{name: "no blank after the status", send: func(status, fields string, body []byte) (string, end) {
		return plainly(strings.ReplaceAll(status, " ", ""), fields, body)
	}, page: wholeText, rules: obeyed},
	{name: "two lengths", send: func(status, fields string, body []byte) (string, end) {
		return plainly(status, fields+"Content-Length: 3\r\n", body)
	}, none: true, page: noneAgain, rules: closed},
}

func head(status, fields string) string { return "HTTP/1.1 " + status + "\r\n" + fields + "\r\n" }

func plainly(status, fields string, body []byte) (string, end) {
	return head(status, fields+"Content-Length: "+strconv.Itoa(len(body))+"\r\n") + string(body), goesOn
}

// inChunks returns a function that sends a body in a number of chunks, and then the text last.
func inChunks(parts int, last string, then end) func(string, string, []byte) (string, end) {
	return func(status, fields string, body []byte) (string, end) {
		body = body[:len(body)/parts]
		return head(status, fields+"Transfer-Encoding: chunked\r\n") + fmt.Sprintf("%x\r\n%s\r\n", len(body), body) + last, then
	}
}

func short(then end) func(string, string, []byte) (string, end) {
	return func(status, fields string, body []byte) (string, end) {
		answer, _ := plainly(status, fields, body)
		return answer[:len(answer)-len(body)/2], then
	}
}

// coded returns a function that sends a body with codings applied. The header names the coding
// name.
func coded(name string, codings ...func([]byte) []byte) func(string, string, []byte) (string, end) {
	return func(status, fields string, body []byte) (string, end) {
		for _, f := range codings {
			body = f(body)
		}
		return plainly(status, fields+"Content-Encoding: "+name+"\r\n", body)
	}
}

func compressed(body []byte, w func(io.Writer) io.WriteCloser) []byte {
	var out bytes.Buffer
	c := w(&out)
	c.Write(body)
	c.Close()
	return out.Bytes()
}

func zipped(b []byte) []byte {
	return compressed(b, func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) })
}

func zlibbed(b []byte) []byte {
	return compressed(b, func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) })
}

func deflated(b []byte) []byte {
	return compressed(b, func(w io.Writer) io.WriteCloser { f, _ := flate.NewWriter(w, 6); return f })
}

func brotlied(b []byte) []byte {
	return compressed(b, func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) })
}

func half(b []byte) []byte { return b[:len(b)/2] }

func without(n int) func([]byte) []byte { return func(b []byte) []byte { return b[:len(b)-n] } }

func followed(by string) func([]byte) []byte {
	return func(b []byte) []byte { return append(bytes.Clone(b), by...) }
}

func inTwo(f func([]byte) []byte) func([]byte) []byte {
	return func(b []byte) []byte { return append(f(half(b)), f(b[len(b)/2:])...) }
}

// A question is one document of a server that gets an unusual answer.
type question struct {
	name    string
	at      string // target of the document
	status  string
	leads   string // value of the Location field
	rules   string // the robots.txt, if at is another document
	content func(host string, padding string) string
	pad     int // number of bytes beyond Options.MaxSize
	ask     []string
}

// hexText returns text that does not compress well.
func hexText(size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		sum := sha256.Sum256([]byte(strconv.Itoa(i)))
		b.WriteString(hex.EncodeToString(sum[:]))
		b.WriteString("\n# ")
	}
	return b.String()
}

func pageText(_, padding string) string {
	return "<!doctype html><title>odd</title><p>BEGIN</p><a href=/found>x</a><p>" + padding + "</p><p>END</p>"
}

func rulesText(_, padding string) string {
	return "User-agent: *\nDisallow: /first\n# " + padding + "\nDisallow: /last\n"
}

func sitemapText(host, padding string) string {
	return "<urlset><url><loc>http://" + host + "/first</loc></url><!-- " + padding + " --><url><loc>http://" + host + "/last</loc></url></urlset>"
}

func licenseText(_, padding string) string {
	no := func(path string) string {
		return `<content url="` + path + `"><license><prohibits type="usage">ai-train</prohibits></license></content>`
	}
	return "<rsl>" + no("/first") + "<!-- " + padding + " -->" + no("/last") + "</rsl>"
}

func miningText(_, padding string) string {
	return `[{"location": "/first", "tdm-reservation": 1}, {"location": "/other", "tdm-reservation": 0, "x": "` + strings.ReplaceAll(padding, "\n", " ") + `"}, {"location": "/last", "tdm-reservation": 1}]`
}

const maxOdd = 64 << 10 // value of Options.MaxSize

var oddStatuses = []string{
	"200 OK", "203 Changed", "301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent",
	"403 Forbidden", "404 Not Found", "410 Gone", "500 Error", "503 Busy",
}

// questions returns the columns of the table: each document with each status.
func questions() (all []question) {
	three := []string{"/first", "/free", "/last"}
	for _, status := range oddStatuses {
		for _, q := range []question{
			{name: "page ", at: "/odd", leads: "/target", content: pageText, pad: maxOdd, ask: []string{"/odd"}},
			{name: "robots.txt ", at: "/robots.txt", leads: "/there.txt", content: rulesText, pad: robots.MaxBytes, ask: three},
			{name: "sitemap ", at: "/sitemap.xml", leads: "/there", rules: "Sitemap: /sitemap.xml\n", content: sitemapText, pad: maxOdd, ask: []string{"/free"}},
			{name: "license ", at: "/license.xml", leads: "/there", rules: "License: /license.xml\nUser-agent: *\nAllow: /\n", content: licenseText, pad: robots.MaxRSLBytes, ask: three},
			{name: "tdmrep.json ", at: robots.TDMRepPath, leads: "/there", content: miningText, pad: robots.MaxTDMRepBytes, ask: three},
		} {
			q.name, q.status = q.name+status[:3], status
			if status[0] != '3' {
				q.leads = ""
			}
			all = append(all, q)
		}
	}
	return all
}

// A cell is a cell of the table: one question with one fault, on a server of its own.
type cell struct {
	question
	fault
	host string

	mu    sync.Mutex // guards the fields below, which its connections and a handler use
	asked map[string]int
	text  string // text of the page that a handler got
	found bool   // a handler got the page
	code  int
}

func cells() map[string]*cell {
	all := map[string]*cell{}
	for i, f := range faults {
		for j, q := range questions() {
			c := &cell{question: q, fault: f, host: fmt.Sprintf("c%02d-%02d.example", i, j), asked: map[string]int{}}
			all[c.host] = c
		}
	}
	return all
}

// answer returns the answer of the cell's server to a request for target, and what the server does
// after it.
func (c *cell) answer(target string) (string, end) {
	c.mu.Lock()
	c.asked[target]++
	c.mu.Unlock()
	page := func(body string) (string, end) {
		return plainly("200 OK", "Content-Type: text/html\r\n", []byte(body))
	}
	switch {
	case target == c.at:
		padding := hexText(3000)
		if c.large {
			padding = hexText(c.pad + 10_000)
		}
		fields := "Content-Type: text/html\r\n"
		if c.leads != "" {
			fields += "Location: " + c.leads + "\r\n"
		}
		return c.send(c.status, fields, []byte(c.content(c.host, padding)))
	case target == "/robots.txt" && c.rules0() != "":
		return page(c.rules0())
	case c.leads != "" && target == c.leads && c.at != "/odd":
		return page(c.content(c.host, ""))
	case target == "/robots.txt" || target == robots.TDMRepPath:
		return plainly("404 Not Found", "", nil)
	}
	return page("TARGET")
}

func (c *cell) rules0() string {
	return strings.ReplaceAll(c.question.rules, ": /s", ": http://"+c.host+"/s")
}

// serveCells answers the requests for all cells that come over one connection.
func serveCells(conn net.Conn, all map[string]*cell) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		host, _, _ := strings.Cut(r.Host, ":")
		c := all[host]
		if c == nil {
			return
		}
		answer, then := c.answer(r.URL.Path)
		tcp, slow := conn.(*net.TCPConn)
		if slow && len(answer) > 100 { // if an answer breaks at once, a browser shows nothing
			if _, err := io.WriteString(conn, answer[:len(answer)-100]); err != nil {
				return
			}
			time.Sleep(200 * time.Millisecond)
			answer = answer[len(answer)-100:]
		}
		if _, err := io.WriteString(conn, answer); err != nil {
			return
		}
		switch {
		case then == closes && slow:
			tcp.CloseWrite()
			io.Copy(io.Discard, conn)
			return
		case then == resets && slow:
			time.Sleep(200 * time.Millisecond) // so that the client reads the sent part first
			tcp.SetLinger(0)
			return
		case then == closes, then == resets:
			return
		case then == stays:
			io.Copy(io.Discard, conn)
			return
		}
	}
}

// had returns the result of a crawl for the cell, in the words of the table.
func (c *cell) had() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	tries := func(s string) string {
		if n := c.asked[c.at]; n > 1 {
			s += fmt.Sprintf(", %d tries", n)
		}
		return s
	}
	first, last := c.asked["/first"] > 0, c.asked["/last"] > 0
	switch {
	case c.at == "/odd" && c.leads != "":
		if c.asked[c.leads] > 0 {
			return tries("followed")
		}
		return tries("lost")
	case c.at == "/odd" && c.status[0] == '2':
		text := textOf(c.text)
		if (text != noText) != (c.asked["/found"] > 0) {
			text += ", and its links are not as its text"
		}
		return tries(text)
	case c.at == "/odd":
		if c.found {
			return tries("page with " + strconv.Itoa(c.code))
		}
		return tries("failed")
	case c.at == "/sitemap.xml":
		switch {
		case first && last:
			return tries(wholeText)
		case first:
			return tries(partText)
		case last:
			return "the end alone"
		}
		return tries(noText)
	case c.asked["/free"] == 0:
		return closed
	case first && last:
		return open
	case first:
		return "obeyed except its beginning"
	case last:
		return inPart
	}
	return obeyed
}

func textOf(body string) string {
	begin, end := strings.Contains(body, "BEGIN"), strings.Contains(body, "END")
	switch {
	case begin && end:
		return wholeText
	case begin:
		return partText
	}
	return noText
}

// want returns the expected result of the cell. For redirects and errors it depends only on the
// status, otherwise on the fault.
func (c *cell) want() string {
	document, status, _ := strings.Cut(c.question.name, " ")
	answered := !c.none
	switch class := status[0]; {
	case document == "page" && class == '2':
		return c.page
	case document == "page" && class == '3':
		return iff(answered, "followed", "lost, 3 tries")
	case document == "page" && class == '4':
		return iff(answered, "page with "+status, "failed, 3 tries")
	case document == "page":
		return iff(status == "503", "failed, 6 tries", "failed, 3 tries")

	case document == "robots.txt" && class == '2':
		return c.fault.rules
	case document == "robots.txt" && class == '3':
		return iff(answered, obeyed, closed)
	case document == "robots.txt":
		return iff(answered && (status == "404" || status == "410"), open, closed)

	case document == "sitemap" && class == '2':
		return c.page
	case document == "sitemap" && class == '3':
		return iff(answered, wholeText, noneAgain)
	case document == "sitemap" && class == '4':
		return iff(answered, noText, noneAgain)
	case document == "sitemap":
		return iff(status == "503", "none, 6 tries", noneAgain)

	case class == '2': // the document is a license or tdmrep.json
		return iff(c.fault.rules == obeyed, obeyed, open)
	case class == '3':
		return iff(answered, obeyed, open)
	}
	return open
}

func iff(condition bool, yes, no string) string {
	if condition {
		return yes
	}
	return no
}

// A cellNetwork is a fetch.Network whose connections lead to the servers of the cells.
type cellNetwork struct {
	cells map[string]*cell
	wait  sync.WaitGroup
	mu    sync.Mutex // guards addrs, because visits look up names concurrently
	addrs map[string]netip.Addr
}

func (n *cellNetwork) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, ok := n.addrs[host]; !ok {
		i := len(n.addrs) + 1
		n.addrs[host] = netip.AddrFrom4([4]byte{16, 0, byte(i >> 8), byte(i)})
	}
	return []netip.Addr{n.addrs[host]}, nil
}

func (n *cellNetwork) DialContext(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	n.wait.Go(func() { serveCells(server, n.cells) })
	return client, nil
}

// crawlCells crawls all cells into dir, and returns them by name.
func crawlCells(t *testing.T, dir string) map[string]*cell {
	all := cells()
	n := &cellNetwork{cells: all, addrs: map[string]netip.Addr{}}
	var seeds []string
	for host, c := range all {
		for _, target := range c.ask {
			seeds = append(seeds, "http://"+host+target)
		}
	}
	c, err := crawler.New(crawler.Options{
		Identity: testIdentity, Seeds: seeds, Wire: crawler.Wire{Network: n, MaxSize: maxOdd}, Dir: dir, Robots: crawler.Robots{Purpose: robots.PurposeAITrain}, Budget: crawler.Budget{Patience: 1000 * time.Hour},
	})
	if err != nil {
		t.Fatal(err)
	}
	err = c.Run(context.Background(), crawler.HandlerFunc(func(_ context.Context, p *crawler.Page) error {
		if c := all[p.URL.Site().Host()]; p.URL.Target() == c.at {
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.found {
				t.Errorf("%s is given to the handler twice", p.URL)
			}
			c.text, c.found, c.code = string(p.Body), true, p.Status
			if cut := strings.HasSuffix(c.page, "3 tries") || c.large; p.Status < 300 && cut != (p.Truncated != "") {
				t.Errorf("%s: truncated %q", p.URL, p.Truncated)
			}
		}
		return nil
	}))
	n.wait.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Each status has the same meaning with each kind of body, and of a body everything that arrived is
// kept. If PERMESSO_ODD names a directory that does not exist, the crawl is kept there, for use by
// other programs.
func TestOddAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := cmp.Or(os.Getenv("PERMESSO_ODD"), t.TempDir())
		all := crawlCells(t, dir)
		for _, c := range all {
			if got := c.had(); got != c.want() {
				t.Errorf("%s, %s: %s, want %s (%v)", c.question.name, c.fault.name, got, c.want(), c.asked)
			}
		}
		if _, err := store.Verify(t.Context(), dir, func(err error) { t.Error(err) }); err != nil {
			t.Fatal(err)
		}
	})
}
