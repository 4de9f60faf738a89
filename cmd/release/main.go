// Release makes all files of a release from the checked-out commit: archives for five platforms,
// Debian packages, what the container image is built from, a software bill of materials for each
// program, and the checksums of these files.
//
//	go run .
//
// The files are in the directory dist of the repository. The same commit, tags and version of Go
// give the same bytes in every directory, and on every machine with the same operating system.
// Release refuses a source that differs from its commit, unless -modified allows it.
//
// Exit codes: 0 done, 1 fatal, 2 usage.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	code, err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if err != nil {
		fmt.Fprintf(os.Stderr, "release: %v\n", err)
	}
	os.Exit(code)
}

// A platform is a system that a release has a program for.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "/" + p.arch }

// platforms are those of a release.
var platforms = []platform{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}}

func run(ctx context.Context, args []string, out, errOut io.Writer) (code int, err error) {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.SetOutput(errOut)
	dir := flags.String("o", "", "`directory` of the files (default: dist in the repository); the files of another release in it are replaced")
	modified := flags.Bool("modified", false, "also build a source that differs from its commit, to try it")
	only := flags.String("platforms", "", "build only these `platforms`, such as linux/amd64,darwin/arm64")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0, nil
	case err != nil:
		return 2, nil // Parse has printed the error
	case flags.NArg() > 0:
		return 2, fmt.Errorf("there are no arguments, got %q", flags.Arg(0))
	}
	chosen, err := choose(*only)
	if err != nil {
		return 2, err
	}
	r, err := open(ctx, *modified)
	if err != nil {
		return 1, err
	}
	defer func() {
		if rerr := os.RemoveAll(r.temp); rerr != nil {
			code, err = 1, errors.Join(err, rerr)
		}
	}()
	if *dir == "" {
		*dir = filepath.Join(r.top, "dist")
	}
	if err := replaceable(*dir); err != nil { // before minutes of work, and again after it
		return 1, err
	}
	files, err := r.files(ctx, chosen)
	if err != nil {
		return 1, err
	}
	if err := write(*dir, files); err != nil {
		return 1, err
	}
	for _, f := range files {
		fmt.Fprintln(out, filepath.Join(*dir, filepath.FromSlash(f.name)))
	}
	return 0, nil
}

// choose returns the platforms in a list with commas, or all if the list is empty.
func choose(list string) (chosen []platform, err error) {
	if list == "" {
		return platforms, nil
	}
	for name := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(platforms, func(p platform) bool { return p.String() == name })
		if i < 0 {
			return nil, fmt.Errorf("-platforms: %q is not one of %v", name, platforms)
		}
		chosen = append(chosen, platforms[i])
	}
	return chosen, nil
}
