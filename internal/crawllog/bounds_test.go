package crawllog

import (
	"errors"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/permesso-crawler/permesso/internal/devtest"
)

// Each field may have its least and its largest value.
func TestFieldsAtTheirBounds(t *testing.T) {
	at := time.Date(2030, 1, 2, 3, 4, 5, 678_901_000, time.UTC)
	for _, c := range []struct {
		line Line
		want string
	}{
		{Line{Time: at.In(time.FixedZone("", 3600)), URL: "u"}, "2030-01-02T03:04:05.678Z     0          0 u - - unknown #000 - - - -"},
		{Line{Time: at, Status: 12345, Size: 1234567890, URL: "u", Worker: 999}, "2030-01-02T03:04:05.678Z 12345 1234567890 u - - unknown #999 - - - -"},
		{Line{Time: at, Status: 123456, Size: 12345678901, URL: "u", Worker: 1000}, "2030-01-02T03:04:05.678Z 123456 12345678901 u - - unknown #1000 - - - -"},
		{Line{Time: at, Size: 9223372036854775807, URL: "u"}, "2030-01-02T03:04:05.678Z     0 9223372036854775807 u - - unknown #000 - - - -"},
		{Line{Time: at, Status: -1, Size: 1, URL: "u", Worker: 12}, "2030-01-02T03:04:05.678Z    -1          1 u - - unknown #012 - - - -"},
		{Line{Time: at, Size: -7, URL: "u", Start: at.In(time.FixedZone("", 3600)), Duration: 1999 * time.Microsecond}, "2030-01-02T03:04:05.678Z     0          - u - - unknown #000 20300102030405678+1 - - -"},
		{Line{Time: at, URL: "u", Start: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)}, "2030-01-02T03:04:05.678Z     0          0 u - - unknown #000 20300102030405000+0 - - -"},
		{Line{Time: at, URL: "a\x00 \x1f!\x7f,~\u00e9", Annotations: []string{"a\x00 \x1f!\x7f,~\u00e9", "", "b"}}, "2030-01-02T03:04:05.678Z     0          0 a%00%20%1F!%7F,~\u00e9 - - unknown #000 - - - a%00%20%1F!%7F%2C~\u00e9,-,b"},
		{Line{Time: at, Type: "unknown", Tag: "t", Annotations: []string{"x"}}, "2030-01-02T03:04:05.678Z     0          0 - - - unknown #000 - - t x"},
	} {
		if got := string(c.line.Append([]byte("before "))); got != "before "+c.want+"\n" {
			t.Errorf("got  %swant %s", got, c.want)
		}
		l, err := Parse(c.want)
		if err != nil {
			t.Errorf("%s: %v", c.want, err)
			continue
		}
		if again := string(l.Append(nil)); again != c.want+"\n" && !strings.Contains(c.want, "%2C") {
			t.Errorf("got  %swant %s", again, c.want)
		}
	}
}

func TestAnnotations(t *testing.T) {
	l := &Line{Annotations: []string{"a", "b:", "c:1:2", "c:3", ":d"}}
	for key, want := range map[string]string{"a": "", "b": "", "c": "1:2", "": "d"} {
		if v, ok := l.Annotation(key); !ok || v != want {
			t.Errorf("%q is %q, %v, want %q", key, v, ok, want)
		}
	}
	if v, ok := l.Annotation("d"); ok || v != "" {
		t.Errorf("%q", v)
	}
}

// Parse fails if any field of a line is invalid.
func TestWhatIsNoLine(t *testing.T) {
	good := strings.Fields(sampleText)
	for i, bad := range map[int][]string{
		0: {"-", "2030-01-02", "2030-13-02T03:04:05.678Z"},
		1: {"-", "x", "1.5"},
		2: {"x", "1.5", "9223372036854775808"},
		7: {"-", "#", "#x"},
		8: {"x", "20300102030405500", "20300102030405500+", "20300102030405500+x", "20301302030405500+1", "2030010203040550+1", "203001020304055000+1", "+1"},
	} {
		for _, text := range bad {
			f := append([]string(nil), good...)
			f[i] = text
			if l, err := Parse(strings.Join(f, " ")); l != nil || err == nil || !strings.HasPrefix(err.Error(), "crawl.log: ") {
				t.Errorf("field %d is %q: %+v, %v", i+1, text, l, err)
			}
		}
	}
	for _, text := range []string{strings.Join(good[:11], " "), strings.Join(append(good, "x"), " ")} {
		if l, err := Parse(text); l != nil || err == nil || !strings.Contains(err.Error(), "fields, want 12") {
			t.Errorf("%q: %+v, %v", text, l, err)
		}
	}
	// Any white space may separate fields, and the worker need not begin with "#".
	l, err := Parse("\t" + strings.ReplaceAll(strings.Join(good, "\x7f\x00 "), "#007", "7") + "\r\n")
	if err != nil || !reflect.DeepEqual(*l, sample) {
		t.Errorf("%+v, %v", l, err)
	}
}

// Open truncates an incomplete last line, wherever the last newline is.
func TestTheLastEndOfALineIsFound(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	for _, text := range []string{
		"", "\n", "x", "x\n", "\nx", "x\n\n",
		x(4095), x(4096), x(4097), x(8192), x(20000),
		x(4095) + "\n", x(4096) + "\n", "\n" + x(4095), "\n" + x(4096), "\n" + x(4097), "\n" + x(8191), "\n" + x(8192),
		x(10) + "\n" + x(4095), x(10) + "\n" + x(4096), x(4095) + "\n" + x(4096), x(4096) + "\n" + x(4095), x(5000) + "\n" + x(5000) + "\n" + x(5000),
	} {
		path := filepath.Join(t.TempDir(), "crawl.log")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		want := text[:strings.LastIndexByte(text, '\n')+1]
		w, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		size, sum, _ := w.Sum()
		if size != int64(len(want)) || w.Size() != size || sum != crc32.Checksum([]byte(want), crc32.MakeTable(crc32.Castagnoli)) || w.Name() != path {
			t.Errorf("%d bytes: %d are lines, with the sum %x", len(text), size, sum)
		}
		if err := errors.Join(w.Write(&sample), w.Close()); err != nil {
			t.Error(err)
		}
		if raw, err := os.ReadFile(path); err != nil || string(raw) != want+sampleText {
			t.Errorf("%d bytes are now %d, %v, want %d", len(text), len(raw), err, len(want)+len(sampleText))
		}
	}
}

// OpenAt does not read the known part of a file again, unless the file is shorter.
func TestASumGoesOnWhereItWasKnown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "crawl.log")
	text := []byte(sampleText + sampleText)
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	update := func(sum uint32, p []byte) uint32 {
		return crc32.Update(sum, crc32.MakeTable(crc32.Castagnoli), p)
	}
	n := len(sampleText)
	for from, want := range map[int]uint32{
		0: update(9, text), 1: update(9, text[1:]), n: update(9, text[n:]), 2 * n: 9, 2*n + 1: update(0, text),
	} {
		w, err := OpenAt(path, int64(from), 9, "")
		if err != nil {
			t.Fatal(err)
		}
		if size, sum, _ := w.Sum(); size != int64(len(text)) || sum != want {
			t.Errorf("from %d: %d bytes, sum %x, want %x", from, size, sum, want)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
	w, err := OpenAt(path, 0, 0, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(&sample); err != nil {
		t.Error(err)
	}
	if size, sum, _ := w.Sum(); size != int64(3*n) || sum != update(update(0, text), []byte(sampleText)) {
		t.Errorf("with another line: %d bytes, sum %x", size, sum)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if err := w.Write(&sample); !errors.Is(err, os.ErrClosed) {
		t.Errorf("of a log that is closed: %v", err)
	}
	if size, sum, _ := w.Sum(); size != int64(3*n) || sum != update(update(0, text), []byte(sampleText)) {
		t.Errorf("a line that was not written counts: %d bytes, sum %x", size, sum)
	}
}

func TestALogThatCannotBeOpened(t *testing.T) {
	for _, path := range []string{t.TempDir(), filepath.Join(t.TempDir(), "none", "crawl.log")} {
		if w, err := Open(path); w != nil || err == nil || !strings.Contains(err.Error(), "open "+path) {
			t.Errorf("%s: %v", path, err)
		}
	}
	path := filepath.Join(t.TempDir(), "crawl.log")
	if err := os.WriteFile(path, []byte(sampleText), 0o644); err != nil {
		t.Fatal(err)
	}
	if w, err := OpenAt(path, -1, 0, ""); w != nil || err == nil {
		t.Errorf("from before its beginning: %v", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := wholeLines(f); n != 0 || err == nil {
		t.Errorf("a file that cannot be read: %d bytes, %v", n, err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := wholeLines(f); n != 0 || !errors.Is(err, os.ErrClosed) {
		t.Errorf("a file that is closed: %d bytes, %v", n, err)
	}
}

// Open fails for a device, because a device cannot be truncated. No descriptor stays open.
func TestADeviceIsNoLog(t *testing.T) {
	device := devtest.Device(t, "null")              // this device can be opened, but not truncated
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // off, because the garbage collector also closes files
	path := filepath.Join(t.TempDir(), "crawl.log")
	count := func() int {
		all, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			return 0 // this system cannot count open files
		}
		return len(all)
	}
	before := count()
	for range 10 {
		if w, err := Open(device); w != nil || err == nil || !strings.Contains(err.Error(), device) {
			t.Fatalf("opened, %v", err)
		}
		if w, err := OpenAt(path, -1, 0, ""); w != nil || err == nil {
			t.Fatalf("opened, %v", err)
		}
	}
	if after := count(); after > before+5 {
		t.Errorf("%d files are open, %d were before", after, before)
	}
}

func TestALogIsForOthersToRead(t *testing.T) {
	dir := t.TempDir()
	other, path := filepath.Join(dir, "other"), filepath.Join(dir, "crawl.log")
	w, err := Open(path)
	if err := errors.Join(err, os.WriteFile(other, nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	want, err := os.Stat(other)
	is, err2 := os.Stat(path)
	if err := errors.Join(err, err2); err != nil || is.Mode() != want.Mode() {
		t.Errorf("%v, %v, want %v", is.Mode(), err, want.Mode())
	}
}

// The codes are those of Heritrix, because tools for its logs know them.
func TestCodesAreThoseOfHeritrix(t *testing.T) {
	for want, is := range map[int]int{
		-1: DNSFailed, -2: ConnectFailed, -3: ConnectionLost, -4: TimedOut, -5: Failed, -61: RobotsUnreachable,
		-4001: TooManyRedirects, -5000: OutOfScope, -5003: OverBudget, -9998: RobotsDisallowed,
	} {
		if is != want {
			t.Errorf("%d, want %d", is, want)
		}
	}
}

// Sync syncs only if there are new lines. If it fails, the lines still count as new.
func TestOnlyWhatIsNewIsSynced(t *testing.T) {
	w, err := Open(filepath.Join(t.TempDir(), "crawl.log"))
	if err != nil {
		t.Fatal(err)
	}
	synced, broken := 0, errors.New("no sync")
	var failing error
	sync := func() error {
		return w.Sync(func(f *os.File) error {
			synced++
			if f.Name() != w.Name() {
				t.Errorf("%s is synced", f.Name())
			}
			return failing
		})
	}
	for i, c := range []struct {
		write bool
		err   error
		want  int
	}{{false, nil, 0}, {true, nil, 1}, {false, nil, 1}, {true, broken, 2}, {false, broken, 3}, {false, nil, 4}, {false, broken, 4}} {
		if c.write {
			if err := w.Write(&sample); err != nil {
				t.Fatal(err)
			}
		}
		failing = c.err
		if err := sync(); synced != c.want || err != nil && err != broken || (err != nil) != (c.err != nil && i < 6) {
			t.Errorf("step %d: %d syncs, %v", i, synced, err)
		}
	}
	// If two syncs overlap, the one that ends last may have begun first.
	if err := w.Write(&sample); err != nil {
		t.Fatal(err)
	}
	err = w.Sync(func(*os.File) error { return errors.Join(w.Write(&sample), sync()) })
	if err := errors.Join(err, sync()); synced != 6 || !errors.Is(err, broken) {
		t.Errorf("%d syncs, %v", synced, err)
	}
	failing = nil
	err = w.Sync(func(*os.File) error { return errors.Join(w.Write(&sample), sync()) })
	if err := errors.Join(err, sync()); synced != 7 || err != nil {
		t.Errorf("%d syncs, %v", synced, err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if err := w.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("closed again: %v", err)
	}
}

// Close syncs the log, and returns the error of the sync.
func TestCloseSyncs(t *testing.T) {
	w, err := Open(filepath.Join(t.TempDir(), "crawl.log"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Write(&sample), w.file.Close()); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); !errors.Is(err, os.ErrClosed) || !strings.Contains(err.Error(), "sync ") || !strings.Contains(err.Error(), "close ") {
		t.Errorf("Close: %v", err)
	}
}

func TestReadAtItsBounds(t *testing.T) {
	var got []string
	take := func(l *Line) error { got = append(got, string(l.Append(nil))); return nil }
	if err := Read(strings.NewReader(sampleText+strings.TrimSuffix(sampleText, "\n")), take); err != nil || !reflect.DeepEqual(got, []string{sampleText, sampleText}) {
		t.Errorf("without a last end: %q, %v", got, err)
	}
	broken := errors.New("broken")
	if err := Read(io.MultiReader(strings.NewReader(sampleText), iotest.ErrReader(broken)), take); !errors.Is(err, broken) {
		t.Errorf("a file that cannot be read: %v", err)
	}
	long := strings.Replace(sampleText, "news", strings.Repeat("x", 1<<20-len(sampleText)+len("news")), 1)
	for _, c := range []struct {
		text string
		good bool
	}{{long, true}, {strings.Replace(long, "text/html", "text/xhtml", 1), false}} {
		if err := Read(strings.NewReader(c.text), take); (err == nil) != c.good {
			t.Errorf("a line of %d bytes: %v", len(c.text), err)
		}
	}
}
