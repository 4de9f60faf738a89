package fetch_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/robots"
)

var signingKey = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))

const directory = "https://example.org/.well-known/http-message-signatures-directory"

var signatureInput = regexp.MustCompile(`^sig1=(\("@authority" "signature-agent";key="sig1"\);created=(\d+);keyid="[\w-]{43}";alg="ed25519";expires=(\d+);nonce="([^"]{88})";tag="web-bot-auth")$`)

// verify returns nil if the signature of a request is valid for its authority and for the time at
// which it came. Otherwise it returns the reason. It also returns the nonce.
func verify(r crawltest.Request, authority string, key ed25519.PublicKey) (nonce string, err error) {
	m := signatureInput.FindStringSubmatch(r.Header.Get("Signature-Input"))
	if m == nil {
		return "", fmt.Errorf("Signature-Input: %q", r.Header.Get("Signature-Input"))
	}
	if agent := r.Header.Get("Signature-Agent"); agent != `sig1="`+directory+`"` {
		return "", fmt.Errorf("Signature-Agent: %s", agent)
	}
	created, _ := strconv.ParseInt(m[2], 10, 64)
	expires, _ := strconv.ParseInt(m[3], 10, 64)
	if at := r.Start.Unix(); created > at || at-created > 2 || expires-created != 60 {
		return "", fmt.Errorf("created %d, expires %d, sent at %d", created, expires, at)
	}
	text, ok := strings.CutPrefix(r.Header.Get("Signature"), "sig1=:")
	signature, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(text, ":"))
	base := "\"@authority\": " + authority + "\n\"signature-agent\";key=\"sig1\": \"" + directory + "\"\n\"@signature-params\": " + m[1]
	if !ok || err != nil || !ed25519.Verify(key, []byte(base), signature) {
		return "", fmt.Errorf("the signature %q is not valid for %s", r.Header.Get("Signature"), authority)
	}
	return m[4], nil
}

// Each request has its own signature for its own authority. The requests are for robots.txt and
// its redirect to another site, for tdmrep.json, for a page, for a redirect to another site over
// HTTP/2, and for a second try an hour later.
func TestEachRequestIsSignedForItsOwnAuthority(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Redirect("/robots.txt", "http://c.example:8080/robots-of-a.txt").
			Redirect("/", "https://b.example/x").Flaky("/flaky", "at last", "5", http.StatusServiceUnavailable).
			File("/.well-known/tdmrep.json", "application/json", `[]`)
		w.Site("https://b.example").HTTP2().Page("/x", "there")
		w.Site("http://c.example:8080").File("/robots-of-a.txt", "text/plain", "User-agent: *\nAllow: /")
		c := client(t, w, func(o *fetch.ClientOptions) {
			o.Signing, o.Purpose = fetch.Signing{Key: signingKey, Agent: "https://example.org"}, robots.PurposeAITrain
		})
		if x := get(t, c, "http://a.example/"); x.URL.String() != "https://b.example/x" || x.Proto != "h2" || x.RequestHeader.Get("Signature") == "" {
			t.Errorf("%s over %s, %v", x.URL, x.Proto, x.RequestHeader)
		}
		if x := get(t, c, "http://a.example/flaky"); x.Status != http.StatusServiceUnavailable {
			t.Error(x.Status)
		}
		time.Sleep(time.Hour) // longer than a connection is kept and a signature is valid
		if x := get(t, c, "http://a.example/flaky"); string(x.Body) != "at last" {
			t.Error(x.Status)
		}
		nonces := map[string]bool{}
		for _, r := range w.Log() {
			nonce, err := verify(r, r.Site.Authority(), signingKey.Public().(ed25519.PublicKey))
			if err != nil || nonces[nonce] {
				t.Errorf("%s: %v, the nonce is repeated: %t", r.URL(), err, nonces[nonce])
			}
			nonces[nonce] = true
		}
		for _, url := range []string{"http://a.example/robots.txt", "http://c.example:8080/robots-of-a.txt", "http://a.example/.well-known/tdmrep.json", "https://b.example/x"} {
			if w.Fetched(url) == 0 {
				t.Errorf("%s was not requested", url)
			}
		}
		w.AssertPolite()
	})
}

// Without Signing no request has a field of a signature.
func TestRequestsAreOnlySignedOnDemand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", "")
		get(t, client(t, w), "http://a.example/")
		for _, r := range w.Log() {
			for _, name := range []string{"Signature", "Signature-Input", "Signature-Agent"} {
				if len(r.Header[name]) > 0 {
					t.Errorf("%s: %s", r.URL(), name)
				}
			}
		}
	})
}

// If the caller of RoundTrip sets a Signature, it is replaced, because a request has one signature
// for each label.
func TestRoundTripSignsAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", "")
		c := client(t, w, func(o *fetch.ClientOptions) {
			o.Signing = fetch.Signing{Key: signingKey, Agent: "https://example.org"}
		})
		req, err := http.NewRequestWithContext(t.Context(), "GET", "http://a.example/", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Signature", "sig1=:AAAA:")
		if _, err := c.RoundTrip(req); err != nil {
			t.Fatal(err)
		}
		log := w.Log()
		if _, err := verify(log[len(log)-1], "a.example", signingKey.Public().(ed25519.PublicKey)); err != nil || len(log[len(log)-1].Header["Signature"]) != 1 {
			t.Error(err)
		}
		if req.Header.Get("Signature") != "sig1=:AAAA:" {
			t.Error("the header of the caller has changed")
		}
	})
}

func TestWhatCannotSign(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]fetch.Signing{
		"the URL of the key directory is missing": {Key: signingKey},
		"the key has 0 bytes":                     {Agent: "https://example.org"},
		"no https URL":                            {Key: signingKey, Agent: "http://example.org"},
	} {
		_, cerr := fetch.NewClient(fetch.ClientOptions{Token: "feedbot", Contact: "https://example.org/bot", Signing: s})
		_, err := fetch.New(fetch.Options{Policy: robots.Policy{Token: "feedbot"}, UserAgent: "feedbot", Signing: s})
		if err := errors.Join(cerr, err); cerr == nil || err == nil || strings.Count(err.Error(), want) != 2 || strings.Count(err.Error(), "Options.Signing: ") != 2 {
			t.Errorf("%v\n%v: want %q", cerr, err, want)
		}
	}
	for _, name := range []string{"Signature", "Signature-Input", "Signature-Agent"} {
		if err := fetch.CheckHeader(http.Header{name: {"x"}}, true); err == nil {
			t.Errorf("the header of a site may have %s", name)
		}
	}
}
