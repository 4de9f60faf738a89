package provenance_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/internal/provenance"
	"github.com/permesso-crawler/permesso/internal/store"
)

func verified(t *testing.T, dir string, c provenance.Check) *provenance.Verified {
	t.Helper()
	v, err := provenance.Verify(t.Context(), dir, c)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// spoil replaces the contents of a file by the result of change.
func spoil(t *testing.T, path string, change func([]byte) []byte) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, change(raw), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Verify finds no difference if no file has changed, even if the directory was moved, or a
// person has filled in the datasheet.
func TestADirectoryAsItWasWrittenHasNoDifference(t *testing.T) {
	dir := crawled(t)
	res := write(t, dir, provenance.Options{})
	spoil(t, filepath.Join(dir, provenance.DatasheetFile), func(b []byte) []byte { return append(b, "mine"...) })
	elsewhere := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(elsewhere, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	v := verified(t, elsewhere, provenance.Check{})
	if len(v.Differences) > 0 || v.Files != len(res.Outputs) || v.Signed || v.Bytes == 0 {
		t.Errorf("%+v", v)
	}
}

// Verify returns each kind of difference with the name of the file.
func TestEachDifferenceIsNamed(t *testing.T) {
	whole := crawled(t)
	write(t, whole, provenance.Options{})
	archive, err := fs.Glob(os.DirFS(whole), "warc/*.gz")
	if err != nil || len(archive) == 0 {
		t.Fatal(archive, err)
	}
	for name, row := range map[string]struct {
		change    func(dir string) error
		file, why string
	}{
		"a flipped bit": {func(dir string) error {
			spoil(t, filepath.Join(dir, archive[0]), func(b []byte) []byte { b[len(b)/2] ^= 1; return b })
			return nil
		}, archive[0], "has the SHA-256 "},
		"a cut file": {func(dir string) error { return os.Truncate(filepath.Join(dir, store.PagesFile), 7) }, store.PagesFile, "has 7 bytes, and not "},
		"a line more": {func(dir string) error {
			spoil(t, filepath.Join(dir, provenance.AbsencesFile), func(b []byte) []byte { return append(b, "{}\n"...) })
			return nil
		}, provenance.AbsencesFile, " bytes, and not "},
		"a file that is gone": {func(dir string) error { return os.Remove(filepath.Join(dir, store.LogFile)) }, store.LogFile, "is missing"},
		"a directory in its place": {func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, store.LogFile)), os.Mkdir(filepath.Join(dir, store.LogFile), 0o755))
		}, store.LogFile, "is missing"},
		"a file of the archive more": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "warc", "more.warc.gz"), nil, 0o644)
		}, "warc/more.warc.gz", "is not in provenance.json"},
		"a line of provenance.json less": {func(dir string) error {
			spoil(t, filepath.Join(dir, provenance.File), func(b []byte) []byte { return []byte(strings.Replace(string(b), "  \"log_lost\": 0,\n", "", 1)) })
			return nil
		}, provenance.File, "is not what was written, by its file_sha256"},
		"a setting that is another one": {func(dir string) error {
			spoil(t, filepath.Join(dir, provenance.File), func(b []byte) []byte {
				return summed(strings.Replace(string(b), `"name": "delay"`, `"name": "relay"`, 1))
			})
			return nil
		}, provenance.File, "has settings that are not those of its settings_sha256"},
		"a name that leads out": {func(dir string) error {
			spoil(t, filepath.Join(dir, provenance.File), func(b []byte) []byte {
				return summed(strings.Replace(string(b), `"name": "crawl.log"`, `"name": "../crawl.log"`, 1))
			})
			return os.Remove(filepath.Join(dir, store.LogFile))
		}, "../crawl.log", "is no name of a file in the directory"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "copy")
			if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
				t.Fatal(err)
			}
			if err := row.change(dir); err != nil {
				t.Fatal(err)
			}
			v := verified(t, dir, provenance.Check{})
			left := len(v.Provenance.Outputs)
			if row.why == "is missing" || strings.HasPrefix(row.why, "is no name") {
				left--
			}
			if len(v.Differences) != 1 || v.Files != left || v.Differences[0].File != row.file || !strings.Contains(v.Differences[0].Why, row.why) {
				t.Errorf("%+v", v.Differences)
			}
		})
	}
}

// keyFiles makes the files of a private key and of its public key, and returns their paths.
func keyFiles(t *testing.T) (private, public string) {
	t.Helper()
	pub, own, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return pemFile(t, "PRIVATE KEY", own), pemFile(t, "PUBLIC KEY", pub)
}

func pemFile(t *testing.T, kind string, key any) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if kind == "PUBLIC KEY" {
		der, err = x509.MarshalPKIXPublicKey(key)
	}
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A signature is valid only for one file and one key. Write without a key removes an earlier
// signature.
func TestASignatureIsOfThatFileByThatKey(t *testing.T) {
	dir := crawled(t)
	private, public := keyFiles(t)
	key, err := provenance.ReadKey(private)
	if err != nil {
		t.Fatal(err)
	}
	res := write(t, dir, provenance.Options{Key: key})
	if sig, err := os.ReadFile(filepath.Join(dir, provenance.SignatureFile)); err != nil || len(sig) != ed25519.SignatureSize || !res.Signed {
		t.Fatalf("%d bytes: %v", len(sig), err)
	}
	_, other := keyFiles(t)
	for path, signed := range map[string]bool{public: true, private: true, other: false} {
		by, err := provenance.ReadPublicKey(path)
		if err != nil {
			t.Fatal(err)
		}
		v := verified(t, dir, provenance.Check{Key: by})
		if v.Signed != signed || (len(v.Differences) == 0) != signed {
			t.Errorf("%+v", v)
		}
	}
	by, err := provenance.ReadPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	spoil(t, filepath.Join(dir, provenance.File), func(b []byte) []byte { return append(b, ' ') })
	if v := verified(t, dir, provenance.Check{Key: by}); v.Signed || !differs(v, provenance.SignatureFile, "is not the signature of provenance.json by this key") {
		t.Errorf("%+v", v)
	}
	write(t, dir, provenance.Options{})
	if v := verified(t, dir, provenance.Check{Key: by}); v.Signed || !differs(v, provenance.SignatureFile, "is missing: provenance.json is not signed") {
		t.Errorf("%+v", v)
	}
}

func differs(v *provenance.Verified, file, why string) bool {
	return slices.Contains(v.Differences, provenance.Difference{File: file, Why: why})
}

// If a file has no key, the error says how to make one.
func TestWhatIsNoKeyIsRefused(t *testing.T) {
	private, public := keyFiles(t)
	foreign, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		text: "not a key in PEM", public: "it is a public key", filepath.Join(t.TempDir(), "none"): "no such file",
		pemFile(t, "PRIVATE KEY", foreign): "not of Ed25519", pemFile(t, "CERTIFICATE", foreign): "not of Ed25519",
	} {
		var wrong *provenance.KeyError
		if _, err := provenance.ReadKey(path); !errors.As(err, &wrong) || wrong.Path != path || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	for path, want := range map[string]string{
		text: "not a key in PEM", filepath.Join(t.TempDir(), "none"): "no such file", pemFile(t, "PUBLIC KEY", &foreign.PublicKey): "not of Ed25519",
		pemFile(t, "PRIVATE KEY", foreign): "not of Ed25519",
	} {
		var wrong *provenance.KeyError
		if key, err := provenance.ReadPublicKey(path); key != nil || !errors.As(err, &wrong) || wrong.Path != path || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := provenance.ReadKey(private); err != nil {
		t.Error(err)
	}
}

// If provenance.json cannot be read, or has another format, Verify returns an error and no
// differences.
func TestAProvenanceThatCannotBeReadIsAnError(t *testing.T) {
	for text, want := range map[string]string{"{": "cannot be read", `{"format":"permesso-provenance/4"}`: `of the form "permesso-provenance/4"`, "": "cannot be read"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, provenance.File), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := provenance.Verify(t.Context(), dir, provenance.Check{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// summed returns the text of a provenance.json with the right FileSHA256.
func summed(text string) []byte {
	field := regexp.MustCompile(`"file_sha256": "[0-9a-f]{64}"`)
	with := func(sum string) string { return field.ReplaceAllString(text, `"file_sha256": "`+sum+`"`) }
	sum := sha256.Sum256([]byte(with(strings.Repeat("0", 64))))
	return []byte(with(hex.EncodeToString(sum[:])))
}

// If FileSHA256 is written with a JSON escape, Verify reports a difference, because Write never
// writes it so.
func TestADigestWithAnEscapeIsNamed(t *testing.T) {
	dir := crawled(t)
	write(t, dir, provenance.Options{})
	escape := regexp.MustCompile(`"file_sha256": "(.)`)
	spoil(t, filepath.Join(dir, provenance.File), func(text []byte) []byte {
		of := escape.FindSubmatch(text)
		return bytes.Replace(text, of[0], fmt.Appendf(nil, `"file_sha256": "\u%04x`, of[1][0]), 1)
	})
	v := verified(t, dir, provenance.Check{})
	if !slices.ContainsFunc(v.Differences, func(d provenance.Difference) bool { return d.File == provenance.File }) {
		t.Errorf("%+v", v.Differences)
	}
}

// Verify finds a flip of any bit of provenance.json.
func TestEachFlippedBitOfAProvenanceIsNamed(t *testing.T) {
	dir := crawled(t)
	write(t, dir, provenance.Options{})
	path := filepath.Join(dir, provenance.File)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(text); i += 1 + len(text)/50 {
		for bit := range 8 {
			spoilt := bytes.Clone(text)
			spoilt[i] ^= 1 << bit
			if err := os.WriteFile(path, spoilt, 0o644); err != nil {
				t.Fatal(err)
			}
			v, err := provenance.Verify(t.Context(), dir, provenance.Check{})
			if err == nil && !slices.ContainsFunc(v.Differences, func(d provenance.Difference) bool { return d.File == provenance.File }) {
				t.Errorf("byte %d, bit %d: %q: %+v", i, bit, text[max(0, i-20):i+20], v.Differences)
			}
		}
	}
}

// The names of the fields never change, because other programs read them.
func TestTheFieldsOfAProvenanceKeepTheirNames(t *testing.T) {
	text, err := json.Marshal(provenance.Provenance{Previous: &provenance.Previous{}, Purge: &provenance.Purge{}})
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"format", "version", "name", "written", "writer", "identity", "settings", "settings_sha256", "seeds", "runs", "killed", "log_lost", "builds",
		"changes", "overrides", "orders", "figures", "robots", "absences", "audit", "previous", "purge", "outputs", "file_sha256",
	} {
		if _, ok := fields[name]; !ok {
			t.Errorf("there is no %s", name)
		}
		delete(fields, name)
	}
	if len(fields) > 0 {
		t.Errorf("without a row: %v", fields)
	}
}
