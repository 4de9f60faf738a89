package provenance_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/internal/provenance"
)

// fieldsOf adds the paths of all fields of a JSON value to all. The items of a list have the
// path of the list, and the values of a map have the path of the map.
func fieldsOf(v any, path string, all map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for name, of := range v {
			at := strings.TrimPrefix(path+"."+name, ".")
			all[at] = true
			fieldsOf(of, at, all)
		}
	case []any:
		for _, of := range v {
			fieldsOf(of, path, all)
		}
	}
}

// The documentation answers each question of a reviewer by fields of provenance.json. All these
// fields exist.
func TestTheQuestionsOfTheDocumentAreAnsweredByTheirFields(t *testing.T) {
	dir := crawled(t)
	write(t, dir, provenance.Options{})
	known := map[string]map[string]bool{}
	for _, name := range []string{provenance.File, provenance.AbsencesFile, provenance.RobotsFile} {
		known[name] = map[string]bool{}
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		in := json.NewDecoder(strings.NewReader(string(raw)))
		for in.More() {
			var v any
			if err := in.Decode(&v); err != nil {
				t.Fatal(err)
			}
			fieldsOf(v, "", known[name])
		}
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "explain", "provenance.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows, code := 0, regexp.MustCompile("`([^`]*)`")
	for _, row := range regexp.MustCompile("(?m)^\\| ([^|]*\\?) \\| `([^`]*)` \\| (.*) \\|$").FindAllStringSubmatch(string(text), -1) {
		rows++
		fields := code.FindAllStringSubmatch(row[3], -1)
		if len(fields) == 0 {
			t.Errorf("%s: no field", row[1])
		}
		for _, f := range fields {
			if !known[row[2]][f[1]] {
				t.Errorf("%s: %s has no %s", row[1], row[2], f[1])
			}
		}
	}
	if rows < 15 {
		t.Errorf("%d questions", rows)
	}
	for name := range known { // the text of an open question must equal that in the datasheet
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("nothing is said of %s", name)
		}
	}
	if !strings.Contains(string(text), "`*Open: a person has to answer this.*`") || !strings.Contains(sheetOf(t, dir), "*Open: a person has to answer this.*") {
		t.Error("an open question is written otherwise")
	}
}

// Another program can check the signature: it covers the bytes of provenance.json, and the key
// file has the usual format.
func TestTheSignatureIsOfTheBytesOfTheFile(t *testing.T) {
	dir := crawled(t)
	private, public := keyFiles(t)
	key, err := provenance.ReadKey(private)
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, provenance.Options{Key: key})
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("no openssl")
	}
	if said, err := exec.Command(openssl, "version").CombinedOutput(); err != nil || !strings.HasPrefix(string(said), "OpenSSL 3") {
		t.Skipf("another one: %s, %v", said, err)
	}
	file := filepath.Join(dir, provenance.File)
	check := func() (string, error) {
		said, err := exec.Command(openssl, "pkeyutl", "-verify", "-pubin", "-inkey", public, "-rawin", "-in", file, "-sigfile", filepath.Join(dir, provenance.SignatureFile)).CombinedOutput()
		return string(said), err
	}
	if said, err := check(); err != nil {
		t.Errorf("%v: %s", err, said)
	}
	spoil(t, file, func(b []byte) []byte { b[0] = ' '; return b })
	if said, err := check(); err == nil {
		t.Errorf("the signature of a changed file is accepted: %s", said)
	}
}
