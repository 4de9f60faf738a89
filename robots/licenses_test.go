package robots

import (
	"fmt"
	"testing"
)

// The statements of several documents are combined. Each statement names its document.
func TestStatementsOfLicensesNameTheirDocument(t *testing.T) {
	doc := func(verb string) *RSL {
		return ParseRSL([]byte(`<rsl><content url="/p"><license><` + verb + `>ai-train</` + verb + `></license></content></rsl>`))
	}
	open, closed := License{URL: "http://a.example/1", Terms: doc("permits")}, License{URL: "/2", Terms: doc("prohibits")}
	for _, l := range []Licenses{{open, closed}, {closed, open}} {
		s := l.Signals("http://a.example/p")
		if by, refused := s.Refuses(PurposeAITrain); !refused || by.String() != "RSL: prohibits ai-train for /p (/2)" {
			t.Errorf("%v, %v", by, refused)
		}
		if s := l.Signals("http://a.example/q"); !s.IsZero() {
			t.Errorf("%+v", s)
		}
	}
	if got := fmt.Sprint(Licenses{open}.Signals("http://a.example/p").Statements[1]); got != "RSL: permits ai-train for /p (http://a.example/1)" {
		t.Error(got)
	}
	unread := Licenses{open, {URL: "/3", Unread: "for a reason"}}.Signals("http://a.example/q")
	for _, use := range uses {
		if stance, by := unread.of(use); stance != Refused || by.String() != "RSL: was not read, for a reason (/3)" {
			t.Errorf("%s: %v, %v", use, stance, by)
		}
	}
	part := ParseEmbeddedRSL([]byte(`<rsl><content url=""><license><prohibits>ai-train</prohibits></license></content><content url="https://b.example/q"><license><prohibits>search</prohibits></license></content></rsl>`))
	if got, want := fmt.Sprint(Licenses{{Terms: part}}.Signals("http://a.example/q").Deciding()), "[RSL in the page: prohibits search for https://b.example/q RSL in the page: prohibits ai-train for *]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if s := Licenses(nil).Signals("http://a.example/p"); !s.IsZero() {
		t.Errorf("%+v", s)
	}
}
