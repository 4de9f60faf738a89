package state

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"go.etcd.io/bbolt"
)

// countedReads is a file that counts its reads.
type countedReads struct {
	io.ReaderAt
	reads int
}

func (c *countedReads) ReadAt(b []byte, at int64) (int, error) {
	c.reads++
	return c.ReaderAt.ReadAt(b, at)
}

func TestAllLeavesOfABucketAreFoundBeforeItIsRead(t *testing.T) {
	for _, n := range []int{0, 1, 200, 5000, 60_000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "f")
			b, err := bbolt.Open(path, 0o644, &bbolt.Options{NoSync: true})
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			err = b.Update(func(tx *bbolt.Tx) error {
				one, err := tx.CreateBucket([]byte("one"))
				other, err2 := tx.CreateBucket([]byte("other"))
				for i := range n {
					key := binary.BigEndian.AppendUint32(nil, uint32(i))
					err2 = errors.Join(err2, one.Put(key, make([]byte, 20+i%7)), other.Put(key, key))
				}
				return errors.Join(err, err2, one.Put([]byte("large"), make([]byte, 20_000)))
			})
			if err != nil {
				t.Fatal(err)
			}
			file, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			err = b.View(func(tx *bbolt.Tx) error {
				one := tx.Bucket([]byte("one"))
				size := int64(b.Info().PageSize)
				in := &countedReads{ReaderAt: file}
				r := pageReader{in, size, uint64(tx.Size() / size)}
				pages := r.leaves(uint64(one.Root()))
				want := one.Stats()
				if len(pages) != want.LeafPageN {
					t.Errorf("%d pages are leaves, not %d", len(pages), want.LeafPageN)
				}
				if most := 2*want.BranchPageN + want.Depth + 1; in.reads > most {
					t.Errorf("%d reads find the leaves below %d branches", in.reads, want.BranchPageN)
				}
				elements := 0
				for _, p := range pages {
					flags, count, _ := r.head(p)
					if flags != leafPage {
						t.Errorf("page %d is not a leaf (%#x)", p, flags)
					}
					elements += count
				}
				if elements != want.KeyN {
					t.Errorf("the leaves have %d rows, not %d", elements, want.KeyN)
				}
				slices.Sort(pages)
				if len(slices.Compact(pages)) != len(pages) {
					t.Error("a leaf is found twice")
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWhatLiesCloseTogetherIsReadAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		pages []uint64
		want  []pageRun
	}{
		"none":       {nil, nil},
		"one":        {[]uint64{7}, []pageRun{{7, 1}}},
		"neighbours": {[]uint64{7, 8, 9}, []pageRun{{7, 3}}},
		"twice":      {[]uint64{7, 7, 8}, []pageRun{{7, 2}}},
		"near":       {[]uint64{7, 7 + nearPages}, []pageRun{{7, nearPages + 1}}},
		"far":        {[]uint64{7, 8 + nearPages}, []pageRun{{7, 1}, {8 + nearPages, 1}}},
		"many": {
			[]uint64{0, 10, 20, 30, 31, 39, 40, 50},
			[]pageRun{{0, 40}, {40, 11}},
		},
	} {
		if got := runs(c.pages, 40); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// A page may be damaged and refer to any page. prefetch then reads nothing, and fails nowhere,
// because it is only advice to the system.
func TestPagesThatLeadAnywhereArePrefetchedNowhere(t *testing.T) {
	const size = 512
	branch := func(elements uint16, to uint64) []byte {
		b := make([]byte, 3*size)
		binary.NativeEndian.PutUint16(b[size+8:], branchPage)
		binary.NativeEndian.PutUint16(b[size+10:], elements)
		binary.NativeEndian.PutUint32(b[size+12:], 0xffffffff)
		for i := range (size - pageHeader) / pageElement {
			binary.NativeEndian.PutUint64(b[size+pageHeader+i*pageElement+8:], to)
		}
		return b
	}
	for name, b := range map[string][]byte{
		"to itself":       branch(1, 1),
		"twice to itself": branch(2, 1),
		"to nothing":      branch(0, 1),
		"cut":             branch(0xffff, 1)[:size+100],
		"head cut":        branch(1, 1)[:size+10],
	} {
		r := pageReader{bytes.NewReader(b), size, 3}
		if got := r.leaves(1); len(got) > 3 {
			t.Errorf("%s: leads to %d pages of 3", name, len(got))
		}
	}
	r := pageReader{bytes.NewReader(branch(2, 1<<40)), size, 3}
	if got := r.leaves(1); !slices.Equal(got, []uint64{1 << 40, 1 << 40}) {
		t.Errorf("beyond the end: %v", got)
	}
}
