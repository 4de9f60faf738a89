package lines

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

// all returns all lines. "long" stands for a skipped line, and a line without a newline gets a
// mark.
func all(t *testing.T, r *Reader) (lines []string) {
	t.Helper()
	for {
		line, err := r.Next()
		switch {
		case err == io.EOF:
			return lines
		case err == ErrLong:
			lines = append(lines, "long")
		case err != nil:
			t.Fatal(err)
		case r.Torn():
			lines = append(lines, string(line)+"...")
		default:
			lines = append(lines, string(line))
		}
	}
}

func TestLines(t *testing.T) {
	most := strings.Repeat("x", 8<<20)
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{"\n", []string{""}},
		{"a\n\nb\n", []string{"a", "", "b"}},
		{"a\nb", []string{"a", "b..."}},
		{most + "\na\n", []string{most, "a"}},
		{most + "x\na\n", []string{"long", "a"}},
		{most, []string{most + "..."}},
		{most + "x", []string{"long"}},
		{strings.Repeat("x", 200_000) + "\n", []string{strings.Repeat("x", 200_000)}},
		{`{"body":"b"}` + "\n", []string{`{"body":"b"}`}},
	} {
		if got := all(t, NewReader(strings.NewReader(c.text))); !slices.Equal(got, c.want) {
			t.Errorf("%.60q: %.60q", c.text, got)
		}
	}
}

func TestPagesWithoutBodies(t *testing.T) {
	body := strings.Repeat(`\"x`, Max/2)
	for text, want := range map[string]string{
		`{"url":"u","body":"b\"\\","tag":"t"}`:    `{"url":"u","body":"","tag":"t"}`,
		`{"base64":"` + body + `"}`:               `{"base64":""}`,
		`{"x":{"body":"b"},"title":"body"}`:       `{"x":{"body":"b"},"title":"body"}`,
		`{"base64x":"b","bodyx":"c","bod":"d"}`:   `{"base64x":"b","bodyx":"c","bod":"d"}`,
		`{"a":{"b":1},"body":"b","c":"body"}`:     `{"a":{"b":1},"body":"","c":"body"}`,
		`[{"body":"b"}]`:                          `[{"body":"b"}]`,
		`["body","b"]`:                            `["body","b"]`,
		`{"x":["body","b",{"a":"b"}],"body":"c"}`: `{"x":["body","b",{"a":"b"}],"body":""}`,
		`{"x":"a\"\\","body":"b\\\"c"}`:           `{"x":"a\"\\","body":""}`,
		`{"n":1,"body" : "b" , "m":"n"}`:          `{"n":1,"body" : "" , "m":"n"}`,
		`{"body":null,"title":"t"}`:               `{"body":null,"title":"t"}`,
		`{"body":{"body":"b"},"base64":"c"}`:      `{"body":{"body":"b"},"base64":""}`,
		`{"\u0062ody":"b"}`:                       `{"\u0062ody":"b"}`,
		`{"bo\"dy":"b"}`:                          `{"bo\"dy":"b"}`,
		`{"":"b","body":""}`:                      `{"":"b","body":""}`,
		`"body":"b"`:                              `"body":"b"`,
		`{"a":"` + body + `","body":"b"}`:         "long",
	} {
		if got := all(t, NewPageReader(strings.NewReader(text+"\n"+text+"\n"))); !slices.Equal(got, []string{want, want}) {
			t.Errorf("%.60q: %.60q", text, got)
		}
	}
}

// The result does not depend on where a buffer ends, such as in a name, in a body, or after a
// backslash.
func TestABodyMayLieAcrossTheEndOfABuffer(t *testing.T) {
	const head = `{"a":"`
	const tail = `\\","x":{"body":1},"body" : "b\"\\\\c","base64":"\\d","tag":"body"}`
	const want = `\\","x":{"body":1},"body" : "","base64":"","tag":"body"}`
	for at := range len(tail) + 2 {
		fill := strings.Repeat("x", 64<<10-len(head)-at)
		text := head + fill + tail + "\n"
		if got := all(t, NewPageReader(strings.NewReader(text+text))); !slices.Equal(got, []string{head + fill + want, head + fill + want}) {
			t.Errorf("%d bytes of the tail before the end: %d lines, the first ends with %q", at, len(got), got[0][len(head)+len(fill):])
		}
		if got := all(t, NewReader(strings.NewReader(text+text))); !slices.Equal(got, []string{strings.TrimSuffix(text, "\n"), strings.TrimSuffix(text, "\n")}) {
			t.Errorf("%d bytes of the tail before the end: with bodies, %d lines", at, len(got))
		}
	}
}

// A hole is a reader that returns zero bytes.
type hole struct{}

func (hole) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestAHoleTakesNoMemory(t *testing.T) {
	for _, r := range []func(io.Reader) *Reader{NewReader, NewPageReader} {
		in := r(io.MultiReader(strings.NewReader("a\n"), io.LimitReader(hole{}, 2*Max), strings.NewReader("\nb\n")))
		if got := all(t, in); !slices.Equal(got, []string{"a", "long", "b"}) {
			t.Errorf("read %.60q", got)
		}
		if cap(in.line) > 2*Max {
			t.Errorf("%d bytes are held", cap(in.line))
		}
	}
}

func TestAReaderThatFails(t *testing.T) {
	broken := errors.New("broken")
	r := NewReader(io.MultiReader(strings.NewReader("a\nb"), failing{broken}))
	if line, err := r.Next(); string(line) != "a" || err != nil {
		t.Error(string(line), err)
	}
	if _, err := r.Next(); !errors.Is(err, broken) {
		t.Error(err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
