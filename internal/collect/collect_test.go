package collect

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/internal/digest"
	"github.com/permesso-crawler/permesso/internal/state"
	"github.com/permesso-crawler/permesso/internal/store"
)

// fakeNodes is a state of a crawl on several machines with nodes and no contents. It implements
// state.Collector and state.Source.
type fakeNodes struct {
	nodes []state.Node
	copy  func() error
}

func (f *fakeNodes) CollectState(context.Context) (state.Source, error) { return f, nil }

func (f *fakeNodes) Nodes() []state.Node { return f.nodes }

func (f *fakeNodes) Hold(dir string) (string, io.Closer, error) {
	return filepath.Base(dir), io.NopCloser(nil), nil
}

func (f *fakeNodes) Copy(_ context.Context, m *state.Maker) error {
	if f.copy != nil {
		return f.copy()
	}
	return m.Ended(time.Now(), time.Time{}, false)
}

func (f *fakeNodes) Close() error { return nil }

// write writes an output of a node: first the committed bytes, then more bytes that are not
// committed.
func (f *fakeNodes) write(t *testing.T, root string, node int, name, committed, more string) {
	t.Helper()
	for len(f.nodes) <= node {
		f.nodes = append(f.nodes, state.Node{Name: fmt.Sprint("n", len(f.nodes)), Growing: state.Marks{}, Finished: state.Marks{}})
	}
	path := filepath.Join(root, f.nodes[node].Name, filepath.FromSlash(name))
	err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(committed+more), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	f.nodes[node].Growing[strings.TrimSuffix(name, openSuffix)] = markOf(committed)
}

func markOf(text string) state.Mark {
	m := marking{w: io.Discard, sha: digest.New()}
	io.WriteString(&m, text)
	return m.mark()
}

func logLine(at int, url string) string {
	return string((&crawllog.Line{Time: time.Unix(int64(at), 0), Size: -1, URL: url}).Append(nil))
}

func TestOutputsOfNodesAreCollected(t *testing.T) {
	root := t.TempDir()
	f := &fakeNodes{}
	f.write(t, root, 0, store.PagesFile, "{\"a\":1}\n{\"a\":2}\n", "{\"a\":3}\n")
	f.write(t, root, 1, store.PagesFile, "{\"b\":1}\n", "")
	f.write(t, root, 0, store.LinksFile, "", "")
	f.write(t, root, 1, store.LinksFile, "{\"l\":1}\n", "")
	m := f.nodes[0].Growing[store.LinksFile]
	m.Part = true
	f.nodes[0].Growing[store.LinksFile] = m
	f.write(t, root, 0, store.LogFile, logLine(10, "a:1")+logLine(30, "a:2"), logLine(40, "a:3"))
	f.write(t, root, 1, store.LogFile, logLine(20, "b:1")+logLine(5, "b:2")+logLine(35, "b:3"), logLine(50, "b:4")+"torn")
	f.nodes[1].Unclean = true
	f.write(t, root, 0, "warc/n0.warc.gz", "closed", "")
	f.write(t, root, 1, "warc/n1.warc.gz.open", "committed", "not")
	f.write(t, root, 1, "warc/none.warc.gz.open", "", "not")
	f.nodes[0].Finished["warc/n0.warc.gz"] = f.nodes[0].Growing["warc/n0.warc.gz"]
	delete(f.nodes[0].Growing, "warc/n0.warc.gz")
	into := filepath.Join(root, "all")
	done, err := Crawl(t.Context(), f, []string{filepath.Join(root, "n1"), filepath.Join(root, "n0")}, into, false)
	if err != nil || done.Nodes != 2 || done.Pages != 3 || done.WARCs != 2 || len(done.Damaged) > 0 {
		t.Errorf("%+v, %v", done, err)
	}
	files := map[string]string{
		store.PagesFile: "{\"b\":1}\n{\"a\":1}\n{\"a\":2}\n", store.LinksFile: "{\"l\":1}\n",
		// The clock of node b was set back before b:2. The lines of a node keep their order.
		store.LogFile:     logLine(10, "a:1") + logLine(20, "b:1") + logLine(5, "b:2") + logLine(30, "a:2") + logLine(35, "b:3") + logLine(50, "b:4"),
		"warc/n0.warc.gz": "closed", "warc/n1.warc.gz": "committed",
	}
	o, err := state.OpenOutline(into)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	marks, err := o.All()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		raw, err := os.ReadFile(filepath.Join(into, name))
		if err != nil || string(raw) != want {
			t.Errorf("%s: %q, %v, want %q", name, raw, err, want)
		}
		m, ok := marks.Growing[name]
		if !ok {
			m = marks.Finished[name]
		}
		sum := sha256.Sum256([]byte(want))
		if m.Length != int64(len(want)) || m.Sum != markOf(want).Sum || string(m.Digest()) != string(sum[:]) || m.Part != (name == store.LinksFile) {
			t.Errorf("%s has the mark %+v", name, m)
		}
	}
	linked, err := os.Stat(filepath.Join(into, "warc", "n0.warc.gz"))
	if err != nil {
		t.Fatal(err)
	}
	if was, err := os.Stat(filepath.Join(root, "n0", "warc", "n0.warc.gz")); err != nil || !os.SameFile(linked, was) {
		t.Errorf("a WARC file is not linked: %v", err)
	}
	all, err := fs.Glob(os.DirFS(root), "*/*")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 5+4+4 {
		t.Errorf("there are %q", all)
	}
}

func TestACollectThatFailsLeavesNothing(t *testing.T) {
	root := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	broken := errors.New("broken")
	f := &fakeNodes{copy: func() error { return broken }}
	f.write(t, root, 0, store.PagesFile, "{}\n", "")
	dirs, into := []string{filepath.Join(root, "n0")}, filepath.Join(root, "all")
	look := func(want error, err error) {
		t.Helper()
		names, _ := filepath.Glob(filepath.Join(root, "*"))
		hidden, _ := filepath.Glob(filepath.Join(root, ".all*"))
		if !errors.Is(err, want) || len(names) != 1 || len(hidden) > 0 {
			t.Errorf("%v, want %v; left: %q, %q", err, want, names, hidden)
		}
	}
	_, err := Crawl(ctx, f, dirs, into, false)
	look(broken, err)
	f.copy = func() error { cancel(); return nil }
	_, err = Crawl(ctx, f, dirs, into, false)
	look(context.Canceled, err)
	_, err = Crawl(ctx, f, dirs, into, false)
	look(context.Canceled, err)
	f.copy = func() error { return os.Mkdir(into, 0o755) } // as another process might do at the same time
	if _, err = Crawl(t.Context(), f, dirs, into, false); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	if names, err := os.ReadDir(into); len(names) > 0 || err != nil {
		t.Errorf("the directory of another process has %v, %v", names, err)
	}
}

// If the caller sets moved, WARC files of nodes may be missing.
func TestWARCFilesOfNodesMayBeMovedAway(t *testing.T) {
	root := t.TempDir()
	f := &fakeNodes{}
	f.write(t, root, 0, "warc/a.warc.gz", "a", "")
	f.nodes[0].Finished["warc/a.warc.gz"] = f.nodes[0].Growing["warc/a.warc.gz"]
	f.nodes[0].Growing = state.Marks{}
	dirs, into := []string{filepath.Join(root, "n0")}, filepath.Join(root, "all")
	if err := os.Remove(filepath.Join(root, "n0", "warc", "a.warc.gz")); err != nil {
		t.Fatal(err)
	}
	if _, err := Crawl(t.Context(), f, dirs, into, false); !errors.As(err, new(*store.DamagedError)) {
		t.Error(err)
	}
	if done, err := Crawl(t.Context(), f, dirs, into, true); err != nil || len(done.Moved) != 1 || done.WARCs != 0 {
		t.Errorf("%+v, %v", done, err)
	}
	f.write(t, root, 0, "warc/b.warc.gz.open", "b", "")
	f.write(t, root, 1, "warc/b.warc.gz.open", "b", "")
	dirs = append(dirs, filepath.Join(root, "n1"))
	if _, err := Crawl(t.Context(), f, dirs, into+"2", true); err == nil || !strings.Contains(err.Error(), "same name, b.warc.gz") {
		t.Error(err)
	}
}
