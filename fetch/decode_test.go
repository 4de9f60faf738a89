package fetch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func ExampleDecode() {
	archived := strings.NewReader("\x1f\x8b\b\x00\x00\x00\x00\x00\x00\xff\xf3H\xcd\xc9\xc9W\b\xcf/\xcaI\x01\x00V\xb1\x17J\v\x00\x00\x00")
	body, err := Decode("gzip", archived)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer body.Close()
	text, err := io.ReadAll(io.LimitReader(body, 1<<20))
	fmt.Println(string(text), err)
	// Output: Hello World <nil>
}

// A stored body is decoded like a fetched one. Cut bodies, broken bodies and decompression bombs
// have different errors, and no byte is added after the end.
func TestABodyThatWasKeptIsDecoded(t *testing.T) {
	plain := text(50_000)
	for _, coding := range []string{"gzip", "br", "zstd"} {
		packed := coded(t, coding, plain)
		zeros := coded(t, coding, make([]byte, 20<<20))
		for name, tc := range map[string]struct {
			r    io.Reader
			want []byte
			err  error // error of Read; nil: the body is complete
		}{
			"whole":     {bytes.NewReader(packed), plain, nil},
			"in parts":  {iotest.HalfReader(bytes.NewReader(packed)), plain, nil},
			"empty":     {strings.NewReader(""), nil, nil},
			"cut":       {bytes.NewReader(packed[:len(packed)/2]), nil, io.ErrUnexpectedEOF},
			"unread":    {io.MultiReader(bytes.NewReader(packed[:100]), iotest.ErrReader(iotest.ErrTimeout)), nil, iotest.ErrTimeout},
			"a bomb":    {bytes.NewReader(zeros), nil, errBomb},
			"no coding": {strings.NewReader("<!doctype html><p>plain text it is, and long enough for each of the codings to notice"), nil, errors.New("")},
		} {
			t.Run(coding+" "+name, func(t *testing.T) {
				body, err := Decode(strings.ToUpper(coding), tc.r)
				if err != nil {
					t.Fatal(err)
				}
				defer body.Close()
				got, err := io.ReadAll(body)
				var broken *decodeError
				switch {
				case tc.err == nil && (err != nil || !bytes.Equal(got, tc.want)):
					t.Errorf("%d bytes, %v; want %d", len(got), err, len(tc.want))
				case tc.err != nil && tc.err.Error() == "" && !errors.As(err, &broken):
					t.Errorf("the error is %v, want one of the coding", err)
				case tc.err != nil && tc.err.Error() != "" && !errors.Is(err, tc.err):
					t.Errorf("the error is %v, want %v", err, tc.err)
				case len(got) > 5<<20:
					t.Errorf("%d bytes of a bomb", len(got))
				}
			})
		}
	}
}

// A coding that is not supported is refused. An unknown name is ignored.
func TestCodingsThatAreNotKnown(t *testing.T) {
	for _, coding := range []string{"", "identity", "utf-8", ", "} {
		body, err := Decode(coding, strings.NewReader("as it is"))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(body); string(got) != "as it is" || err != nil || body.Close() != nil {
			t.Errorf("%q: %q, %v", coding, got, err)
		}
	}
	for _, coding := range []string{"compress", "gzip, br, gzip, br"} {
		if body, err := Decode(coding, strings.NewReader("")); err == nil {
			t.Errorf("%q: %v", coding, body)
		}
	}
}
