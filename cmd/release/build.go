package main

import (
	"cmp"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// A release is made from one commit.
type release struct {
	top        string    // the repository
	temp, root string    // a directory for temporary files, and in it a clone of the repository
	version    string    // of the program, with the commit if that commit has no tag of the version
	time       time.Time // of all files
	manuals    []file    // manual pages and completions
}

// environment sets all variables that change what go build makes. Other variables are those of
// the caller.
var environment = []string{
	"CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "GOEXPERIMENT=", "GOFIPS140=off", "GOAMD64=v1", "GOARM64=v8.0",
	"GIT_OPTIONAL_LOCKS=0", // git status, by which go build finds out whether the source is modified, writes no index
}

// output returns what a command prints.
func output(ctx context.Context, dir string, env []string, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.Output()
	if err != nil {
		said := ""
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			said = ": " + strings.TrimSpace(string(exit.Stderr))
		}
		return nil, fmt.Errorf("%s %s: %w%s", name, strings.Join(args, " "), err, said)
	}
	return out, nil
}

// open clones the repository of the working directory, so that nothing besides its commit gets
// into the release, and finds the version. If modified is true, changes that are not committed get
// into it, too.
func open(ctx context.Context, modified bool) (_ *release, err error) {
	top, err := output(ctx, "", nil, "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, err
	}
	r := &release{top: filepath.FromSlash(strings.TrimSpace(string(top)))}
	if r.temp, err = os.MkdirTemp("", "permesso-release-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(r.temp))
		}
	}()
	if err := r.clone(ctx, modified); err != nil {
		return nil, err
	}
	native := platform{runtime.GOOS, runtime.GOARCH}
	if err := r.build(ctx, native); err != nil {
		return nil, err
	}
	out, err := output(ctx, "", nil, r.program(native), "version", "--json")
	if err != nil {
		return nil, err
	}
	var is struct {
		Version  string    `json:"version"`
		Commit   string    `json:"commit"`
		Time     time.Time `json:"commit_time"`
		Modified bool      `json:"modified"`
	}
	if err := json.Unmarshal(out, &is); err != nil {
		return nil, fmt.Errorf("crawl version --json: %w", err)
	}
	if is.Commit == "" || is.Time.IsZero() {
		return nil, fmt.Errorf("go build has not found the commit of %s", r.top)
	}
	if r.time, err = epoch(is.Time, os.Getenv("SOURCE_DATE_EPOCH")); err != nil {
		return nil, err
	}
	tags, err := output(ctx, r.root, nil, "git", "tag", "--points-at", is.Commit)
	if err != nil {
		return nil, err
	}
	if r.version, err = versionOf(is.Version, is.Commit, is.Time, is.Modified, strings.Fields(string(tags))); err != nil {
		return nil, err
	}
	r.manuals, err = r.manual(ctx, r.program(native))
	return r, err
}

// clone makes a clone of the repository at its commit.
func (r *release) clone(ctx context.Context, modified bool) error {
	changed, err := output(ctx, r.top, nil, "git", "ls-files", "-z", "--modified", "--deleted", "--others", "--exclude-standard")
	if err != nil {
		return err
	}
	staged, err := output(ctx, r.top, nil, "git", "diff", "-z", "--name-only", "--cached")
	if err != nil {
		return err
	}
	names := strings.FieldsFunc(string(changed)+string(staged), func(c rune) bool { return c == 0 })
	if len(names) > 0 && !modified {
		return fmt.Errorf("the source differs from its commit (%s): commit the changes, or build them with -modified to try them", names[0])
	}
	commit, err := output(ctx, r.top, nil, "git", "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	r.root = filepath.Join(r.temp, "source")
	if _, err := output(ctx, "", nil, "git", "clone", "--quiet", "--no-checkout", "--shared", r.top, r.root); err != nil {
		return err
	}
	if _, err := output(ctx, r.root, nil, "git", "-c", "core.autocrlf=false", "-c", "advice.detachedHead=false", "checkout", "--quiet", strings.TrimSpace(string(commit))); err != nil {
		return err
	}
	for _, name := range names {
		if err := mirror(filepath.Join(r.top, filepath.FromSlash(name)), filepath.Join(r.root, filepath.FromSlash(name))); err != nil {
			return err
		}
	}
	return nil
}

// mirror makes the file at to the same as the one at from: a copy, or no file.
func mirror(from, to string) error {
	data, err := os.ReadFile(from)
	if errors.Is(err, fs.ErrNotExist) {
		err := os.Remove(to)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o644)
}

// epoch returns the time of the files: that of SOURCE_DATE_EPOCH if it is set, otherwise that of
// the commit.
func epoch(commit time.Time, set string) (time.Time, error) {
	if set == "" {
		return commit.UTC(), nil
	}
	n, err := strconv.ParseInt(set, 10, 64)
	if err != nil || n < 0 {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH is %q, not a number of seconds since 1970", set)
	}
	return time.Unix(n, 0).UTC(), nil
}

var versionTag = regexp.MustCompile(`^v\d+\.\d+\.\d+(-.*)?$`)

// versionOf returns the version of the files. A commit without a tag of its version is older than
// that version. It fails if the commit has a tag of another version.
func versionOf(version, commit string, at time.Time, modified bool, tags []string) (string, error) {
	tags = slices.DeleteFunc(tags, func(t string) bool { return !versionTag.MatchString(t) })
	tagged := slices.Contains(tags, "v"+version)
	if len(tags) > 0 && !tagged {
		return "", fmt.Errorf("the commit has the tag %s, and the version in its source is %s: correct the constant Version, or the tag", tags[0], version)
	}
	if tagged && !modified {
		return version, nil
	}
	v := fmt.Sprintf("%s-dev.%s.%.8s", version, at.UTC().Format("20060102150405"), commit)
	if modified {
		v += ".modified"
	}
	return v, nil
}

// program returns the path of the program that is built for a platform.
func (r *release) program(p platform) string {
	return filepath.Join(r.temp, p.os+"_"+p.arch, p.name())
}

// name returns the file name of the program.
func (p platform) name() string {
	if p.os == "windows" {
		return "crawl.exe"
	}
	return "crawl"
}

// build builds the program for a platform.
func (r *release) build(ctx context.Context, p platform) error {
	env := slices.Concat(environment, []string{"GOOS=" + p.os, "GOARCH=" + p.arch})
	_, err := output(ctx, r.root, env, "go", "build", "-trimpath", "-buildvcs=true", "-mod=readonly", "-ldflags=-s -w", "-o", r.program(p), "./cmd/crawl")
	return err
}

// moduleDirs returns the directories of the modules in the build list, by PATH@VERSION. A module
// that was not needed so far has none.
func moduleDirs(ctx context.Context, root string) (map[string]string, error) {
	out, err := output(ctx, root, environment, "go", "list", "-mod=readonly", "-m", "-f", "{{.Path}}@{{.Version}}\t{{.Dir}}", "all")
	if err != nil {
		return nil, err
	}
	dirs := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, dir, _ := strings.Cut(strings.TrimSpace(line), "\t")
		dirs[name] = dir
	}
	return dirs, nil
}

// manual returns the manual pages and completions that the program writes. The pages have the
// date of the commit.
func (r *release) manual(ctx context.Context, program string) (files []file, err error) {
	dir := filepath.Join(r.temp, "man1")
	if _, err := output(ctx, "", nil, program, "man", dir); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		files = append(files, file{name: "man/man1/" + e.Name(), data: text})
	}
	for _, c := range []struct{ shell, name string }{{"bash", "crawl.bash"}, {"fish", "crawl.fish"}, {"powershell", "crawl.ps1"}, {"zsh", "_crawl"}} {
		text, err := output(ctx, "", nil, program, "completion", c.shell)
		if err != nil {
			return nil, err
		}
		files = append(files, file{name: "completions/" + c.name, data: text})
	}
	return files, nil
}

// A built is the program for a platform, with what is known about it.
type built struct {
	platform
	program  []byte
	modules  []module // linked into the program
	licenses []byte   // of modules and of Go, as a text
	sbom     []byte
}

// files returns all files of the release, in the order of their names.
func (r *release) files(ctx context.Context, chosen []platform) ([]file, error) {
	made := make([][]file, len(chosen))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.NumCPU())
	for i, p := range chosen {
		group.Go(func() (err error) { // it ends when the files of its platform are made
			made[i], err = r.platformFiles(ctx, p)
			if err != nil {
				err = fmt.Errorf("%v: %w", p, err)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	text, err := r.source("cmd/release/container/Containerfile")
	if err != nil {
		return nil, err
	}
	all := append(slices.Concat(made...), file{name: "container/Containerfile", data: text})
	slices.SortFunc(all, func(a, b file) int { return cmp.Compare(a.name, b.name) })
	return append(all, file{name: sums, data: checksums(all)}), nil
}

// platformFiles returns the files of one platform.
func (r *release) platformFiles(ctx context.Context, p platform) ([]file, error) {
	b, err := r.describe(ctx, p)
	if err != nil {
		return nil, err
	}
	content, err := r.content(b)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("permesso_%s_%s_%s", r.version, p.os, p.arch)
	all := []file{{name: name + ".cdx.json", data: b.sbom}}
	pack, suffix := targz, ".tar.gz"
	if p.os == "windows" {
		pack, suffix = zipped, ".zip"
	}
	data, err := pack(under(name, content), r.time)
	if err != nil {
		return nil, err
	}
	if all = append(all, file{name: name + suffix, data: data}); p.os != "linux" {
		return all, nil
	}
	root, err := r.rootfs(b)
	if err != nil {
		return nil, err
	}
	deb, debName, err := r.debian(b, content)
	if err != nil {
		return nil, err
	}
	return append(all, file{name: "container/rootfs_" + p.arch + ".tar", data: root}, file{name: debName, data: deb}), nil
}

// describe builds the program for a platform, and finds what is linked into it.
func (r *release) describe(ctx context.Context, p platform) (b built, err error) {
	if err := r.build(ctx, p); err != nil {
		return b, err
	}
	b.platform = p
	if b.program, err = os.ReadFile(r.program(p)); err != nil {
		return b, err
	}
	info, err := buildinfo.ReadFile(r.program(p))
	if err != nil {
		return b, err
	}
	if b.modules, err = r.linked(ctx, info); err != nil {
		return b, err
	}
	b.licenses = licenses(b.modules)
	b.sbom, err = r.sbom(b, info)
	return b, err
}

// source reads a file of the repository.
func (r *release) source(name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(r.root, filepath.FromSlash(name)))
}

// content returns the files of an archive.
func (r *release) content(b built) ([]file, error) {
	files := slices.Concat([]file{
		{name: b.name(), data: b.program, mode: 0o755}, {name: "sbom.cdx.json", data: b.sbom}, {name: "third-party-licenses.txt", data: b.licenses},
	}, r.manuals)
	for _, name := range []string{"README.md", "LICENSE", "CHANGELOG.md"} {
		text, err := r.source(name)
		if err != nil {
			return nil, err
		}
		files = append(files, file{name: name, data: text})
	}
	if b.os == "linux" {
		for _, name := range units {
			text, err := r.source("cmd/release/systemd/" + name)
			if err != nil {
				return nil, err
			}
			files = append(files, file{name: "systemd/" + name, data: text})
		}
	}
	return files, nil
}

// units are the units of systemd, in the directory systemd.
var units = []string{"crawl-series@.service", "crawl@.service", "crawl@.timer"}
