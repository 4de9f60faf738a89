//go:build unix

package pgtest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Standby makes a standby server of s, and starts it. s commits without waiting for it. The
// caller must call Close of the standby.
func (s *Server) Standby() (*Server, error) {
	b, err := newServer(s.bin, s.settings)
	if err != nil {
		return nil, err
	}
	if err := b.Follow(s); err != nil {
		return nil, errors.Join(err, os.RemoveAll(b.Dir))
	}
	return b, nil
}

// Follow removes the data of a server that is not running, makes it a standby of primary, and
// starts it.
func (s *Server) Follow(primary *Server) error {
	if err := removeAll(s.data()); err != nil {
		return err
	}
	// Remove the lock of the socket. It has the process id of the dead server, and the new
	// server may get the same id.
	if err := os.Remove(filepath.Join(s.Dir, ".s.PGSQL.5432.lock")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// With a slot, the primary keeps the log that the standby has not received, also over a crash.
	// Without one, a checkpoint can remove it, and the standby stays behind for ever.
	slot := filepath.Base(s.Dir)
	if err := s.do("pg_basebackup", "-h", primary.Dir, "-U", "permesso", "-D", s.data(), "-R", "-X", "stream", "--create-slot", "--slot="+slot, "--checkpoint=fast", "--no-sync"); err != nil {
		return err
	}
	return s.Begin()
}

// Promote makes a standby a primary.
func (s *Server) Promote() error { return s.do("pg_ctl", "-D", s.data(), "-w", "promote") }

// Hold stops those processes of s that send commits to its standbys. The standbys then miss all
// further commits, until s is killed.
func (s *Server) Hold() error {
	said, err := s.Query("postgres", "select pid from pg_stat_replication")
	if err != nil {
		return err
	}
	for _, line := range strings.Fields(said) {
		pid, err := strconv.Atoi(line)
		if err == nil {
			err = syscall.Kill(pid, syscall.SIGSTOP)
		}
		if err != nil {
			return err
		}
		s.held = append(s.held, pid)
	}
	return nil
}

// Query runs a statement, and returns what psql prints.
func (s *Server) Query(database, statement string) (string, error) {
	cmd := exec.Command(filepath.Join(s.bin, "psql"), "-h", s.Dir, "-U", "permesso", "-At", "-c", statement, database)
	cmd.Dir, cmd.SysProcAttr = s.Dir, s.as
	said, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%v: %w\n%s", cmd, err, said)
	}
	return string(said), nil
}
