// Package digest keeps the SHA-256 of a file that grows, so that another process can
// continue it without reading the file again.
package digest

import (
	"crypto/sha256"
	"encoding"
	"encoding/base64"
	"encoding/binary"
	"hash"
)

// A Digest is the SHA-256 of the bytes written to it. A nil Digest ignores writes, and has
// no state.
type Digest struct{ hash.Hash }

// New returns the digest of no bytes.
func New() *Digest { return &Digest{sha256.New()} }

// Resume returns the digest of the first n bytes of a file from text, the result of State;
// nil if text is missing, invalid, or of another length. For n = 0 no text is needed.
func Resume(text string, n int64) *Digest {
	d := New()
	if n == 0 {
		return d
	}
	state, err := base64.StdEncoding.DecodeString(text)
	// The last eight bytes of the state are the length: TestAStateSaysOfHowManyBytesItIs.
	if err != nil || len(state) < 8 || binary.BigEndian.Uint64(state[len(state)-8:]) != uint64(n) {
		return nil
	}
	if d.Hash.(encoding.BinaryUnmarshaler).UnmarshalBinary(state) != nil {
		return nil
	}
	return d
}

// Write implements io.Writer. It never fails.
func (d *Digest) Write(p []byte) (int, error) {
	if d == nil {
		return len(p), nil
	}
	return d.Hash.Write(p)
}

// State returns the argument of Resume in base 64, which later versions of Go can read, too
// (package hash); empty for a nil digest.
func (d *Digest) State() string {
	if d == nil {
		return ""
	}
	state, err := d.Hash.(encoding.BinaryMarshaler).MarshalBinary()
	if err != nil {
		return ""
	}
	return base64.StdEncoding.EncodeToString(state)
}

// Of returns the SHA-256 of the n bytes that state describes; nil if it is not known.
func Of(state string, n int64) []byte {
	if d := Resume(state, n); d != nil {
		return d.Sum(nil)
	}
	return nil
}
