package provenance

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/permesso-crawler/permesso/internal/gauge"
	"github.com/permesso-crawler/permesso/internal/store"
)

// A Check configures a verification. The zero value checks digests and no signature.
type Check struct {
	Key ed25519.PublicKey // public key of the signer of provenance.json; nil: the signature is not checked
}

// A Difference is a file that differs from provenance.json.
type Difference struct {
	File string `json:"file"`
	Why  string `json:"reason"`
}

// A Verified is the result of Verify.
type Verified struct {
	Provenance  *Provenance
	SHA256      string // SHA-256 of provenance.json
	Files       int    // number of files that were compared
	Bytes       int64  // number of bytes that were compared
	Signed      bool   // there is a valid signature by Check.Key
	Differences []Difference
}

// mostFile is the size in bytes of the largest provenance.json that is read.
const mostFile = 256 << 20

// ErrNone is returned if a directory has no provenance.json.
var ErrNone = errors.New("provenance: there is no " + File)

// Verify compares the files of a directory with the digests in its provenance.json. It also
// checks provenance.json itself, by the digests of the file and of its settings, and by its
// signature if c.Key is set. The directory may be a copy of the crawl's directory. A missing
// file is a Difference. Verify changes nothing.
//
// Differences are not an error. The error is ErrNone, a *store.InUseError if a crawl is running
// in the directory, a *store.NotBegunError, an error about what in provenance.json cannot be
// read, the cause of ctx, or an error of the file system.
func Verify(ctx context.Context, dir string, c Check) (*Verified, error) {
	if run, held := store.Holder(dir); held {
		return nil, &store.InUseError{Dir: dir, Run: run}
	}
	path := filepath.Join(dir, File)
	text, err := readBounded(path, mostFile)
	if errors.Is(err, fs.ErrNotExist) {
		if err := store.NotBegun(dir); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%w in %s", ErrNone, dir)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	v := &Verified{Provenance: &Provenance{}, SHA256: digestOf(text)}
	if err := json.Unmarshal(text, v.Provenance); err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", path, err)
	}
	if !reads(v.Provenance.Format) {
		return nil, fmt.Errorf("%s is of the form %q, and not %q: another version of the program reads it", path, v.Provenance.Format, Format)
	}
	if err := v.signature(dir, text, c.Key); err != nil {
		return nil, err
	}
	v.itself(text)
	return v, v.files(ctx, dir)
}

// reads reports whether this version can verify a provenance.json in the given format. It can
// verify earlier formats, too, in which some fields have other names.
func reads(format string) bool {
	return format == Format || format == "permesso-provenance/2" || format == "permesso-provenance/1"
}

// itself checks the two digests that provenance.json has of itself: of the whole file, and of
// the settings. text is the content of the file.
func (v *Verified) itself(text []byte) {
	p := v.Provenance
	if p.Format == Format {
		i := bytes.LastIndex(text, []byte(p.FileSHA256))
		if len(p.FileSHA256) != len(unsummed) || i < 0 || digestOf(slices.Concat(text[:i], []byte(unsummed), text[i+len(unsummed):])) != p.FileSHA256 {
			v.differs(File, "is not what was written, by its file_sha256")
			return
		}
	}
	sum := sha256.New()
	for _, s := range p.Settings {
		fmt.Fprintf(sum, "%s\x00%s\x00", s.Name, s.Value)
	}
	if p.SettingsSHA256 != hex.EncodeToString(sum.Sum(nil)) {
		v.differs(File, "has settings that are not those of its settings_sha256")
	}
}

// signature checks whether the signature file in dir is a signature of text by key. It does
// nothing if key is nil.
func (v *Verified) signature(dir string, text []byte, key ed25519.PublicKey) error {
	if key == nil {
		return nil
	}
	sig, err := readBounded(filepath.Join(dir, SignatureFile), mostKey)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		v.differs(SignatureFile, "is missing: %s is not signed", File)
	case err != nil && !errors.Is(err, errTooLong):
		return err
	case err != nil || !ed25519.Verify(key, text, sig):
		v.differs(SignatureFile, "is not the signature of %s by this key", File)
	default:
		v.Signed = true
	}
	return nil
}

func (v *Verified) differs(file, format string, args ...any) {
	v.Differences = append(v.Differences, Difference{file, fmt.Sprintf(format, args...)})
}

// files compares each file that provenance.json lists with its length and digest there, and
// looks for files of a crawl that are not listed.
func (v *Verified) files(ctx context.Context, dir string) error {
	known := map[string]bool{}
	for _, o := range v.Provenance.Outputs {
		if filepath.IsLocal(filepath.FromSlash(o.Name)) {
			gauge.Of(ctx).Expect(filepath.Join(dir, filepath.FromSlash(o.Name)))
		}
	}
	for _, o := range v.Provenance.Outputs {
		known[o.Name] = true
		if !filepath.IsLocal(filepath.FromSlash(o.Name)) {
			v.differs(o.Name, "is no name of a file in the directory")
			continue
		}
		is, _, err := digestFile(ctx, filepath.Join(dir, filepath.FromSlash(o.Name)), o.Name, 0)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			v.differs(o.Name, "is missing")
			continue
		case err != nil:
			return err
		case is.Bytes != o.Bytes:
			v.differs(o.Name, "has %d bytes, and not %d", is.Bytes, o.Bytes)
		case is.SHA256 != o.SHA256:
			v.differs(o.Name, "has the SHA-256 %s, and not %s", is.SHA256, o.SHA256)
		}
		v.Files++
		v.Bytes += is.Bytes
	}
	archive, err := archiveNames(dir)
	if err != nil {
		return err
	}
	for _, name := range append(archive, outputNames()...) {
		if known[name] {
			continue
		}
		info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name)))
		if err == nil && info.Mode().IsRegular() {
			v.differs(name, "is not in %s", File)
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	slices.SortStableFunc(v.Differences, func(a, b Difference) int { return strings.Compare(a.File, b.File) })
	return nil
}
