package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The commands that read a whole crawl read one on few sites, and one on many. With
// $PERMESSO_READERS pages each command takes at most 150 MiB of anonymous memory.
func TestReadersReadACrawl(t *testing.T) {
	pages, most := 40, 0
	if n, err := strconv.Atoi(os.Getenv("PERMESSO_READERS")); err == nil {
		pages, most = n, 150
	}
	crawl := filepath.Join(t.TempDir(), "crawl")
	build := exec.Command("go", "build", "-o", crawl, "./cmd/crawl")
	build.Dir = filepath.Join("..", "..")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	for _, web := range []string{
		fmt.Sprintf("--hosts=20 --pages=%d --links=4 --size=1500", pages/20),
		fmt.Sprintf("--hosts=%d --pages=2 --links=2 --cross=20 --size=1500 --graph", pages/2),
	} {
		var out bytes.Buffer
		args := append([]string{"readers", "--crawl", crawl, "--most", strconv.Itoa(most)}, strings.Fields(web)...)
		if err := run(t.Context(), args, &out); err != nil {
			t.Fatalf("%s: %v", web, err)
		}
		t.Logf("%s\n%s", web, out.String())
		if rows := strings.Count(out.String(), fmt.Sprintf(" | %d | ", pages)); rows != 1+len(readers()) {
			t.Errorf("%s: %d rows: %s", web, rows, out.String())
		}
	}
}
