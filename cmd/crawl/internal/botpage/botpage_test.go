package botpage

import (
	"crypto/ed25519"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/identity"
)

var testKey = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)).Public().(ed25519.PublicKey)

func whole() *Page {
	return &Page{
		Identity: crawler.Identity{Token: "mybot", Contact: "https://example.org/bots/mybot", Mail: "me@example.org"},
		Operator: "Example <Institute>", Why: "We study\nnews & \"more\".", Use: "<script>alert(1)</script>", OptOut: "stop@example.org",
		IPs: []string{"16.0.0.0/28", "2606:4700::1/128"}, Keys: []ed25519.PublicKey{testKey}, Written: time.Date(2026, 11, 26, 3, 0, 0, 0, time.FixedZone("", 3600)),
	}
}

func filesOf(t *testing.T, p *Page) map[string]File {
	t.Helper()
	files, err := p.Files()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]File{}
	for _, f := range files {
		all[f.Path] = f
	}
	return all
}

// What is written can be read again, and has its URL beside the page or at the root of its site.
func TestFilesOfAPage(t *testing.T) {
	t.Parallel()
	files := filesOf(t, whole())
	for path, url := range map[string]string{
		"index.html": "https://example.org/bots/mybot", "ips.json": "https://example.org/bots/ips.json",
		".well-known/http-message-signatures-directory": "https://example.org/.well-known/http-message-signatures-directory", "README.txt": "",
	} {
		if f, ok := files[path]; !ok || f.URL != url || url != "" && !strings.Contains(string(files["README.txt"].Text), "\n  "+path+"\n    "+url+"\n") {
			t.Errorf("%s: %q, want %q; %s", path, f.URL, url, files["README.txt"].Text)
		}
	}
	r := ReadPage(files["index.html"].Text, files["index.html"].URL, nil)
	if r.IPs != files["ips.json"].URL || !slices.Equal(r.Mails, []string{"stop@example.org"}) || strings.Count(r.Text, "User-agent: mybot\nDisallow: /") != 2 {
		t.Errorf("%+v", r)
	}
	for _, want := range []string{"Example <Institute>", "We study\nnews & \"more\".", "<script>alert(1)</script>", "mybot (+https://example.org/bots/mybot) permesso/", "me@example.org", "26 November 2026", identity.Thumbprint(testKey)} {
		if !strings.Contains(strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&", "&#34;", `"`, "&#43;", "+").Replace(r.Text), want) {
			t.Errorf("the page does not say %q:\n%s", want, r.Text)
		}
	}
	ranges, err := ParseIPs(files["ips.json"].Text)
	if err != nil || !slices.Equal(ranges, []netip.Prefix{netip.MustParsePrefix("16.0.0.0/28"), netip.MustParsePrefix("2606:4700::1/128")}) {
		t.Errorf("%v, %v", ranges, err)
	}
	if text := string(files["ips.json"].Text); !strings.Contains(text, `"creationTime": "2026-11-26T02:00:00Z"`) {
		t.Error(text)
	}
	d, err := identity.ParseDirectory(files[".well-known/http-message-signatures-directory"].Text)
	if err != nil || d.Has(testKey, time.Now()) != nil {
		t.Errorf("%+v, %v", d, err)
	}
}

// The page is markup of its own alone, and makes no request.
func TestTextOfTheUserIsNoMarkup(t *testing.T) {
	t.Parallel()
	text := string(filesOf(t, whole())["index.html"].Text)
	for _, wrong := range []string{"<script", "<Institute", "src=", "@import", "url(", "onload"} {
		if strings.Contains(text, wrong) {
			t.Errorf("the page has %q", wrong)
		}
	}
	p := whole()
	p.OptOut = "https://example.org/stop?a=b&c"
	if text := string(filesOf(t, p)["index.html"].Text); !strings.Contains(text, `href="https://example.org/stop?a=b&amp;c"`) || strings.Contains(text, "mailto:") {
		t.Error(text)
	}
}

// Without addresses and keys there are no such files, and the page does not speak of them.
func TestAPageAlone(t *testing.T) {
	t.Parallel()
	p := whole()
	p.IPs, p.Keys, p.Operator = nil, nil, ""
	files := filesOf(t, p)
	text := string(files["index.html"].Text) + string(files["README.txt"].Text)
	for _, wrong := range []string{"ips.json", "client-ranges", "well-known", "signed", "--key", " of .", "media type"} {
		if len(files) != 2 || strings.Contains(text, wrong) {
			t.Errorf("%d files, with %q", len(files), wrong)
		}
	}
}

func TestParseRange(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"16.0.0.0/28": "16.0.0.0/28", "16.0.0.7": "16.0.0.7/32", "2606:4700::/48": "2606:4700::/48", "2606:4700:0::1": "2606:4700::1/128",
		"": "error: neither", "a": "error: neither", "16.0.0.0/33": "error: neither", "16.0.0.0/-1": "error: neither", "2606:4700::1%eth0": "error: neither",
		"16.0.0.7/28": "error: has bits after its length: the range is 16.0.0.0/28", "::ffff:16.0.0.7": "error: write it as 16.0.0.7",
		"10.0.0.0/8": "error: not public", "127.0.0.1": "error: not public", "::1": "error: not public", "192.0.2.0/24": "error: not public",
		"0.0.0.0/0": "error: not public", "128.0.0.0/1": "error: not public",
	} {
		got, err := ParseRange(text)
		reason, fails := strings.CutPrefix(want, "error: ")
		if fails && (err == nil || !strings.Contains(err.Error(), reason)) || !fails && (got != want || err != nil) {
			t.Errorf("%q: %q, %v, want %s", text, got, err, want)
		}
	}
}

func TestParseIPs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"creationTime":"2026-11-26T03:00:00Z","prefixes":[]}`:                                                   "",
		`{"creationTime":"2026-11-26T03:00:00.5Z","prefixes":[{"ipv6Prefix":"::/0","services":["a"]}],"notes":1}`: "",
		``: "no IP list", `[]`: "no IP list", `{"prefixes":[]}`: `creationTime ""`,
		`{"creationTime":"2026-11-26T03:00:00Z"}`:                                                                    `"prefixes" is missing`,
		`{"creationTime":"2026-11-26T03:00:00+01:00","prefixes":[]}`:                                                 "no time in UTC",
		`{"creationTime":"2026-11-26T03:00:00Z","prefixes":[{"ipv4Prefix":"16.0.0.0/28"},{}]}`:                       "entry 2",
		`{"creationTime":"2026-11-26T03:00:00Z","prefixes":[{"ipv4Prefix":"16.0.0.0/28","ipv6Prefix":"2606::/16"}]}`: "entry 1",
		`{"creationTime":"2026-11-26T03:00:00Z","prefixes":[{"ipv4Prefix":"2606::/16"}]}`:                            "entry 1",
		`{"creationTime":"2026-11-26T03:00:00Z","prefixes":[{"ipv6Prefix":"16.0.0.0/28"}]}`:                          "entry 1",
		`{"creationTime":"2026-11-26T03:00:00Z","prefixes":[{"ipv4Prefix":"16.0.0.1"}]}`:                             "entry 1",
	} {
		if _, err := ParseIPs([]byte(text)); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestReadPage(t *testing.T) {
	t.Parallel()
	const base = "https://example.org/a/b"
	for html, want := range map[string]string{
		`<LINK REL="alternate Client-Ranges" HREF=" ips.json ">`:                          "https://example.org/a/ips.json",
		`<link rel=client-ranges href=/one><link rel=client-ranges href=/two>`:            "https://example.org/one",
		`<link rel=client-ranges2 href=/one><!-- <link rel=client-ranges href=/two> -->`:  "",
		`<link rel=client-ranges href="http://[">`:                                        "",
		`<style><link rel=client-ranges href=/one></style><script>mailto:a@b.c</script>x`: "",
	} {
		if r := ReadPage([]byte(html), base, nil); r.IPs != want || strings.Contains(r.Text, "mailto") {
			t.Errorf("%s: %+v, want %s", html, r, want)
		}
	}
	for field, want := range map[string]string{
		`</ips.json>; REL="Client-Ranges"`: "https://example.org/ips.json", `</ips.json>; rel="client-ranges"`: "https://example.org/ips.json", `</a>; rel=next, <ips.json>;rel=client-ranges`: "https://example.org/a/ips.json",
		`</ips.json>; type="x"; rel="alternate client-ranges"`: "https://example.org/ips.json", `</ips.json>; rel=client-ranges-2`: "", `</a>, </b>; rel=client-ranges`: "https://example.org/b",
	} {
		if r := ReadPage(nil, base, []string{"x", field}); r.IPs != want {
			t.Errorf("%s: %+v, want %s", field, r, want)
		}
	}
}

func FuzzParseIPs(f *testing.F) {
	f.Add([]byte(`{"creationTime":"2026-11-26T03:00:00Z","prefixes":[{"ipv4Prefix":"16.0.0.0/28"},{"ipv6Prefix":"2606::/16"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := ParseIPs(text)
		for _, p := range all {
			if err != nil || !p.IsValid() {
				t.Errorf("%q: %v, %v", text, p, err)
			}
		}
	})
}

func FuzzReadPage(f *testing.F) {
	f.Add([]byte(`<link rel=client-ranges href=/one><a href=mailto:a@b.c>x`), "<a>; rel=client-ranges")
	f.Fuzz(func(t *testing.T, body []byte, link string) {
		r := ReadPage(body, "https://example.org/", []string{link})
		if len(r.Text) > 2*len(body)+1 {
			t.Errorf("%d bytes of text from %d", len(r.Text), len(body))
		}
	})
}
