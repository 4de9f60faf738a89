package crawllog

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestLogsAreMergedByTime(t *testing.T) {
	at := func(second int, url string) string {
		return string((&Line{Time: time.Unix(int64(second), 0), Size: -1, URL: url}).Append(nil))
	}
	logs := []string{
		at(1, "http://a/1") + "no line\n" + at(5, "http://a/2") + at(2, "http://a/3") + at(9, "http://a/4")[:20], // the clock was put back
		"",
		at(1, "http://b/1") + strings.Repeat("x", 9<<20) + "\n" + at(4, "http://b/2") + at(6, "http://b/3"),
	}
	var readers []io.Reader
	for _, log := range logs {
		readers = append(readers, strings.NewReader(log))
	}
	var got []string
	err := Merge(readers, func(n int64, l *Line, text []byte) error {
		if want, err := Parse(string(text)); err != nil || want.URL != l.URL {
			t.Errorf("line %d: %q is not %+v", n, text, l)
		}
		got = append(got, fmt.Sprint(n, " ", l.URL))
		return nil
	}, func(log int, n int64, text []byte, why error) error {
		got = append(got, fmt.Sprint(n, " log ", log, " ", string(text), errors.Is(why, ErrLong)))
		return nil
	})
	want := []string{
		"1 http://a/1", "2 log 0 no linefalse", "3 http://b/1", "4 log 2 true", "5 http://b/2", "6 http://a/2", "7 http://a/3", "8 http://b/3",
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, want %q, %v", got, want, err)
	}
}

func TestAMergeEndsAtTheFirstError(t *testing.T) {
	text := string((&Line{Time: time.Unix(1, 0), Size: -1, URL: "http://a/"}).Append(nil))
	ok := func(int64, *Line, []byte) error { return nil }
	failing := func(int64, *Line, []byte) error { return io.ErrClosedPipe }
	other := func(int, int64, []byte, error) error { return io.ErrNoProgress }
	for name, test := range map[string]struct {
		log  io.Reader
		line func(int64, *Line, []byte) error
		want error
	}{
		"a line":            {strings.NewReader(text), failing, io.ErrClosedPipe},
		"another line":      {strings.NewReader("no line\n"), ok, io.ErrNoProgress},
		"the first reading": {io.MultiReader(broken{}), ok, io.ErrUnexpectedEOF},
		"a later reading":   {io.MultiReader(strings.NewReader(strings.Repeat(text, 2000)), broken{}), ok, io.ErrUnexpectedEOF},
	} {
		if err := Merge([]io.Reader{test.log}, test.line, other); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

// broken is a file that cannot be read.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
