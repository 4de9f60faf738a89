package wacz

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxJSON is the size in bytes of the largest datapackage.json that is read.
const maxJSON = 64 << 20

// Verify checks the package at path. The hash of datapackage.json must be that in
// datapackage-digest.json. The files that datapackage.json lists must exist with the listed
// sizes and hashes, and there must be no other files. Files that a reader fetches by offset
// must not be compressed by ZIP. The error lists everything that is wrong. Verify does not
// check the contents of the WARC files, which package warc can do.
func Verify(path string) error {
	z, err := zip.OpenReader(path)
	if err != nil {
		return fmt.Errorf("WACZ %s: %w", path, err)
	}
	defer z.Close()
	if err := verify(&z.Reader); err != nil {
		return fmt.Errorf("WACZ %s: %w", path, err)
	}
	return nil
}

func verify(z *zip.Reader) error {
	files := map[string]*zip.File{}
	for _, f := range z.File {
		if files[f.Name] != nil {
			return fmt.Errorf("%s is there twice: pack it again", f.Name)
		}
		files[f.Name] = f
	}
	var p dataPackage
	listed, err := readJSON(files, packageName, &p)
	if err != nil {
		return err
	}
	var d packageDigest
	if _, err := readJSON(files, digestName, &d); err != nil {
		return err
	}
	var wrong []error
	add := func(form string, args ...any) { wrong = append(wrong, fmt.Errorf(form, args...)) }
	if d.Path != packageName || d.Hash != listed {
		add("%s names %s with %s, but its hash is %s: it was changed", digestName, d.Path, d.Hash, listed)
	}
	if p.Profile != profile || !strings.HasPrefix(p.WACZVersion, "1.") {
		add("%s: profile %q and wacz_version %q; %s and %s are wanted", packageName, p.Profile, p.WACZVersion, profile, Version)
	}
	have := map[string]bool{packageName: true, digestName: true}
	archive, index := false, false
	for _, r := range p.Resources {
		f := files[r.Path]
		if f == nil {
			add("%s is listed and missing", r.Path)
			continue
		}
		have[r.Path] = true
		archive = archive || strings.HasPrefix(r.Path, "archive/")
		index = index || strings.HasPrefix(r.Path, "indexes/")
		if (strings.HasPrefix(r.Path, "archive/") || strings.HasPrefix(r.Path, "indexes/")) && f.Method != zip.Store {
			add("%s is compressed by ZIP: readers cannot fetch parts of it; store it", r.Path)
		}
		sum, size, err := sumOf(f, r.Bytes)
		switch {
		case err != nil:
			add("%s cannot be read: %w", r.Path, err)
		case size != r.Bytes:
			add("%s has %d bytes; %d are listed", r.Path, size, r.Bytes)
		case sum != r.Hash:
			add("%s has the hash %s; %s is listed", r.Path, sum, r.Hash)
		}
	}
	for name := range files {
		if !have[name] && !strings.HasSuffix(name, "/") {
			add("%s is not listed in %s", name, packageName)
		}
	}
	if !archive || !index || !have[pagesName] {
		add("a package must have WARC files in archive/, an index in indexes/ and %s", pagesName)
	}
	return errors.Join(wrong...)
}

// readJSON reads a file of the package into v and returns its hash.
func readJSON(files map[string]*zip.File, name string, v any) (string, error) {
	f := files[name]
	if f == nil {
		return "", fmt.Errorf("%s is missing: this is not a WACZ", name)
	}
	r, err := f.Open()
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, maxJSON+1))
	if err == nil && len(text) > maxJSON {
		err = fmt.Errorf("longer than %d bytes", maxJSON)
	}
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	sum := sha256.Sum256(text)
	return hash(sum[:]), nil
}

// sumOf returns the hash and the size of a file in the package. listed is its size in
// datapackage.json. sumOf reads at most one byte more, which is enough to see that the size is
// wrong.
func sumOf(f *zip.File, listed int64) (string, int64, error) {
	r, err := f.Open()
	if err != nil {
		return "", 0, err
	}
	defer r.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(r, max(listed, 0)+1))
	return hash(sum.Sum(nil)), n, err
}
