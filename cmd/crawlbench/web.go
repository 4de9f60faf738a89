package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// WebParams are the parameters of a web. All pages are computed from them; a web stores only
// one bit for each page.
type WebParams struct {
	Hosts, Pages int           // hosts, and pages of each host
	Size         int           // bytes of a page
	Links        int           // links on a page, to pages of its host
	Cross        int           // links from a root to roots of other hosts, by name
	Tree         bool          // no page is linked twice
	Latency      time.Duration // before each answer
	Delay        time.Duration // pause for crawlers: earlier requests are counted
	Faults       bool          // some hosts are slow, some links dead, some bodies cut
	Validators   bool          // pages have an ETag, and requests with that ETag are answered with 304
	TLS          *tls.Config   `json:"-"`
}

// A Web is a fake web. Host n has the address hostAddr(n) and the name hostName(n). The Host
// field of a request selects the host, so that one listener serves all. A page links to its
// children in a tree, by which all pages are found from the root, and to random pages.
type Web struct {
	WebParams
	root, inner *pageTemplate

	began    time.Time
	seen     []atomic.Uint32 // a bit for each page that was answered
	ended    []atomic.Int64  // for each host: time of its last answer, since began
	cut      sync.Map        // pages whose body was cut once
	conns    atomic.Int64
	counters struct {
		requests, pages, robots, again, missing, forbidden, faults, early, tooEarly, served, conns, bytes, first, last atomic.Int64
	}
	late histogram // of requests after a pause
}

// WebCounts is what a web has counted.
type WebCounts struct {
	Requests  int64         // all
	Pages     int64         // distinct pages that were answered completely
	Robots    int64         // requests for robots.txt
	Again     int64         // requests for a page that was answered before
	Missing   int64         // answers 404
	Forbidden int64         // requests that robots.txt forbids
	Faults    int64         // bodies that were cut
	Early     int64         // requests before the end of the pause
	TooEarly  time.Duration // by how much at most
	Late      Lateness      // of the other requests, after the pause of their host
	Served    time.Duration // total time from each request until its answer was sent
	Conns     int64         // maximum connections at one time
	Bytes     int64         // of bodies
	Elapsed   time.Duration // from the first request to the end of the last answer
}

const (
	rootHost   = 127<<24 | 1<<16 | 1 // address of host 0
	maxHosts   = 1<<24 - 1<<17
	digits     = 8 // of a page number in a URL
	pagePrefix = "/p/"
	forbidden  = "/private/"
	robotsText = "User-agent: *\nDisallow: " + forbidden + "\n"
)

// Which hosts misbehave if Faults is set, by their number modulo 10.
const (
	slowHost, deadHost, cutHost = 3, 5, 7
	slowness                    = 300 * time.Millisecond
	cutPage                     = 7 // modulo 20
	deadPage                    = 4 // modulo 5
)

// NewWeb makes a web.
func NewWeb(p WebParams) (*Web, error) {
	if p.Hosts < 1 || p.Pages < 1 || p.Hosts > maxHosts || p.Pages > 99_999_999 || p.Links < 0 || p.Cross < 0 {
		return nil, fmt.Errorf("a web of %d hosts with %d pages each is not possible", p.Hosts, p.Pages)
	}
	if p.Pages == 1 {
		p.Links = 0
	}
	w := &Web{
		WebParams: p, began: time.Now(),
		seen:  make([]atomic.Uint32, (int64(p.Hosts)*int64(p.Pages)+31)/32),
		ended: make([]atomic.Int64, p.Hosts),
	}
	w.inner = newPageTemplate(p.Size, p.Links, 0)
	w.root = newPageTemplate(p.Size, p.Links, p.Cross)
	if p.Validators {
		w.inner.validate()
		w.root.validate()
	}
	return w, nil
}

func hostAddr(n int) netip.Addr {
	a := uint32(rootHost + n)
	return netip.AddrFrom4([4]byte{byte(a >> 24), byte(a >> 16), byte(a >> 8), byte(a)})
}

func hostName(n int) string { return fmt.Sprintf("h%0*d.test", digits, n) }

// hostNumber returns the number of a host, or -1 if it is not in this web.
func (w *Web) hostNumber(authority string) int {
	host, _, _ := strings.Cut(authority, ":")
	n := -1
	if rest, ok := strings.CutSuffix(host, ".test"); ok && len(rest) == 1+digits && rest[0] == 'h' {
		if i, err := strconv.Atoi(rest[1:]); err == nil {
			n = i
		}
	} else if a, err := netip.ParseAddr(host); err == nil && a.Is4() {
		b := a.As4()
		n = int(b[0])<<24 + int(b[1])<<16 + int(b[2])<<8 + int(b[3]) - rootHost
	}
	if n < 0 || n >= w.Hosts {
		return -1
	}
	return n
}

// pageNumber returns the number of a page, or -1 if target is not a page.
func (w *Web) pageNumber(target string) int {
	if target == "/" {
		return 0
	}
	number, ok := strings.CutPrefix(target, pagePrefix)
	if !ok || len(number) != digits {
		return -1
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n >= w.Pages {
		return -1
	}
	return n
}

func pagePath(n int) string {
	if n == 0 {
		return "/"
	}
	return fmt.Sprintf("%s%0*d", pagePrefix, digits, n)
}

// children returns how many children a page, or a host, has in the tree.
func (p *WebParams) children() int {
	if p.Tree {
		return max(1, p.Links)
	}
	return max(1, p.Links/2)
}

// link returns the target of link i of a page.
func (w *Web) link(host, page, i int) int {
	if c := w.children(); i < c {
		if child := page*c + i + 1; child < w.Pages {
			return child
		}
	}
	if w.Tree {
		return w.Pages - 1 // there are no more pages
	}
	return 1 + int(mix(uint64(host)<<40|uint64(page)<<10|uint64(i))%uint64(w.Pages-1))
}

// mix scatters numbers (the finaliser of SplitMix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// A pageTemplate is an answer with gaps for numbers, in this order: the number of the page,
// those of its links, those of other hosts.
type pageTemplate struct {
	answer       []byte
	body         int // offset of the body
	title        int
	links, cross []int
}

// newPageTemplate makes a page of size bytes, or of the least size that its links need.
func newPageTemplate(size, links, cross int) *pageTemplate {
	return buildPage(links, cross, max(0, size-buildPage(links, cross, 0).size()))
}

// pageTag is the ETag of each page. Pages never change.
const pageTag = "ETag: \"1\"\r\n"

// validate adds an ETag to the answer.
func (t *pageTemplate) validate() {
	const n = len(pageTag)
	t.answer = slices.Insert(t.answer, t.body-len("\r\n"), []byte(pageTag)...)
	t.body, t.title = t.body+n, t.title+n
	for _, gaps := range [][]int{t.links, t.cross} {
		for i := range gaps {
			gaps[i] += n
		}
	}
}

// size returns the size of the body.
func (t *pageTemplate) size() int { return len(t.answer) - t.body }

// buildPage makes a page with this many bytes of text.
func buildPage(links, cross, text int) *pageTemplate {
	var b bytes.Buffer
	t := &pageTemplate{}
	gap := func() int {
		at := b.Len()
		fmt.Fprintf(&b, "%0*d", digits, 0)
		return at
	}
	const words = "Some words of running text, as a page has them between its links. "
	write := func(n int) {
		for ; n > 0; n -= len(words) {
			b.WriteString(words[:min(n, len(words))])
		}
	}
	b.WriteString("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Page ")
	t.title = gap()
	b.WriteString("</title>\n<meta name=\"robots\" content=\"index, follow\"></head>\n<body>\n")
	for i := range cross {
		b.WriteString("<p><a class=\"other\" href=\"http://h")
		t.cross = append(t.cross, gap())
		fmt.Fprintf(&b, ".test/\">host %d</a></p>\n", i)
	}
	for i := range links {
		b.WriteString("<p class=\"text\"><a class=\"ref\" href=\"" + pagePrefix)
		t.links = append(t.links, gap())
		fmt.Fprintf(&b, "\">link %d</a> ", i)
		write(text*(i+1)/links - text*i/links)
		b.WriteString("</p>\n")
	}
	if links == 0 {
		write(text)
	}
	b.WriteString("<p class=\"foot\"><a href=\"" + forbidden + "x\">not for robots</a></p>\n</body></html>\n")

	head := answerHead("200 OK", "text/html; charset=utf-8", b.Len())
	t.answer, t.body = append([]byte(head), b.Bytes()...), len(head)
	for _, gaps := range [][]int{t.links, t.cross} {
		for i := range gaps {
			gaps[i] += t.body
		}
	}
	t.title += t.body
	return t
}

func answerHead(status, mediaType string, length int) string {
	return fmt.Sprintf("HTTP/1.1 %s\r\nServer: crawlbench\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", status, mediaType, length)
}

const notModified = "HTTP/1.1 304 Not Modified\r\nServer: crawlbench\r\n" + pageTag + "\r\n"

func putNumber(to []byte, n int) {
	for i := digits - 1; i >= 0; i-- {
		to[i] = byte('0' + n%10)
		n /= 10
	}
}

// fill writes page of host into b, a copy of the template.
func (w *Web) fill(t *pageTemplate, b []byte, host, page int) {
	putNumber(b[t.title:], page)
	for i, at := range t.links {
		putNumber(b[at:], w.link(host, page, i))
	}
	for i, at := range t.cross {
		putNumber(b[at:], min(host*len(t.cross)+i+1, w.Hosts-1))
	}
}

// Serve answers on l until ctx ends.
func (w *Web) Serve(ctx context.Context, l net.Listener) error {
	if w.TLS != nil {
		l = tls.NewListener(l, w.TLS)
	}
	var conns sync.WaitGroup
	defer conns.Wait()
	defer context.AfterFunc(ctx, func() { l.Close() })()
	for {
		c, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		// A connection ends when the crawler closes it or ctx ends.
		conns.Go(func() {
			raise(&w.counters.conns, w.conns.Add(1))
			defer w.conns.Add(-1)
			defer c.Close()
			defer context.AfterFunc(ctx, func() { c.Close() })()
			w.serve(c)
		})
	}
}

// A visitor is one connection, with one request at a time.
type visitor struct {
	*Web
	conn        net.Conn
	in          *bufio.Reader
	root, inner []byte // answers to be filled in
	known       bool   // the request has a condition, which is true for all pages
}

func (w *Web) serve(c net.Conn) {
	v := &visitor{Web: w, conn: c, in: bufio.NewReaderSize(c, 4096)}
	for {
		target, authority, last, err := v.readRequest()
		if err != nil {
			return
		}
		if err := v.answer(target, authority); err != nil || last {
			return
		}
	}
}

// readRequest reads a request without a body.
func (v *visitor) readRequest() (target, authority string, last bool, err error) {
	line, err := v.in.ReadSlice('\n')
	if err != nil {
		return "", "", false, err
	}
	v.known = false
	_, rest, _ := strings.Cut(string(line), " ")
	target, proto, _ := strings.Cut(rest, " ")
	last = strings.HasPrefix(proto, "HTTP/1.0")
	for {
		line, err := v.in.ReadSlice('\n')
		if err != nil {
			return "", "", false, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			return target, authority, last, nil
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch {
		case len(name) == 4 && bytes.EqualFold(name, []byte("host")):
			authority = string(bytes.TrimSpace(value))
		case len(name) == 13 && bytes.EqualFold(name, []byte("if-none-match")):
			v.known = v.Validators
		case len(name) == 10 && bytes.EqualFold(name, []byte("connection")):
			last = last || bytes.EqualFold(bytes.TrimSpace(value), []byte("close"))
		}
	}
}

// busy replaces the time of the last answer while a request waits for its answer.
const busy = -1

var errCut = errors.New("body was cut")

func (v *visitor) answer(target, authority string) error {
	now := v.since()
	n := &v.counters
	n.requests.Add(1)
	n.first.CompareAndSwap(0, now)
	host := v.hostNumber(authority)
	if host < 0 {
		return v.small("404 Not Found", "text/plain", "no such host\n")
	}
	if end := v.ended[host].Swap(busy); v.Delay > 0 {
		v.paused(now, end)
	}
	defer func() {
		sent := v.since()
		n.served.Add(sent - now)
		raise(&n.last, sent)
	}()
	if wait := v.latency(host); wait > 0 {
		time.Sleep(wait)
	}
	if target == "/robots.txt" {
		n.robots.Add(1)
		v.end(host)
		return v.small("200 OK", "text/plain", robotsText)
	}
	if strings.HasPrefix(target, forbidden) {
		n.forbidden.Add(1)
	}
	page := v.pageNumber(target)
	if page < 0 || v.dead(host, page) {
		n.missing.Add(1)
		v.end(host)
		return v.small("404 Not Found", "text/html", "<title>Not found</title>")
	}
	return v.page(host, page)
}

// paused counts how early or late a request came after the last answer of its host.
func (w *Web) paused(now, end int64) {
	if end == 0 {
		return // the first request
	}
	if end == busy {
		end = now // it did not even wait for the answer
	}
	late := now - end - int64(w.Delay)
	if late >= 0 {
		w.late.add(time.Duration(late))
		return
	}
	w.counters.early.Add(1)
	raise(&w.counters.tooEarly, -late)
}

// end notes that an answer is about to be sent. A crawler cannot have it earlier, so delays of
// this process do not make requests too early.
func (w *Web) end(host int) { w.ended[host].Store(w.since()) }

func (w *Web) since() int64 { return int64(time.Since(w.began)) }

func (w *Web) latency(host int) time.Duration {
	if w.Faults && host%10 == slowHost {
		return w.Latency + slowness
	}
	return w.Latency
}

func (v *visitor) small(status, mediaType, body string) error {
	v.counters.bytes.Add(int64(len(body)))
	_, err := io.WriteString(v.conn, answerHead(status, mediaType, len(body))+body)
	return err
}

func (v *visitor) page(host, page int) error {
	t, buf := v.Web.inner, &v.inner
	if page == 0 {
		t, buf = v.Web.root, &v.root
	}
	if *buf == nil {
		*buf = bytes.Clone(t.answer)
	}
	v.fill(t, *buf, host, page)
	v.end(host)
	at := uint64(host)*uint64(v.Pages) + uint64(page)
	word, bit := &v.seen[at/32], uint32(1)<<(at%32)
	if v.Faults && host%10 == cutHost && page%20 == cutPage {
		if _, before := v.cut.LoadOrStore(at, true); !before {
			v.counters.faults.Add(1)
			v.conn.Write((*buf)[:len(*buf)/2])
			return errCut
		}
	}
	// Counted before it is sent: a client that has it may request the counts at once.
	count := &v.counters.pages
	if word.Or(bit)&bit != 0 {
		count = &v.counters.again
	}
	count.Add(1)
	answer, head := *buf, t.body
	if v.known {
		answer, head = []byte(notModified), len(notModified)
	}
	n, err := v.conn.Write(answer)
	v.counters.bytes.Add(int64(max(0, n-head)))
	if err != nil {
		count.Add(-1)
	}
	return err
}

// raise makes n at least v.
func raise(n *atomic.Int64, v int64) {
	for old := n.Load(); v > old && !n.CompareAndSwap(old, v); old = n.Load() {
	}
}

// Counts returns what the web has counted so far.
func (w *Web) Counts() WebCounts {
	n := &w.counters
	return WebCounts{
		Requests: n.requests.Load(), Pages: n.pages.Load(), Robots: n.robots.Load(), Again: n.again.Load(),
		Missing: n.missing.Load(), Forbidden: n.forbidden.Load(), Faults: n.faults.Load(), Early: n.early.Load(),
		TooEarly: time.Duration(n.tooEarly.Load()), Late: w.late.lateness(), Served: time.Duration(n.served.Load()),
		Conns: n.conns.Load(), Bytes: n.bytes.Load(), Elapsed: time.Duration(n.last.Load() - n.first.Load()),
	}
}

// Forget resets the counts, and all pages are new again.
func (w *Web) Forget() {
	for i := range w.seen {
		w.seen[i].Store(0)
	}
	w.late.reset()
	n := &w.counters
	for _, c := range []*atomic.Int64{&n.requests, &n.pages, &n.robots, &n.again, &n.missing, &n.forbidden, &n.faults, &n.early, &n.tooEarly, &n.served, &n.conns, &n.bytes, &n.first, &n.last} {
		c.Store(0)
	}
}

// dead reports whether links lead to a page that does not exist. Such a page has no links.
func (p *WebParams) dead(host, page int) bool {
	return p.Faults && host%10 == deadHost && page%5 == deadPage && page*p.children()+1 >= p.Pages
}

// Expected returns how many pages there are to find.
func (p *WebParams) Expected() int64 {
	all := int64(p.Hosts) * int64(p.Pages)
	if p.Faults {
		for h := deadHost; h < p.Hosts; h += 10 {
			for page := range p.Pages {
				if p.dead(h, page) {
					all--
				}
			}
		}
	}
	return all
}
