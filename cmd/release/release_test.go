package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"crypto/x509"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/xeipuuv/gojsonschema"
	modzip "golang.org/x/mod/zip"
)

func TestTheVersionIsThatOfTheTag(t *testing.T) {
	const commit = "0123456789abcdef0123456789abcdef01234567"
	at := time.Date(2026, 11, 27, 1, 4, 42, 0, time.FixedZone("", 3600))
	for name, c := range map[string]struct {
		modified bool
		tags     []string
		want     string // "" if there is an error
	}{
		"a release":            {tags: []string{"v1.2.0"}, want: "1.2.0"},
		"with another tag":     {tags: []string{"latest", "v1.2.0"}, want: "1.2.0"},
		"and of two versions":  {tags: []string{"v1.1.0", "v1.2.0"}, want: "1.2.0"},
		"no tag":               {want: "1.2.0-dev.20261127000442.01234567"},
		"no tag of a version":  {tags: []string{"vendor", "v1"}, want: "1.2.0-dev.20261127000442.01234567"},
		"modified":             {modified: true, want: "1.2.0-dev.20261127000442.01234567.modified"},
		"modified with a tag":  {modified: true, tags: []string{"v1.2.0"}, want: "1.2.0-dev.20261127000442.01234567.modified"},
		"of another version":   {tags: []string{"v1.3.0"}},
		"before that version":  {tags: []string{"v1.2.0-rc.1"}},
		"modified and another": {modified: true, tags: []string{"v1.3.0"}},
	} {
		got, err := versionOf("1.2.0", commit, at, c.modified, c.tags)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
	}
}

// A package of a commit before a release is replaced by the release.
func TestDebianSortsVersions(t *testing.T) {
	if _, err := exec.LookPath("dpkg"); err != nil {
		t.Skip("no dpkg")
	}
	sorted := []string{"1.2.0-dev.20261127000442.ffffffff", "1.2.0-dev.20261127000443.01234567", "1.2.0-dev.20261127000443.01234567.modified", "1.2.0", "1.2.1-dev.20261128000000.01234567", "1.2.1"}
	for i, v := range sorted[1:] {
		if err := exec.CommandContext(t.Context(), "dpkg", "--compare-versions", debianVersion(sorted[i]), "lt", debianVersion(v)).Run(); err != nil {
			t.Errorf("%s is not before %s for dpkg: %v", debianVersion(sorted[i]), debianVersion(v), err)
		}
	}
}

func TestTheTimeIsThatOfTheCommitOrAsSet(t *testing.T) {
	commit := time.Date(2026, 11, 27, 1, 4, 42, 0, time.FixedZone("", 3600))
	for set, want := range map[string]int64{"": commit.Unix(), "0": 0, "1795737882": 1795737882, "-1": -1, "now": -1, "1e9": -1} {
		got, err := epoch(commit, set)
		if want < 0 {
			if err == nil {
				t.Errorf("SOURCE_DATE_EPOCH=%s is taken for %v", set, got)
			}
			continue
		}
		if err != nil || got.Unix() != want || got.Location() != time.UTC {
			t.Errorf("SOURCE_DATE_EPOCH=%s: %v, %v", set, got, err)
		}
	}
}

// Each license that a module of Go usually has is known, also in a comment; a longer license is
// not taken for a shorter one that it contains.
func TestLicensesAreKnown(t *testing.T) {
	const bsd2 = "Redistributions in binary form must reproduce the above copyright notice, this list of\n   conditions and the following disclaimer"
	const bsd3 = bsd2 + "\n\nNeither the name may be used to endorse or promote products derived from this software\nwithout specific prior written permission."
	const mit = "Permission is hereby granted, free of charge, to any person obtaining a copy of\nthis software"
	for text, want := range map[string]string{
		"": "", "All rights reserved": "", bsd2: "BSD-2-Clause", bsd3: "BSD-3-Clause", mit: "MIT",
		"// Permission is hereby granted, free of charge, to any person obtaining a copy\n// of this software": "MIT",
		"  Apache License\n  Version 2.0, January 2004\n":                                                      "Apache-2.0", "Licensed under the Apache License, Version 2.0": "Apache-2.0",
		"Mozilla Public License Version 2.0": "MPL-2.0", bsd3 + mit: "BSD-3-Clause MIT", "under the Apache License, Version 2.0" + mit: "Apache-2.0 MIT",
		"Permission to use, copy, modify, and/or distribute this software for any\npurpose with or without fee is hereby granted": "ISC",
	} {
		if got := strings.Join(licensesOf([]byte(text)), " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// A module without a license, or with one that is not known, ends the release.
func TestAModuleWithoutALicenseIsRefused(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("license.go", "Mozilla Public License Version 2.0")
	put("README", "Mozilla Public License Version 2.0")
	if ids, _, err := licenseIn(dir); err == nil {
		t.Errorf("a directory without a license has %s", ids)
	}
	put("COPYING", "You may not.")
	if ids, _, err := licenseIn(dir); err == nil {
		t.Errorf("an unknown license is %s", ids)
	}
	put("LICENSE-THIRD.txt", "Mozilla Public License Version 2.0")
	put("NOTICE", "of others")
	ids, texts, err := licenseIn(dir)
	if names := len(texts); err != nil || ids != "MPL-2.0" || names != 3 {
		t.Errorf("%s with %d files, %v", ids, names, err)
	}
}

// The archives depend only on the names and the content of their files: owners, times and the
// order are fixed.
func TestAnArchiveIsTheSameForTheSameFiles(t *testing.T) {
	files := []file{{name: "b/c.txt", data: []byte("c")}, {name: "a", data: []byte("a"), mode: 0o755}, {name: "tmp/", mode: 0o777 | fs.ModeSticky}, {name: "own/", owner: 7}}
	at := time.Unix(1795737882, 0)
	turned := slices.Clone(files)
	slices.Reverse(turned)
	for name, pack := range map[string]func([]file, time.Time) ([]byte, error){"tar": tarred, "tar.gz": targz, "zip": zipped} {
		one, err := pack(files, at)
		two, err2 := pack(turned, at.In(time.FixedZone("", 7200)))
		if err = errors.Join(err, err2); err != nil || !bytes.Equal(one, two) {
			t.Errorf("%s: other bytes in another order and time zone (%v)", name, err)
		}
		if three, _ := pack(files, at.Add(10*time.Second)); bytes.Equal(one, three) {
			t.Errorf("%s: the time is not in it", name)
		}
	}
	raw, err := tarred(files, at)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for r := tar.NewReader(bytes.NewReader(raw)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if !h.ModTime.Equal(at) {
			t.Errorf("%s has the time %v", h.Name, h.ModTime)
		}
		got = append(got, strings.Join([]string{h.FileInfo().Mode().String(), h.Name}, " "))
		if (h.Uid == 7) != (h.Name == "own/") || h.Uid != h.Gid {
			t.Errorf("%s belongs to %d:%d", h.Name, h.Uid, h.Gid)
		}
	}
	if len(raw)%512 != 0 || !bytes.HasSuffix(raw, make([]byte, 1024)) {
		t.Error("the archive has no end")
	}
	if raw, err = zipped(files, at); err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	if a, err := fs.ReadFile(z, "b/c.txt"); err != nil || string(a) != "c" || z.File[0].Mode() != 0o755 || !z.File[0].Modified.Equal(at) {
		t.Errorf("%q, %v: %+v", a, err, z.File[0].FileHeader)
	}
	if want := []string{"-rwxr-xr-x a", "drwxr-xr-x b/", "-rw-r--r-- b/c.txt", "drwxr-xr-x own/", "dtrwxrwxrwx tmp/"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A release replaces another one, and no other file.
func TestOnlyAReleaseIsReplaced(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "above", "dist")
	put := func(names ...string) error {
		var files []file
		for _, n := range names {
			files = append(files, file{name: n, data: []byte(n)})
		}
		return write(dir, append(files, file{name: sums, data: checksums(files)}))
	}
	there := func() string {
		var names []string
		err := fs.WalkDir(os.DirFS(filepath.Dir(dir)), ".", func(p string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				names = append(names, p)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(names, " ")
	}
	if err := put("a", "in/b"); err != nil || there() != "dist/SHA256SUMS dist/a dist/in/b" {
		t.Fatalf("%v: %s", err, there())
	}
	if err := put("c"); err != nil || there() != "dist/SHA256SUMS dist/c" {
		t.Fatalf("%v: %s", err, there())
	}
	if err := os.WriteFile(filepath.Join(dir, "mine"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := put("d"); err == nil || there() != "dist/SHA256SUMS dist/c dist/mine" {
		t.Errorf("a file that is not of a release: %v: %s", err, there())
	}
}

func TestMistakesInFlags(t *testing.T) {
	for _, args := range [][]string{{"x"}, {"-platforms", "plan9/amd64"}, {"-platforms", "linux/amd64,"}, {"-nothing"}} {
		if code, err := run(context.Background(), args, io.Discard, io.Discard); code != 2 {
			t.Errorf("%q: exit %d, %v", args, code, err)
		}
	}
	if code, err := run(context.Background(), []string{"-h"}, io.Discard, io.Discard); code != 0 || err != nil {
		t.Errorf("-h: exit %d, %v", code, err)
	}
}

// Each certificate in the container can be read, and there are as many as a browser has.
func TestTheCertificatesCanBeRead(t *testing.T) {
	text := certificates()
	if !x509.NewCertPool().AppendCertsFromPEM(text) {
		t.Fatal("no certificate can be read")
	}
	if n := bytes.Count(text, []byte("BEGIN CERTIFICATE")); n < 100 {
		t.Errorf("%d certificates", n)
	}
}

// A release of the repository that the test is in: go install can download it, and the bill of
// materials and the licenses have each module of the program.
func TestEachModuleIsInTheBill(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program")
	}
	r, err := open(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(r.temp)
	// go install downloads the module as an archive, which cannot have every file name.
	if checked, err := modzip.CheckDir(r.root); err != nil || checked.Err() != nil || len(checked.Valid) < 500 {
		t.Errorf("go install cannot download the module: %v, %v, %d files", err, checked.Err(), len(checked.Valid))
	}
	p := platform{"linux", "amd64"}
	b, err := r.describe(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	format := billFormat(t)
	if result, err := format.Validate(gojsonschema.NewBytesLoader(b.sbom)); err != nil || !result.Valid() {
		t.Errorf("the bill is not of its format: %v, %v", err, result)
	}
	if result, err := format.Validate(gojsonschema.NewBytesLoader(bytes.ReplaceAll(b.sbom, []byte(`"MIT"`), []byte(`"NIT"`)))); err != nil || result.Valid() {
		t.Errorf("a license that does not exist is valid (%v)", err)
	}
	var bom cdx.BOM
	if err := cdx.NewBOMDecoder(bytes.NewReader(b.sbom), cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(r.program(p))
	if err != nil {
		t.Fatal(err)
	}
	if info.Main.Version == "" || !slices.ContainsFunc(info.Settings, func(s debug.BuildSetting) bool { return s.Key == "vcs.revision" && len(s.Value) == 40 }) {
		t.Errorf("the program has no commit: %v", info)
	}
	listed := map[string]string{}
	for _, c := range *bom.Components {
		if c.Licenses == nil || c.Version == "" {
			t.Errorf("%s has no license or no version", c.Name)
		}
		listed[c.Name] = c.Version
	}
	if listed["std"] != strings.TrimPrefix(info.GoVersion, "go") || len(listed) != len(info.Deps)+1 || len(*(*bom.Dependencies)[0].Dependencies) != len(listed) {
		t.Errorf("%d modules are listed, %d are linked, std is %s", len(listed), len(info.Deps), listed["std"])
	}
	for _, d := range info.Deps {
		if listed[d.Path] != d.Version || !bytes.Contains(b.licenses, []byte("\n"+d.Path+" "+d.Version+", ")) {
			t.Errorf("%s %s is listed with version %q, or its license is missing", d.Path, d.Version, listed[d.Path])
		}
	}
	if bom.Metadata.Component.Version != r.version || bom.Metadata.Timestamp != r.time.Format(time.RFC3339) || !json.Valid(b.sbom) {
		t.Errorf("the bill is of %s, %s", bom.Metadata.Component.Version, bom.Metadata.Timestamp)
	}
}

// billFormat returns the schema of bills, which is in the module of their encoder.
func billFormat(t *testing.T) *gojsonschema.Schema {
	t.Helper()
	dir, err := output(t.Context(), "", nil, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/CycloneDX/cyclonedx-go")
	if err != nil {
		t.Fatal(err)
	}
	read := func(name string) gojsonschema.JSONLoader {
		raw, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "schema", name))
		if err != nil {
			t.Fatal(err)
		}
		return gojsonschema.NewBytesLoader(raw)
	}
	loader := gojsonschema.NewSchemaLoader()
	for _, name := range []string{"spdx.schema.json", "jsf-0.82.schemax.json"} { // each has its own address in it
		if err := loader.AddSchemas(read(name)); err != nil {
			t.Fatal(err)
		}
	}
	schema, err := loader.Compile(read("bom-1.6.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	return schema
}
