package corpus

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/internal/outfile"
	"go.yaml.in/yaml/v3"
)

// IndexFile is the name of a file at the top of a tree. It has the documents without their
// content, and the paths of their files, as JSON lines.
const IndexFile = "index.jsonl"

// A frontMatter is the YAML at the beginning of a Markdown file.
type frontMatter struct {
	Title    string   `yaml:"title,omitempty"`
	URL      string   `yaml:"url"`
	Time     string   `yaml:"time"`
	Language string   `yaml:"language,omitempty"`
	Main     bool     `yaml:"main_content"`
	Digest   string   `yaml:"digest,omitempty"`
	Usage    []string `yaml:"usage,omitempty"`
	License  []string `yaml:"license,omitempty"`
	Policy   []string `yaml:"tdm_policy,omitempty"`
	Near     string   `yaml:"near_duplicate_of,omitempty"`
	Error    string   `yaml:"error,omitempty"`
}

// WriteTree makes the directory dir with IndexFile and a file for each document, in directories
// like those of the site. If dir exists, the error wraps fs.ErrExist. But if replace is set and
// IsTree reports true, the new directory replaces dir. All bytes of the files are also written
// to count. WriteTree returns the number of documents, including those without content, which
// have no file.
//
// Unless there is an error, the caller must call end once: end(true) renames the directory to
// dir, end(false) removes it.
func WriteTree(dir string, replace bool, count io.Writer, docs iter.Seq2[*Document, error]) (n int64, end func(keep bool) error, err error) {
	dir = filepath.Clean(dir)
	if err := mayMake(dir, replace); err != nil {
		return 0, nil, err
	}
	if _, err := os.Stat(filepath.Dir(dir)); err != nil {
		return 0, nil, err
	}
	temp, remove, err := outfile.TempDir(filepath.Dir(dir), "."+filepath.Base(dir)+".")
	if err != nil {
		return 0, nil, err
	}
	whole := filepath.Join(temp, "tree")
	if n, err = writeTree(whole, count, docs); err != nil {
		return n, nil, errors.Join(err, remove())
	}
	return n, func(keep bool) (err error) {
		old := filepath.Join(temp, "old")
		if keep {
			err = rename(whole, dir, old, replace)
		}
		if _, lost := os.Lstat(old); err != nil && lost == nil {
			return fmt.Errorf("%w: the directory that was to be replaced is now %s", err, old)
		}
		return errors.Join(err, remove())
	}, nil
}

// mayMake returns an error if the directory dir exists and must not be replaced.
func mayMake(dir string, replace bool) error {
	if _, err := os.Lstat(dir); err != nil || replace && IsTree(dir) {
		return nil // report nothing, because making dir reports the error
	}
	return &fs.PathError{Op: "make", Path: dir, Err: fs.ErrExist}
}

// IsTree reports whether dir looks like a directory that WriteTree has made: it has an
// IndexFile and, at the same level, only directories with names of hosts. If a user has added
// other files, or a directory such as .git, IsTree returns false, so that they are not
// destroyed.
func IsTree(dir string) bool {
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return false
	}
	entries, err := os.ReadDir(dir)
	found := false
	for _, e := range entries {
		switch {
		case e.Name() == IndexFile && e.Type().IsRegular():
			found = true
		case !e.IsDir() || strings.HasPrefix(e.Name(), "."):
			return false
		}
	}
	return found && err == nil
}

// rename renames the directory whole to dir. If dir exists, it is first renamed to old; if
// there is an error later, it is renamed back.
func rename(whole, dir, old string, replace bool) error {
	if err := mayMake(dir, replace); err != nil {
		return err
	}
	moved := os.Rename(dir, old)
	if moved != nil && !errors.Is(moved, fs.ErrNotExist) {
		return moved
	}
	err := os.Rename(whole, dir)
	if err != nil && moved == nil {
		err = errors.Join(err, os.Rename(old, dir))
	}
	return err
}

// writeTree makes the directory dir with all files of a tree.
func writeTree(dir string, count io.Writer, docs iter.Seq2[*Document, error]) (int64, error) {
	if err := os.Mkdir(dir, 0o777); err != nil {
		return 0, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return 0, err
	}
	t := &tree{root: root, count: count}
	n, err := t.write(docs)
	return n, errors.Join(err, root.Close())
}

// A tree is a directory of Markdown files that is being written.
type tree struct {
	root  *os.Root // opened with os.OpenRoot, so that no name can lead outside of the directory
	names names
	count io.Writer
	made  string // path of the directory that was made last
}

func (t *tree) write(docs iter.Seq2[*Document, error]) (n int64, err error) {
	index, err := t.root.Create(IndexFile)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, index.Close()) }()
	out := bufio.NewWriterSize(io.MultiWriter(index, t.count), bufferSize)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for d, err := range docs {
		if err != nil {
			return n, err
		}
		if err := t.document(d); err != nil {
			return n, err
		}
		entry := *d
		entry.Markdown = ""
		if err := enc.Encode(&entry); err != nil {
			return n, err
		}
		n++
	}
	return n, out.Flush()
}

// document writes the file of a document and sets d.File. It does nothing if the document has
// no content.
func (t *tree) document(d *Document) error {
	if d.Markdown == "" {
		return nil
	}
	name := t.names.of(d.Row)
	if dir := path.Dir(name); dir != t.made {
		if err := t.root.MkdirAll(filepath.FromSlash(dir), 0o777); err != nil {
			return err
		}
		t.made = dir
	}
	head, err := yaml.Marshal(frontOf(d))
	if err != nil {
		return err
	}
	file, err := t.root.OpenFile(filepath.FromSlash(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(io.MultiWriter(file, t.count), "---\n%s---\n\n%s\n", head, d.Markdown)
	d.File = name
	return errors.Join(err, file.Close())
}

func frontOf(d *Document) *frontMatter {
	f := &frontMatter{
		Title: strings.ToValidUTF8(d.Title, "\uFFFD"), URL: d.URL, Time: d.Time.Format(time.RFC3339), Language: d.Language,
		Main: d.Main, Digest: d.Digest, License: strings.Fields(d.License), Policy: strings.Fields(d.TDMPolicy), Near: d.Near, Error: d.Error,
	}
	if d.Usage != "" {
		f.Usage = strings.Split(d.Usage, "; ")
	}
	return f
}
