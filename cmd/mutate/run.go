package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	late     fate = "killed by time"
	unbuilt  fate = "does not compile"
)

// tester runs the tests of a package against mutants. It never writes into the
// module: the compiler is told where the changed file is (go test -overlay).
type tester struct {
	root    string        // of the module
	tests   []string      // packages whose tests are run
	timeout time.Duration // of one mutant
	scratch string        // a directory of its own
}

// try returns the fate of mutant number i. The error is one of this machine, not
// of the mutant.
func (t *tester) try(ctx context.Context, i int, m *mutant, source []byte) (fate, error) {
	dir := filepath.Join(t.scratch, fmt.Sprint(i))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	changed := filepath.Join(dir, filepath.Base(m.file))
	if err := os.WriteFile(changed, m.apply(source), 0o644); err != nil {
		return "", err
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {m.file: changed}})
	if err != nil {
		return "", err
	}
	list := filepath.Join(dir, "overlay.json")
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
	// The build counts, too, and so does a test that ends others.
	bound, cancel := context.WithTimeout(ctx, 2*t.timeout+time.Minute)
	defer cancel()
	args := append([]string{"test", "-vet=off", "-count=1", "-failfast", "-timeout", t.timeout.String()}, flags...)
	cmd := exec.CommandContext(bound, "go", append(args, t.tests...)...)
	cmd.Dir = t.root
	ownGroup(cmd)
	out, err := cmd.CombinedOutput()
	if bound.Err() != nil && ctx.Err() == nil {
		err = context.DeadlineExceeded
	}
	return out, err
}
