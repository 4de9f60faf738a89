package robots

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

// ParseRSL and Signals give the statements about each use of https://a.example/p/1.
func TestRSL(t *testing.T) {
	content := func(url, licenses string) string {
		return `<rsl xmlns="https://rslstandard.org/rsl"><content url="` + url + `">` + licenses + `</content></rsl>`
	}
	const none = "search=n ai-train=n ai-input=n tdm=n archive=n"
	all := func(condition string) string {
		return content("/", `<license><permits type="usage">all</permits>`+condition+`</license>`)
	}
	const every = "search=y ai-train=y ai-input=y tdm=y archive=y"
	for _, test := range []struct{ name, doc, want string }{
		{"for attribution", all(`<payment type="attribution"><standard>https://l.example/by</standard></payment>`), every},
		{"free", all(`<payment type="FREE"><amount currency="USD"> 0.00 </amount></payment>`), every},
		{"free, and not", all(`<payment type="free"><amount currency="USD">1</amount></payment>`), none},
		{"free, and how much is unclear", all(`<payment><amount>some</amount></payment>`), none},
		{"free by default", all(`<payment/>`), every},
		{"purchase", all(`<payment type="purchase"/>`), none},
		{"subscription", all(`<payment type="subscription"><custom>https://l.example</custom></payment>`), none},
		{"crawl", all(`<payment type="crawl"/>`), none},
		{"use", all(`<payment type="use"/>`), none},
		{"contribution", all(`<payment type="contribution"/>`), none},
		{"an unknown payment", all(`<payment type="x"/>`), none},
		{"reporting", all(`<reporting type="telemetry" profile="https://l.example"/>`), none},
		{"some users", all(`<permits type="user">non-commercial</permits>`), none},
		{"some places", all(`<prohibits type="geo">DE</prohibits>`), none},
		{"an unknown element", all(`<escrow/>`), none},
		{"what makes no condition", all(`<legal type="disclaimer">as-is</legal><terms>https://l.example</terms><copyright type="person"/>`), every},
		{"nothing but money", content("/", `<license><payment type="crawl"><amount currency="USD">0.01</amount></payment></license>`), none},
		{"money for what is not prohibited", content("/", `<license><prohibits>ai-train</prohibits><payment type="crawl"/></license>`), none},
		{"free or for money", content("/", `<license><permits>ai-train</permits><payment type="crawl"/></license><license><permits>ai-train</permits></license>`), "search=n ai-train=y ai-input=n"},
		{"free for search, or for money", content("/", `<license><permits>search</permits></license><license><permits>all</permits><payment type="crawl"/></license>`), "search=y ai-train=n ai-input=n tdm=n archive=n"},
		{"open or for money", content("/", `<license><payment type="crawl"/></license><license/>`), ""},
		{"two of one place", `<rsl><content url="/p"><license><permits>all</permits></license></content><content url="https://a.example/p"><license><permits>all</permits><payment type="crawl"/></license></content></rsl>`, none},
		{"free in a narrow place", `<rsl><content url="/"><license><permits>all</permits><payment type="crawl"/></license></content><content url="/p"><license><permits>all</permits></license></content></rsl>`, every},
		{"Latin-1", `<?xml version="1.0" encoding="ISO-8859-1"?>` + "<!-- \xe9 -->" + content("/", `<license><prohibits>ai-train</prohibits></license>`), "ai-train=n"},
		{"not said to be Latin-1", "<!-- \xe9 -->" + content("/", `<license><prohibits>ai-train</prohibits></license>`), "ai-train=n"},
		{"another encoding", `<?xml version="1.0" encoding="koi8-r"?>` + content("/", `<license><prohibits>ai-train</prohibits></license>`), "ai-train=n"},
		{"a byte order mark", "\ufeff" + `<?xml version="1.0" encoding="UTF-8"?>` + content("/", `<license><prohibits>ai-train</prohibits></license>`), "ai-train=n"},
		{"a path in UTF-16", string(utf16Body(content("/p/1", `<license><prohibits>ai-train</prohibits></license>`), binary.LittleEndian)), "ai-train=n"},
		{"UTF-16 without a mark", string(utf16Body(`<?xml version="1.0" encoding="UTF-16"?>`+content("/p/1", `<license><prohibits>ai-train</prohibits></license>`), binary.BigEndian)[2:]), "ai-train=n"},
		{"a feed", `<rss xmlns:rsl="https://rslstandard.org/rsl"><channel><item><content url="/">x</content><rsl:content url="/p"><rsl:license><rsl:prohibits>ai-train</rsl:prohibits></rsl:license></rsl:content></item></channel></rss>`, "ai-train=n"},
		{"prohibited", content("/", `<license><prohibits type="usage">ai-train  AI-INPUT</prohibits></license>`), "ai-train=n ai-input=n"},
		{"permitted for nothing", content("/", `<license><permits type="usage">search</permits><payment type="free"/></license>`), "search=y ai-train=n ai-input=n"},
		{"permitted for money", content("/", `<license><permits type="usage">ai-train</permits><payment type="crawl"/></license>`), "search=n ai-train=n ai-input=n"},
		{"a server is to be asked", strings.Replace(content("/", `<license><permits type="usage">all</permits></license>`), `url=`, `server="https://l.example" url=`, 1), none},
		{"a server without a license", strings.Replace(content("/", ""), `url=`, `server="https://l.example" url=`, 1), none},
		{"all", content("/", `<license><permits type="usage">all</permits></license>`), "search=y ai-train=y ai-input=y tdm=y archive=y"},
		{"nothing at all", content("*", `<license><prohibits>all</prohibits></license>`), none},
		{"both in one", content("/", `<license><permits type="usage">all</permits><prohibits type="usage">ai-all</prohibits></license>`), "search=y ai-train=n ai-input=n tdm=y archive=y"},
		{"one of two licenses", content("/", `<license><permits type="usage">search</permits></license><license><permits type="usage">ai-train</permits><payment type="use"/></license>`), "search=y ai-train=n ai-input=n"},
		{"prohibited by one of two", content("/", `<license><prohibits type="usage">ai-train</prohibits></license><license/>`), ""},
		{"for some alone", content("/", `<license><permits type="usage">ai-train</permits><permits type="user">education</permits></license>`), "search=n ai-train=n ai-input=n"},
		{"words of drafts", content("/", `<license><prohibits type="usage">train-ai,ai-use</prohibits></license>`), "ai-train=n ai-input=n"},
		{"no license", content("/", ""), ""},
		{"another path", content("/q", `<license><prohibits>all</prohibits></license>`), ""},
		{"a pattern", content("/p/*$", `<license><prohibits>ai-train</prohibits></license>`), "ai-train=n"},
		{"another site", content("https://b.example/", `<license><prohibits>all</prohibits></license>`), ""},
		{"a whole URL", content("https://A.example:443/p", `<license><prohibits>ai-train</prohibits></license>`), "ai-train=n"},
		{"a site", content("https://a.example", `<license><prohibits>ai-train</prohibits></license>`), "ai-train=n"},
		{"no URL", content("", `<license><prohibits>all</prohibits></license>`), ""},
		{"an element of another namespace", content("/", `<x:license xmlns:x="https://x.example/"><x:prohibits>all</x:prohibits></x:license>`), ""},
		{"another root", `<rss><content url="/"><license><prohibits>all</prohibits></license></content></rss>`, ""},
		{"cut", `<rsl><content url="/"><license><prohibits>all</prohibits></license></content>`, ""},
		{"no XML", `{}`, ""},
		{"nothing", ``, ""},
		{"too long", content("/", `<license><prohibits>all</prohibits></license>`) + strings.Repeat(" ", MaxRSLBytes), ""},
		{"the most specific one", `<rsl><content url="/p/"><license><permits>ai-train</permits></license></content><content url="/"><license><permits>search</permits></license></content></rsl>`, "search=n ai-train=y ai-input=n"},
		{"what a wider one prohibits", `<rsl><content url="/"><license><prohibits>ai-train</prohibits></license></content><content url="/p/"><license><permits>ai-train ai-input</permits></license></content></rsl>`, "search=n ai-train=n ai-input=y"},
	} {
		s := ParseRSL([]byte(test.doc)).signals("https://a.example/p/1#x")
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

// A statement names the field RSL, the deciding words and the scope that they belong to.
func TestStatementsOfRSL(t *testing.T) {
	s := ParseRSL([]byte(`<rsl><content url="/p*"><license><permits>search</permits><prohibits>ai-all</prohibits></license></content></rsl>`)).signals("http://a.example/p")
	if got, want := fmt.Sprint(s.Statements), "[RSL: permits search for /p* RSL: prohibits ai-all for /p* RSL: prohibits ai-all for /p*]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if by, refused := s.Refuses(PurposeAITrain); !refused || by.String() != "RSL: prohibits ai-all for /p*" {
		t.Errorf("%v, %v", by, refused)
	}
	for _, url := range []string{"", "/p", "mailto:a@b", "http://"} {
		if s := ParseRSL([]byte(`<rsl><content url="/"><license><prohibits>all</prohibits></license></content></rsl>`)).signals(url); !s.IsZero() {
			t.Errorf("%q: %+v", url, s)
		}
	}
}

// No document causes a panic, and the bounds on scopes and licenses are kept.
func FuzzRSL(f *testing.F) {
	f.Add(`<rsl xmlns="https://rslstandard.org/rsl"><content url="/a*$" server="x"><license><permits type="usage">all</permits><payment type="free"/></license></content></rsl>`, "https://a.example/a")
	f.Add(`<rsl><content url="https://a.example"><license><prohibits>ai-train`, "https://a.example")
	f.Add(`<rsl><content><license><permits></license></content></permits></rsl>`, "x://")
	f.Fuzz(func(t *testing.T, doc, url string) {
		d := ParseRSL([]byte(doc))
		if len(d.scopes) > maxRSLScopes {
			t.Errorf("%d scopes", len(d.scopes))
		}
		s := d.signals(url)
		if again := ParseRSL([]byte(doc)).signals(url); fmt.Sprint(again) != fmt.Sprint(s) {
			t.Errorf("%v, then %v", s, again)
		}
		for _, one := range s.Statements {
			if !utf8.ValidString(one.String()) || one.String() == "" || len(rslUses[one.Use]) == 0 {
				t.Errorf("%+v", one)
			}
		}
	})
}

// utf16Body returns text in UTF-16 with a byte order mark.
func utf16Body(text string, order binary.AppendByteOrder) []byte {
	body := order.AppendUint16(nil, 0xFEFF)
	for _, u := range utf16.Encode([]rune(text)) {
		body = order.AppendUint16(body, u)
	}
	return body
}
