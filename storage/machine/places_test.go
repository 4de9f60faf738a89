package machine_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/storage/machine"
	"github.com/zeebo/xxh3"
)

// Sizes of a table's file, and of a place in it.
const (
	fileSize  = 8 << 20
	placeSize = 8
)

func names(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("site https://h%d.example", i)
	}
	return all
}

// atEnds returns names whose places are the first and the last of the table.
func atEnds(t *testing.T) []string {
	t.Helper()
	all := []string{"end 3176155", "end 482418"}
	for i, at := range []uint64{0, fileSize/placeSize - 1} {
		if got := xxh3.HashString(all[i]) % (fileSize / placeSize); got != at {
			t.Fatalf("%s has place %d, not %d", all[i], got, at)
		}
	}
	return all
}

// A place in a part of the file without data is free.
func TestEveryNameHasAPlace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "clocks")
	a, b := open(t, path), open(t, path)
	now := time.Now()
	until := now.Add(time.Minute)
	all := append(atEnds(t), names(4000)...)
	shared := 0
	for _, name := range all {
		if _, ok := a.Reserve(name, now, until); !ok {
			shared++ // the place is shared with an earlier name
		}
	}
	if shared > 40 { // 8 shared places are expected
		t.Errorf("%d of %d names share a place", shared, len(all))
	}
	for _, name := range all {
		if taken, ok := b.Reserve(name, now, until); ok || taken.Until.Sub(until).Abs() > time.Microsecond {
			t.Fatalf("%s: taken until %v, %v", name, taken.Until, ok)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Size() != fileSize {
		t.Errorf("the file: %v, %v", info, err)
	}
}

// TestOtherProcess is run in a second process by TestTwoProcesses.
func TestOtherProcess(t *testing.T) {
	path := os.Getenv("PERMESSO_CLOCKS")
	if path == "" {
		t.Skip("runs as a child")
	}
	var now int64
	if _, err := fmt.Fscan(os.Stdin, &now); err != nil {
		t.Fatal(err)
	}
	fmt.Println("go")
	for _, name := range won(open(t, path), time.Unix(0, now)) {
		fmt.Println(name)
	}
}

// won returns the names that this process could reserve.
func won(t *machine.Table, now time.Time) (all []string) {
	for _, name := range names(4000) {
		if _, ok := t.Reserve(name, now, now.Add(time.Hour)); ok {
			all = append(all, name)
		}
	}
	return all
}

func TestTwoProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "clocks")
	table := open(t, path)
	now := time.Now()
	child := exec.Command(os.Args[0], "-test.run=^TestOtherProcess$")
	child.Env = append(os.Environ(), "PERMESSO_CLOCKS="+path)
	child.Stdin = strings.NewReader(fmt.Sprintln(now.UnixNano()))
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "go" {
		t.Fatalf("child: %q, %v", lines.Text(), lines.Err())
	}
	times := map[string]int{} // number of processes that could reserve each name
	for _, name := range won(table, now) {
		times[name]++
	}
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "site ") {
			times[lines.Text()]++
		}
	}
	if err := child.Wait(); err != nil {
		t.Error(err)
	}
	for name, n := range times {
		if n > 1 {
			t.Errorf("%s: both have it", name)
		}
	}
	if len(times) < 3900 {
		t.Errorf("only %d of 4000 names were reserved", len(times))
	}
}

// A short or damaged file is used. Its plausible times count, and no key is blocked for more than
// a day.
func TestAShortOrDamagedFile(t *testing.T) {
	now := time.Now()
	random := make([]byte, fileSize)
	rand.NewChaCha8([32]byte{1}).Read(random)
	for name, raw := range map[string][]byte{
		"empty": {}, "a byte": {1}, "half of it": make([]byte, fileSize/2+3), "short by one": make([]byte, fileSize-1),
		"random": random, "all ones": bytes.Repeat([]byte{0xff}, fileSize), "the latest": bytes.Repeat([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, fileSize/8),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "clocks")
			if err := os.WriteFile(path, raw, 0o600); err != nil {
				t.Fatal(err)
			}
			table := open(t, path)
			for _, name := range append(atEnds(t), names(100)...) {
				taken, ok := table.Reserve(name, now, now.Add(time.Minute))
				if !ok && taken.Until.After(now.Add(24*time.Hour)) {
					t.Errorf("%s is taken until %v", name, taken)
				}
				if _, ok := table.Reserve(name, now, now.Add(time.Minute)); ok {
					t.Errorf("%s is reserved twice", name)
				}
			}
		})
	}
}

func TestWhatAShortFileSaysCounts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "clocks")
	now := time.Now()
	raw := binary.NativeEndian.AppendUint64(nil, uint64(now.Add(time.Hour).UnixNano()))
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if taken, ok := open(t, path).Reserve(atEnds(t)[0], now, now.Add(time.Minute)); ok || taken.Until.Sub(now.Add(time.Hour)).Abs() > time.Microsecond {
		t.Errorf("taken until %v, %v", taken, ok)
	}
}

// A time that does not fit into a place is ignored, and is not stored as another time.
func TestTimesWithoutAnEnd(t *testing.T) {
	table := open(t, filepath.Join(t.TempDir(), "clocks"))
	now := time.Now()
	for _, until := range []time.Time{time.Unix(0, math.MaxInt64), time.Date(2555, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)} {
		name := "site " + until.String()
		if _, ok := table.Reserve(name, now, until); !ok {
			t.Errorf("%v: a new name is taken", until)
		}
		if taken, ok := table.Reserve(name, now, now.Add(time.Minute)); !ok {
			t.Errorf("%v: taken until %v", until, taken.Until)
		}
		table.Release(name, until)
		if taken, ok := table.Reserve(name, now, now.Add(time.Minute)); ok || taken.Until.After(now.Add(24*time.Hour)) {
			t.Errorf("%v: released until %v, %v", until, taken, ok)
		}
	}
}

// If the file is truncated while it is used, every key counts as free.
func TestAFileThatIsCutWhileItIsUsed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "clocks")
	table := open(t, path)
	now := time.Now()
	for _, name := range names(10) {
		table.Reserve(name, now, now.Add(time.Minute))
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Skipf("a file that is mapped cannot be cut here: %v", err)
	}
	for _, name := range names(10) {
		if _, ok := table.Reserve(name, now, now.Add(time.Minute)); !ok {
			t.Errorf("%s is taken", name)
		}
		table.Release(name, now)
	}
}
