package fetch

import (
	"bytes"
	"errors"
	"net/http"
	"testing"
)

// A body that was not given back is nobody else's; one that was is used again.
func TestLentBodies(t *testing.T) {
	f := &Fetcher{}
	read := func(fill byte, coding string) *Exchange {
		t.Helper()
		plain := bytes.Repeat([]byte{fill}, 50_000)
		b, err := f.readBody(response(coding, coded(t, coding, plain)), nil, 1<<20, true, func(int) {})
		err = errors.Join(err, b.settle(t.Context(), f))
		if err != nil || !bytes.Equal(b.decoded, plain) {
			t.Fatalf("%d bytes: %v", len(b.decoded), err)
		}
		return &Exchange{Status: http.StatusOK, Body: b.decoded, Wire: b.wire, lent: b.lent}
	}
	var kept []*Exchange
	for i := range byte(20) {
		coding := []string{"", "gzip"}[i%2]
		x := read('a'+i, coding)
		if i%3 > 0 {
			x.Release()
			if x.Body != nil {
				t.Error("a body that was given back is still there")
			}
			x.Release() // once more is nothing
			continue
		}
		kept = append(kept, x)
	}
	for i, x := range kept {
		if want := 'a' + byte(3*i); x.Body[0] != want || x.Body[len(x.Body)-1] != want {
			t.Errorf("body %d begins with %q, want %q", i, x.Body[0], want)
		}
	}
	f.decoders.close()
}

func TestLongBodiesAreReadIntoOnePiece(t *testing.T) {
	f := &Fetcher{}
	plain := text(3 << 20)
	resp := response("", plain)
	resp.ContentLength = int64(len(plain))
	b, err := f.readBody(resp, nil, 16<<20, true, func(int) {})
	err = errors.Join(err, b.settle(t.Context(), f))
	if err != nil || !bytes.Equal(b.decoded, plain) || cap(b.decoded) > len(plain)+64<<10 || b.lent != nil {
		t.Errorf("%d bytes in %d, lent %t: %v", len(b.decoded), cap(b.decoded), b.lent != nil, err)
	}
	// A length that is a lie costs no more than what is trusted.
	resp = response("", []byte("short"))
	resp.ContentLength = 1 << 40
	if b, _ := f.readBody(resp, nil, 1<<50, false, func(int) {}); cap(b.plain.b) > 2*maxTrusted {
		t.Errorf("%d bytes of memory for %d", cap(b.plain.b), len(b.plain.b))
	}
}
