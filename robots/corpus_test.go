package robots

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/temoto/robotstxt"
)

// corpusDir returns the directory of the corpus: 4,231 real files, which are not redistributed. It
// is the directory that PERMESSO_CORPUS names, or one next to the repository. Without the corpus
// corpusDir skips the test.
func corpusDir(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("PERMESSO_CORPUS")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "robots")
	}
	for _, name := range []string{"corpus.tar.gz", "corpus-verdicts.tsv.gz"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Skipf("no corpus of real files: PERMESSO_CORPUS should name the directory of %s", name)
		}
	}
	return dir
}

var loadCorpus = sync.OnceValues(func() (map[string][]byte, error) {
	dir := os.Getenv("PERMESSO_CORPUS")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "robots")
	}
	f, err := os.Open(filepath.Join(dir, "corpus.tar.gz"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for tr := tar.NewReader(z); ; {
		h, err := tr.Next()
		if err == io.EOF {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		b, err := io.ReadAll(tr)
		if err != nil {
			return nil, err
		}
		files[strings.TrimSuffix(filepath.Base(h.Name), ".txt")] = b
	}
})

func corpus(t testing.TB) map[string][]byte {
	t.Helper()
	corpusDir(t)
	files, err := loadCorpus()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// query is one line of the file that lists the verdicts of google/robotstxt.
type query struct {
	file, agent, url string
	allow            bool
}

func corpusQueries(t testing.TB) []query {
	t.Helper()
	f, err := os.Open(filepath.Join(corpusDir(t), "corpus-verdicts.tsv.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var list []query
	sc := bufio.NewScanner(z)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		c := strings.Split(sc.Text(), "\t")
		if len(c) != 4 {
			t.Fatalf("verdict of %d columns: %q", len(c), sc.Text())
		}
		list = append(list, query{c[0], c[1], c[2], c[3] == "allow"})
	}
	return list
}

// Dialect Google gives the same verdicts as google/robotstxt for the real files of the corpus.
func TestCorpusGoogle(t *testing.T) {
	files, bad, n := corpus(t), 0, 0
	parsed := map[string]*File{}
	for _, q := range corpusQueries(t) {
		body, ok := files[q.file]
		if !ok {
			t.Fatalf("no file %q in the corpus", q.file)
		}
		f := parsed[q.file]
		if f == nil {
			f = Parse(body, Google)
			parsed[q.file] = f
		}
		target, err := Target(q.url)
		if err != nil {
			t.Fatal(err)
		}
		n++
		if v := f.Group(q.agent).Match(target); v.Allowed() != q.allow {
			if bad++; bad < 20 {
				t.Errorf("%s, %s, %s: %v (%v)", q.file, q.agent, q.url, v, v.Rule)
			}
		}
	}
	t.Logf("%d verdicts, %d differ", n, bad)
}

// Each iteration processes all real files of the corpus.
func BenchmarkCorpusParse(b *testing.B) {
	files := corpus(b)
	size := 0
	for _, body := range files {
		size += len(body)
	}
	run := func(name string, parse func([]byte)) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for _, body := range files {
					parse(body)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(float64(size)/1024), "ns/KiB")
		})
	}
	run("permesso", func(body []byte) { Parse(body, RFC9309).Group("wrenbot") })
	run("permesso-Parse", func(body []byte) { Parse(body, RFC9309) })
	run("temoto", func(body []byte) { _, _ = robotstxt.FromBytes(body) })
}

// Each iteration matches all queries, each with its own file.
func BenchmarkCorpusMatch(b *testing.B) {
	files, queries := corpus(b), corpusQueries(b)
	targets := make([]string, len(queries))
	groups := make([]*Group, len(queries))
	theirs := make([]*robotstxt.RobotsData, len(queries))
	parsed, temoto := map[string]*File{}, map[string]*robotstxt.RobotsData{}
	for i, q := range queries {
		targets[i], _ = Target(q.url)
		if parsed[q.file] == nil {
			parsed[q.file] = Parse(files[q.file], RFC9309)
			temoto[q.file], _ = robotstxt.FromBytes(files[q.file])
		}
		groups[i], theirs[i] = parsed[q.file].Group(q.agent), temoto[q.file]
	}
	b.Run("permesso", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			groups[i%len(groups)].Match(targets[i%len(targets)])
		}
	})
	b.Run("temoto", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if r := theirs[i%len(theirs)]; r != nil {
				r.TestAgent(targets[i%len(targets)], queries[i%len(queries)].agent)
			}
		}
	})
}
