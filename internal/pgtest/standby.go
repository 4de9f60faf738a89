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

// Standby makes a standby of s, and starts it. s does not wait for it when it commits. The caller
// ends it with Close.
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

// Follow removes the data of a server that does not run, makes it a standby of primary, and starts
// it.
func (s *Server) Follow(primary *Server) error {
	if err := removeAll(s.data()); err != nil {
		return err
	}
	// The dead server may still have its number, so that the new one would take its socket for one
	// that is in use.
	if err := os.Remove(filepath.Join(s.Dir, ".s.PGSQL.5432.lock")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := s.do("pg_basebackup", "-h", primary.Dir, "-U", "permesso", "-D", s.data(), "-R", "-X", "stream", "--checkpoint=fast", "--no-sync"); err != nil {
		return err
	}
	return s.Begin()
}

// Promote makes a standby a primary.
func (s *Server) Promote() error { return s.do("pg_ctl", "-D", s.data(), "-w", "promote") }

// Hold stops the processes that send to the standbys of s what s commits: until the server is
// killed, its standbys fall behind.
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

// Query returns what psql prints for a statement.
func (s *Server) Query(database, statement string) (string, error) {
	cmd := exec.Command(filepath.Join(s.bin, "psql"), "-h", s.Dir, "-U", "permesso", "-At", "-c", statement, database)
	cmd.Dir, cmd.SysProcAttr = s.Dir, s.as
	said, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%v: %w\n%s", cmd, err, said)
	}
	return string(said), nil
}
