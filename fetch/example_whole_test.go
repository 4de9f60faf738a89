package fetch_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// ofATest replaces the *testing.T, which an example does not have.
type ofATest struct {
	testing.TB
	end func()
}

func (*ofATest) Helper()            {}
func (t *ofATest) Cleanup(f func()) { t.end = f }

// Each request of the client is signed. Signing.Agent names the site at which the key directory
// has the public key.
func ExampleSigning() {
	t := &ofATest{}
	w := crawltest.New(t) // a web in memory; without the option Network, the real web is used
	defer t.end()
	w.Site("http://a.example").Func("/", func(rw http.ResponseWriter, r *http.Request) {
		fmt.Fprint(rw, r.Header.Get("Signature-Agent"))
	})
	_, key, err := ed25519.GenerateKey(nil) // the command crawl identity keygen writes such a key into a file
	if err != nil {
		log.Fatal(err)
	}
	client, err := fetch.NewClient(fetch.ClientOptions{
		Token: "feedbot", Contact: "https://example.org/feedbot", Network: w, Delay: -1,
		Signing: fetch.Signing{Key: key, Agent: "https://example.org"},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	answer, err := client.Get(context.Background(), "http://a.example/")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", answer.Body)
	// Output: sig1="https://example.org/.well-known/http-message-signatures-directory"
}

// A crawler with a frontier of its own gives each turn to a Fetcher. The first turn of a site
// requests robots.txt, and the frontier hands out the entry again.
func ExampleFetcher() {
	t := &ofATest{}
	w := crawltest.New(t) // a web in memory; without the option Network, the real web is used
	defer t.end()
	w.Site("http://a.example").Addr("127.0.0.1").Page("/", "<title>Home</title>")
	f, err := fetch.New(fetch.Options{
		Policy:    robots.Policy{Token: "mybot"},
		UserAgent: "mybot (+https://example.org/mybot)",
		Network:   w, AllowPrivate: true,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	queue := queueOf("http://a.example/", frontier.Options{Delay: -1, Shared: w.Clocks(), Lease: f.Longest(1)})
	for {
		turn, err := queue.Next(context.Background())
		if err != nil {
			fmt.Println(err)
			return
		}
		visit(f, turn)
	}
	// Output:
	// http://a.example/robots.txt 404 false true
	// fate: undecided
	// http://a.example/ 200 false true
	// fate: fetched
	// frontier: nothing is left to request
}

// queueOf returns a frontier with one queued URL.
func queueOf(raw string, opts frontier.Options) *frontier.Frontier {
	u, err := frontier.ParseURL(raw)
	if err != nil {
		log.Fatal(err)
	}
	queue, err := frontier.New(frontier.NewMemory(), opts)
	if err != nil {
		log.Fatal(err)
	}
	if err := queue.Add(frontier.Entry{URL: u}); err != nil {
		log.Fatal(err)
	}
	return queue
}

// visit makes the one request of a turn.
func visit(f *fetch.Fetcher, turn *frontier.Turn) {
	result, err := f.Get(context.Background(), turn)
	if err != nil {
		log.Fatal(err)
	}
	defer result.Release()
	for _, x := range result.Exchanges {
		fmt.Println(x.URL, x.Status, x.Conditional(), x.Trouble() == frontier.NoTrouble)
	}
	fate, err := turn.Finish(result.Outcome)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("fate:", fate.Code)
}

// If the crawler has a copy of a page, Revalidate asks for the page only if it has changed. After
// a 304, Stored reads the copy as if it had come from the server.
func ExampleFetcher_Revalidate() {
	// Call it in a loop over the turns of a frontier, as in the example of Fetcher.
	visit := func(ctx context.Context, f *fetch.Fetcher, turn *frontier.Turn, copy *http.Response) (*fetch.Exchange, error) {
		result, err := f.Revalidate(ctx, turn, fetch.Validators{
			ETag: copy.Header.Get("ETag"), LastModified: copy.Header.Get("Last-Modified"),
		})
		_, ended := turn.Finish(result.Outcome)
		if err := errors.Join(err, ended); err != nil || result.Page == nil {
			return nil, err
		}
		if result.Page.Status == http.StatusNotModified {
			return f.Stored(ctx, result.Page, copy) // the caller must call Release of the exchange
		}
		return result.Page, nil
	}
	_ = visit
}

// Decode removes the content codings of a body that another program has stored.
func ExampleDecode() {
	var stored bytes.Buffer
	z := gzip.NewWriter(&stored)
	if _, err := io.WriteString(z, "hello"); err != nil {
		log.Fatal(err)
	}
	if err := z.Close(); err != nil {
		log.Fatal(err)
	}
	body, err := fetch.Decode("gzip", &stored)
	if err != nil {
		log.Fatal(err)
	}
	defer body.Close()
	text, err := io.ReadAll(io.LimitReader(body, 1<<20)) // the caller must limit the size
	fmt.Printf("%s %v\n", text, err)
	// Output: hello <nil>
}

// Fetcher.Decode decodes a stored answer like one from the network, up to Options.MaxSize.
func ExampleFetcher_Decode() {
	f, err := fetch.New(fetch.Options{Policy: robots.Policy{Token: "mybot"}, UserAgent: "mybot (+https://example.org/mybot)"})
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	stored := &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/plain"}}, Body: io.NopCloser(strings.NewReader("hello"))}
	body, err := f.Decode(stored)
	fmt.Printf("%s %v\n", body, err)
	// Output: hello <nil>
}

// ParseRetryAfter and ParseMediaType read two fields leniently, also for programs with another
// HTTP client.
func ExampleParseRetryAfter() {
	now := time.Date(2030, 1, 2, 3, 0, 0, 0, time.UTC)
	for _, value := range []string{"120", "Wed, 02 Jan 2030 04:00:00 GMT", "soon"} {
		until := fetch.ParseRetryAfter(value, now)
		fmt.Println(until.IsZero(), max(0, until.Sub(now)))
	}
	fmt.Println(fetch.ParseMediaType([]string{"Text/HTML;charset=latin1"}))
	// Output:
	// false 2m0s
	// false 1h0m0s
	// true 0s
	// text/html; charset=latin1
}

// ParseHeader parses the values of flags.
func ExampleParseHeader() {
	fields, err := fetch.ParseHeader([]string{"Accept-Language: de"})
	fmt.Println(fields, err, fetch.CheckHeader(fields, true))
	_, err = fetch.ParseHeader([]string{"Host: example.org"})
	fmt.Println(err)
	to, err := fetch.ParseConnectTo("example.org:443:staging.example:8443")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(to, to.Check())
	// Output:
	// map[Accept-Language:[de]] <nil> <nil>
	// the header field Host cannot be set: it is the host of each URL
	// example.org:443:staging.example:8443 <nil>
}

// ParseProxy and EnvironmentProxy return functions for ClientOptions.Proxy and Options.Proxy.
func ExampleParseProxy() {
	proxy, err := fetch.ParseProxy("socks5://proxy.example:1080")
	if err != nil {
		if proxy, err = fetch.EnvironmentProxy(); err != nil {
			log.Fatal(err)
		}
	}
	client, err := fetch.NewClient(fetch.ClientOptions{Token: "mybot", Contact: "https://example.org/mybot", Proxy: proxy})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	// Output:
}

// Public reports whether an address is public. By default only public addresses are contacted.
func ExamplePublic() {
	for _, raw := range []string{"8.8.8.8", "192.168.1.1", "::1"} {
		fmt.Println(raw, fetch.Public(netip.MustParseAddr(raw)))
	}
	// Output:
	// 8.8.8.8 true
	// 192.168.1.1 false
	// ::1 false
}

// RetryAfter and Trouble tell when the site may get its next request. A failure of this machine
// does not count as a failure of the site.
func ExampleExchange_RetryAfter() {
	judge := func(x *fetch.Exchange, err error) string {
		switch {
		case fetch.TooManyOpen(err):
			return "close some files, and try again"
		case err != nil:
			return err.Error()
		case !x.RetryAfter().IsZero():
			return "not before " + x.RetryAfter().Format(time.TimeOnly)
		}
		return "ready"
	}
	ended := time.Date(2030, 1, 2, 3, 0, 0, 0, time.UTC)
	fmt.Println(judge(&fetch.Exchange{Status: 503, Ended: ended, Header: http.Header{"Retry-After": {"60"}}}, nil))
	// Output: not before 03:01:00
}
