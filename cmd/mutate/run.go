package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// A fate is what became of a mutant.
type fate string

const (
	killed   fate = "killed"
	survived fate = "survived"
	late     fate = "not ended in time"
	unbuilt  fate = "does not compile"
)

// A tester runs the tests of a package against mutants, one at a time, in a copy of the module.
// Tests may leave files, such as the case that failed: these must neither be in the tree nor
// help to kill the next mutant. go test -overlay replaces the changed file.
type tester struct {
	root    string          // root of the module
	tests   []string        // packages whose tests are run
	timeout time.Duration   // for one mutant
	scratch string          // a directory of its own
	files   map[string]bool // of the copy, by path
}

// newTester copies the module at root into scratch.
func newTester(root, scratch string, tests []string, timeout time.Duration) (*tester, error) {
	t := &tester{root: root, tests: tests, timeout: timeout, scratch: scratch, files: map[string]bool{}}
	return t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(t.tree(), relative(root, path))
		switch {
		case d.Name() == ".git":
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir():
			return os.MkdirAll(to, 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		t.files[to] = true
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, b, 0o644)
	})
}

func (t *tester) tree() string { return filepath.Join(t.scratch, "tree") }

// clean removes the files that tests have left.
func (t *tester) clean() error {
	return filepath.WalkDir(t.tree(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || t.files[path] {
			return err
		}
		return os.Remove(path)
	})
}

// try returns the fate of a mutant. The error is a failure of the machine, not of the mutant.
func (t *tester) try(ctx context.Context, m *mutant, source []byte) (fate, error) {
	changed := filepath.Join(t.scratch, filepath.Base(m.file))
	if err := os.WriteFile(changed, m.apply(source), 0o644); err != nil {
		return "", err
	}
	original := filepath.Join(t.tree(), relative(t.root, m.file))
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	if err != nil {
		return "", err
	}
	list := filepath.Join(t.scratch, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o644); err != nil {
		return "", err
	}
	out, err := t.test(ctx, "-overlay", list)
	var failed *exec.ExitError
	switch {
	case err == nil:
		return survived, nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.Is(err, context.DeadlineExceeded), bytes.Contains(out, []byte("panic: test timed out after")):
		return late, nil
	case bytes.Contains(out, []byte("[build failed]")), bytes.Contains(out, []byte("[setup failed]")):
		return unbuilt, nil
	case errors.As(err, &failed):
		return killed, nil
	}
	return "", fmt.Errorf("go test: %w", err)
}

// test runs the tests with further flags.
func (t *tester) test(ctx context.Context, flags ...string) ([]byte, error) {
	// The time includes the build, and a test that stops others.
	bound, cancel := context.WithTimeout(ctx, 2*t.timeout+time.Minute)
	defer cancel()
	args := append([]string{"test", "-vet=off", "-count=1", "-failfast", "-ldflags=-s -w", "-timeout", t.timeout.String()}, flags...)
	cmd := exec.CommandContext(bound, "go", append(args, t.tests...)...)
	cmd.Dir = t.tree()
	ownGroup(cmd)
	out, err := cmd.CombinedOutput()
	if bound.Err() != nil && ctx.Err() == nil {
		err = context.DeadlineExceeded
	}
	if left := t.clean(); left != nil {
		return out, left
	}
	return out, err
}
