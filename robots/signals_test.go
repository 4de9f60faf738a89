package robots

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// told returns the deciding statements as text, with the use and the stance of each.
func told(s Signals) string {
	var list []string
	for _, one := range s.Deciding() {
		stance, _ := s.of(one.Use)
		list = append(list, fmt.Sprintf("%s %v by %v", one.Use, stance, one))
	}
	return strings.Join(list, "; ")
}

// Each line, field and element makes a statement about the right uses. The words are those of
// draft-ietf-aipref-vocab, Content-Signal, X-Robots-Tag and TDMRep.
func TestEachTextSpeaksOfUses(t *testing.T) {
	then := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		robots, header, meta, want string
	}{
		{"", "", "", ""},
		{"Content-Usage: train-ai=n, search=y, ai-use=n", "", "", "search granted by line 2: Content-Usage: search=y; ai-train refused by line 2: Content-Usage: train-ai=n; ai-input refused by line 2: Content-Usage: ai-use=n"},
		{"Content-Signal: Search=Yes, ai-input=NO, ai-train=no", "", "", "search granted by line 2: Content-Signal: search=yes; ai-train refused by line 2: Content-Signal: ai-train=no; ai-input refused by line 2: Content-Signal: ai-input=no"},
		{"Noindex: /p", "", "", "search refused by line 2: Noindex: /p"},
		{"Noindex: /q", "", "", ""},
		{"Content-Usage: /q train-ai=n", "", "", ""},
		{"Content-Usage: bots=n, unheard-of=n", "", "", ""},
		{"", "Content-Usage: train-ai=n", "", "ai-train refused by Content-Usage: train-ai=n"},
		{"", "Content-Signal: search=yes, ai-input=no, ai-train=no", "", "search granted by Content-Signal: search=yes; ai-train refused by Content-Signal: ai-train=no; ai-input refused by Content-Signal: ai-input=no"},
		{"", "Content-Signal: search=yes|Content-Signal: ai-train=no; ai-input=perhaps", "", "search granted by Content-Signal: search=yes; ai-train refused by Content-Signal: ai-train=no"},
		{"Content-Signal: ai-train=yes", "Content-Signal: ai-train=no", "", "ai-train refused by Content-Signal: ai-train=no"},
		{"Content-Signal: ai-train=no", "Content-Signal: ai-train=yes", "", "ai-train refused by line 2: Content-Signal: ai-train=no"},
		{"", "Content-Signal: ai-train=yes|Content-Usage: train-ai=n", "", "ai-train refused by Content-Usage: train-ai=n"},
		{"", "", "lark, wren=noindex", "search refused by meta robots: noindex"},
		{"", "", "lark, larks=noindex", ""},
		{"", "X-Robots-Tag: noindex, noarchive", "", "search refused by X-Robots-Tag: noindex; archive refused by X-Robots-Tag: noarchive"},
		{"", "X-Robots-Tag: noai", "", "ai-train refused by X-Robots-Tag: noai; ai-input refused by X-Robots-Tag: noai"},
		{"", "X-Robots-Tag: wren: noai", "", "ai-train refused by X-Robots-Tag: noai; ai-input refused by X-Robots-Tag: noai"},
		{"", "X-Robots-Tag: lark: noai", "", ""},
		{"", "X-Robots-Tag: noimageai", "", ""}, // the answer is a page, not an image
		{"", "X-Robots-Tag: noimageai|Content-Type: image/png", "", "ai-train refused by X-Robots-Tag: noimageai; ai-input refused by X-Robots-Tag: noimageai"},
		{"", "X-Robots-Tag: max-snippet: 0", "", "ai-input refused by X-Robots-Tag: nosnippet"},
		{"", "X-Robots-Tag: unavailable_after: 31 Dec 2029 23:00:00 GMT", "", "search refused by X-Robots-Tag: unavailable_after: 2029-12-31T23:00:00Z"},
		{"", "X-Robots-Tag: unavailable_after: 1 Jan 2030 00:00:00 GMT", "", ""},
		{"", "Tdm-Reservation: 1|Tdm-Policy: https://a.test/p", "", "tdm refused by tdm-reservation: 1"},
		{"", "Tdm-Reservation: 0", "", "tdm granted by tdm-reservation: 0"},
		{"", "", "robots=noai", "ai-train refused by meta robots: noai; ai-input refused by meta robots: noai"},
		{"", "", "tdm-reservation=1", "tdm refused by meta tdm-reservation: 1"},
		// The most restrictive statement counts, at any place.
		{"Content-Usage: train-ai=y", "Content-Usage: train-ai=n", "", "ai-train refused by Content-Usage: train-ai=n"},
		{"Content-Usage: train-ai=n", "Content-Usage: train-ai=y", "", "ai-train refused by line 2: Content-Usage: train-ai=n"},
		{"Content-Usage: train-ai=y\nContent-Signal: ai-train=no", "", "", "ai-train refused by line 3: Content-Signal: ai-train=no"},
		{"", "Tdm-Reservation: 1", "tdm-reservation=0", "tdm refused by tdm-reservation: 1"},
		{"", "Tdm-Reservation: 0", "tdm-reservation=1", "tdm refused by meta tdm-reservation: 1"},
		{"Content-Usage: search=y", "X-Robots-Tag: noindex", "", "search refused by X-Robots-Tag: noindex"},
		// An error in a dictionary makes the whole dictionary invalid, but not other statements.
		{"", "Content-Usage: train-ai=n, search=y,", "", ""},
		{"", "Content-Usage: train-ai=n|Content-Usage: Search", "", ""},
		{"Content-Usage: train-ai=n,,\nContent-Usage: search=n", "Content-Usage: ?", "robots=noarchive", "search refused by line 3: Content-Usage: search=n; archive refused by meta robots: noarchive"},
	} {
		a := Answer{Token: "wren", Time: then, Type: "text/html", Header: map[string][]string{}}
		for field := range strings.SplitSeq(c.header, "|") {
			name, value, _ := strings.Cut(field, ": ")
			if a.Header[name] = append(a.Header[name], value); name == "Content-Type" {
				a.Type = value
			}
		}
		name, content, _ := strings.Cut(c.meta, "=")
		a.Meta, a.TDM = MetaDirectives("wren", name, content), MetaTDM(name, content)
		got := told(Parse([]byte("User-agent: *\n"+c.robots), RFC9309).Group("wren").Signals("/p").Merge(a.Signals()))
		if got != c.want {
			t.Errorf("%q %q %q:\n%s\nwant\n%s", c.robots, c.header, c.meta, got, c.want)
		}
	}
}

// A use without a statement has the stance "unknown", and no purpose is refused because of it.
func TestUnknownStaysUnknown(t *testing.T) {
	var none Signals
	full := Parse([]byte("User-agent: *\nContent-Usage: search=y"), RFC9309).Group("wren").Signals("/")
	for _, use := range uses {
		stance, by := none.of(use)
		if stance != unstated || by != (Statement{}) || by.String() != "" || stance.String() != "unknown" {
			t.Errorf("%s: %v by %v", use, stance, by)
		}
		if stance, _ := full.of(use); (stance == Granted) != (use == UseSearch) || stance == Refused {
			t.Errorf("%s: %v", use, stance)
		}
	}
	for _, p := range append(Purposes(), "", "surprise") {
		if by, refused := full.Refuses(p); refused || by != (Statement{}) {
			t.Errorf("%s is refused by %v", p, by)
		}
	}
	if !none.IsZero() || full.IsZero() || Granted.String() != "granted" || Refused.String() != "refused" || Stance(9).String() != "Stance(9)" {
		t.Errorf("%v %v", none, full)
	}
}

// A statement that refuses a use refuses exactly those purposes that make this use.
func TestWhatRefusesAPurpose(t *testing.T) {
	says := map[string]Answer{
		"noindex":    {Meta: Directives{NoIndex: true}},
		"noarchive":  {Meta: Directives{NoArchive: true}},
		"nosnippet":  {Meta: Directives{NoSnippet: true}},
		"noai":       {Meta: Directives{NoAI: true}},
		"nofollow":   {Meta: Directives{NoFollow: true}},
		"reserved":   {TDM: TDM{Mining: Refused}},
		"unreserved": {TDM: TDM{Mining: Granted}},
		"train-ai=n": {Header: map[string][]string{"Content-Usage": {"train-ai=n"}}},
		"ai-use=n":   {Header: map[string][]string{"Content-Usage": {"ai-use=n"}}},
		"search=n":   {Header: map[string][]string{"Content-Usage": {"search=n"}}},
	}
	for purpose, want := range map[Purpose][]string{
		"":               nil,
		PurposeArchive:   {"noarchive"},
		PurposeResearch:  {"reserved"},
		PurposeSearch:    {"noindex", "search=n"},
		PurposeLinkCheck: nil,
		PurposeAITrain:   {"noai", "reserved", "train-ai=n"},
		PurposeAIInput:   {"ai-use=n", "noai", "nosnippet", "reserved"},
	} {
		var got []string
		for name, a := range says {
			if _, refused := a.Signals().Refuses(purpose); refused {
				got = append(got, name)
			}
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s is refused by %q, want %q", purpose, got, want)
		}
		if err := purpose.Check(); err != nil {
			t.Error(err)
		}
		if len(purpose.Uses()) == 0 && len(want) > 0 {
			t.Errorf("%s has no uses", purpose)
		}
	}
	if err := Purpose("spam").Check(); err == nil || !strings.Contains(err.Error(), `"spam" is not one of ["archive" "research"`) {
		t.Error(err)
	}
}

// Licenses and policies are returned, but they grant nothing.
func TestLicensesAndPoliciesAreReturned(t *testing.T) {
	f := Parse([]byte("License: https://a.test/l\nUser-agent: wren\nDisallow:\nLicense: https://a.test/l\nLicense: no url\nLicense: https://a.test/m\n"), RFC9309)
	s := f.Group("wren").Signals("/")
	s = s.Merge((&Answer{
		Header: map[string][]string{"Tdm-Policy": {"https://a.test/p", "https://a.test/q"}},
		TDM:    TDM{Policy: "https://a.test/r"},
	}).Signals())
	if got := fmt.Sprint(s.Licenses, s.Policies, s.Statements); got != "[https://a.test/l https://a.test/m] [https://a.test/p https://a.test/r] []" || s.IsZero() {
		t.Error(got)
	}
	many := strings.Repeat("x", 3000)
	for i := range 40 {
		many += fmt.Sprintf("\nLicense: https://a.test/%d", i)
	}
	if s := Parse([]byte(many), RFC9309).Group("wren").Signals("/"); len(s.Licenses) != maxLicenses {
		t.Errorf("%d licenses", len(s.Licenses))
	}
}

// Repeated lines add no statements. If there are no statements, nothing is allocated.
func TestSignalsAreFew(t *testing.T) {
	g := Parse([]byte("User-agent: *\n"+strings.Repeat("Content-Signal: search=no, ai-train=yes, ai-train=no\nNoindex: /\n", 500)), RFC9309).Group("wren")
	if s := g.Signals("/x"); len(s.Statements) != 4 || s.Statements[0].Line != 2 {
		t.Errorf("%v", s.Statements)
	}
	quiet := Parse([]byte("User-agent: *\nDisallow: /a"), RFC9309).Group("wren")
	a := Answer{Token: "wren", Header: map[string][]string{"Content-Type": {"text/html"}}}
	if n := testing.AllocsPerRun(100, func() {
		if s := quiet.Signals("/x"); !s.IsZero() {
			t.Error(s)
		}
		if s := a.Signals(); !s.IsZero() {
			t.Error(s)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Groups without a file have no signals.
func TestGroupsWithoutAFileHaveNoSignals(t *testing.T) {
	for _, s := range []*Snapshot{nil, {URL: "https://a.test/robots.txt", Status: 404}, {URL: "https://a.test/robots.txt", Status: 403, Body: []byte("License: https://a.test/l")}} {
		if got := s.Group(Policy{Token: "wren"}, noon).Signals("/"); !got.IsZero() {
			t.Errorf("%v: %v", s, got)
		}
	}
	if got := new(Group).Signals("/"); !got.IsZero() {
		t.Error(got)
	}
}

// The value of a Noindex line is valid text of bounded length.
func TestShownPatternsAreValidText(t *testing.T) {
	for pattern, want := range map[string]string{
		"/a": "Noindex: /a", "/a\xff": "Noindex: /a\uFFFD", "/" + strings.Repeat("*", 300): "Noindex: /" + strings.Repeat("*", maxShown-1) + "...",
	} {
		s := Parse([]byte("User-agent: *\nNoindex: "+pattern), RFC9309).Group("wren").Signals("/a\xff")
		_, by := s.of(UseSearch)
		if got := strings.TrimPrefix(by.String(), "line 2: "); got != want {
			t.Errorf("%q is shown as %q, want %q", pattern, got, want)
		}
	}
}
