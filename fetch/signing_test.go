package fetch

import (
	"crypto/ed25519"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// If a server closes a connection before it processes a request, the request is made again with a
// new signature. The shared header of a site never gets a signature.
func TestARepeatedRequestIsSignedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var inputs []string
		w := &wire{serve: answers(noRobots(func(r *request, n int) string {
			inputs = append(inputs, r.header.Get("Signature-Input"))
			if n == 1 {
				return ""
			}
			return page("")
		}))}
		key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
		v := newTour(t, Options{Network: w, Signing: Signing{key, "https://example.org"}, Bodies: Bodies{KeepWire: true}})
		res, all := v.visit("http://a.example/")
		if res.Page == nil || len(all) != 3 || stage(all[1]) != StageStale {
			t.Fatalf("exchanges: %+v", all)
		}
		if len(inputs) != 2 || inputs[0] == "" || inputs[1] == "" || inputs[0] == inputs[1] {
			t.Errorf("signatures: %q", inputs)
		}
		for _, x := range all {
			if !strings.Contains(string(x.RequestHead), "\r\nSignature: ") || x.RequestHeader.Get("Signature") == "" {
				t.Errorf("%s: %s, %v", x.URL, x.RequestHead, x.RequestHeader)
			}
		}
		h := v.fetcher.sites["http://a.example"].host
		if len(h.settings.page["Signature"])+len(h.settings.rules["Signature"]) > 0 {
			t.Error("a signature is in the header of all requests")
		}
	})
}

// The time of a signature is the time of its request. An Exchange does not contain the credentials
// of a site, with and without signatures.
func TestASignatureIsMadeForOneRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
		h := &host{fetcher: newTour(t, Options{Network: &wire{}, Signing: Signing{key, "https://example.org"}}).fetcher, site: "http://a.example"}
		u, err := frontier.ParseURL("http://a.example/")
		if err != nil {
			t.Fatal(err)
		}
		var inputs []string
		for range 2 {
			a, x := requestSpec{url: u, header: map[string][]string{"Authorization": {"secret"}}}, &Exchange{}
			h.sign(&a, x)
			inputs = append(inputs, a.header.Get("Signature-Input"))
			if a.header.Get("Authorization") != "secret" || x.RequestHeader.Get("Authorization") != "" {
				t.Errorf("sent %v, told %v", a.header, x.RequestHeader)
			}
			time.Sleep(time.Second)
		}
		created := func(s string) string { return s[strings.Index(s, ";created="):strings.Index(s, ";keyid=")] }
		if created(inputs[0]) == created(inputs[1]) {
			t.Errorf("%q", inputs)
		}
	})
}
