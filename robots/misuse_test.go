package robots

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"
)

// quiet calls f, and fails the test if f panics.
func quiet(t *testing.T, name string, f func()) {
	t.Helper()
	defer func() {
		if v := recover(); v != nil {
			t.Errorf("%s panics: %v", name, v)
		}
	}()
	f()
}

// The methods of zero values permit nothing, and none of them panics.
func TestZeroValuesCanBeAsked(t *testing.T) {
	now := time.Now()
	for name, f := range map[string]func(){
		"Answer": func() {
			if !new(Answer).Signals().IsZero() {
				t.Error("the zero Answer has signals")
			}
		},
		"Directives": func() {
			if !(Directives{}).Merge(Directives{}).IsZero() {
				t.Error("no directives are some")
			}
			_ = Directives{}.String()
		},
		"Signals": func() {
			s := Signals{}.Merge(Signals{})
			if _, refused := s.Refuses(""); refused || len(s.Deciding()) > 0 || !s.IsZero() {
				t.Error("no signals are some")
			}
			for _, p := range append(Purposes(), "no purpose") {
				s.Refuses(p)
			}
		},
		"Snapshot": func() {
			var s Snapshot
			for _, p := range []Policy{{}, {Token: "x"}, {Token: "\x00", Dialect: 200, Aliases: []string{"", "\xff"}}} {
				g := s.Group(p, now)
				if g.Match("/").Allowed() && s.Status == 0 && !s.Reachable() {
					t.Errorf("%+v: what was never fetched allows all", p)
				}
				s.Expires(p)
			}
			s.File(200)
			s.Good()
			s.After(nil)
			s.After(&s)
			s.Reachable()
		},
		"RSL":      func() { _ = new(RSL).Err() },
		"TDMRep":   func() { _ = new(TDMRep).Err(); new(TDMRep).Signals("") },
		"TDM":      func() { _ = (TDM{}).Merge(TDM{}) },
		"Licenses": func() { _, _ = Licenses(nil).Signals(""), (Licenses{{}}).Signals("http://a.example/") },
		"Verdict": func() {
			if (Verdict{}).Allowed() {
				t.Error("the zero Verdict allows")
			}
		},
		"texts": func() {
			for n := range 256 {
				_, _, _, _ = Access(n).String(), Dialect(n).String(), Reason(n).String(), Stance(n).String()
				_ = Dialect(n).CheckToken("x")
			}
			_, _, _ = Problem{}.String(), Rule{}.String(), Statement{}.String()
			_, _ = Purpose("x").Check(), Purpose("x").Uses()
			if (&URLError{}).Error() == "" {
				t.Error("an error without a text")
			}
		},
	} {
		quiet(t, name, f)
	}
}

// bodies are files that no site owner would write.
var bodies = map[string][]byte{
	"nil":          nil,
	"NUL":          {0},
	"zeros":        make([]byte, 1<<16),
	"no UTF-8":     bytes.Repeat([]byte{0xff, 0xfe, '\n'}, 1<<12),
	"a mark":       []byte("\xef\xbb\xbf"),
	"colons":       bytes.Repeat([]byte(":"), 1<<16),
	"empty groups": bytes.Repeat([]byte("User-agent:\nDisallow:\n"), 1<<10),
	"stars":        append([]byte("User-agent: *\nDisallow: /"), bytes.Repeat([]byte("*a"), 1<<12)...),
	"dollars":      append([]byte("User-agent: *\nDisallow: /"), bytes.Repeat([]byte("$*"), 1<<12)...),
	"percents":     append([]byte("User-agent: *\nDisallow: /"), bytes.Repeat([]byte("%"), 1<<12)...),
	"delays":       []byte("User-agent: *\nCrawl-delay: 1e999\nCrawl-delay: -1\nCrawl-delay: NaN\nCrawl-delay: 99999999999999999999\nRequest-rate: 1/0\nRequest-rate: 0/1\nRequest-rate: -1/-1s\nVisit-time: 9999-0000\nVisit-time: -1\n"),
	"HTML":         []byte("<!DOCTYPE html><html><body>User-agent: *<br>Disallow: /</body></html>"),
	"JSON":         bytes.Repeat([]byte("["), 1<<14),
	"XML":          bytes.Repeat([]byte("<a>"), 1<<14),
	"entities":     []byte(`<!DOCTYPE a [<!ENTITY b "` + strings.Repeat("c", 1<<10) + `"><!ENTITY d "&b;&b;&b;">]><rsl>&d;</rsl>`),
}

// Any bytes, matched for any token with any target, give a verdict without a panic and in bounded
// time.
func TestFilesThatNoOwnerWrites(t *testing.T) {
	targets := []string{"", "/", "x", "\x00", "/%", "/" + strings.Repeat("a", 1<<12), "*", "//", "/\xff", "?"}
	tokens := []string{"", "*", "x", "\x00", strings.Repeat("x", 1<<12)}
	for name, body := range bodies {
		quiet(t, name, func() {
			began := time.Now()
			for d := range Dialect(5) {
				f := Parse(body, d)
				_, _, _ = f.Problems(), f.Sitemaps(), f.Differences(d)
				c := f.Cleaner()
				for _, token := range tokens {
					g := f.Group(token, tokens...)
					for _, target := range targets {
						_, _, _ = g.Match(target), g.MatchURL(target), g.Signals(target)
						if c != nil {
							c.Clean(target)
						}
					}
					if delay, ok := g.CrawlDelay(); ok && delay < 0 {
						t.Errorf("%s: a delay of %v", name, delay)
					}
					if gap, ok := g.RequestRate(); ok && gap < 0 {
						t.Errorf("%s: a gap of %v", name, gap)
					}
					for _, now := range []time.Time{{}, time.Unix(math.MaxInt32, 0), time.Date(9999, 12, 31, 23, 59, 0, 0, time.UTC), time.Date(-9, 1, 1, 0, 0, 0, 0, time.UTC)} {
						if next := g.NextVisit(now); next.Before(now) || next.Sub(now) > 48*time.Hour {
							t.Errorf("%s: the next visit after %v is at %v", name, now, next)
						}
					}
					_, _, _, _ = g.Line(), g.Names(), g.Rules(), g.Only(true)
				}
				ParseFor("\x00", body, d)
			}
			_, _, _ = ParseRSL(body), ParseEmbeddedRSL(body), ParseTDMRep(body)
			if took := time.Since(began); took > time.Minute {
				t.Errorf("%s took %v", name, took)
			}
		})
	}
}

// Header fields, elements and URLs that are not valid are ignored, or give an error.
func TestInvalidValues(t *testing.T) {
	odd := []string{"", " ", "\x00", "\xff\xfe", ",,,;;;===", strings.Repeat("noindex,", 1<<12), "unavailable_after: ", "unavailable_after: 99999", "max-snippet: -99999999999999999999", strings.Repeat("x", 1<<16), "http://", "http://[", "//", "mailto:x"}
	for _, v := range odd {
		quiet(t, v[:min(len(v), 30)], func() {
			HeaderDirectives(v, []string{v, v}, v)
			MetaDirectives(v, v, v, v)
			MetaDirectives("x", "robots", v)
			MetaTDM(v, v)
			LicenseChallenge([]string{v})
			RelNoFollow(v)
			KnownToken(v)
			ReadHeader(func(string) string { return v })
			if _, err := ParseDialect(v); err == nil && v != "" {
				t.Errorf("the dialect %q", v)
			}
			if err := CheckToken(v); err == nil && !strings.HasPrefix(v, "xxx") {
				t.Errorf("the token %.30q", v)
			}
			if at, err := Locate(v); err == nil {
				t.Errorf("%.30q is located at %s", v, at)
			} else if len(err.Error()) > 1<<11 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
			Target(v)
		})
	}
	HeaderDirectives("x", nil)
	LicenseChallenge(nil)
}
