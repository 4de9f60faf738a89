package account

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// scanLines finds exactly the lines with the text, in order. Any bytes may be between these
// lines, and a block may end anywhere.
func TestLinesAreFoundByText(t *testing.T) {
	long := strings.Repeat("y", scanNeedle)
	for name, text := range map[string]string{"short": " x ", "as long as is looked for": " x" + long[:scanNeedle-3] + " ", "longer": " x" + long + " "} {
		t.Run(name, func(t *testing.T) {
			var file strings.Builder
			var want []string
			for i := 0; file.Len() < 3*scanBlock; i++ {
				line := fmt.Sprintf("%d %s", i, strings.Repeat("z", i*7919%9973))
				switch i % 50 {
				case 0:
					line += text
					want = append(want, line)
				case 1:
					line += text[:2] + "-" + text[2:] // a line with only the beginning and the end of the text
				}
				file.WriteString(line + "\n")
			}
			large := strings.Repeat("w", 5*scanBlock/2) + text
			torn := "torn" + text
			file.WriteString(large + "\n" + torn)
			want = append(want, large, torn)
			path := filepath.Join(t.TempDir(), "lines")
			if err := os.WriteFile(path, []byte(file.String()), 0o644); err != nil {
				t.Fatal(err)
			}
			var got []string
			if err := scanLines(path, readOn, text, func(line []byte) bool {
				got = append(got, string(line))
				return true
			}); err != nil || !slices.Equal(got, want) {
				t.Errorf("%d lines, want %d, %v", len(got), len(want), err)
			}
			n := 0
			if err := scanLines(path, readOn, text, func([]byte) bool { n++; return n < 3 }); n != 3 || err != nil {
				t.Errorf("%d lines before it ended, %v", n, err)
			}
		})
	}
}

// A very long line needs bounded memory and is skipped as a whole.
func TestLinesThatAreTooLongAreSkipped(t *testing.T) {
	hole := strings.Repeat("w", 7*scanBlock) + " x "
	for name, file := range map[string]string{"after": hole + "\na x \nb x ", "before": "a x \nb x \n" + hole, "within": "a x \n" + hole + "\nb x \n"} {
		var got []string
		err := scanLinesOf(strings.NewReader(file), []byte(" x "), 3*scanBlock, func(line []byte) bool {
			got = append(got, string(line[:min(len(line), 9)]))
			return true
		})
		if err != nil || !slices.Equal(got, []string{"a x ", "b x "}) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// A missing file has no lines. A directory is an error.
func TestAMissingFileHasNoLines(t *testing.T) {
	dir := t.TempDir()
	never := func([]byte) bool { t.Error("a line"); return true }
	if err := scanLines(filepath.Join(dir, "none"), readOn, "x", never); err != nil {
		t.Error(err)
	}
	if err := scanLines(dir, readOn, "x", never); err == nil {
		t.Error("a directory was read")
	}
}

func readOn() error { return nil }

// An error of quit ends the scan and is returned.
func TestQuitEndsAScan(t *testing.T) {
	path, enough, asked := filepath.Join(t.TempDir(), "lines"), errors.New("enough"), 0
	if err := os.WriteFile(path, bytes.Repeat([]byte("a line\n"), scanBlock), 0o644); err != nil {
		t.Fatal(err)
	}
	err := scanLines(path, func() error {
		if asked++; asked == 3 {
			return enough
		}
		return nil
	}, "none", func([]byte) bool { return true })
	if err != enough || asked != 3 {
		t.Errorf("%v, quit was called %d times", err, asked)
	}
}
