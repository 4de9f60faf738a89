package state

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	berrors "go.etcd.io/bbolt/errors"
)

// The owner can write the state file, and others can only read it. The file is not executable.
func TestTheStateIsNoProgram(t *testing.T) {
	info, err := os.Stat(filepath.Join(filled(t), File))
	if err != nil || info.Mode().Perm()&0o711 != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// An Outline returns the marks of the files, and stores new ones.
func TestOutlines(t *testing.T) {
	dir := filled(t)
	growing, index := Marks{"grows": {Length: 3}}, IndexMarks{Part: Mark{Length: 4}}
	for _, want := range []Marks{{}, growing} {
		o, err := OpenOutline(dir)
		if err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(o.Marks, want) {
			t.Errorf("%v, want %v", o.Marks, want)
		}
		if err := errors.Join(o.PutMarks(growing, index), o.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if done := checked(t, dir); !maps.Equal(done.Growing, growing) || done.Index != index {
		t.Errorf("%+v", done)
	}
	for _, key := range [][]byte{keyOutputs, keyIndex} {
		o, err := OpenOutline(dir)
		if err != nil {
			t.Fatal(err)
		}
		occupied(t, o.bolt, bucketMeta, key)
		if err := o.PutMarks(growing, index); !errors.Is(err, berrors.ErrIncompatibleValue) {
			t.Errorf("%v", err)
		}
		o.Close()
		dir = filled(t)
	}
}

// dump, with which other tests compare files, returns the contents of all buckets.
func TestDumps(t *testing.T) {
	lines := dump(t, rich(t))
	for want, n := range map[string]int{
		"site {Site:http://a.example ": 1, "site {Site:http://b.example ": 1, "entry http://a.example 65": 2, "entry http://a.example 72": 2,
		"entry http://a.example 77": 1, "entry http://b.example 72": 1, "seen http://a.example ": 5, "seen http://b.example ": 1,
		"aside http://a.example 00000003": 1, `value put k "v"`: 1, "common 6970203139": 1, "snapshots 687474": 3,
		"payloads 00443214c74254b635cf84653a56d7c675be77df ": 1, "bodies ": 1, "journal ": 0,
	} {
		is := 0
		for _, l := range lines {
			if strings.HasPrefix(l, want) {
				is++
			}
		}
		if is != n {
			t.Errorf("%d lines begin with %q, want %d", is, want, n)
		}
	}
	if len(lines) != 22 {
		t.Errorf("%d lines:\n%s", len(lines), strings.Join(lines, "\n"))
	}
}
