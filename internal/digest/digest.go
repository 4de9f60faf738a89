// Package digest stores the SHA-256 of a growing file, so that another process can continue it
// without reading the file again.
package digest

import (
	"crypto/sha256"
	"encoding"
	"encoding/base64"
	"encoding/binary"
	"hash"
)

// A Digest is the SHA-256 of the bytes written to it. A nil *Digest ignores writes, and its
// State is "".
type Digest struct{ hash.Hash }

// New returns the digest of no bytes.
func New() *Digest { return &Digest{sha256.New()} }

// Resume returns the digest of the first n bytes of a file. text is the result of State for
// these bytes. Resume returns nil if text is invalid, or belongs to another number of bytes. If
// n is 0, it ignores text.
func Resume(text string, n int64) *Digest {
	d := New()
	if n == 0 {
		return d
	}
	state, err := base64.StdEncoding.DecodeString(text)
	// The last eight bytes of the state are the number of bytes
	// (TestAStateSaysOfHowManyBytesItIs).
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

// State returns the text for Resume, in base 64. Later versions of Go can read it, too
// (package hash). For a nil *Digest it returns "".
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

// Of returns the SHA-256 of n bytes from state, the result of State for these bytes. It returns
// nil if state is invalid or belongs to another number of bytes.
func Of(state string, n int64) []byte {
	if d := Resume(state, n); d != nil {
		return d.Sum(nil)
	}
	return nil
}
