package crawler

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/crawler/extract"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
)

func BenchmarkNext(b *testing.B) {
	u, _ := frontier.ParseURL("http://a.example/dir/page")
	j, err := NewJob(Options{Identity: Identity{Token: "testbot", Contact: "https://example.org/"}, Seeds: []string{u.String()}}, nil, jobDeps{})
	if err != nil {
		b.Fatal(err)
	}
	html := ""
	for i := range 50 {
		html += fmt.Sprintf("<a href=/section/%d/page-%d.html>x</a>", i, i)
	}
	p := &Page{URL: u, Entry: frontier.Entry{URL: u, Via: "http://a.example/", Hops: "LLLL"}}
	p.html = extract.HTML([]byte(html), u, "text/html", extract.Options{Token: "testbot"})
	found := newFindings()
	b.ReportAllocs()
	for b.Loop() {
		if all, err := j.next(p, found); len(all) != 50 || err != nil {
			b.Fatal(len(all), err)
		}
	}
}

func BenchmarkExchangeLine(b *testing.B) {
	u, _ := frontier.ParseURL("http://a.example/dir/page")
	now := time.Now()
	x := &fetch.Exchange{URL: u, Status: 200, Started: now, FirstByte: now.Add(time.Millisecond), Ended: now.Add(3 * time.Millisecond),
		Asked: frontier.Pause{By: frontier.OwnClock, For: time.Second}, Addr: netip.MustParseAddrPort("127.0.0.1:80"), Proto: "HTTP/1.1",
		Header: map[string][]string{"Content-Type": {"text/html; charset=utf-8"}}}
	res := &fetch.Result{Page: x}
	b.ReportAllocs()
	var l exchangeLine
	for b.Loop() {
		l.of(1, frontier.Entry{URL: u}, x, res, nil)
	}
}

// BenchmarkAddBeforeRun adds 5,000 seeds to a crawl before Run, with one call of Add for each seed.
func BenchmarkAddBeforeRun(b *testing.B) {
	for b.Loop() {
		c, err := New(Options{Identity: partsIdentity, Seeds: []string{"http://a.example/"}})
		if err != nil {
			b.Fatal(err)
		}
		for i := range 5000 {
			if n, err := c.Add(fmt.Sprintf("http://a.example/%d", i)); n != 1 || err != nil {
				b.Fatal(n, err)
			}
		}
	}
}
