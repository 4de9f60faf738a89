package robots

import (
	"fmt"
	"testing"
)

// What several documents say counts together, each statement with the document that makes it.
func TestStatementsOfLicensesNameTheirDocument(t *testing.T) {
	doc := func(verb string) *RSL {
		return ParseRSL([]byte(`<rsl><content url="/p"><license><` + verb + `>ai-train</` + verb + `></license></content></rsl>`))
	}
	open, closed := License{"http://a.example/1", doc("permits")}, License{"/2", doc("prohibits")}
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
	if s := Licenses(nil).Signals("http://a.example/p"); !s.IsZero() {
		t.Errorf("%+v", s)
	}
}
