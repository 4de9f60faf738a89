package crawler_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/store"
)

// A repaired is the result of repairing one damage.
type repaired struct {
	file, what string
	// "as was": equal to the undamaged file; "whole": valid, and losses are reported; "left":
	// problems remain; "refused": Repair returned an error
	became string
}

// spoilt copies the crawl into a new directory. In the copy the file name is replaced by is, or
// removed if is is nil.
func (c *damagedCrawl) spoilt(t *testing.T, name string, is []byte) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "crawl")
	for n, raw := range c.files {
		if n == name {
			raw = is
		}
		if raw != nil {
			write(t, filepath.Join(dir, n), raw)
		}
	}
	return dir
}

// pageURLs returns the URLs in the readable lines of pages.jsonl.
func pageURLs(raw []byte) map[string]bool {
	all := map[string]bool{}
	for line := range bytes.Lines(raw) {
		var p store.PageRecord
		if json.Unmarshal(line, &p) == nil && p.URL != "" {
			all[p.URL] = true
		}
	}
	return all
}

// repair repairs a copy of the crawl with one damage. It checks that no readable page is lost, and
// that the original files are kept.
func (c *damagedCrawl) repair(t *testing.T, name, what string, is []byte) (became repaired) {
	t.Helper()
	became = repaired{file: kindOf(name), what: what}
	dir := c.spoilt(t, name, is)
	defer os.RemoveAll(dir)
	before := readDir(t, dir)
	problems := 0
	_, err := store.Verify(t.Context(), dir, func(error) { problems++ })
	r, rerr := store.NewRepair(t.Context(), dir, store.RepairOptions{Writer: crawler.ArchiveWriter})
	if rerr != nil {
		if !maps.EqualFunc(readDir(t, dir), before, bytes.Equal) {
			t.Errorf("%s: %s: %s: refused, and changed", c.name, name, what)
		}
		became.became = "refused"
		return became
	}
	if r.Sound {
		if problems > 0 || err != nil {
			t.Errorf("%s: %s: %s: %d problems, %v, and repair reports it as sound", c.name, name, what, problems, err)
		}
		if err := r.Discard(); err != nil {
			t.Error(err)
		}
		if !maps.EqualFunc(readDir(t, dir), before, bytes.Equal) {
			t.Errorf("%s: %s: %s: sound, and changed", c.name, name, what)
		}
		became.became = "harmless"
		return became
	}
	left := r.Left
	if err := r.Commit(); err != nil {
		t.Errorf("%s: %s: %s: %v", c.name, name, what, err)
		return became
	}
	aside, err := filepath.Rel(dir, r.Aside)
	if err != nil {
		t.Fatal(err)
	}
	after := readDir(t, dir)
	for n, raw := range before {
		kept, moved := after[filepath.Join(aside, n)]
		if moved && !bytes.Equal(kept, raw) || !moved && !bytes.Equal(after[n], raw) && n != store.RunFile {
			t.Errorf("%s: %s: %s: %s of before is not kept", c.name, name, what, n)
		}
	}
	if r.Restored {
		for n, raw := range c.files {
			if !bytes.Equal(after[n], raw) && !(n == name && bytes.HasPrefix(after[n], raw)) {
				t.Errorf("%s: %s: %s: %s is not as it was", c.name, name, what, n)
			}
		}
	}
	var still []string
	if _, err := store.Verify(t.Context(), dir, func(err error) { still = append(still, err.Error()) }); err != nil {
		still = append(still, err.Error())
	}
	if len(still) != len(left) {
		t.Errorf("%s: %s: %s: repair reported %d remaining problems, and there are %q", c.name, name, what, len(left), still)
	}
	// Each page that was readable is still there, or its URL is queued again.
	had, has := pageURLs(before[store.PagesFile]), pageURLs(after[store.PagesFile])
	for url := range pageURLs(c.files[store.PagesFile]) {
		if had[url] && !has[url] {
			t.Errorf("%s: %s: %s: the page %s could be read, and is lost", c.name, name, what, url)
		}
	}
	switch {
	case len(left) > 0:
		became.became = "left"
	case bytes.Equal(after[name], c.files[name]):
		became.became = "as was"
	default:
		became.became = "whole"
	}
	if again, err := store.NewRepair(t.Context(), dir, store.RepairOptions{}); err == nil {
		if len(left) == 0 && !again.Sound {
			t.Errorf("%s: %s: %s: a second repair finds something: %q %q", c.name, name, what, again.Mended, again.Lost)
		}
		if err := again.Discard(); err != nil {
			t.Error(err)
		}
	}
	return became
}

// kindOf returns the kind of a file, for the rows of a table.
func kindOf(name string) string {
	if strings.HasPrefix(name, store.ArchiveDir) {
		return "warc/"
	}
	return name
}

// randomDamage damages a file in one of several ways. It returns the name of the way and the new
// contents.
func randomDamage(r *rand.Rand, raw, older []byte, parts [][]byte) (what string, is []byte) {
	b := bytes.Clone(raw)
	switch r.IntN(10) {
	case 0, 1:
		b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		return "flipped", b
	case 2:
		return "cut", b[:r.IntN(len(b))]
	case 3:
		return "removed", nil
	case 4:
		if n := len(parts); n > 1 {
			i := r.IntN(n)
			return "record twice", slices.Concat(slices.Insert(slices.Clone(parts), i, parts[i])...)
		}
	case 5:
		if n := len(parts); n > 1 {
			p := slices.Clone(parts)
			i := r.IntN(n - 1)
			p[i], p[i+1] = p[i+1], p[i]
			return "swapped", slices.Concat(p...)
		}
	case 6:
		at := r.IntN(len(b))
		clear(b[at:min(len(b), at+4096)])
		return "block of zeros", b
	case 7:
		return "appended", append(b, "not written by a crawl\n"...)
	case 8:
		return "emptied", []byte{}
	case 9:
		if older != nil {
			return "older copy", older
		}
	}
	b[r.IntN(len(b))] ^= byte(1 + r.IntN(255))
	return "one byte", b
}

// Files of a crawl are damaged in ten ways. Repair restores what it can, loses no readable page,
// and keeps the original files. $PERMESSO_DAMAGES is the number of damages, $PERMESSO_SEED the
// random seed; with -v a table is printed.
func TestRepair(t *testing.T) {
	damages, err := strconv.Atoi(os.Getenv("PERMESSO_DAMAGES"))
	if err != nil {
		damages = 40
	}
	seed, err := strconv.ParseUint(os.Getenv("PERMESSO_SEED"), 10, 64)
	if err != nil {
		seed = 1
	}
	random := rand.New(rand.NewPCG(seed, 9))
	crawls := damagedCrawls(t)
	// With an older state file, Repair would cut off pages that were committed after it. So it must
	// refuse.
	for _, c := range crawls {
		if b := c.repair(t, store.StateFile, "older copy", c.older[store.StateFile]); b.became != "refused" {
			t.Errorf("%s: an older %s: %s", c.name, store.StateFile, b.became)
		}
	}
	table := map[string]map[string]int{}
	for range damages {
		c := crawls[random.IntN(len(crawls))]
		name := slices.Sorted(maps.Keys(c.files))[random.IntN(len(c.files))]
		if name == store.RunFile {
			continue
		}
		raw := c.files[name]
		what, is := randomDamage(random, raw, c.older[name], parts(t, name, raw))
		if bytes.Equal(is, raw) && is != nil {
			continue
		}
		b := c.repair(t, name, what, is)
		if table[b.file] == nil {
			table[b.file] = map[string]int{}
		}
		table[b.file][b.became]++
		if (b.file == store.PagesFile || b.file == store.LinksFile) && b.became != "as was" && b.became != "harmless" {
			t.Errorf("%s: %s: %s: %s, and the archive has all of it", c.name, name, what, b.became)
		}
		if b.became == "refused" || b.became == "left" {
			t.Logf("%s: %s: %s: %s", c.name, name, what, b.became)
		}
	}
	t.Log("| file | " + strings.Join(outcomes, " | ") + " |")
	for _, file := range slices.Sorted(maps.Keys(table)) {
		line := "| " + file
		for _, o := range outcomes {
			line += fmt.Sprintf(" | %d", table[file][o])
		}
		t.Log(line + " |")
	}
}

var outcomes = []string{"harmless", "as was", "whole", "left", "refused"}
