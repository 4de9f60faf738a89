package robots

import (
	"fmt"
	"strings"
	"testing"
)

// What the licenses of an RSL document say about each use of https://a.example/p/1.
func TestRSL(t *testing.T) {
	content := func(url, licenses string) string {
		return `<rsl xmlns="https://rslstandard.org/rsl"><content url="` + url + `">` + licenses + `</content></rsl>`
	}
	for _, test := range []struct{ name, doc, want string }{
		{"prohibited", content("/", `<license><prohibits type="usage">ai-train  AI-INPUT</prohibits></license>`), "ai-train=n ai-input=n"},
		{"permitted for nothing", content("/", `<license><permits type="usage">search</permits><payment type="free"/></license>`), "search=y ai-train=n ai-input=n"},
		{"permitted for money", content("/", `<license><permits type="usage">ai-train</permits><payment type="crawl"/></license>`), "search=n ai-input=n"},
		{"a server is to be asked", strings.Replace(content("/", `<license><permits type="usage">all</permits></license>`), `url=`, `server="https://l.example" url=`, 1), ""},
		{"all", content("/", `<license><permits type="usage">all</permits></license>`), "search=y ai-train=y ai-input=y tdm=y archive=y"},
		{"nothing at all", content("*", `<license><prohibits>all</prohibits></license>`), "search=n ai-train=n ai-input=n tdm=n archive=n"},
		{"both in one", content("/", `<license><permits type="usage">all</permits><prohibits type="usage">ai-all</prohibits></license>`), "search=y ai-train=n ai-input=n tdm=y archive=y"},
		{"one of two licenses", content("/", `<license><permits type="usage">search</permits></license><license><permits type="usage">ai-train</permits><payment type="use"/></license>`), "search=y ai-input=n"},
		{"prohibited by one of two", content("/", `<license><prohibits type="usage">ai-train</prohibits></license><license/>`), ""},
		{"for some alone", content("/", `<license><permits type="usage">ai-train</permits><permits type="user">education</permits></license>`), "search=n ai-input=n"},
		{"words of drafts", content("/", `<license><prohibits type="usage">train-ai,ai-use</prohibits></license>`), "ai-train=n ai-input=n"},
		{"no license", content("/", ""), ""},
		{"another path", content("/q", `<license><prohibits>all</prohibits></license>`), ""},
		{"a pattern", content("/p/*$", `<license><prohibits>ai-train</prohibits></license>`), "ai-train=n"},
		{"another site", content("https://b.example/", `<license><prohibits>all</prohibits></license>`), ""},
		{"a whole URL", content("https://A.example:443/p", `<license><prohibits>ai-train</prohibits></license>`), "ai-train=n"},
		{"a site", content("https://a.example", `<license><prohibits>ai-train</prohibits></license>`), "ai-train=n"},
		{"no URL", content("", `<license><prohibits>all</prohibits></license>`), ""},
		{"an element of somebody else", content("/", `<x:license xmlns:x="https://x.example/"><x:prohibits>all</x:prohibits></x:license>`), ""},
		{"another root", `<rss><content url="/"><license><prohibits>all</prohibits></license></content></rss>`, ""},
		{"cut", `<rsl><content url="/"><license><prohibits>all</prohibits></license></content>`, ""},
		{"no XML", `{}`, ""},
		{"nothing", ``, ""},
		{"too long", content("/", `<license><prohibits>all</prohibits></license>`) + strings.Repeat(" ", MaxRSLBytes), ""},
		{"the most specific one", `<rsl><content url="/p/"><license><permits>ai-train</permits></license></content><content url="/"><license><permits>search</permits></license></content></rsl>`, "search=n ai-train=y ai-input=n"},
		{"what a wider one prohibits", `<rsl><content url="/"><license><prohibits>ai-train</prohibits></license></content><content url="/p/"><license><permits>ai-train ai-input</permits></license></content></rsl>`, "search=n ai-train=n ai-input=y"},
	} {
		s := ParseRSL([]byte(test.doc)).Signals("https://a.example/p/1#x")
		var got []string
		for _, one := range s.Deciding() {
			word := "=n"
			if one.Granted {
				word = "=y"
			}
			got = append(got, string(one.Use)+word)
		}
		if said := strings.Join(got, " "); said != test.want {
			t.Errorf("%s: %q, want %q", test.name, said, test.want)
		}
	}
}

// A statement names its source.
func TestStatementsOfRSL(t *testing.T) {
	s := ParseRSL([]byte(`<rsl><content url="/p*"><license><permits>search</permits><prohibits>ai-all</prohibits></license></content></rsl>`)).Signals("http://a.example/p")
	if got, want := fmt.Sprint(s.Statements), "[RSL: permits search for /p* RSL: prohibits ai-all for /p* RSL: prohibits ai-all for /p*]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if by, refused := s.Refuses(PurposeAITrain); !refused || by.String() != "RSL: prohibits ai-all for /p*" {
		t.Errorf("%v, %v", by, refused)
	}
	for _, url := range []string{"", "/p", "mailto:a@b", "http://"} {
		if s := ParseRSL([]byte(`<rsl><content url="/"><license><prohibits>all</prohibits></license></content></rsl>`)).Signals(url); !s.IsZero() {
			t.Errorf("%q: %+v", url, s)
		}
	}
}

// Whatever the document, it is read within its bounds.
func FuzzRSL(f *testing.F) {
	f.Add(`<rsl xmlns="https://rslstandard.org/rsl"><content url="/a*$" server="x"><license><permits type="usage">all</permits><payment type="free"/></license></content></rsl>`, "https://a.example/a")
	f.Add(`<rsl><content url="https://a.example"><license><prohibits>ai-train`, "https://a.example")
	f.Add(`<rsl><content><license><permits></license></content></permits></rsl>`, "x://")
	f.Fuzz(func(t *testing.T, doc, url string) {
		d := ParseRSL([]byte(doc))
		if len(d.scopes) > maxRSLScopes {
			t.Errorf("%d scopes", len(d.scopes))
		}
		s := d.Signals(url)
		if again := ParseRSL([]byte(doc)).Signals(url); fmt.Sprint(again) != fmt.Sprint(s) {
			t.Errorf("%v, then %v", s, again)
		}
		for _, one := range s.Statements {
			if one.String() == "" || len(rslUses[one.Use]) == 0 {
				t.Errorf("%+v", one)
			}
		}
	})
}
