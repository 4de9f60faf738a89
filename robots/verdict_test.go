package robots

import (
	"strings"
	"testing"
)

// Every answer has words of its own, and none of them is a number.
func TestWords(t *testing.T) {
	seen := map[string]bool{}
	words := []string{}
	for a := Defer; a <= Disallow; a++ {
		words = append(words, a.String())
	}
	for r := Unknown; r <= LongUnreachable; r++ {
		words = append(words, r.String())
	}
	for _, w := range words {
		if seen[w] || w == "" || strings.Contains(w, "(") {
			t.Errorf("%q", w)
		}
		seen[w] = true
	}
	if s := Access(9).String() + Reason(99).String() + Dialect(9).String(); s != "Access(9)Reason(99)Dialect(9)" {
		t.Error(s)
	}
	if s := (Rule{true, "/a", 1}).String() + (Rule{false, "/b", 2}).String() + (Rule{}).String(); s != "Allow: /aDisallow: /b" {
		t.Error(s)
	}
}

// The usual ways to write the keys of other records are all understood.
func TestOtherKeys(t *testing.T) {
	for key, want := range map[string]kind{
		"Crawl-delay": delayLine, "crawldelay": delayLine, "Crawl delay": delayLine, "crawl_delay": delayLine,
		"Request-rate": rateLine, "requestrate": rateLine, "request rate": rateLine,
		"Visit-time": visitLine, "visittime": visitLine, "Visit time": visitLine,
		"Sitemap": sitemapLine, "Sitemaps": sitemapLine, "site-map": sitemapLine,
		"HOST": hostLine, "Clean-param": cleanParamLine, "Noindex": noindexLine, "License": licenseLine,
		"Content-Usage": usageLine, "Content-Signal": signalLine, "Content-Signals": signalLine,
		"Crawl": unknownLine, "Request": unknownLine, "Visit": unknownLine, "Hosts": unknownLine, "Licence": unknownLine, "Mood": unknownLine,
	} {
		for _, d := range []Dialect{RFC9309, Google, Koster1996} {
			if got, _ := keyKind(key, d); got != want {
				t.Errorf("%v: %q is of kind %d, want %d", d, key, got, want)
			}
		}
	}
}
