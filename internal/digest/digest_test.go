package digest

import (
	"bytes"
	"crypto/sha256"
	"math/rand/v2"
	"testing"
)

// A digest that is resumed at any offset equals the digest of the whole file.
func TestAResumedDigestIsThatOfTheWhole(t *testing.T) {
	t.Parallel()
	text := make([]byte, 300)
	for i := range text {
		text[i] = byte(rand.IntN(256))
	}
	whole := sha256.Sum256(text)
	for cut := range len(text) + 1 {
		first := New()
		first.Write(text[:cut])
		next := Resume(first.State(), int64(cut))
		if next == nil {
			t.Fatalf("no digest after %d bytes", cut)
		}
		next.Write(text[cut:])
		if !bytes.Equal(Of(next.State(), int64(len(text))), whole[:]) {
			t.Errorf("cut after %d bytes it is another one", cut)
		}
	}
}

// Resume returns nil for a state that is missing, invalid, or of another length.
func TestAStateSaysOfHowManyBytesItIs(t *testing.T) {
	t.Parallel()
	d := New()
	d.Write([]byte("some text"))
	state := d.State()
	for name, row := range map[string]struct {
		state string
		n     int64
	}{
		"missing": {"", 9}, "short": {state[:20], 9}, "of less": {state, 8}, "of more": {state, 10},
		"foreign": {"xxxx" + state[4:], 9},
	} {
		if Resume(row.state, row.n) != nil || Of(row.state, row.n) != nil {
			t.Errorf("%s: it was resumed", name)
		}
	}
	if Resume("", 0) == nil {
		t.Error("no bytes need a state")
	}
	var none *Digest
	if n, err := none.Write([]byte("x")); n != 1 || err != nil || none.State() != "" {
		t.Errorf("%d, %v", n, err)
	}
}
