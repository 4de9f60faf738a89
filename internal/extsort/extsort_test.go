package extsort

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/permesso-crawler/permesso/internal/devtest"
)

type record struct{ Key, Value string }

func (r record) size() int { return len(r.Key) + len(r.Value) + spanSize }

// small makes a Sorter that needs only a few records to reach its limits.
func small(t testing.TB, memory, fanIn int) *Sorter {
	t.Helper()
	dir := t.TempDir()
	s := New(dir, memory)
	s.fanIn = fanIn
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%v are left, %v", left, err)
		}
	})
	return s
}

func add(t testing.TB, s *Sorter, all ...record) {
	t.Helper()
	for _, r := range all {
		if err := s.Add([]byte(r.Key), []byte(r.Value)); err != nil {
			t.Fatal(err)
		}
	}
}

func collect(t testing.TB, s *Sorter) (all []record) {
	t.Helper()
	err := s.Each(func(key, value []byte) error {
		all = append(all, record{string(key), string(value)})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func sorted(all []record) []record {
	all = slices.Concat(all) // nil if there are no records
	slices.SortStableFunc(all, func(a, b record) int { return strings.Compare(a.Key, b.Key) })
	return all
}

// drawn returns n random records. Some keys are equal, empty, or prefixes of others.
func drawn(random *rand.Rand, n int) []record {
	prefix := []string{"", "com,example)/", "com,example)/a\x00"}[random.IntN(3)]
	all := make([]record, n)
	for i := range all {
		key := make([]byte, random.IntN(12))
		for k := range key {
			key[k] = "\x00\x01a\xff"[random.IntN(4)]
		}
		all[i] = record{prefix + string(key), fmt.Sprint(i)}
	}
	return all
}

// The order equals the order of a stable sort in memory, for any memory and any number of runs
// that are merged at once.
func TestOrderIsThatOfASortInMemory(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, memory := range []int{0, 200, 1 << 20} {
		for _, fanIn := range []int{2, 3, 64} {
			for _, n := range []int{0, 1, 2, 3, 5, 8, 9, 66} {
				all := drawn(random, n)
				s := small(t, memory, fanIn)
				add(t, s, all...)
				for range 2 {
					if diff := cmp.Diff(sorted(all), collect(t, s)); diff != "" {
						t.Fatalf("%d records, %d at a time, memory of %d (-want +got):\n%s", n, fanIn, memory, diff)
					}
				}
				if s.Len() != int64(n) {
					t.Errorf("Len is %d, want %d", s.Len(), n)
				}
				// More records may be added after sorting.
				more := drawn(random, 9)
				add(t, s, more...)
				if diff := cmp.Diff(sorted(append(all, more...)), collect(t, s)); diff != "" {
					t.Fatalf("%d records and more, %d at a time, memory of %d (-want +got):\n%s", n, fanIn, memory, diff)
				}
			}
		}
	}
}

// The caller may change a record after Add.
func TestRecordsAreCopied(t *testing.T) {
	s := small(t, 1<<10, 2)
	key, value := []byte("key"), []byte("value")
	if err := s.Add(key, value); err != nil {
		t.Fatal(err)
	}
	copy(key, "xxx")
	copy(value, "xxxxx")
	if got := collect(t, s); !slices.Equal(got, []record{{"key", "value"}}) {
		t.Errorf("read %q", got)
	}
}

// A files counts the files that a Sorter makes, and the largest number of open ones.
type files struct {
	made []*os.File
	most int
}

func (f *files) of(s *Sorter) *files {
	create := s.create
	s.create = func() (*os.File, error) {
		file, err := create()
		f.made = append(f.made, file)
		f.most = max(f.most, len(f.made)-f.closed())
		return file, err
	}
	return f
}

func (f *files) closed() (n int) {
	for _, file := range f.made {
		if _, err := file.Stat(); errors.Is(err, fs.ErrClosed) {
			n++
		}
	}
	return n
}

// A Sorter uses all of the allowed memory, and not more.
func TestMemoryIsBounded(t *testing.T) {
	a, b := record{"key", "value"}, record{"other", ""}
	for _, c := range []struct {
		memory int
		all    []record
		runs   int
	}{
		{a.size() + b.size(), []record{a, b}, 0},
		{a.size() + b.size() - 1, []record{a, b}, 1},
		{2 * a.size(), []record{a, a, a, a, a}, 2},
		{2*a.size() + 1, []record{a, a, a, a, a}, 2},
		{3*a.size() - 1, []record{a, a, a, a, a}, 2},
		{0, []record{a}, 0}, // one record is always held in memory
		{0, []record{a, b}, 1},
		{2 * spanSize, []record{{}, {}, {}, {}}, 1},
	} {
		s := small(t, c.memory, 64)
		made := new(files).of(s)
		add(t, s, c.all...)
		if len(made.made) != c.runs {
			t.Errorf("%d records with %d bytes of memory make %d runs, want %d", len(c.all), c.memory, len(made.made), c.runs)
		}
	}
}

// Only runs of the same level are merged, so each record is written once for each level. Files
// are closed after they are merged.
func TestEachRecordIsWrittenOnceForEachSizeOfRun(t *testing.T) {
	for _, c := range []struct{ fanIn, records, made, open int }{
		{4, 4 + 1, 4, 4},             // one record is in memory
		{4, 4 + 1 + 1, 4 + 1 + 1, 5}, // the four runs that are merged stay open until the end of the merge
		{4, 16 + 1, 16 + 3, 3 + 4},
		{4, 17 + 1, 17 + 4 + 1, 3 + 4 + 1},
		{2, 8 + 1 + 1, 8 + 4 + 2 + 1 + 1, 1 + 1 + 2 + 1},
		{64, 64 + 1, 64, 64},
	} {
		s := small(t, 0, c.fanIn)
		made := new(files).of(s)
		for i := range c.records {
			add(t, s, record{fmt.Sprint(i * 7919 % c.records), ""})
		}
		if len(made.made) != c.made || made.most != c.open {
			t.Errorf("%d records, %d runs at a time: %d files are made, want %d; %d are open at a time, want %d", c.records, c.fanIn, len(made.made), c.made, made.most, c.open)
		}
		if open := len(made.made) - made.closed(); open != len(s.runs) {
			t.Errorf("%d records: %d files are open, with %d runs", c.records, open, len(s.runs))
		}
	}
}

// Before the last merge, no more runs are merged than necessary. The last merge has at most the
// allowed number of sources, including the memory.
func TestTheLastMergeIsBounded(t *testing.T) {
	for _, c := range []struct{ fanIn, runs, made, left int }{
		{4, 3, 0, 3},
		{4, 4, 1, 3},     // two runs are merged
		{4, 4 + 3, 2, 3}, // four runs are merged, and then two
		{2, 1, 0, 1},
		{2, 2, 1, 1},
	} {
		s := small(t, 0, c.fanIn)
		for i := range c.runs {
			s.runs = append(s.runs, written(t, s, record{fmt.Sprint(i), ""}))
		}
		made := new(files).of(s)
		if got := collect(t, s); len(got) != c.runs {
			t.Errorf("%d runs, %d at a time: %d records", c.runs, c.fanIn, len(got))
		}
		if len(made.made) != c.made || len(s.runs) != c.left {
			t.Errorf("%d runs, %d at a time: %d files are made, want %d; %d runs are left, want %d", c.runs, c.fanIn, len(made.made), c.made, len(s.runs), c.left)
		}
	}
}

// written returns a run with one record.
func written(t *testing.T, s *Sorter, r record) run {
	t.Helper()
	one := &source{load: load{spans: []span{{key: len(r.Key), end: len(r.Key) + len(r.Value)}}, buf: []byte(r.Key + r.Value)}}
	made, err := s.write(0, one)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// Each stops when f returns an error, and returns it. The next Each begins again at the first
// record.
func TestEachEndsEarly(t *testing.T) {
	s := small(t, 0, 3)
	all := []record{{"a", ""}, {"b", ""}, {"c", ""}, {"d", ""}}
	add(t, s, all...)
	for stop := range all {
		enough, n := errors.New("enough"), 0
		err := s.Each(func([]byte, []byte) error {
			if n == stop {
				return enough
			}
			n++
			return nil
		})
		if err != enough || n != stop {
			t.Errorf("ended with %v after %d records, want %d", err, n, stop)
		}
	}
	if got := collect(t, s); !slices.Equal(got, all) {
		t.Errorf("then come %q", got)
	}
}

// If the disk is full or missing, no record is lost. When there is room again, the same record
// can be added, and all records are in order.
func TestAFullDiskLosesNothing(t *testing.T) {
	full := func(t *testing.T) (*os.File, error) { return os.OpenFile(devtest.Device(t, "full"), os.O_RDWR, 0) }
	readOnly := func(t *testing.T) (*os.File, error) { return os.Open(os.Args[0]) }
	nowhere := func(t *testing.T) (*os.File, error) { return os.Create(filepath.Join(t.TempDir(), "none", "run")) }
	large := strings.Repeat("v", runBuffer+1)
	for name, c := range map[string]struct {
		create func(*testing.T) (*os.File, error)
		is     error
		names  string
	}{
		"full":      {full, syscall.ENOSPC, "full"},
		"read only": {readOnly, nil, os.Args[0]},
		"not there": {nowhere, fs.ErrNotExist, "none"},
	} {
		for _, value := range []string{"v", large} {
			t.Run(fmt.Sprintf("%s, %d bytes", name, len(value)), func(t *testing.T) {
				var all []record
				s := small(t, 0, 2)
				works := s.create
				failures := 0
				for i := range 6 {
					r := record{fmt.Sprint(i * 5 % 6), value}
					// Make each of the writes of an Add fail once.
					for fail := 1; ; fail++ {
						calls := 0
						s.create = func() (*os.File, error) {
							if calls++; calls == fail {
								return c.create(t)
							}
							return works()
						}
						err := s.Add([]byte(r.Key), []byte(r.Value))
						if calls < fail {
							if err != nil {
								t.Fatal(err)
							}
							break
						}
						failures++
						if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.names) || !strings.Contains(err.Error(), s.dir) {
							t.Fatalf("adding: %v, want one that names %s and %s", err, c.names, s.dir)
						}
						if s.Len() != int64(len(all)) {
							t.Fatalf("Len is %d after %d", s.Len(), len(all))
						}
						s.create = works
						if got := collect(t, s); !slices.Equal(got, sorted(all)) {
							t.Fatalf("after %v: %d records of %d, or in another order", err, len(got), len(all))
						}
					}
					all = append(all, r)
				}
				if failures < 5 {
					t.Errorf("%d failures", failures)
				}
			})
		}
	}
}

// The last merge needs room on the disk, too.
func TestAFullDiskAtTheEnd(t *testing.T) {
	s := small(t, 0, 2)
	all := []record{{"c", ""}, {"b", ""}, {"a", ""}}
	add(t, s, all...)
	works, none := s.create, errors.New("none")
	s.create = func() (*os.File, error) { return nil, none }
	err := s.Each(func([]byte, []byte) error { t.Error("a record in spite of the error"); return nil })
	if !errors.Is(err, none) || !strings.Contains(err.Error(), s.dir) {
		t.Errorf("error %v, want one that names %s", err, s.dir)
	}
	s.create = works
	if got := collect(t, s); !slices.Equal(got, sorted(all)) {
		t.Errorf("then come %q", got)
	}
}

// If no directory was given, errors have the path of the system's directory.
func TestErrorsNameTheDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	for _, variable := range []string{"TMPDIR", "TMP", "TEMP"} {
		t.Setenv(variable, dir)
	}
	s := New("", 0)
	defer s.Close()
	add(t, s, record{"a", ""})
	if err := s.Add(nil, nil); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "in "+dir+":") {
		t.Errorf("error %v, want one that names %s", err, dir)
	}
}

// If any part of a temporary file is damaged, the error has the name of the file.
func TestDamagedRuns(t *testing.T) {
	for name, damage := range map[string]func(*os.File) error{
		"empty":        func(f *os.File) error { return f.Truncate(0) },
		"half":         func(f *os.File) error { return f.Truncate(1000) },
		"without tail": func(f *os.File) error { return f.Truncate(100_000) },
		"other bytes": func(f *os.File) error {
			_, err := f.WriteAt(bytes.Repeat([]byte{0xff}, 20), 0)
			return err
		},
	} {
		s := small(t, 0, 3)
		made := new(files).of(s)
		add(t, s, record{"a", strings.Repeat("v", 200_000)}, record{"b", "v"}, record{"c", "v"})
		if err := damage(made.made[0]); err != nil {
			t.Fatal(err)
		}
		err := s.Each(func([]byte, []byte) error { return nil })
		if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), made.made[0].Name()) {
			t.Errorf("%s: %v, want one that names the file", name, err)
		}
	}
	// the second of two records in a run
	s := small(t, 2*spanSize+100, 3)
	made := new(files).of(s)
	add(t, s, record{"a", "v"}, record{"b", "v"}, record{"c", strings.Repeat("v", 100)})
	if err := made.made[0].Truncate(6); err != nil {
		t.Fatal(err)
	}
	n := 0
	err := s.Each(func([]byte, []byte) error { n++; return nil })
	if !errors.Is(err, io.ErrUnexpectedEOF) || n != 1 {
		t.Errorf("%d records, %v", n, err)
	}
	// while runs are merged
	s = small(t, 0, 2)
	made = new(files).of(s)
	add(t, s, record{"a", "v"}, record{"b", "v"}, record{"c", "v"})
	if err := made.made[0].Truncate(1); err != nil {
		t.Fatal(err)
	}
	if err := s.Add([]byte("d"), nil); !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), made.made[0].Name()) {
		t.Errorf("merging: %v", err)
	}
}

// A closed Sorter is empty and can be used again.
func TestClose(t *testing.T) {
	s := small(t, 0, 2)
	made := new(files).of(s)
	add(t, s, record{"a", "1"}, record{"b", "2"}, record{"c", "3"})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if made.closed() != len(made.made) || s.Len() != 0 {
		t.Errorf("%d of %d files are closed, Len is %d", made.closed(), len(made.made), s.Len())
	}
	if got := collect(t, s); len(got) > 0 {
		t.Errorf("there are %q", got)
	}
	add(t, s, record{"e", "5"}, record{"d", "4"})
	if got := collect(t, s); !slices.Equal(got, []record{{"d", "4"}, {"e", "5"}}) {
		t.Errorf("then come %q", got)
	}
	made.made[len(made.made)-1].Close()
	if err := s.Close(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("a file that cannot be closed: %v", err)
	}
}

// runOf makes a run of the given bytes.
func runOf(t testing.TB, raw []byte) *source {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "run"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if _, err := f.Write(raw); err != nil {
		t.Fatal(err)
	}
	return newSource(f, int64(len(raw)))
}

func TestRecordsOfARun(t *testing.T) {
	long := strings.Repeat("x", 3*readBuffer)
	all := []record{{"", ""}, {"k", ""}, {"", "v"}, {long[:127], long[:128]}, {long[:16383], long[:16384]}, {long, long}, {"k", "v"}}
	var raw bytes.Buffer
	w := bufio.NewWriter(&raw)
	for _, r := range all {
		before := raw.Len() + w.Buffered()
		n, err := writeRecord(w, []byte(r.Key), []byte(r.Value))
		if err != nil || n != raw.Len()+w.Buffered()-before {
			t.Errorf("wrote %d of %d bytes, %v", n, raw.Len()+w.Buffered()-before, err)
		}
	}
	w.Flush()
	run := runOf(t, raw.Bytes())
	for _, r := range all {
		if err := run.next(); err != nil || string(run.key) != r.Key || string(run.value) != r.Value {
			t.Errorf("%.20q, %.20q, %v, want %.20q, %.20q", run.key, run.value, err, r.Key, r.Value)
		}
	}
	if err := run.next(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	uvarint := func(n ...uint64) (b []byte) {
		for _, n := range n {
			b = binary.AppendUvarint(b, n)
		}
		return b
	}
	for _, raw := range [][]byte{
		{0}, {0x80}, {1, 0}, {1, 1, 'k'}, {0, 2, 'v'}, {2, 0, 'k'}, {0x80, 0x80},
		uvarint(math.MaxUint64, 1), uvarint(1, math.MaxUint64), uvarint(math.MaxInt64, 2), uvarint(2, math.MaxInt64, 0, 0, 0), uvarint(math.MaxInt64, math.MaxInt64),
		append(bytes.Repeat([]byte{0x80}, 9), 0, 0),
	} {
		run := runOf(t, raw)
		if err := run.next(); !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), run.name) {
			t.Errorf("%x: %v, want an error that names %s", raw, err, run.name)
		}
	}
	// The largest length, in a longer encoding than the writer uses.
	run = runOf(t, append(append(bytes.Repeat([]byte{0x80}, 8), 0), 1, 'v'))
	if err := run.next(); err != nil || len(run.key) != 0 || string(run.value) != "v" {
		t.Errorf("%q, %q, %v", run.key, run.value, err)
	}
}

// Bytes that are not a run cause an error and no panic. If records can be read, writing and
// reading them again returns the same records.
func FuzzRun(f *testing.F) {
	f.Add([]byte{1, 2, 'k', 'v', 'v', 0, 0})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 1})
	f.Add([]byte{0x81, 0, 1, 'k', 'v'})
	f.Fuzz(func(t *testing.T, raw []byte) {
		first := runOf(t, raw)
		var again bytes.Buffer
		w := bufio.NewWriter(&again)
		var all []record
		err := first.next()
		for ; err == nil; err = first.next() {
			all = append(all, record{string(first.key), string(first.value)})
			if _, err := writeRecord(w, first.key, first.value); err != nil {
				t.Fatal(err)
			}
		}
		if err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatal(err)
		}
		w.Flush()
		if again.Len() > len(raw) {
			t.Errorf("%d bytes are read as %d", len(raw), again.Len())
		}
		second := runOf(t, again.Bytes())
		for _, r := range all {
			if err := second.next(); err != nil || string(second.key) != r.Key || string(second.value) != r.Value {
				t.Fatalf("%q, %q, %v, want %q", second.key, second.value, err, r)
			}
		}
		if err := second.next(); err != io.EOF {
			t.Errorf("after the last record: %v", err)
		}
	})
}

func BenchmarkSorter(b *testing.B) {
	s := New(b.TempDir(), 64<<20)
	defer s.Close()
	var key []byte
	value := make([]byte, 200)
	for i := 0; b.Loop(); i++ {
		key = fmt.Appendf(key[:0], "com,example%d)/%x", i%1000, uint32(i)*2654435761)
		if err := s.Add(key, value); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Each(func([]byte, []byte) error { return nil }); err != nil {
		b.Fatal(err)
	}
}

// The buffer for records does not grow beyond the allowed memory.
func TestTheBufferIsNoLargerThanTheMemory(t *testing.T) {
	s := small(t, 10_000, 64)
	for range 1000 {
		add(t, s, record{"a key", strings.Repeat("x", 95)})
		if cap(s.held.buf) > 10_000 {
			t.Fatalf("a buffer of %d bytes for %d records, at most 10000 are allowed", cap(s.held.buf), s.Len())
		}
	}
	if s.Len() != 1000 || len(s.runs) == 0 {
		t.Errorf("%d records, %d runs", s.Len(), len(s.runs))
	}
}
