package state

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// While a long read runs, commits do not block. The pages that were freed meanwhile are reused
// after the read.
func TestALongReadHoldsNobodyUp(t *testing.T) {
	if mapAhead() == 0 {
		t.Skip("to map more of the file waits for readers on this system")
	}
	db := open(t, t.TempDir())
	defer db.Close()
	churn := func(n int) {
		for i := range n {
			if err := db.Put("key", strings.Repeat("x", 5000+i)); err != nil {
				t.Fatal(err)
			}
			if err := db.Submit(frontier.Completion{Common: []frontier.CommonClock{{Name: "ip", Due: time.Unix(int64(i), 0)}}}); err != nil {
				t.Fatal(err)
			}
			settle(t, db, 1)
		}
	}
	churn(5)
	tx, err := db.file.bolt.Begin(false)
	if err != nil {
		t.Fatal(err)
	}
	churn(100)
	held := db.file.bolt.Stats().PendingPageN
	if held < 200 {
		t.Errorf("only %d pages are pending during a read", held)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	size := func() int64 {
		info, err := os.Stat(filepath.Join(db.file.dir, File))
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	churn(5)
	before := size()
	churn(50)
	if after, pending := size(), db.file.bolt.Stats().PendingPageN; after != before || pending > held/4 {
		t.Errorf("after the read %d pages are pending (%d before), and the file grew from %d to %d", pending, held, before, after)
	}
}

// TestHolderProcess runs in the process that TestTwoProcesses starts.
func TestHolderProcess(t *testing.T) {
	dir := os.Getenv("PERMESSO_HOLD")
	if dir == "" {
		t.Skip("runs as a child")
	}
	open(t, dir)
	fmt.Println("held")
	select {}
}

func TestTwoProcesses(t *testing.T) {
	dir := filled(t)
	child := exec.Command(os.Args[0], "-test.run=^TestHolderProcess$")
	child.Env = append(os.Environ(), "PERMESSO_HOLD="+dir)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Wait()
	defer child.Process.Kill()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatalf("child: %q, %v", line, err)
	}
	_, err = start(dir, Options{})
	var inUse *InUseError
	if !errors.As(err, &inUse) || inUse.Run == nil || inUse.Run.PID != child.Process.Pid {
		t.Errorf("Open: %v, want an *InUseError of process %d", err, child.Process.Pid)
	}
	if _, err := (Check{}).Read(t.Context(), dir); !errors.As(err, &inUse) {
		t.Errorf("Check: %v", err)
	}
	if run, ok := Holder(dir); !ok || run.PID != child.Process.Pid {
		t.Errorf("Holder: %+v, %v", run, ok)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	child.Wait()
	checked(t, dir)
	if _, ok := Holder(dir); ok {
		t.Error("a process that was killed holds the crawl")
	}
	db := open(t, dir)
	if !db.Begun().Unclean {
		t.Error("opens as clean after a kill")
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

func TestAClosedCrawlSaysSo(t *testing.T) {
	dir := filled(t)
	db := open(t, dir)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	u := entry(t, "http://a.example/").URL
	_, readErr := db.Read(u.Site(), time.Now(), make([]frontier.Entry, 1))
	_, _, fateErr := fateFor(db, u)
	for what, err := range map[string]error{
		"Close": db.Close(), "Submit": db.Submit(frontier.Completion{}), "Read": readErr, "Fate": fateErr,
		"Sites": pairErrors(db.Sites()),
	} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s after Close: %v, want ErrClosed", what, err)
		}
	}
}
