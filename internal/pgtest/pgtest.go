//go:build unix

// Package pgtest runs PostgreSQL servers for tests, with the programs that are installed on this
// machine.
package pgtest

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ErrNone says that PostgreSQL is not installed.
var ErrNone = errors.New("no PostgreSQL is installed: there is no initdb in /usr/lib/postgresql (Debian's package postgresql) nor on the PATH")

// programs returns the directory of PostgreSQL's programs: the directory in the environment
// variable, which must have them, or else the newest of Debian.
func programs() (string, error) {
	if dir := os.Getenv("PERMESSO_POSTGRES"); dir != "" {
		if _, err := os.Stat(filepath.Join(dir, "initdb")); err != nil {
			return "", fmt.Errorf("PERMESSO_POSTGRES: %w", err)
		}
		return dir, nil
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		return "", err
	}
	if initdb, err := exec.LookPath("initdb"); err == nil {
		found = append(found, initdb)
	}
	if len(found) == 0 {
		return "", ErrNone
	}
	return filepath.Dir(slices.MaxFunc(found, func(a, b string) int {
		return cmp.Or(cmp.Compare(version(a), version(b)), cmp.Compare(a, b))
	})), nil
}

// version returns the number in a path like /usr/lib/postgresql/15/bin/initdb, or 0.
func version(initdb string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(initdb))))
	return n
}

// A Server is a PostgreSQL server with its own data. It listens only on a socket in Dir. Its
// superuser is permesso.
type Server struct {
	Dir string

	bin      string
	as       *syscall.SysProcAttr
	settings []string
	args     string
	held     []int // process ids that Hold has stopped
	down     bool  // the server was stopped or killed
}

// Start makes a Server and starts it. settings are settings of PostgreSQL, such as "fsync=off".
// The caller must call Close. The error is ErrNone if PostgreSQL is not installed.
func Start(settings ...string) (s *Server, err error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	s, err = newServer(bin, settings)
	if err != nil {
		return nil, err
	}
	if err := s.do("initdb", "-D", s.data(), "-U", "permesso", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"); err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.Dir))
	}
	// Users other than permesso need a password.
	hba := "local all permesso trust\nlocal replication permesso trust\nlocal all all scram-sha-256\n"
	err = os.WriteFile(filepath.Join(s.data(), "pg_hba.conf"), []byte(hba), 0o600)
	if err == nil {
		err = s.Begin()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.Dir))
	}
	return s, nil
}

// newServer makes the directory of a server and its data.
func newServer(bin string, settings []string) (s *Server, err error) {
	// Do not use the directory of the test: only its owner may enter it, and the path of a
	// socket must be short.
	dir, err := os.MkdirTemp("", "pg")
	if err != nil {
		return nil, err
	}
	s = &Server{Dir: dir, bin: bin, as: &syscall.SysProcAttr{}, settings: settings, args: "-k " + dir + " -c listen_addresses="}
	for _, set := range settings {
		s.args += " -c " + set
	}
	defer func() {
		if err != nil {
			os.RemoveAll(dir)
		}
	}()
	if os.Getuid() == 0 { // PostgreSQL refuses to run as root
		if s.as.Credential, err = servant(); err != nil {
			return nil, err
		}
		if err := os.Chown(dir, int(s.as.Credential.Uid), int(s.as.Credential.Gid)); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *Server) data() string { return filepath.Join(s.Dir, "data") }

// Begin starts a server that was stopped or killed, and waits until it answers.
func (s *Server) Begin() error {
	err := s.do("pg_ctl", "-D", s.data(), "-l", filepath.Join(s.Dir, "log"), "-w", "-o", s.args, "start")
	s.down = s.down && err != nil
	return err
}

// Kill kills all processes of the server, as a crash would.
func (s *Server) Kill() error {
	raw, err := os.ReadFile(filepath.Join(s.data(), "postmaster.pid"))
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(string(raw), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		return err
	}
	s.down = true
	// The other processes of the server end when they notice that the first one is gone.
	err = syscall.Kill(pid, syscall.SIGKILL)
	for _, pid := range s.held {
		err = errors.Join(err, syscall.Kill(pid, syscall.SIGKILL))
	}
	s.held = nil
	return err
}

// Stop stops the server, which ends the open connections.
func (s *Server) Stop() error {
	err := s.do("pg_ctl", "-D", s.data(), "-w", "-m", "fast", "stop")
	s.down = s.down || err == nil
	return err
}

// Close stops the server, and removes its data.
func (s *Server) Close() error {
	var err error
	if !s.down {
		err = s.do("pg_ctl", "-D", s.data(), "-w", "-m", "immediate", "stop")
	}
	return errors.Join(err, removeAll(s.Dir))
}

// removeAll removes a directory. It tries again for some time, because processes of a killed
// server may still write into it.
func removeAll(dir string) (err error) {
	for range 50 {
		if err = os.RemoveAll(dir); err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}

// URL returns the connection string of a database.
func (s *Server) URL(database string) string {
	return fmt.Sprintf("host=%s user=permesso dbname=%s", s.Dir, database)
}

// Create creates a database, and returns its connection string.
func (s *Server) Create(database string) (string, error) {
	return s.URL(database), s.do("createdb", "-h", s.Dir, "-U", "permesso", database)
}

func (s *Server) do(program string, args ...string) error {
	// Write the output to a file. A pipe would stay open in the server, so that reading it
	// would never end.
	log, err := os.CreateTemp("", program)
	if err != nil {
		return err
	}
	defer os.Remove(log.Name())
	defer log.Close()
	cmd := exec.Command(filepath.Join(s.bin, program), args...)
	cmd.Dir, cmd.SysProcAttr, cmd.Stdout, cmd.Stderr = s.Dir, s.as, log, log
	if err := cmd.Run(); err != nil {
		said, _ := os.ReadFile(log.Name())
		server, _ := os.ReadFile(filepath.Join(s.Dir, "log"))
		return fmt.Errorf("%v: %w\n%s%s", cmd, err, said, server)
	}
	return nil
}

// servant returns Debian's user postgres, or else the user "nobody".
func servant() (*syscall.Credential, error) {
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return nil, err
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			return nil, err
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("the server cannot run as root, and there is no user postgres or nobody")
}
