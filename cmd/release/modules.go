package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// A module is a module that is linked into the program, or the standard library of Go.
type module struct {
	path, version string
	sum           string // as in go.sum, "" for the standard library
	license       string // SPDX identifiers
	texts         []file // the files with its license
}

// linked returns the modules that are linked into a program, by path, after the standard library.
// It fails if the license of a module is not known.
func (r *release) linked(ctx context.Context, info *debug.BuildInfo) ([]module, error) {
	goroot, err := output(ctx, r.root, environment, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	std := module{path: "std", version: strings.TrimPrefix(info.GoVersion, "go")}
	if std.license, std.texts, err = licenseIn(strings.TrimSpace(string(goroot))); err != nil {
		return nil, fmt.Errorf("the standard library: %w", err)
	}
	dirs, err := moduleDirs(ctx, r.root) // after the build, which downloads what is missing
	if err != nil {
		return nil, err
	}
	all := []module{std}
	var unknown error // of all modules, to be mended together
	for _, d := range info.Deps {
		if d.Replace != nil {
			d = d.Replace
		}
		m := module{path: d.Path, version: d.Version, sum: d.Sum}
		dir := dirs[d.Path+"@"+d.Version]
		if dir == "" {
			return nil, fmt.Errorf("module %s %s is linked, and go list does not say where it is", d.Path, d.Version)
		}
		if m.license, m.texts, err = licenseIn(dir); err != nil {
			unknown = errors.Join(unknown, fmt.Errorf("module %s %s: %w", d.Path, d.Version, err))
		}
		all = append(all, m)
	}
	slices.SortFunc(all[1:], func(a, b module) int { return strings.Compare(a.path, b.path) })
	return all, unknown
}

var licenseFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([.-].*)?$`)

// sentences of licenses, with single spaces, and the SPDX identifier of each license.
var sentences = []struct{ id, text string }{
	{"Apache-2.0", "Apache License Version 2.0, January 2004"},
	{"Apache-2.0", "under the Apache License, Version 2.0"},
	{"BSD-2-Clause", "Redistributions in binary form must reproduce the above copyright notice, this list of conditions and the following disclaimer"},
	{"BSD-3-Clause", "may be used to endorse or promote products derived from this software without specific prior written permission"},
	{"ISC", "Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted"},
	{"MIT", "Permission is hereby granted, free of charge, to any person obtaining a copy of this software"},
	{"MPL-2.0", "Mozilla Public License Version 2.0"},
}

// licenseIn returns the licenses of the module in a directory, and the files with their texts.
func licenseIn(dir string) (ids string, texts []file, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", nil, err
	}
	var found []string
	for _, e := range entries {
		if e.IsDir() || !licenseFile.MatchString(e.Name()) || strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return "", nil, err
		}
		texts = append(texts, file{name: e.Name(), data: text})
		found = append(found, licensesOf(text)...)
	}
	slices.Sort(found)
	found = slices.Compact(found)
	if len(found) == 0 {
		return "", nil, fmt.Errorf("no file in %s has a license that is known: add a sentence of it to the table", dir)
	}
	return strings.Join(found, " AND "), texts, nil
}

// licensesOf returns the SPDX identifiers of the licenses in a text.
func licensesOf(text []byte) (ids []string) {
	words := strings.Join(strings.Fields(strings.ReplaceAll(string(text), "\n//", "\n")), " ")
	for _, s := range sentences {
		if s.id == "BSD-3-Clause" && len(ids) > 0 && ids[len(ids)-1] == "BSD-2-Clause" && strings.Contains(words, s.text) {
			ids = ids[:len(ids)-1] // it has the sentences of the shorter license, too
		}
		if strings.Contains(words, s.text) && !slices.Contains(ids, s.id) {
			ids = append(ids, s.id)
		}
	}
	return ids
}

// licenses returns the texts of all licenses.
func licenses(modules []module) []byte {
	var b bytes.Buffer
	b.WriteString("The program contains these modules, and parts of the standard library of Go (std).\n\n")
	for _, m := range modules {
		fmt.Fprintf(&b, "%s %s: %s\n", m.path, m.version, m.license)
	}
	for _, m := range modules {
		for _, t := range m.texts {
			fmt.Fprintf(&b, "\n%s\n%s %s, %s\n\n", strings.Repeat("-", 80), m.path, m.version, t.name)
			b.Write(bytes.ReplaceAll(bytes.TrimRight(t.data, "\n"), []byte("\r\n"), []byte("\n")))
			b.WriteString("\n")
		}
	}
	return b.Bytes()
}

// sbom returns the bill of materials of a program in the format CycloneDX.
func (r *release) sbom(b built, info *debug.BuildInfo) ([]byte, error) {
	purl := func(path, version string) string { return "pkg:golang/" + path + "@" + version }
	main := purl(info.Main.Path, "v"+r.version) + "#cmd/crawl"
	of := func(id string) *cdx.Licenses {
		if strings.Contains(id, " ") {
			return &cdx.Licenses{{Expression: id}}
		}
		return &cdx.Licenses{{License: &cdx.License{ID: id}}}
	}
	bom := cdx.NewBOM()
	properties := []cdx.Property{{Name: "go:version", Value: info.GoVersion}, {Name: "go:os", Value: b.os}, {Name: "go:arch", Value: b.arch}}
	for _, s := range info.Settings {
		if strings.HasPrefix(s.Key, "vcs.") {
			properties = append(properties, cdx.Property{Name: s.Key, Value: s.Value})
		}
	}
	hash := sha(b.program)
	bom.Metadata = &cdx.Metadata{
		Timestamp: r.time.Format("2006-01-02T15:04:05Z"),
		Component: &cdx.Component{
			BOMRef: main, Type: cdx.ComponentTypeApplication, Name: "permesso", Version: r.version, PackageURL: main, Licenses: of("MIT"),
			Hashes: &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hash}}, Properties: &properties,
			ExternalReferences: &[]cdx.ExternalReference{{Type: cdx.ERTypeVCS, URL: "https://" + info.Main.Path}},
		},
	}
	components, below := []cdx.Component{}, []string{}
	for _, m := range b.modules {
		c := cdx.Component{BOMRef: purl(m.path, m.version), Type: cdx.ComponentTypeLibrary, Name: m.path, Version: m.version, PackageURL: purl(m.path, m.version), Licenses: of(m.license)}
		if m.sum != "" {
			sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.sum, "h1:"))
			if err != nil {
				return nil, errors.Join(fmt.Errorf("the checksum of %s", m.path), err)
			}
			// The checksum of a module in go.sum: of the list of its files and their checksums.
			c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum)}}
		}
		components, below = append(components, c), append(below, c.BOMRef)
	}
	bom.Components, bom.Dependencies = &components, &[]cdx.Dependency{{Ref: main, Dependencies: &below}}
	var text bytes.Buffer
	err := cdx.NewBOMEncoder(&text, cdx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false).EncodeVersion(bom, cdx.SpecVersion1_6)
	return text.Bytes(), err
}
