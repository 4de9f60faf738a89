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
