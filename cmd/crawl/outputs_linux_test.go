package main

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/internal/provenance"
	"github.com/permesso-crawler/permesso/internal/store"
	"golang.org/x/sys/unix"
)

// Each output is written to where its name leads: a device, a named pipe, or the target of
// a symbolic link. None of them becomes a regular file. An output that is read again by its
// name has to be a regular file, or to be missing.
func TestOutputsThatAreOddFiles(t *testing.T) {
	dir := t.TempDir()
	twoCrawls(t, dir)
	crawl := filepath.Join(dir, "is.crawl")
	type output struct {
		name string // of the file
		args []string
		kept bool // it is read again by its name
	}
	x := filepath.Join(dir, "X")
	outputs := []output{
		{x, []string{"report", "--out", x, crawl}, false},
		{filepath.Join(crawl, reportFile), []string{"report", crawl}, false},
		{x, []string{"audit", "--out", x, crawl}, false},
		{filepath.Join(crawl, certificateFile), []string{"audit", crawl}, false},
	}
	for _, f := range formats {
		outputs = append(outputs, output{x, []string{"export", crawl, "--format", f.name, "--force", "--output", x}, false})
	}
	for _, name := range []string{provenance.File, provenance.AbsencesFile, provenance.RobotsFile, provenance.DatasheetFile} {
		outputs = append(outputs, output{filepath.Join(crawl, name), []string{"provenance", crawl}, true})
	}
	for _, name := range []string{store.IndexFile, "index.part"} {
		outputs = append(outputs, output{filepath.Join(crawl, name), []string{"index", crawl}, true})
	}
	type kind struct {
		make func(path string) error
		mode fs.FileMode
	}
	away := filepath.Join(dir, "away")
	for name, k := range map[string]kind{
		"a device":                {func(path string) error { return unix.Mknod(path, unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))) }, fs.ModeDevice | fs.ModeCharDevice},
		"a pipe":                  {func(path string) error { return syscall.Mkfifo(path, 0o600) }, fs.ModeNamedPipe},
		"a link to a file":        {func(path string) error { return link(path, away, "old") }, fs.ModeSymlink},
		"a link to no file":       {func(path string) error { return link(path, away, "") }, fs.ModeSymlink},
		"a link to a directory":   {func(path string) error { return os.Symlink(t.TempDir(), path) }, fs.ModeSymlink},
		"a link to no directory":  {func(path string) error { return os.Symlink(filepath.Join(dir, "none", "file"), path) }, fs.ModeSymlink},
		"a link to itself":        {func(path string) error { return os.Symlink(filepath.Base(path), path) }, fs.ModeSymlink},
		"a link to another crawl": {func(path string) error { return link(path, filepath.Join(dir, "was.crawl", "kept"), "old") }, fs.ModeSymlink},
	} {
		for _, o := range outputs {
			was, _ := os.ReadFile(o.name)
			_ = os.Remove(o.name)
			if err := k.make(o.name); err != nil {
				t.Logf("%s cannot be made here: %v", name, err)
				continue
			}
			info, err := os.Lstat(o.name)
			if err != nil || info.Mode().Type() != k.mode {
				t.Logf("%s is %v here: %v", name, info.Mode(), err)
				continue
			}
			var drained chan int
			if k.mode == fs.ModeNamedPipe && !o.kept {
				drained = drain(t, o.name)
			}
			var said bytes.Buffer
			code := run(o.args, nil, &said, &said)
			refused := o.kept && k.mode&(fs.ModeDevice|fs.ModeNamedPipe) != 0 || strings.Contains(name, "directory") || strings.Contains(name, "itself")
			// A certificate that was not requested by name is left out.
			if certificate := strings.HasSuffix(o.name, certificateFile); (code != exit.Done) != (refused && !certificate) {
				t.Errorf("%s is %s: exit %d: %s", strings.Join(o.args, " "), name, code, said.String())
			}
			if refused && !strings.Contains(said.String(), o.name) && !strings.Contains(said.String(), filepath.Join(dir, "none")) {
				t.Errorf("%s is %s: what is wrong is not named: %s", strings.Join(o.args, " "), name, said.String())
			}
			if drained != nil {
				if n := <-drained; n == 0 {
					t.Errorf("%s is %s: nothing came", strings.Join(o.args, " "), name)
				}
			}
			if info, err := os.Lstat(o.name); err != nil || info.Mode().Type() != k.mode {
				t.Errorf("%s is %s: it is %v now, %v", strings.Join(o.args, " "), name, info.Mode(), err)
			}
			if to, err := os.Readlink(o.name); err == nil && !refused {
				if raw, err := os.ReadFile(to); err != nil || len(raw) < 3 || string(raw) == "old" && filepath.Base(o.name) != provenance.DatasheetFile { // a sheet keeps the text of a person
					t.Errorf("%s is %s: it leads to %.20q, %v", strings.Join(o.args, " "), name, raw, err)
				}
				_ = os.Remove(to)
			}
			if err := os.Remove(o.name); err != nil {
				t.Error(err)
			}
			if len(was) > 0 {
				if err := os.WriteFile(o.name, was, 0o644); err != nil {
					t.Error(err)
				}
			}
		}
	}
	// Nothing half made is left in any of the directories.
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || strings.HasSuffix(path, ".tmp") || strings.HasSuffix(path, ".new") {
			t.Errorf("left: %s, %v", path, err)
		}
		return nil
	})
}

// link makes a symbolic link to a file, and the file, unless text is empty.
func link(path, to, text string) error {
	if text != "" {
		if err := os.WriteFile(to, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return os.Symlink(to, path)
}

// drain reads a named pipe to its end, and sends the number of its bytes.
func drain(t *testing.T, path string) chan int {
	n := make(chan int, 1)
	// It ends when the writer closes the pipe.
	go func() {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
		}
		n <- len(raw)
	}()
	return n
}

// A device counts as no file that an export would overwrite, and its output is not read
// again.
func TestAnExportIntoWhatIsNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := writeArchive(dir); err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	n := drain(t, pipe)
	var said bytes.Buffer
	if code := run([]string{"export", dir, "--format", "csv", "--output", pipe}, nil, &said, &said); code != exit.Done || <-n == 0 {
		t.Errorf("exit %d: %s", code, said.String())
	}
	n = drain(t, pipe)
	if code := run([]string{"export", dir, "--format", "csv", "--check", "--output", pipe}, nil, &said, &said); code != exit.Usage || !strings.Contains(said.String(), "is not a regular file: give another --output") {
		t.Errorf("exit %d: %s", code, said.String())
	}
	<-n
}

// An export that waits for the reader of a named pipe ends with the first interrupt.
func TestAnInterruptEndsTheWaitForAReader(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := writeArchive(dir); err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	cmd := exec.Command("crawl", "export", dir, "--format", "csv", "--output", pipe)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second) // by then it waits; an earlier signal ends it, too
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	late := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait()
	if !late.Stop() {
		t.Error("it waits on")
	}
}
