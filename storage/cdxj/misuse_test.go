package cdxj

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/storage/warc"
)

var errMisuse = errors.New("a reader that fails")

type oddReader func(p []byte) (int, error)

func (f oddReader) Read(p []byte) (int, error)            { return f(p) }
func (f oddReader) ReadAt(p []byte, _ int64) (int, error) { return f(p) }
func (f oddReader) Write(p []byte) (int, error)           { return f(p) }

// quiet calls f, and fails the test if f panics.
func quiet(t *testing.T, name string, f func() error, wantError bool) {
	t.Helper()
	defer func() {
		if v := recover(); v != nil {
			t.Errorf("%s panics: %v", name, v)
		}
	}()
	if err := f(); (err != nil) != wantError {
		t.Errorf("%s: %v", name, err)
	} else if err != nil && len(err.Error()) > 1<<12 {
		t.Errorf("%s: an error of %d bytes", name, len(err.Error()))
	}
}

// A line that is not an entry gives an error that says why in a few words.
func TestInvalidLines(t *testing.T) {
	for _, line := range []string{
		"", " ", "\x00", "a", "a b", "a b c", "a b {", "a b {}", "a b []", "a b null", "{}", "a 20000101000000 {\"offset\":\"x\"}", "a 20000101000000 {\"offset\":\"-1\"}",
		"a 2000 {}", "a 99999999999999 {}", "a 20000101000000 {\"status\":\"\x00\"}", "a 20000101000000 " + strings.Repeat("{\"a\":", 1<<16), strings.Repeat("x", 1<<20), "com,example)/ 20000101000000 {\"url\":7}",
	} {
		quiet(t, line[:min(len(line), 40)], func() error { _, err := Parse(line); return err }, true)
	}
}

// For an index that cannot be read or searched, Find returns an error or nothing, and always ends.
func TestInvalidIndexes(t *testing.T) {
	search := func(r io.ReaderAt, size int64, url string) error {
		n := 0
		for _, err := range Find(r, size, url) {
			if err != nil {
				return err
			}
			if n++; n > 1000 {
				return nil
			}
		}
		return nil
	}
	zeros := oddReader(func(p []byte) (int, error) { clear(p); return len(p), nil })
	fails := oddReader(func([]byte) (int, error) { return 0, errMisuse })
	lines := oddReader(func(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte("\n"), len(p))), nil })
	whole := `com,example)/ 20000101000000 {"url":"http://example.com/"}` + "\n"
	quiet(t, "fails", func() error { return search(fails, 1<<20, "http://example.com/") }, true)
	for name, f := range map[string]func() error{
		"zeros":        func() error { return search(zeros, 1<<20, "http://example.com/") },
		"line ends":    func() error { return search(lines, 1<<16, "http://example.com/") },
		"larger":       func() error { return search(strings.NewReader(whole), 1<<40, "http://example.com/") },
		"largest":      func() error { return search(strings.NewReader(whole), math.MaxInt64, "http://example.com/") },
		"negative":     func() error { return search(strings.NewReader(whole), -5, "http://example.com/") },
		"no URL":       func() error { return search(strings.NewReader(whole), int64(len(whole)), "\x00") },
		"an empty URL": func() error { return search(strings.NewReader(whole), int64(len(whole)), "") },
		"a huge URL": func() error {
			return search(strings.NewReader(whole), int64(len(whole)), "http://"+strings.Repeat("x.", 1<<18))
		},
	} {
		quiet(t, name, func() error { _ = f(); return nil }, false)
	}
	for name, r := range map[string]io.Reader{"fails": fails, "zeros": io.LimitReader(zeros, 1<<20), "lines": io.LimitReader(lines, 1<<20), "text": strings.NewReader(strings.Repeat("no archive\n", 1<<10))} {
		damages := 0
		quiet(t, "Index, "+name, func() error {
			for e, err := range Index(t.Context(), r, "") {
				if damages++; e != nil || err == nil {
					t.Errorf("an entry: %+v", e)
				}
			}
			if damages == 0 {
				t.Errorf("Index, %s: neither damage nor an error", name)
			}
			return nil
		}, false)
	}
	for _, url := range []string{"", "\x00", "http://", "http://[", "mailto:x", "//", "http://a:b:c/", strings.Repeat("x", 1<<20), "http://" + strings.Repeat(".", 1<<16)} {
		quiet(t, "SURT", func() error { _ = SURT(url); return nil }, false)
	}
}

// The methods of a Sorter may be called in any order, also after Close, with a missing directory,
// and with a writer that fails. No temporary file is left.
func TestSortersInAnyOrder(t *testing.T) {
	line := []byte(`com,example)/ 20000101000000 {"url":"http://example.com/"}`)
	uses := map[string]func(*Sorter) error{
		"Add":          func(s *Sorter) error { return s.Add(&Entry{}) },
		"AddLine":      func(s *Sorter) error { return s.AddLine(line) },
		"AddLine nil":  func(s *Sorter) error { return s.AddLine(nil) },
		"AddLine huge": func(s *Sorter) error { return s.AddLine(bytes.Repeat([]byte("x"), 1<<16)) },
		"many": func(s *Sorter) (err error) {
			for range 20 {
				err = errors.Join(err, s.AddLine(line))
			}
			return err
		},
		"WriteTo": func(s *Sorter) error { _, err := s.WriteTo(io.Discard); return err },
		"it fails": func(s *Sorter) error {
			_, err := s.WriteTo(oddReader(func([]byte) (int, error) { return 0, errMisuse }))
			return err
		},
		"Close": func(s *Sorter) error { return s.Close() },
		"Len":   func(s *Sorter) error { s.Len(); return nil },
	}
	for _, where := range []string{t.TempDir(), filepath.Join(t.TempDir(), "none"), os.DevNull} {
		for _, memory := range []int{-1, 1, 1 << 20} {
			for first, one := range uses {
				for second, other := range uses {
					quiet(t, first+", "+second, func() error {
						s := NewSorter(where, memory)
						for range 2 {
							_ = one(s)
							_ = other(s)
						}
						_ = s.Close()
						return s.Close()
					}, false)
				}
			}
		}
		if files, _ := os.ReadDir(where); len(files) > 0 {
			t.Errorf("%s: %d files are left", where, len(files))
		}
	}
}

// The methods of zero values do not panic.
func TestZeroValues(t *testing.T) {
	quiet(t, "Append", func() error { _, err := new(Entry).Append([]byte("x")); return err }, true)
	quiet(t, "EntryOf", func() error { _, err := EntryOf(&warc.Placed{}, ""); return err }, false)
}
