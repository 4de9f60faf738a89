package crawllog

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

func TestLinesComeInTheOrderOfTheirKeys(t *testing.T) {
	o := NewOrder(t.TempDir())
	for _, add := range [][2]string{{"b", "2"}, {"a", "1"}, {"b", "1"}, {"", "0"}} {
		if err := o.Add([]byte(add[0]), []byte(add[1])); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		got := ""
		if err := o.Each(func(key, line []byte) error {
			got += fmt.Sprintf("%s%s ", key, line)
			return nil
		}); err != nil || got != "0 a1 b2 b1 " {
			t.Errorf("%q, %v", got, err)
		}
	}
	if err := o.Each(func(_, _ []byte) error { return io.ErrClosedPipe }); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("%v", err)
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
}

func TestTextsAreNumberedAndTornOnesTold(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "a\n": "1:a ", "a\n\nb\n": "1:a 2: 3:b ", "a\nb": "1:a 2:b! ",
	} {
		got := ""
		n, err := Texts(strings.NewReader(text), func(n int64, text []byte, torn bool) error {
			got += fmt.Sprintf("%d:%s", n, text)
			if torn {
				got += "!"
			}
			got += " "
			return nil
		})
		if err != nil || got != want || n != int64(strings.Count(got, ":")) {
			t.Errorf("%q: %q, %d lines, %v", text, got, n, err)
		}
	}
	n, err := Texts(strings.NewReader("a\nb\nc\n"), func(n int64, _ []byte, _ bool) error {
		if n == 2 {
			return io.ErrClosedPipe
		}
		return nil
	})
	if n != 2 || !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("%d, %v", n, err)
	}
	n, err = Texts(strings.NewReader("a\n"+strings.Repeat("x", 9<<20)), func(int64, []byte, bool) error { return nil })
	if n != 2 || !errors.Is(err, ErrLong) {
		t.Errorf("%d, %v", n, err)
	}
}

// Sift reports lines that are invalid, too long or incomplete, and continues.
func TestASiftGoesOnBehindWhatIsNoLine(t *testing.T) {
	text := sampleText + "junk\n" + strings.Repeat("x", 9<<20) + "\n" + sampleText + "\n" + strings.TrimSuffix(sampleText, "\n")
	got := ""
	err := Sift(strings.NewReader(text), func(n int64, l *Line, text []byte) error {
		if got += fmt.Sprint(n, " "); l.URL != sample.URL || string(text)+"\n" != sampleText {
			t.Errorf("line %d: %v, %q", n, l, text)
		}
		return nil
	}, func(n int64, why error) error {
		got += fmt.Sprintf("%d:%.12s ", n, why.Error())
		return nil
	})
	if want := "1 2:crawl.log: 1 3:the line is  4 5:crawl.log: 0 6:it has no en "; err != nil || got != want {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	for _, text := range []string{sampleText, "junk\n"} {
		err := Sift(strings.NewReader(text), func(int64, *Line, []byte) error { return io.ErrClosedPipe }, func(int64, error) error { return io.ErrClosedPipe })
		if !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
