package state

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/permesso-crawler/permesso/frontier"
)

// TestFewAddressesProcess runs in the process that TestACrawlOpensWithFewAddresses starts.
func TestFewAddressesProcess(t *testing.T) {
	dir := os.Getenv("PERMESSO_FEW_ADDRESSES")
	if dir == "" {
		t.Skip("runs as a child")
	}
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	var pages uint64 // size of the address space that this process uses, in pages of memory
	if _, err := fmt.Sscan(string(raw), &pages); err != nil {
		t.Fatal(err)
	}
	few := pages*uint64(os.Getpagesize()) + 4<<30
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: few, Max: few}); err != nil {
		t.Fatal(err)
	}
	db, err := start(dir, Options{Gather: -1})
	if err != nil {
		t.Fatal(err)
	}
	submitted(t, db, frontier.Completion{Links: []frontier.Entry{entry(t, "http://few.example/")}})
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	fmt.Println("written")
}

// If the address space of the process is limited, as by ulimit -v, Open maps less of it for the
// state file and succeeds.
func TestACrawlOpensWithFewAddresses(t *testing.T) {
	if int64(mapAhead()) < 5<<30 {
		t.Skip("the mapping fits the address space")
	}
	dir := filled(t)
	before := checked(t, dir).Entries
	child := exec.Command(os.Args[0], "-test.run=^TestFewAddressesProcess$")
	child.Env = append(os.Environ(), "PERMESSO_FEW_ADDRESSES="+dir)
	if out, err := child.CombinedOutput(); err != nil || !strings.Contains(string(out), "written\n") {
		t.Fatalf("child: %s, %v", out, err)
	}
	if after := checked(t, dir).Entries; after != before+1 {
		t.Errorf("%d entries, there were %d", after, before)
	}
}
