//go:build amd64 || arm64

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestCutsOfEveryCommand kills commands before each of their first operations on files, and
// then before fewer and fewer: $PERMESSO_CUTS of them, and as many each time that their
// number has about tripled. Without it few commands are killed twice.
func TestCutsOfEveryCommand(t *testing.T) {
	first, err := strconv.Atoi(os.Getenv("PERMESSO_CUTS"))
	few := err != nil
	k := newKilling(t)
	cuts := 0
	for _, c := range killedCommands {
		if few && c.name != "run of a series" && c.name != "optout purge" {
			continue
		}
		k.undisturbed(c)
		for nth := 1; !few || nth < 20; nth += 1 + nth/max(first, 1) {
			if few {
				nth += 5
			}
			k.start(c.start, c.week)
			what, operations := cut(t, k.command(c), k.root, nth, func() bool { return c.name == "schedule run" && k.seriesIsOver(c) })
			if what == "" {
				t.Logf("%s: %d operations", c.name, operations)
				break
			}
			cuts++
			k.readable(c)
			if k.finish(c, 1); t.Failed() {
				t.Fatalf("%s was killed before its operation %d: %s", c.name, nth, what)
			}
		}
	}
	t.Logf("%d cuts", cuts)
}

// cut kills a command, and each process that it has started, before its nth operation that
// changes files below root. If that is a write, a part of it is made. It returns the
// operation, or "" if there were fewer, and their number. The command gets a signal to end once
// over says so.
func cut(t *testing.T, cmd *exec.Cmd, root string, nth int, over func() bool) (what string, operations int) {
	t.Helper()
	// A process is traced by the thread that has started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		if errors.Is(err, syscall.EPERM) {
			t.Skip("no process may be traced here: ", err)
		}
		t.Fatal(err)
	}
	ended := make(chan struct{})
	defer close(ended)
	// It ends with the command.
	go func() {
		for tick := time.Tick(50 * time.Millisecond); ; {
			select {
			case <-ended:
				return
			case <-tick:
				if over() {
					_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
				}
			}
		}
	}()
	defer cmd.Wait() // its process has been waited for; this closes its pipes
	processes := []int{cmd.Process.Pid}
	seen := map[int]bool{}
	for {
		var status syscall.WaitStatus
		id, err := syscall.Wait4(-1, &status, unix.WALL|unix.WNOTHREAD, nil)
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.ECHILD:
			return what, operations
		case err != nil:
			t.Fatal(err)
		case !status.Stopped():
			continue
		}
		if !seen[id] {
			seen[id] = true
			if id == cmd.Process.Pid {
				err = syscall.PtraceSetOptions(id, unix.PTRACE_O_TRACESYSGOOD|unix.PTRACE_O_TRACECLONE|unix.PTRACE_O_TRACEFORK|
					unix.PTRACE_O_TRACEVFORK|unix.PTRACE_O_TRACEEXEC|unix.PTRACE_O_EXITKILL)
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		var deliver int
		switch signal := status.StopSignal(); {
		case signal == syscall.SIGTRAP|0x80:
			operation, ok := fileOperation(id, root)
			if !ok || what != "" {
				break
			}
			if operations++; operations == nth {
				operation.tear(nth)
				what = operation.String()
				for _, pid := range processes {
					_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
				}
			}
		case signal == syscall.SIGTRAP:
			if cause := status.TrapCause(); cause == unix.PTRACE_EVENT_FORK || cause == unix.PTRACE_EVENT_VFORK {
				if pid, err := syscall.PtraceGetEventMsg(id); err == nil {
					processes = append(processes, int(pid))
				}
			}
		case signal != syscall.SIGSTOP:
			deliver = int(signal)
		}
		if err := syscall.PtraceSyscall(id, deliver); err != nil && err != syscall.ESRCH {
			t.Fatal(err)
		}
	}
}

// systemCall is the answer of PTRACE_GET_SYSCALL_INFO at the entry of a system call.
type systemCall struct {
	op          uint8
	_           [3]uint8
	arch        uint32
	instruction uint64
	stack       uint64
	number      uint64
	args        [6]uint64
	_           [16]byte // for the other stops
}

// An operation changes a file.
type operation struct {
	systemCall
	id   int // of the thread
	name string
	path string
}

func (o operation) String() string { return o.name + " " + o.path }

// fileOperation returns the operation on a file below root that a thread is about to make.
func fileOperation(id int, root string) (o operation, ok bool) {
	const entry = 1
	o.id = id
	_, _, err := syscall.RawSyscall6(syscall.SYS_PTRACE, unix.PTRACE_GET_SYSCALL_INFO, uintptr(id), unsafe.Sizeof(o.systemCall), uintptr(unsafe.Pointer(&o.systemCall)), 0, 0)
	if err != 0 || o.op != entry {
		return o, false
	}
	byPath := func(name string, at int) {
		o.name, o.path = name, textAt(id, o.args[at])
		if !filepath.IsAbs(o.path) {
			dir, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", id))
			o.path = filepath.Join(dir, o.path)
		}
	}
	byDescriptor := func(name string) {
		o.name = name
		o.path, _ = os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", id, int32(o.args[0])))
	}
	switch o.number {
	case unix.SYS_OPENAT:
		if o.args[2]&(unix.O_CREAT|unix.O_TRUNC) != 0 {
			byPath("open", 1)
		}
	case unix.SYS_MKDIRAT:
		byPath("mkdir", 1)
	case unix.SYS_UNLINKAT:
		byPath("unlink", 1)
	case unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2:
		byPath("rename", 1)
	case unix.SYS_LINKAT:
		byPath("link", 3)
	case unix.SYS_SYMLINKAT:
		byPath("symlink", 2)
	case unix.SYS_FCHMODAT:
		byPath("chmod", 1)
	case unix.SYS_WRITE:
		byDescriptor("write")
	case unix.SYS_PWRITE64:
		byDescriptor("pwrite")
	case unix.SYS_WRITEV, unix.SYS_PWRITEV:
		byDescriptor("writev")
	case unix.SYS_FTRUNCATE:
		byDescriptor("truncate")
	case unix.SYS_FALLOCATE:
		byDescriptor("fallocate")
	case unix.SYS_FSYNC, unix.SYS_FDATASYNC:
		byDescriptor("sync")
	}
	return o, strings.HasPrefix(o.path, root+string(filepath.Separator))
}

// textAt reads a zero-terminated text from the memory of a process.
func textAt(id int, address uint64) string {
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", id))
	if err != nil {
		return ""
	}
	defer memory.Close()
	var text []byte
	for part := make([]byte, 256); len(text) < unix.PathMax; {
		n, err := memory.ReadAt(part[:256-(address+uint64(len(text)))%256], int64(address)+int64(len(text)))
		if before, _, ok := strings.Cut(string(part[:n]), "\x00"); ok {
			return string(append(text, before...))
		}
		if err != nil {
			return ""
		}
		text = append(text, part[:n]...)
	}
	return ""
}

// tear makes a part of a write, for a process that is then killed: a kill may interrupt a
// write.
func (o *operation) tear(nth int) {
	if o.name != "write" && o.name != "pwrite" {
		return
	}
	part := make([]byte, int(o.args[2])*(nth%8)/8)
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", o.id))
	if err != nil {
		return
	}
	defer memory.Close()
	if n, err := memory.ReadAt(part, int64(o.args[1])); err != nil || n == 0 {
		return
	}
	var offset, flags int64
	info, err := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%d", o.id, o.args[0]))
	if err != nil {
		return
	}
	if _, err := fmt.Sscanf(string(info), "pos: %d flags: %o", &offset, &flags); err != nil {
		return
	}
	if o.name == "pwrite" {
		offset = int64(o.args[3])
	}
	f, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/%d", o.id, o.args[0]), os.O_WRONLY, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if flags&unix.O_APPEND != 0 {
		if offset, err = f.Seek(0, 2); err != nil {
			return
		}
	}
	if n, err := f.WriteAt(part, offset); err == nil {
		o.name = fmt.Sprintf("%s (%d of %d bytes)", o.name, n, o.args[2])
	}
}
