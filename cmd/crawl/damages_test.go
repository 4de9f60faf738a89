package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/internal/provenance"
	"github.com/permesso-crawler/permesso/internal/series"
	"github.com/permesso-crawler/permesso/internal/store"
	"go.etcd.io/bbolt"
)

// damageable are the kinds of files in the directory of a crawl, and why damage of a kind
// may go unnamed, or "" if it may not. A kind of file that is missing here fails
// TestDamages.
var damageable = map[string]string{
	store.StateFile: "", store.LogFile: "", store.PagesFile: "", store.LinksFile: "", store.IndexFile: "", "index.part": "",
	"warc/*.warc.gz": "", "warc/*.warc.gz.open": "",
	provenance.File: "", provenance.AbsencesFile: "", provenance.RobotsFile: "", provenance.SeedsFile: "",
	series.JobFile: "", series.SeedsFile: "", series.FactsFile: "",
	provenance.SignatureFile: "only the key of the signer tells",
	provenance.DatasheetFile: "people write in it",
	store.RunFile:            "it is for people",
}

// kindOf returns the kind of a file.
func kindOf(name string) string {
	for kind := range damageable {
		if ok, _ := filepath.Match(kind, name); ok {
			return kind
		}
	}
	return name
}

// A spoilable is a crawl whose files are spoilt.
type spoilable struct {
	name  string
	files map[string][]byte
	other map[string][]byte // files of another crawl, by kind
}

// filesOf returns the files of a crawl.
func filesOf(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			all[name], err = os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// spoilables makes crawls that have files of each kind: one that ended, one that was
// killed, one that knows the one before, and a snapshot of a series with many seeds. All
// except the killed one have their provenance, which is signed.
func spoilables(t *testing.T) (all []spoilable) {
	t.Helper()
	atHome(t)
	makeKept(t)
	synctest.Test(t, func(t *testing.T) {
		w, _ := keptWeb(t)
		seeds := "seeds: [http://a.example/, http://b.example/"
		for i := range provenance.MostSeeds {
			seeds += fmt.Sprintf(", 'http://c.example/%d'", i)
		}
		job := seeds + "]\noutput: [warc, jsonl, links]\nscope: list\nlimit: 6\n"
		if err := os.WriteFile("job.yaml", []byte(job), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, due := range []string{"2026-11-23T03:00:00Z", "2026-11-30T03:00:00Z"} {
			var out bytes.Buffer
			p := &program{out: &out, err: &out, network: w}
			root := p.root()
			root.SetArgs([]string{"run", "--name", "testbot", "--contact", "https://example.org/testbot", "--progress", "none", "--job", "job.yaml", "--series", "weekly", "--due", due})
			if err := root.ExecuteContext(t.Context()); exit.Code(err) != exit.Done && exit.Code(err) != exit.Later {
				t.Fatalf("%v: %s", err, &out)
			}
			time.Sleep(24 * time.Hour)
		}
	})
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err == nil {
		err = os.WriteFile("key.pem", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	snapshots, err := filepath.Glob("weekly/*.crawl")
	if err != nil || len(snapshots) != 2 {
		t.Fatal(snapshots, err)
	}
	others := map[string]string{endedCrawl: againCrawl, killedCrawl: endedCrawl, againCrawl: endedCrawl, snapshots[0]: snapshots[1]}
	for _, dir := range slices.Sorted(maps.Keys(others)) {
		if dir != killedCrawl {
			said(t, "provenance", "--sign-key", "key.pem", dir)
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(others)) {
		if code, out := verifiedHere(t, dir); code != exit.Done {
			t.Fatalf("%s: nothing happened, and exit %d: %s", dir, code, out)
		}
		s := spoilable{dir, filesOf(t, dir), map[string][]byte{}}
		for name, raw := range filesOf(t, others[dir]) {
			s.other[kindOf(name)] = raw
		}
		all = append(all, s)
	}
	return all
}

// spoil draws a damage of a file and returns its new content, nil if it is deleted. what is
// empty if nothing would change.
func (s *spoilable) spoil(r *rand.Rand, name string) (what string, is []byte) {
	raw := s.files[name]
	b := bytes.Clone(raw)
	lines := slices.Collect(bytes.Lines(raw))
	switch r.IntN(9) {
	case 0:
		b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		return "a bit flipped", b
	case 1:
		at := r.IntN(len(b))
		clear(b[at:min(len(b), at+512)])
		what, is = "a block of zeros", b
	case 2:
		what, is = "cut", b[:r.IntN(len(b))]
	case 3:
		what, is = "appended to", append(b, "a line of something else\n"...)
	case 4:
		if len(lines) > 1 {
			i := r.IntN(len(lines))
			what, is = "a line deleted", slices.Concat(slices.Delete(lines, i, i+1)...)
		}
	case 5:
		i := r.IntN(len(lines))
		what, is = "a line twice", slices.Concat(slices.Insert(lines, i, lines[i])...)
	case 6:
		if len(lines) > 1 {
			i := r.IntN(len(lines) - 1)
			lines[i], lines[i+1] = lines[i+1], lines[i]
			what, is = "two lines swapped", slices.Concat(lines...)
		}
	case 7:
		if other, ok := s.other[kindOf(name)]; ok {
			what, is = "that of another crawl", other
		}
	case 8:
		return "deleted", nil
	}
	if bytes.Equal(is, raw) {
		return "", nil
	}
	return what, is
}

// rowsOf returns all rows of a state file, or "" if it cannot be read.
func rowsOf(path string) (text string) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // a file that was cut causes one
	defer func() { _ = recover() }()
	db, err := bbolt.Open(path, 0o400, &bbolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		return ""
	}
	defer db.Close()
	var b strings.Builder
	err = db.View(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(name []byte, bucket *bbolt.Bucket) error {
			return bucket.ForEach(func(key, value []byte) error {
				_, err := fmt.Fprintf(&b, "%q %q %q\n", name, key, value)
				return err
			})
		})
	})
	if err != nil {
		return ""
	}
	return b.String()
}

// harmless returns why a damage need not be named, or "" if it must.
func (s *spoilable) harmless(name, what string, is []byte, dir string) string {
	kind := kindOf(name)
	_, sealed := s.files[provenance.File]
	switch {
	case kind == store.RunFile && what == "deleted":
		return ""
	case damageable[kind] != "":
		return damageable[kind]
	case name == store.StateFile && what != "deleted" && rowsOf(filepath.Join(dir, name)) == s.rows():
		return "no row of it is another one: those are pages that are not in use"
	case s.name != killedCrawl || sealed:
		return ""
	case name == store.IndexFile:
		return "the next run makes it"
	case bytes.HasPrefix(is, s.files[name]) && kind != "warc/*.warc.gz":
		return "the next run cuts it, and the log may have a request after the last commit"
	}
	return ""
}

func (s *spoilable) rows() string { return rowsOf(filepath.Join(s.name, store.StateFile)) }

// pagesOf returns the URLs of the lines of a pages.jsonl.
func pagesOf(raw []byte) map[string]bool {
	all := map[string]bool{}
	for line := range bytes.Lines(raw) {
		var p store.PageRecord
		if json.Unmarshal(line, &p) == nil && p.URL != "" {
			all[p.URL] = true
		}
	}
	return all
}

// damage spoils a file of a copy of the crawl, and checks verify and repair.
func (s *spoilable) damage(t *testing.T, name, what string, is []byte) (became string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "copy")
	if filepath.Dir(s.name) != "." { // a snapshot knows the snapshots beside it
		dir = filepath.Join(filepath.Dir(dir), filepath.Base(s.name))
	}
	defer os.RemoveAll(dir)
	for n, raw := range s.files {
		if n == name {
			raw = is
		}
		if raw == nil {
			continue
		}
		path := filepath.Join(dir, filepath.FromSlash(n))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, raw, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	label := fmt.Sprintf("%s: %s: %s", s.name, name, what)
	code, out := verifiedHere(t, dir)
	if why := s.harmless(name, what, is, dir); why != "" && code == exit.Done {
		return "harmless"
	}
	if code != exit.State || !strings.Contains(out, strings.TrimSuffix(name, ".open")) {
		t.Errorf("%s: verify: exit %d: %s", label, code, out)
	}
	var done, errs bytes.Buffer
	code = run([]string{"repair", "--yes", "--json", dir}, nil, &done, &errs)
	var said repairedLine
	if done.Len() > 0 {
		if err := json.Unmarshal(done.Bytes(), &said); err != nil {
			t.Fatal(label, err)
		}
	}
	now := filesOf(t, dir)
	if len(said.Changed) == 0 {
		for n, raw := range s.files {
			if n != name && !bytes.Equal(now[n], raw) {
				t.Errorf("%s: refused, and %s is changed", label, n)
			}
		}
		if code != exit.State {
			t.Errorf("%s: nothing is changed, and exit %d: %+v %s", label, code, said, errs.String())
		}
		return "refused"
	}
	after, out := verifiedHere(t, dir)
	// A file of another crawl repeats answers of that crawl, and another record may repeat
	// an answer that is lost.
	if after == exit.Check && (what == "that of another crawl" || len(said.Lost) > 0) {
		after = exit.Done
	}
	if (code == exit.Done) != (len(said.Left) == 0) || (after == exit.Done) != (code == exit.Done) {
		t.Errorf("%s: repair: exit %d, %+v; verify: exit %d: %s", label, code, said, after, out)
	}
	gone := 0
	has := pagesOf(now[store.PagesFile])
	for url := range pagesOf(s.files[store.PagesFile]) {
		if !has[url] {
			gone++
		}
	}
	if gone > said.Again {
		t.Errorf("%s: %d pages are gone, and %d are fetched again", label, gone, said.Again)
	}
	switch {
	case len(said.Left) > 0:
		return "still damaged"
	case bytes.Equal(now[name], s.files[name]):
		return "as was"
	case len(said.Lost) == 0:
		return "sound"
	}
	return "sound, with loss"
}

// Files of each kind are spoilt in nine ways. Verify names each damage that is not harmless;
// repair leaves a crawl that verify finds sound, or says why not, and loses no page that is not
// fetched again. $PERMESSO_DAMAGES says how often, $PERMESSO_SEED where; with -v there is a table.
func TestDamages(t *testing.T) {
	damages, err := strconv.Atoi(os.Getenv("PERMESSO_DAMAGES"))
	if err != nil {
		damages = 30
	}
	seed, err := strconv.ParseUint(os.Getenv("PERMESSO_SEED"), 10, 64)
	if err != nil {
		seed = 1
	}
	crawls := spoilables(t)
	has := map[string][]spoilable{}
	for _, c := range crawls {
		for name := range c.files {
			kind := kindOf(name)
			if _, known := damageable[kind]; !known {
				t.Errorf("%s: %s is a kind of file that no damage is known of: give it a line in damageable, and docs/reference/repair.md one", c.name, name)
			}
			if !slices.ContainsFunc(has[kind], func(s spoilable) bool { return s.name == c.name }) {
				has[kind] = append(has[kind], c)
			}
		}
	}
	for kind := range damageable {
		if has[kind] == nil {
			t.Errorf("no crawl of this test has %s", kind)
		}
	}
	random := rand.New(rand.NewPCG(seed, 10))
	kinds := slices.Sorted(maps.Keys(has))
	table := map[string]map[string]int{}
	outcomes := []string{"harmless", "as was", "sound", "sound, with loss", "still damaged", "refused"}
	for n := 0; n < damages; {
		kind := kinds[random.IntN(len(kinds))]
		c := has[kind][random.IntN(len(has[kind]))]
		var names []string
		for name, raw := range c.files {
			if kindOf(name) == kind && len(raw) > 0 {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		if len(names) == 0 {
			continue
		}
		name := names[random.IntN(len(names))]
		what, is := c.spoil(random, name)
		if what == "" {
			continue
		}
		n++
		became := c.damage(t, name, what, is)
		if table[kind] == nil {
			table[kind] = map[string]int{}
		}
		table[kind][became]++
		if became == "refused" || became == "still damaged" {
			t.Logf("%s: %s: %s: %s", c.name, name, what, became)
		}
	}
	t.Log("| file | " + strings.Join(outcomes, " | ") + " |")
	for _, kind := range slices.Sorted(maps.Keys(table)) {
		line := "| `" + kind + "`"
		for _, o := range outcomes {
			line += fmt.Sprintf(" | %d", table[kind][o])
		}
		t.Log(line + " |")
	}
}
