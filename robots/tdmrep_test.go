package robots

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
)

// The first matching location decides. A file that cannot be parsed states nothing.
func TestTDMRep(t *testing.T) {
	const file = `[
		{"location": "/free/*.pdf$", "tdm-reservation": 0},
		{"location": "/odd", "tdm-reservation": 2},
		{"location": "/free", "tdm-reservation": "1", "tdm-policy": " https://a.example/p "},
		{"location": "/Caf%C3%A9", "tdm-reservation": 1},
		{"location": "/", "tdm-reservation": 1, "tdm-policy": "https://a.example/all"},
		{"location": "/late", "tdm-reservation": 0}
	]`
	for _, test := range []struct{ file, target, want string }{
		{file, "/free/a.pdf", "granted  /free/*.pdf$"},
		{file, "/free/a.pdf?x", "refused https://a.example/p /free"},
		{file, "/odd/1", "unknown  /odd"},
		{file, "/Caf%c3%a9s", "refused  /Caf%C3%A9"},
		{file, "/late", "refused https://a.example/all /"},
		{"\ufeff \n" + file, "/", "refused https://a.example/all /"},
		{`{"location": "/", "tdm-reservation": 1}`, "/x", "refused  /"},
		{`{"location": "/caf` + "\xe9" + `", "tdm-reservation": 1}`, "/caf%C3%A9", "refused  /caf\u00e9"},
		{string(utf16Body(file, binary.LittleEndian)), "/odd/1", "unknown  /odd"},
		{string(utf16Body(file, binary.BigEndian)[2:]), "/Caf%c3%a9s", "refused  /Caf%C3%A9"},
		{`[{"location": "*", "tdm-reservation": 1}]`, "/x", "refused  *"},
		{`[{"location": "/x", "tdm-policy": "https://a.example/p"}]`, "/x", "unknown https://a.example/p /x"},
		{`[{"location": "/x", "tdm-reservation": true}, {"location": "/", "tdm-reservation": 1}]`, "/x", "unknown  /x"},
		{`["/", null, 1, {"tdm-reservation": 1}, {"location": {}, "tdm-reservation": 1}, {"location": "", "tdm-reservation": 1}]`, "/", "unknown  "},
		{`[{"location": "/a", "tdm-reservation": 1}]`, "/b", "unknown  "},
		{`[{"location": "/", "tdm-reservation": 1}`, "/", "unknown  "},
		{`<html>`, "/", "unknown  "},
		{`null`, "/", "unknown  "},
		{``, "/", "unknown  "},
		{`[{"location": "/", "tdm-reservation": 1, "x": "` + strings.Repeat("x", MaxTDMRepBytes) + `"}]`, "/", "unknown  "},
	} {
		d, location := ParseTDMRep([]byte(test.file)).match(test.target)
		if got := fmt.Sprint(d.Mining, " ", d.Policy, " ", location); got != test.want {
			t.Errorf("%.60s, %s: %q, want %q", test.file, test.target, got, test.want)
		}
	}
	many := "[" + strings.Repeat(`{"location":"/a"},`, maxTDMRules) + `{"location":"/","tdm-reservation":1}]`
	if d, location := ParseTDMRep([]byte(many)).match("/"); d != (TDM{}) || location != "" {
		t.Errorf("a rule beyond the bound says %v for %s", d, location)
	}
}

// A reservation in the file refuses the purposes that use text and data mining. The statement
// contains the location of the rule.
func TestSignalsOfTDMRep(t *testing.T) {
	f := ParseTDMRep([]byte(`[{"location":"/a*","tdm-reservation":1,"tdm-policy":"https://a.example/p"},{"location":"/b","tdm-reservation":0}]`))
	s := f.Signals("/a/b")
	by, refused := s.Refuses(PurposeAITrain)
	if !refused || by.String() != "tdmrep.json: tdm-reservation 1 for /a*" || fmt.Sprint(s.Policies) != "[https://a.example/p]" {
		t.Errorf("%v, %v, %+v", by, refused, s)
	}
	if _, refused := s.Refuses(PurposeSearch); refused {
		t.Error("a purpose without mining is refused")
	}
	if stance, by := f.Signals("/b").of(UseTDM); stance != Granted || by.String() != "tdmrep.json: tdm-reservation 0 for /b" {
		t.Errorf("%v by %v", stance, by)
	}
	if s := f.Signals("/c"); !s.IsZero() {
		t.Errorf("%+v for a target without a rule", s)
	}
	if s := (&TDMRep{}).Signals("/"); !s.IsZero() {
		t.Errorf("%+v of no file", s)
	}
}

// No file causes a panic, the bounds are kept, and each statement belongs to a rule.
func FuzzTDMRep(f *testing.F) {
	f.Add(`[{"location":"/a*b$","tdm-reservation":1,"tdm-policy":"/p"}]`, "/axb")
	f.Add(`{"location":"%","tdm-reservation":"0"}`, "")
	f.Add("[[[[{}]]]]", "/%zz")
	f.Fuzz(func(t *testing.T, file, target string) {
		d := ParseTDMRep([]byte(file))
		said, location := d.match(target)
		if len(d.rules) > maxTDMRules || location == "" && said != (TDM{}) {
			t.Errorf("%d rules, %v for %q", len(d.rules), said, location)
		}
		if again, _ := ParseTDMRep([]byte(file)).match(target); again != said {
			t.Errorf("%v, then %v", said, again)
		}
		for _, one := range d.Signals(target).Statements {
			if one.Use != UseTDM || one.String() == "" {
				t.Errorf("%+v", one)
			}
		}
	})
}

// ParseTDMRep does not change the body, so a second call gives the same result.
func TestParseTDMRepLeavesItsArgument(t *testing.T) {
	for _, text := range []string{`[{"location": "/a", "tdm-reservation": 1}, {"location": "/"}]`, `{"location": "/a", "tdm-reservation": 1}`} {
		body := []byte(text)
		for range 2 {
			f := ParseTDMRep(body)
			if s := f.Signals("/a"); f.Err() != nil || s.IsZero() || string(body) != text {
				t.Errorf("%s became %s: %v, %v", text, body, s, f.Err())
			}
		}
	}
	if err := ParseTDMRep([]byte(`[{"location": "/a"`)).Err(); err == nil {
		t.Error("half a file is read")
	}
}
