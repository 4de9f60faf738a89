package control

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/permesso-crawler/permesso/internal/store"
)

// Name is the name of the socket in the directory of a crawl.
const Name = "control"

// private is the directory in which a socket is made before it is renamed. No other user
// can look into this directory, so no other user can connect to the socket before its
// permissions are set.
const private = ".ctl"

// longest is the maximum length of a socket's path, in bytes.
const longest = len(syscall.RawSockaddrUnix{}.Path) - 1

// A place is where a socket lies.
type place struct {
	path string
	is   fs.FileInfo // of the socket, to recognise it later
	dir  string      // directory made for the socket; empty if the socket lies in the directory of the crawl
}

// listen makes the socket of the crawl in dir, whose lock this process holds. It replaces the
// socket of a process that was killed.
func listen(dir string) (net.Listener, *place, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, nil, err
	}
	if len(filepath.Join(dir, Name)) <= longest {
		return listenIn(dir)
	}
	return listenElsewhere(dir, runtimeDirs())
}

// runtimeDirs returns directories for sockets: the directory of the user's session
// (XDG_RUNTIME_DIR of the XDG Base Directory Specification), and the directory for
// temporary files.
func runtimeDirs() (dirs []string) {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		dirs = append(dirs, dir)
	}
	return append(dirs, os.TempDir())
}

// listenElsewhere makes the socket in a new directory. It uses the first of dirs in which
// the path of the socket is short enough, and records that path in run.json.
func listenElsewhere(crawl string, dirs []string) (net.Listener, *place, error) {
	errs := []error{fmt.Errorf("the path of %s is longer than the %d bytes that a socket may have", filepath.Join(crawl, Name), longest)}
	for _, parent := range dirs {
		dir, err := os.MkdirTemp(parent, "permesso-") // mode 0700
		if err == nil {
			var l net.Listener
			var at *place
			if l, at, err = listenIn(dir); err == nil {
				at.dir = dir
				if err = store.NameControl(crawl, at.path); err == nil {
					return l, at, nil
				}
				err = errors.Join(err, l.Close(), at.leave())
			} else {
				err = errors.Join(err, os.Remove(dir))
			}
		}
		errs = append(errs, err)
	}
	return nil, nil, errors.Join(errs...)
}

// listenIn makes the socket in dir.
func listenIn(dir string) (net.Listener, *place, error) {
	path := filepath.Join(dir, Name)
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() != fs.ModeSocket && runtime.GOOS != "windows" {
		return nil, nil, fmt.Errorf("%s is in the way: it is not a socket", path)
	}
	made, first := filepath.Join(dir, private), filepath.Join(dir, private, "s")
	if runtime.GOOS == "windows" {
		// On Windows the permissions of the directory decide who may connect, and the socket is
		// made under its final name.
		made, first = "", path
		_ = os.Remove(path)
	} else {
		_, _ = os.Remove(first), os.Remove(made) // left by a process that was killed here
		if err := os.Mkdir(made, 0o700); err != nil {
			return nil, nil, err
		}
		defer os.Remove(made)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: first, Net: "unix"})
	if err != nil {
		return nil, nil, err
	}
	l.SetUnlinkOnClose(false) // when the listener is closed, the path may be the socket of another process
	at := &place{path: path}
	if made != "" {
		if err = os.Chmod(first, 0o600); err == nil {
			err = os.Rename(first, path)
		}
	}
	if err == nil {
		at.is, err = os.Lstat(path)
	}
	if err != nil {
		return nil, nil, errors.Join(err, l.Close(), os.Remove(first))
	}
	return l, at, nil
}

// leave removes the socket, unless the path now belongs to the socket of another process.
func (p *place) leave() error {
	is, err := os.Lstat(p.path)
	if err == nil && os.SameFile(is, p.is) {
		err = os.Remove(p.path)
	}
	if p.dir != "" {
		err = errors.Join(err, os.Remove(p.dir))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Sweep removes the socket that a killed process has left in the directory of a crawl, or
// in another directory that run.json names. It does so because programs that copy
// directories stop at sockets. It keeps the socket of a process that listens, and files
// that are not sockets. It ignores errors, because the next run removes the socket, too.
func Sweep(dir string) {
	if runtime.GOOS == "windows" {
		return // on Windows the mode of a file does not say that it is a socket
	}
	sweepAt(filepath.Join(dir, Name))
	if run, err := store.ReadRun(dir); err == nil && run.Control != "" && filepath.Base(run.Control) == Name {
		if sweepAt(run.Control) {
			_ = os.Remove(filepath.Dir(run.Control))
		}
	}
}

// sweepAt removes a socket on which no process listens. It renames the socket first,
// because meanwhile a run may begin and make its own socket.
func sweepAt(path string) (removed bool) {
	is, err := os.Lstat(path)
	if err != nil || is.Mode().Type() != fs.ModeSocket {
		return false
	}
	conn, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		conn.Close()
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return false
	}
	dead := path + ".dead"
	if err := os.Rename(path, dead); err != nil {
		return false
	}
	if now, err := os.Lstat(dead); err == nil && !os.SameFile(is, now) {
		_ = os.Rename(dead, path)
		return false
	}
	return os.Remove(dead) == nil
}
