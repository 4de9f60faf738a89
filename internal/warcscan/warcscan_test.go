package warcscan

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/permesso-crawler/permesso/storage/warc"
)

// TestMain fails if a test leaves a goroutine running.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func zipped(level int, texts ...string) []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, level)
	for _, text := range texts {
		io.WriteString(z, text)
	}
	z.Close()
	return b.Bytes()
}

func recordOf(n int, block string) string {
	return fmt.Sprintf("WARC/1.1\r\nWARC-Type: resource\r\nWARC-Record-ID: <urn:n:%d>\r\nWARC-Date: 2026-01-02T03:04:05Z\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n", n, len(block), block)
}

func arcOf(n int, block string) string {
	return fmt.Sprintf("http://a.example/%d 192.0.2.1 20260102030405 text/html %d\n%s\n", n, len(block), block)
}

// pieces has functions that make the pieces of a test file. n makes each record a different
// one.
var pieces = []func(n int, fill string) []byte{
	func(n int, fill string) []byte { return zipped(1, recordOf(n, fill)) },
	func(n int, fill string) []byte { return zipped(gzip.BestCompression, recordOf(n, fill+fill)) },
	func(n int, fill string) []byte { return zipped(gzip.NoCompression, recordOf(n, fill)) },
	// a body that contains records, so that a record seems to begin in the middle of it
	func(n int, fill string) []byte {
		return zipped(gzip.NoCompression, recordOf(n, fill+string(zipped(1, recordOf(-n, "inner")))+fill))
	},
	func(n int, fill string) []byte { return []byte(recordOf(n, fill)) },                                  // a record that is not compressed
	func(n int, fill string) []byte { return []byte(recordOf(n, string(zipped(1, recordOf(-n, fill))))) }, // a record that is not compressed and contains a compressed one
	func(n int, fill string) []byte { return zipped(1, recordOf(n, fill), recordOf(n+1, fill)) },          // a member with two records
	func(n int, fill string) []byte {
		return zipped(1, strings.Replace(recordOf(n, fill), "Length: ", "Length: 1", 1))
	},
	func(n int, fill string) []byte { return zipped(1, "WARC/1.1\r\nno record\r\n\r\n"+fill) },
	func(n int, fill string) []byte { return []byte(fill + "\x1f\x8b\x08\x00garbage") },
	func(n int, fill string) []byte { // a record of an ARC file
		return zipped(1, arcOf(n, fill))
	},
	func(n int, fill string) []byte { return []byte(arcOf(n, fill)) },
	func(n int, fill string) []byte {
		return zipped(1, strings.Replace(recordOf(n, fill), "urn:n:", "urn:refused:", 1))
	},
}

// events reads a file, and returns the calls of the functions of a Scan as text.
func events(ctx context.Context, file io.ReaderAt, length int64, workers int, segment int64, batch, stopAfter int) (all []string) {
	var mark bytes.Buffer
	read := int64(0)
	stop := errors.New("enough")
	see := func(text string) error {
		if all = append(all, text); len(all) == stopAfter {
			return stop
		}
		return nil
	}
	s := Scan[*[]string]{
		New: func() *[]string { return new([]string) },
		Work: func(b *[]string, rec *warc.Record) error {
			if strings.HasPrefix(rec.ID, "urn:refused:") {
				return &warc.Error{Offset: rec.Offset, Err: errors.New("refused")}
			}
			length, err := rec.Close()
			if err == nil {
				*b = append(*b, fmt.Sprintf("%d: %s, %d bytes of %d", rec.Offset, rec.ID, rec.Size, length))
			}
			return err
		},
		Size: func(b *[]string) int { return len(*b) },
		Use: func(b *[]string) error {
			for _, text := range *b {
				if err := see(text); err != nil {
					return err
				}
			}
			return nil
		},
		Bad: func(in *warc.Reader, err error) error {
			if err := see(err.Error()); err != nil {
				return err
			}
			n, err := in.Skip()
			if err != nil && err != io.EOF {
				return err // stop, because the same place would fail again
			}
			return see(fmt.Sprint("skipped ", n, err))
		},
		Mark: &mark, Read: func(n int64) { read += n },
		Workers: workers, Segment: segment, batch: batch,
	}
	err := s.File(ctx, file, length)
	if err == nil {
		all = append(all, fmt.Sprint("read ", read, ", sum ", crc32.ChecksumIEEE(mark.Bytes()), " of ", mark.Len()))
	}
	return append(all, fmt.Sprint("end: ", err))
}

// A file is read in the same way by any number of workers and with segments of any length, for
// any damage, and also if an error ends the reading.
func TestManyWorkersReadAsOneDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var file []byte
		kinds := []int{0} // most files are undamaged, because few segments of a damaged file are used
		if rapid.Bool().Draw(t, "odd") {
			for i := range rapid.IntRange(1, 3).Draw(t, "kinds") {
				kinds = append(kinds, rapid.IntRange(1, len(pieces)-1).Draw(t, fmt.Sprint("kind ", i)))
			}
		}
		for n := range rapid.IntRange(0, 25).Draw(t, "pieces") {
			kind := 0
			if rapid.IntRange(0, 5).Draw(t, "which") == 0 {
				kind = rapid.SampledFrom(kinds).Draw(t, "kind")
			}
			fill := strings.Repeat("some text, ", rapid.IntRange(0, 60).Draw(t, "fill"))
			file = append(file, pieces[kind](2*n+1, fill)...)
		}
		for range rapid.IntRange(-2, 2).Draw(t, "damages") {
			if len(file) == 0 {
				break
			}
			at := rapid.IntRange(0, len(file)-1).Draw(t, "at")
			switch rapid.IntRange(0, 3).Draw(t, "damage") {
			case 0:
				file[at] ^= byte(rapid.IntRange(1, 255).Draw(t, "bits"))
			case 1:
				file = file[:at]
			case 2:
				file = slices.Delete(file, at, min(len(file), at+rapid.IntRange(1, 500).Draw(t, "hole")))
			case 3:
				clear(file[at:min(len(file), at+2000)])
			}
		}
		length := int64(len(file))
		if rapid.Bool().Draw(t, "cut") {
			length = rapid.Int64Range(0, length).Draw(t, "length")
		}
		stop := rapid.IntRange(0, 60).Draw(t, "stop")
		var in io.ReaderAt = bytes.NewReader(file)
		if rapid.IntRange(0, 5).Draw(t, "unreadable") == 0 {
			in = &unreadable{in, rapid.Int64Range(0, length).Draw(t, "bad sector")}
		}
		want := events(t.Context(), in, length, 1, 0, 0, stop)
		workers := rapid.IntRange(2, 5).Draw(t, "workers")
		segment := rapid.Int64Range(1, 3000).Draw(t, "segment")
		batch := rapid.IntRange(1, 30).Draw(t, "batch")
		got := events(t.Context(), in, length, workers, segment, batch, stop)
		if _, bad := in.(*unreadable); bad { // the checksum covers only the bytes before the error
			drop := func(text string) bool { return strings.HasPrefix(text, "read ") }
			want, got = slices.DeleteFunc(want, drop), slices.DeleteFunc(got, drop)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%d workers, segments of %d bytes:\n%s\nwant\n%s", workers, segment, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// A reader that has seen a record of an ARC file looks for more of them after damage, even many
// segments later.
func TestARCFilesAreReadRecordByRecord(t *testing.T) {
	t.Parallel()
	for at := range 20 {
		var file []byte
		for n := range 20 {
			if n == at {
				file = append(file, zipped(1, arcOf(n, "text"))...)
			}
			file = append(file, pieces[0](n, "text")...)
		}
		file = append(file, "damage\n"+arcOf(20, "text")...)
		in, length := bytes.NewReader(file), int64(len(file))
		want, got := events(t.Context(), in, length, 1, 0, 0, 0), events(t.Context(), in, length, 3, 100, 0, 0)
		if !slices.Equal(got, want) || len(want) != 26 {
			t.Errorf("%d: %d events\n%s\nwant %d\n%s", at, len(got), strings.Join(got, "\n"), len(want), strings.Join(want, "\n"))
		}
	}
}

// An unreadable is a file with one byte that cannot be read.
type unreadable struct {
	io.ReaderAt
	bad int64
}

func (u *unreadable) ReadAt(p []byte, at int64) (int, error) {
	if at+int64(len(p)) <= u.bad || at > u.bad {
		return u.ReaderAt.ReadAt(p, at)
	}
	n, _ := u.ReaderAt.ReadAt(p[:u.bad-at], at)
	return n, errors.New("bad sector")
}

// In an undamaged file the segments are used: no record is read twice.
func TestSegmentsAreUsed(t *testing.T) {
	t.Parallel()
	var file []byte
	for n := range 2000 {
		file = append(file, pieces[0](n, strings.Repeat("some text ", n%50))...)
	}
	alone := 0
	s := Scan[*int]{
		New:   func() *int { return new(int) },
		Work:  func(n *int, rec *warc.Record) error { *n++; return nil },
		Size:  func(*int) int { return 0 },
		Use:   func(*int) error { return nil },
		Bad:   func(_ *warc.Reader, err error) error { return err },
		Alone: func(*warc.Record) error { alone++; return nil },

		Workers: 3, Segment: 1000,
	}
	if err := s.File(t.Context(), bytes.NewReader(file), int64(len(file))); err != nil || alone != 0 {
		t.Errorf("%d records were read alone: %v", alone, err)
	}
	file[len(file)/2] ^= 0xff
	s.Bad = func(in *warc.Reader, _ error) error { _, err := in.Skip(); return err }
	if err := s.File(t.Context(), bytes.NewReader(file), int64(len(file))); err != nil || alone == 0 || alone > 60 {
		t.Errorf("%d records around the damage were read alone: %v", alone, err)
	}
}

// File returns after its context has ended, and leaves no goroutine.
func TestReadingEndsWithItsContext(t *testing.T) {
	t.Parallel()
	var file []byte
	for n := range 500 {
		file = append(file, pieces[0](n, "text")...)
	}
	for workers := 1; workers <= 3; workers++ {
		ctx, cancel := context.WithCancel(t.Context())
		seen := 0
		s := Scan[*int]{
			New:  func() *int { return new(int) },
			Work: func(n *int, rec *warc.Record) error { *n++; return nil },
			Size: func(*int) int { return 0 },
			Use: func(n *int) error {
				if seen += *n; seen > 100 {
					cancel()
				}
				return nil
			},
			Bad:     func(_ *warc.Reader, err error) error { return err },
			Workers: workers, Segment: 300,
		}
		if err := s.File(ctx, bytes.NewReader(file), int64(len(file))); !errors.Is(err, context.Canceled) || seen > 150 {
			t.Errorf("%d workers: %d records, %v", workers, seen, err)
		}
	}
}
