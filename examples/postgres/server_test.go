//go:build unix

package main

import (
	"cmp"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
)

// programs returns the directory of PostgreSQL's programs: the one that the environment names,
// which must have them, or Debian's newest.
func programs(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("PERMESSO_POSTGRES"); dir != "" {
		if _, err := os.Stat(filepath.Join(dir, "initdb")); err != nil {
			t.Fatalf("PERMESSO_POSTGRES: %v", err)
		}
		return dir
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		t.Fatal(err)
	}
	if initdb, err := exec.LookPath("initdb"); err == nil {
		found = append(found, initdb)
	}
	if len(found) == 0 {
		t.Skip("no PostgreSQL is installed: there is no initdb in /usr/lib/postgresql (Debian's package postgresql) nor on the PATH")
	}
	return filepath.Dir(slices.MaxFunc(found, func(a, b string) int {
		return cmp.Or(cmp.Compare(version(a), version(b)), cmp.Compare(a, b))
	}))
}

// version returns the number in a path like /usr/lib/postgresql/15/bin/initdb, or 0.
func version(initdb string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(initdb))))
	return n
}

// postgres runs a server for the test, and returns the directory of its socket. Its superuser
// is permesso.
func postgres(t *testing.T) (dir string) {
	t.Helper()
	bin := programs(t)
	// The directory of the test cannot be used: only its owner may enter it, and the name of a
	// socket must be short.
	dir, err := os.MkdirTemp("", "pg")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	as := &syscall.SysProcAttr{}
	if os.Getuid() == 0 { // PostgreSQL refuses to run as root
		as.Credential = servant(t)
		if err := os.Chown(dir, int(as.Credential.Uid), int(as.Credential.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	do := func(program string, args ...string) {
		t.Helper()
		// The output is a file: a pipe would also be open in the server, and reading it would
		// not end.
		log, err := os.CreateTemp(t.TempDir(), program)
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		cmd := exec.Command(filepath.Join(bin, program), args...)
		cmd.Dir, cmd.SysProcAttr, cmd.Stdout, cmd.Stderr = dir, as, log, log
		if err := cmd.Run(); err != nil {
			said, _ := os.ReadFile(log.Name())
			server, _ := os.ReadFile(filepath.Join(dir, "log"))
			t.Fatalf("%v: %v\n%s%s", cmd, err, said, server)
		}
	}
	data := filepath.Join(dir, "data")
	do("initdb", "-D", data, "-U", "permesso", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
	// The crawl is killed, not the server, which need not survive a power failure.
	do("pg_ctl", "-D", data, "-l", filepath.Join(dir, "log"), "-w", "-o", "-k "+dir+" -c listen_addresses= -c fsync=off", "start")
	t.Cleanup(func() { do("pg_ctl", "-D", data, "-m", "immediate", "stop") })
	return dir
}

// servant returns the user postgres of Debian, or else the user nobody.
func servant(t *testing.T) *syscall.Credential {
	t.Helper()
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	t.Fatal("the server cannot run as root, and there is no user postgres or nobody")
	return nil
}
