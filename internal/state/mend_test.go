package state

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// One flipped bit makes an element of a page a bucket, or changes the name of a bucket.
// MendFlips corrects it.
func TestABitOfABucketIsMended(t *testing.T) {
	dir := rich(t)
	path := filepath.Join(dir, File)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	h, err := newestHead(f)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	root := raw[h.root*h.pageSize:][:h.pageSize]
	if n := int(binary.NativeEndian.Uint16(root[10:])); n != len(buckets) {
		t.Fatalf("%d elements of %d buckets", n, len(buckets))
	}
	for i := range buckets {
		e := pageHeader + i*pageElement
		key, _, err := text(root, e, root[e+4:], root[e+8:], root[e+12:])
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range [][]byte{key[:1], key[len(key)-1:], root[e : e+1]} {
			whole := at[0]
			at[0] ^= 1
			err := os.WriteFile(path, raw, 0o644)
			at[0] = whole
			if err != nil {
				t.Fatal(err)
			}
			n, err := MendFlips(dir)
			is, rerr := os.ReadFile(path)
			if err != nil || rerr != nil || n != 1 || !bytes.Equal(is, raw) {
				t.Errorf("%s: %d bits are mended, %v, %v, as it was: %v", key, n, err, rerr, bytes.Equal(is, raw))
			}
		}
	}
}
