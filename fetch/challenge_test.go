package fetch

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

func TestChallenges(t *testing.T) {
	long := strings.Repeat("<p>A page of its own.</p>\n", 10_000)
	for _, tc := range []struct {
		name   string
		status int
		header string
		body   string
		want   string
	}{
		{"field", 403, "cf-mitigated: challenge", "", "Cloudflare"},
		{"field in capitals", 503, "CF-Mitigated: Challenge", "", "Cloudflare"},
		{"another value", 403, "cf-mitigated: block", "", ""},
		{"script", 403, "server: cloudflare", "<script>window._cf_chl_opt={}</script>", "Cloudflare"},
		{"script on a page", 200, "server: cloudflare", "<script>window._cf_chl_opt={}</script>", ""},
		{"detection script", 404, "", `<script src="/cdn-cgi/challenge-platform/scripts/jsd/main.js"></script>`, ""},
		{"accepted", 202, "x-amzn-waf-action: challenge", "", "AWS WAF"},
		{"captcha", 405, "x-amzn-waf-action: captcha", "", "AWS WAF"},
		{"checkpoint", 429, "x-vercel-mitigated: challenge", "", "Vercel"},
		{"denied", 403, "x-vercel-mitigated: deny", "", ""},
		{"interstitial", 403, "x-datadome: protected", `<script src="https://ct.captcha-delivery.com/i.js">`, "DataDome"},
		{"protected page", 200, "x-datadome: protected", `<script src="https://ct.captcha-delivery.com/i.js">`, ""},
		{"incident", 200, "x-iinfo: 1", "<iframe>Request unsuccessful. Incapsula incident ID: 1-2</iframe>", "Imperva"},
		{"empty page", 200, "", `<script src="/_Incapsula_Resource?SWJIYLWA=1,2"></script>`, "Imperva"},
		{"served page", 200, "x-iinfo: 1", `<script src="/_Incapsula_Resource?SWJIYLWA=1"></script>` + long[:4000], ""},
		{"behaviour", 200, "", `<div id="sec-if-cpt-container">`, "Akamai"},
		{"press and hold", 403, "", `<div id="px-captcha">`, "HUMAN"},
		{"page about them", 200, "", `<p>Incapsula incident ID, id="sec-if-cpt-container"</p>` + long, ""},
		{"style sheet", 403, "content-type: text/css", "#px-captcha {}", ""},
		{"forbidden", 403, "", "<h1>Forbidden</h1>", ""},
	} {
		header := http.Header{"Content-Type": {"text/html"}}
		if name, value, ok := strings.Cut(tc.header, ": "); ok {
			header.Set(name, value)
		}
		if got := challengeOf(tc.status, header, []byte(tc.body), "/"); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// The text of a challenge counts only in bodies up to a length. For some challenges, only some
// statuses count.
func TestTheBoundsOfChallenges(t *testing.T) {
	html := http.Header{"Content-Type": {"text/html"}}
	for _, tc := range []struct {
		text, network string
		most          int
		statuses      []int // statuses for which the text counts; nil: all
	}{
		{"_cf_chl_opt", "Cloudflare", 131072, []int{403, 429, 503}},
		{"captcha-delivery.com", "DataDome", 32768, []int{401, 403, 429}},
		{"Incapsula incident ID", "Imperva", 8192, nil},
		{"/_Incapsula_Resource?SWJIYLWA=", "Imperva", 2048, nil},
		{`id="sec-if-cpt-container"`, "Akamai", 16384, nil},
		{"px-captcha", "HUMAN", 65536, []int{403, 429}},
	} {
		longest := tc.text + strings.Repeat(" ", tc.most-len(tc.text))
		for _, status := range []int{200, 202, 204, 400, 401, 402, 403, 404, 428, 429, 430, 500, 502, 503, 504} {
			want := ""
			if tc.statuses == nil || slices.Contains(tc.statuses, status) {
				want = tc.network
			}
			if got := challengeOf(status, html, []byte(longest), "/"); got != want {
				t.Errorf("%s of %d bytes with %d: %q, want %q", tc.text, tc.most, status, got, want)
			}
			if got := challengeOf(status, html, []byte(longest+" "), "/"); got != "" {
				t.Errorf("%s of %d bytes with %d: %q", tc.text, tc.most+1, status, got)
			}
		}
	}
}

// The error of a challenge names the network and says what to do.
func TestErrorsSayWhatHappened(t *testing.T) {
	cause := errors.New("cause")
	for _, tc := range []struct {
		err  error
		want string
	}{
		{&challengeError{"Imperva", 403}, "Imperva answers 403 and asks for a browser: the site wants this crawler to slow down, or not to come"},
		{&addressError{Host: "a.example"}, "a.example means this machine, which has no public address"},
		{&addressError{Host: "a.example", Addr: netip.MustParseAddr("10.0.0.1")}, "a.example is at 10.0.0.1, which is not a public address"},
		{&proxyError{Proxy: "http://p", Status: 407}, "the proxy http://p refuses the user and the password: give them as USER:PASSWORD@ before its host"},
		{&proxyError{Proxy: "http://p", Status: 502}, "the proxy http://p answers 502 Bad Gateway"},
		{&proxyError{Proxy: "http://p", Err: cause}, "the proxy http://p: cause"},
		{&Error{"http://a.example/", StageTLS, cause}, "http://a.example/: tls: cause"},
		{&decodeError{cause}, "cause"},
		{&spoolError{cause}, "a temporary file for a body: cause: make room there, or raise the budget of memory for bodies"},
	} {
		if tc.err.Error() != tc.want {
			t.Errorf("%T: %q, want %q", tc.err, tc.err, tc.want)
		}
		if strings.Contains(tc.want, "cause") && !errors.Is(tc.err, cause) {
			t.Errorf("%T does not say why", tc.err)
		}
	}
}

func challengeAnswer(more string) string {
	return "HTTP/1.1 403 Forbidden\r\nCf-Mitigated: challenge\r\n" + more + "Content-Length: 2\r\n\r\nno"
}

// For site owners: "A bot-challenge page (the bot defence of a delivery network, or
// nothing but a captcha) counts as a 503 and is never answered."
func TestAChallengeIsARequestForRest(t *testing.T) {
	for _, more := range []string{"", "Retry-After: 300\r\n"} {
		synctest.Test(t, func(t *testing.T) {
			asked := 0
			w := &wire{serve: answers(noRobots(func(r *request, n int) string {
				if asked++; asked < 3 {
					return challengeAnswer(more)
				}
				return page("hello")
			}))}
			res, all := newTour(t, Options{Network: w}).visit("http://a.example/")
			if res.Page == nil || len(all) != 4 {
				t.Fatalf("%d exchanges, outcome %+v", len(all), res.Outcome)
			}
			first := all[1]
			var why *challengeError
			if stage(first) != StageChallenge || !errors.As(first.Err, &why) || why.Network != "Cloudflare" || first.Status != 403 || string(first.Body) != "no" || first.Truncated != "" {
				t.Errorf("exchange: %+v", first)
			}
			least, clock := 5*time.Second, frontier.BackOffClock
			if more != "" {
				least, clock = 300*time.Second, frontier.RetryAfterClock
			}
			if gap := all[2].Started.Sub(first.Ended); gap < least || all[2].Asked.By != clock {
				t.Errorf("requested again after %v by %s, want at least %v by %s", gap, all[2].Asked.By, least, clock)
			}
		})
	}
}

func TestAChallengeIsNoRobotsTxt(t *testing.T) {
	for _, status := range []string{"200 OK", "202 Accepted", "403 Forbidden"} {
		synctest.Test(t, func(t *testing.T) {
			w := &wire{serve: answers(func(r *request, n int) string {
				if r.target != "/robots.txt" {
					t.Errorf("%s was requested", r.target)
				}
				return fmt.Sprintf("HTTP/1.1 %s\r\nX-Amzn-Waf-Action: challenge\r\nContent-Length: 0\r\n\r\n", status)
			})}
			v := newTour(t, Options{Network: w, Policy: robots.Policy{AllowForbidden: true}})
			res, _ := v.visit("http://a.example/")
			if res.Verdict.Access != robots.Defer || res.Outcome.Fate.Detail != "challenge" {
				t.Errorf("%s: verdict %v, fate %+v", status, res.Verdict.Access, res.Outcome.Fate)
			}
		})
	}
}

func FuzzChallenge(f *testing.F) {
	f.Add(403, "Cf-Mitigated", "challenge", []byte("x"))
	f.Add(200, "Content-Type", "text/html; charset=utf-8", []byte(`<div id="sec-if-cpt-container">`))
	f.Add(403, "Content-Type", ";;", []byte("px-captcha"))
	f.Add(202, "X-Amzn-Waf-Action", " CHALLENGE ", []byte(nil))
	f.Fuzz(func(t *testing.T, status int, name, value string, body []byte) {
		header := http.Header{}
		header.Set(name, value)
		got := challengeOf(status, header, body, "/x")
		if got == "" {
			return
		}
		for i := range challenges {
			c := &challenges[i]
			if c.network == got && (c.field != "" && header.Get(c.field) != "" || c.text != "" && strings.Contains(string(body), c.text)) {
				return
			}
		}
		t.Errorf("%d, %q: %q, %q is a challenge of %s without its mark", status, name, value, body, got)
	})
}

func BenchmarkChallenge(b *testing.B) {
	body := text(20 << 10)
	header := http.Header{"Content-Type": {"text/html"}}
	for b.Loop() {
		if challengeOf(200, header, body, "/x") != "" {
			b.Fatal("a page is a challenge")
		}
	}
}
