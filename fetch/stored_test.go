package fetch_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/robots"
)

// keptAnswer returns a stored answer whose body has a content coding.
func keptAnswer(coding string, body io.Reader) *http.Response {
	h := http.Header{"Content-Type": {"text/html"}}
	if coding != "" {
		h.Set("Content-Encoding", coding)
	}
	return &http.Response{StatusCode: 200, Header: h, Body: io.NopCloser(body), ContentLength: -1, ProtoMajor: 1}
}

// A failing reader returns an error in place of io.EOF.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// The stored answer for a 304 is read like any other: decoded, cut, and within the budget. The
// exchange does not change.
func TestAKeptAnswerIsReadAsAnyOther(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 32<<10)
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Write([]byte(long))
	z.Close()
	damage := errors.New("damaged")
	for name, c := range map[string]struct {
		kept      *http.Response
		size      int
		truncated string
		err       error
	}{
		"plain":              {keptAnswer("", strings.NewReader("x")), 1, "", nil},
		"empty":              {keptAnswer("", strings.NewReader("")), 0, "", nil},
		"zipped":             {keptAnswer("gzip", bytes.NewReader(zipped.Bytes())), len(long), "", nil},
		"too long":           {keptAnswer("", strings.NewReader(long+long)), 600 << 10, "length", nil},
		"cut":                {keptAnswer("gzip", bytes.NewReader(zipped.Bytes()[:zipped.Len()/2])), 0, "", fetch.ErrStored},
		"damaged":            {keptAnswer("", io.MultiReader(strings.NewReader("x"), failing{damage})), 0, "", damage},
		"damaged at its end": {keptAnswer("gzip", io.MultiReader(bytes.NewReader(zipped.Bytes()), failing{damage})), 0, "", damage},
	} {
		for _, lend := range []bool{false, true} {
			dir := t.TempDir()
			f, err := fetch.New(fetch.Options{
				Policy: robots.Policy{Token: "testbot"}, UserAgent: "testbot", Bodies: fetch.Bodies{MaxSize: 600 << 10, BodyBudget: 300 << 10, TempDir: dir, Lend: lend},
			})
			if err != nil {
				t.Fatal(err)
			}
			for range 3 { // repeated, because memory that is not released would be missing in a later round
				x := &fetch.Exchange{Status: 304, Header: http.Header{"Etag": {"x"}}}
				kept := *c.kept
				if s, ok := readAgain(c.kept); ok {
					kept.Body = s
				}
				got, err := f.Stored(t.Context(), x, &kept)
				if c.err != nil {
					if !errors.Is(err, c.err) || !errors.Is(err, fetch.ErrStored) {
						t.Errorf("%s: %v", name, err)
					}
					break
				}
				if err != nil || got.Status != 200 || len(got.Body) != c.size || got.Truncated != c.truncated || got.Header.Get("Content-Type") != "text/html" {
					t.Fatalf("%s: %v", name, err)
				}
				if x.Status != 304 || len(x.Body) != 0 || x.Header.Get("ETag") != "x" {
					t.Errorf("%s: the exchange became %+v", name, x)
				}
				x.Release()
			}
			f.Close()
			if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
				t.Errorf("%s: temporary files are left: %v, %v", name, files, err)
			}
		}
	}
}

// readAgain returns the body of r as a reader that starts again. It returns false if the body is
// not made from bytes of a test.
func readAgain(r *http.Response) (io.ReadCloser, bool) {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(b), failing{err}))
		return io.NopCloser(io.MultiReader(bytes.NewReader(b), failing{err})), true
	}
	r.Body = io.NopCloser(bytes.NewReader(b))
	return io.NopCloser(bytes.NewReader(b)), true
}

// zeros is an endless reader.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// A stored answer may decode to more than the limit of a body. The bytes after the end of the
// coding are read up to the same limit.
func TestAKeptAnswerWithoutAnEndIsGivenUp(t *testing.T) {
	f, err := fetch.New(fetch.Options{Policy: robots.Policy{Token: "testbot"}, UserAgent: "testbot", Bodies: fetch.Bodies{MaxSize: 64 << 10, TempDir: t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for coding, begin := range map[string]string{"": "", "gzip": "hello"} {
		var body bytes.Buffer
		if coding == "gzip" {
			z := gzip.NewWriter(&body)
			io.WriteString(z, begin)
			z.Close()
		}
		kept := keptAnswer(coding, io.MultiReader(&body, zeros{}))
		kept.ContentLength = 1 << 40
		got, err := f.Stored(t.Context(), &fetch.Exchange{}, kept)
		if coding == "" {
			if err != nil || got.Truncated != "length" || len(got.Body) != 64<<10 {
				t.Errorf("plain: %v", err)
			}
		} else if !errors.Is(err, fetch.ErrStored) {
			t.Errorf("%s: %v", coding, err)
		}
	}
}

// If the run ends, the error does not wrap ErrStored.
func TestAnEndIsNoDamageOfAKeptAnswer(t *testing.T) {
	f, err := fetch.New(fetch.Options{Policy: robots.Policy{Token: "testbot"}, UserAgent: "testbot", Bodies: fetch.Bodies{TempDir: t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Stored(ctx, &fetch.Exchange{}, keptAnswer("", failing{errors.New("late")})); err == nil || errors.Is(err, fetch.ErrStored) {
		t.Errorf("the error is %v", err)
	}
}

// Conditional reports whether the request header has a condition.
func TestARequestWithAConditionSaysSo(t *testing.T) {
	for field, want := range map[string]bool{"If-None-Match": true, "If-Modified-Since": true, "Accept": false} {
		x := &fetch.Exchange{RequestHeader: http.Header{field: {"x"}}}
		if x.Conditional() != want {
			t.Errorf("%s: %t", field, !want)
		}
	}
}
