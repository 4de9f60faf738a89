package crawllog

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

var sample = Line{
	Time: time.Date(2030, 1, 2, 3, 4, 5, 678e6, time.UTC), Status: 200, Size: 1234, URL: "http://a.example/x?y",
	Hops: "LR", Via: "http://a.example/", Type: "text/html", Worker: 7,
	Start: time.Date(2030, 1, 2, 3, 4, 5, 500e6, time.UTC), Duration: 178 * time.Millisecond,
	Digest: "sha1:ABC", Tag: "news", Annotations: []string{"start:2030-01-02T03:04:05.500000Z", "asked:1.000000"},
}

const sampleText = "2030-01-02T03:04:05.678Z   200       1234 http://a.example/x?y LR http://a.example/ text/html #007 " +
	"20300102030405500+178 sha1:ABC news start:2030-01-02T03:04:05.500000Z,asked:1.000000\n"

func TestLine(t *testing.T) {
	if got := string(sample.Append(nil)); got != sampleText {
		t.Errorf("got  %swant %s", got, sampleText)
	}
	got, err := Parse(sampleText)
	if err != nil || !reflect.DeepEqual(*got, sample) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, sample)
	}
	if v, ok := got.Annotation("start"); !ok || v != "2030-01-02T03:04:05.500000Z" {
		t.Errorf("annotation: %q, %v", v, ok)
	}
	if _, ok := got.Annotation("clock"); ok {
		t.Error("an annotation that is not there")
	}
}

func TestEmptyFields(t *testing.T) {
	l := Line{Time: sample.Time, Status: RobotsDisallowed, Size: -1, URL: "http://a.example/"}
	const want = "2030-01-02T03:04:05.678Z -9998          - http://a.example/ - - unknown #000 - - - -\n"
	if got := string(l.Append(nil)); got != want {
		t.Errorf("got  %swant %s", got, want)
	}
	got, err := Parse(want)
	if err != nil || !reflect.DeepEqual(*got, l) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestFieldsStayFields(t *testing.T) {
	l := sample
	l.Tag, l.Type, l.Annotations = "two\u00a0words \n", "a b", []string{"error:a, b"}
	got, err := Parse(string(l.Append(nil)))
	if err != nil || got.Tag != "two\u00a0words%20%0A" || got.Type != "a%20b" || len(got.Annotations) != 1 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestParseErrors(t *testing.T) {
	for _, s := range []string{"", "one two", strings.Replace(sampleText, "200", "x", 1), strings.Replace(sampleText, "+178", "", 1)} {
		if l, err := Parse(s); err == nil {
			t.Errorf("%q = %+v, want an error", s, l)
		}
	}
}

func TestATornLastLineIsCut(t *testing.T) {
	for name, torn := range map[string]string{"none": "", "short": "2030-01", "long": strings.Repeat("x", 10000)} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "crawl.log")
			if err := os.WriteFile(path, []byte(sampleText+sampleText+torn), 0o644); err != nil {
				t.Fatal(err)
			}
			w, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Write(&sample); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			raw, err := os.ReadFile(path)
			if err != nil || string(raw) != strings.Repeat(sampleText, 3) {
				t.Errorf("got %q, %v", raw, err)
			}
		})
	}
}

func TestRead(t *testing.T) {
	n := 0
	if err := Read(strings.NewReader(sampleText+sampleText), func(l *Line) error { n++; return nil }); err != nil || n != 2 {
		t.Errorf("%d lines, %v", n, err)
	}
	err := Read(strings.NewReader(sampleText+"junk\n"), func(l *Line) error { return nil })
	if err == nil || !strings.HasPrefix(err.Error(), "line 2: ") {
		t.Errorf("junk: %v", err)
	}
	stop := errors.New("stop")
	if err := Read(strings.NewReader(sampleText), func(l *Line) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("stopped: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(sampleText)
	f.Fuzz(func(t *testing.T, text string) {
		l, err := Parse(text)
		if err != nil || l.Time.Year() > 9999 {
			return
		}
		again, err := Parse(string(l.Append(nil)))
		if err != nil {
			t.Fatalf("%q gives %q: %v", text, l.Append(nil), err)
		}
		if string(again.Append(nil)) != string(l.Append(nil)) {
			t.Fatalf("%q gives %q, which gives %q", text, l.Append(nil), again.Append(nil))
		}
	})
}
