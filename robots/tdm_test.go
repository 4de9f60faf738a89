package robots

import (
	"strings"
	"testing"
)

// In the TDM Reservation Protocol, 1 reserves, 0 does not, and any other value is ignored. If
// there are several values, the most restrictive counts.
func TestReservations(t *testing.T) {
	for _, c := range []struct {
		values string // field lines, separated by |
		want   Stance
	}{
		{"", unstated}, {"1", Refused}, {" 1\t", Refused}, {"0", Granted}, {"2", unstated}, {"01", unstated}, {"true", unstated}, {"-1", unstated},
		{"0|1", Refused}, {"1|0", Refused}, {"x|1", Refused}, {"x|0", Granted}, {"0, 1", Refused}, {"0, x", unstated}, {"1, x", Refused}, {"0,", unstated},
	} {
		values := strings.Split(c.values, "|")
		if got := headerTDM(values, nil).Mining; got != c.want {
			t.Errorf("header %q: %v, want %v", c.values, got, c.want)
		}
		var d TDM
		for _, v := range values {
			d = d.Merge(MetaTDM(" TDM-Reservation ", v))
		}
		if d.Mining != c.want {
			t.Errorf("meta %q: %v, want %v", c.values, d.Mining, c.want)
		}
	}
}

// A policy is a URL. The first policy of an answer counts.
func TestPolicies(t *testing.T) {
	for value, want := range map[string]string{
		" https://a.test/p ": "https://a.test/p", "/p": "/p", "": "", "a b": "", "a\nb": "", "\xff": "", "a\x7f": "",
		strings.Repeat("x", maxPolicy): strings.Repeat("x", maxPolicy), strings.Repeat("x", maxPolicy+1): "",
	} {
		if got := headerTDM(nil, []string{value, "later"}).Policy; got != want && (want != "" || got != "later") {
			t.Errorf("header %q: %q, want %q", value, got, want)
		}
		if got := MetaTDM("tdm-policy", value); got != (TDM{Policy: want}) {
			t.Errorf("meta %q: %v, want %q", value, got, want)
		}
	}
	if got := MetaTDM("robots", "1"); got != (TDM{}) {
		t.Error(got)
	}
}

// Merge is idempotent for any values, and its result is never less restrictive.
func FuzzTDM(f *testing.F) {
	for _, s := range []string{"1", "0", "0, 1", "0, x", "https://a.test/p", " 1"} {
		f.Add(s, "0")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		one, other := headerTDM([]string{a}, []string{a}), headerTDM([]string{b}, []string{b})
		both := one.Merge(other)
		if both.Mining != max(one.Mining, other.Mining) || both.Merge(one) != both || one.Merge(TDM{}) != one || (TDM{}).Merge(one) != one {
			t.Fatalf("%q %q: %v, %v, together %v", a, b, one, other, both)
		}
		if got := headerTDM([]string{a, b}, []string{a, b}); got != both {
			t.Fatalf("%q %q: %v, want %v", a, b, got, both)
		}
		if meta := MetaTDM("tdm-reservation", a).Merge(MetaTDM("tdm-policy", a)); meta != one {
			t.Fatalf("%q: meta %v, header %v", a, meta, one)
		}
		if len(one.Policy) > maxPolicy || strings.ContainsAny(one.Policy, " \r\n\t\x00") {
			t.Fatalf("%q: policy %q", a, one.Policy)
		}
	})
}

// Signals never panics. The most restrictive of all statements about a use decides.
func FuzzSignals(f *testing.F) {
	for _, s := range []string{"train-ai=n, search=y", "search=yes, ai-train=no", "noai, noindex", "1", "/p train-ai=n", "unavailable_after: 2001-01-01"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		file := "License: " + value + "\nUser-agent: *\nContent-Usage: " + value + "\nContent-Signal: " + value + "\nNoindex: " + value
		s := Parse([]byte(file), RFC9309).Group("wren").Signals("/p")
		a := Answer{Token: "wren", Time: noon, Type: "image/png", Meta: MetaDirectives("wren", "robots", value), TDM: MetaTDM("tdm-reservation", value),
			Header: map[string][]string{"Content-Usage": {value}, "X-Robots-Tag": {value}, "Tdm-Reservation": {value}, "Tdm-Policy": {value}}}
		s = s.Merge(a.Signals())
		for _, one := range s.Statements {
			stance, decides := s.of(one.Use)
			if stance == unstated || !one.Granted && stance != Refused || decides.Granted != (stance == Granted) || one.String() == "" {
				t.Fatalf("%q: %v is %v by %v", value, one, stance, decides)
			}
		}
		if n := len(s.Deciding()); n > len(uses) || n == 0 && len(s.Statements) > 0 {
			t.Fatalf("%q: %v", value, s.Deciding())
		}
		for _, p := range Purposes() {
			if by, refused := s.Refuses(p); refused && by.Granted {
				t.Fatalf("%q: %s is refused by %v", value, p, by)
			}
		}
	})
}
