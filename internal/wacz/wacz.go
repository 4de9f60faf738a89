// Package wacz packs the WARC files of a crawl into a WACZ, the format in which archives are
// passed on and replayed in a browser, and checks WACZ files. The format is that of
// https://specs.webrecorder.net/wacz/1.1.1/, with the profile data-package and wacz_version
// 1.1.1. Every reader accepts it.
//
//	archive/NAME.warc.gz      the WARC files as they are
//	indexes/index.cdx         CDXJ of all of them; in a large package instead
//	indexes/index.cdx.gz      the same in blocks, each a gzip member, and
//	indexes/index.idx         the first key of each block, with its place
//	pages/pages.jsonl         the pages, for people to start from
//	datapackage.json          what is there, with sizes and SHA-256
//	datapackage-digest.json   SHA-256 of datapackage.json
//
// A reader fetches parts of the archive and of the index by their offsets, so these files are
// stored and not compressed by ZIP (section "Zip Compression").
package wacz

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/permesso-crawler/permesso/internal/warcscan"
	"github.com/permesso-crawler/permesso/storage/cdxj"
)

// Version is the wacz_version of written packages.
const Version = "1.1.1"

// PlainIndex is the largest number of captures (archived answers) in an index that is one plain
// file. A reader loads a plain index completely. A larger index is written in blocks, so that a
// reader need not load all of it.
const PlainIndex = 20_000

// blockLines is how many lines, with one capture each, a block of a large index has. Other
// programs that write WACZ use the same number.
const blockLines = 3000

// A Page is a line of pages.jsonl.
type Page struct {
	ID    string    // any text; left out if it is empty
	URL   string    // URL of the capture, as in the WARC file
	Time  time.Time // time of the capture (the archived answer), as in WARC-Date
	Title string    // left out if it is empty
}

// A Package says what Write puts into a WACZ.
type Package struct {
	// WARCs are the paths of the WARC files. Their names without directories must differ, and
	// end in .warc or .warc.gz.
	WARCs []string
	// Unlisted reports whether a capture is left out of the index, for example because another
	// record replaces it. nil: no capture is left out.
	Unlisted func(*cdxj.Entry) bool
	// Pages yields the pages; nil: there are none. If it yields an error, Write returns that
	// error.
	Pages iter.Seq2[Page, error]

	Title       string
	Description string    // left out if it is empty
	Created     time.Time // when the package was made; required
	Software    string    // name and version of the program; left out if it is empty
	MainPageURL string    // the page that a reader opens first; left out if it is empty

	// Temp is the directory for temporary files; "": the system's directory. The index takes
	// about 250 bytes there for each capture.
	Temp string

	memory int // bytes of the index that are sorted in memory; 0: cdxj.defaultMemory
}

// A resource is an entry of datapackage.json.
type resource struct {
	Name  string `json:"name"`
	Path  string `json:"path"`
	Hash  string `json:"hash"`
	Bytes int64  `json:"bytes"`
}

type dataPackage struct {
	Profile     string     `json:"profile"`
	WACZVersion string     `json:"wacz_version"`
	Title       string     `json:"title"`
	Description string     `json:"description,omitempty"`
	Created     string     `json:"created"`
	Software    string     `json:"software,omitempty"`
	MainPageURL string     `json:"mainPageUrl,omitempty"`
	Resources   []resource `json:"resources"`
}

type packageDigest struct {
	Path string `json:"path"`
	Hash string `json:"hash"`
}

// The names of the files in a package.
const (
	packageName = "datapackage.json"
	digestName  = "datapackage-digest.json"
	pagesName   = "pages/pages.jsonl"
	plainName   = "indexes/index.cdx"
	blocksName  = "indexes/index.cdx.gz"
	blockIndex  = "indexes/index.idx"
	profile     = "data-package"
)

// Write writes a package to w sequentially. It reads each WARC file twice, first for the index
// and then to copy it. The file must not grow in between. The memory of Write grows only by
// about 200 bytes for 3000 captures. A package above 4 GB has the fields of ZIP64. If ctx ends
// while Write reads for the index, Write returns its error.
func Write(ctx context.Context, w io.Writer, p *Package) error {
	if err := p.check(); err != nil {
		return fmt.Errorf("WACZ: %w", err)
	}
	if err := p.write(ctx, w); err != nil {
		return fmt.Errorf("WACZ: %w", err)
	}
	return nil
}

func (p *Package) check() error {
	if len(p.WARCs) == 0 {
		return errors.New("no WARC files: a package must have one at least")
	}
	if p.Created.IsZero() {
		return errors.New("without the time when it was created: set Created")
	}
	names := map[string]string{}
	for _, file := range p.WARCs {
		name := filepath.Base(file)
		if !strings.HasSuffix(name, ".warc") && !strings.HasSuffix(name, ".warc.gz") {
			return fmt.Errorf("%s: the name of a WARC file must end in .warc or .warc.gz: rename it", file)
		}
		if other, twice := names[name]; twice {
			return fmt.Errorf("%s and %s have one name: rename one of them", other, file)
		}
		names[name] = file
	}
	return nil
}

func (p *Package) write(ctx context.Context, w io.Writer) error {
	index := cdxj.NewSorter(p.Temp, p.memory)
	defer index.Close()
	add := index.Add
	if p.Unlisted != nil {
		add = func(e *cdxj.Entry) error {
			if p.Unlisted(e) {
				return nil
			}
			return index.Add(e)
		}
	}
	for _, file := range p.WARCs {
		if err := indexFile(ctx, file, add); err != nil {
			return err
		}
	}

	z := &writer{zip: zip.NewWriter(w), created: p.Created}
	if err := z.add(pagesName, zip.Deflate, p.pages); err != nil {
		return err
	}
	var err error
	if index.Len() <= PlainIndex {
		err = z.add(plainName, zip.Store, func(w io.Writer) error {
			_, err := index.WriteTo(w)
			return err
		})
	} else {
		err = z.blocks(index)
	}
	if err != nil {
		return err
	}
	for _, file := range p.WARCs {
		err := z.add("archive/"+filepath.Base(file), zip.Store, func(w io.Writer) error {
			f, err := os.Open(file)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = io.Copy(w, f)
			return err
		})
		if err != nil {
			return err
		}
	}
	return z.finish(p)
}

func indexFile(ctx context.Context, file string, add func(*cdxj.Entry) error) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	for e, err := range warcscan.Entries(ctx, f, info.Size(), filepath.Base(file)) {
		if err == nil {
			err = add(e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pages writes pages.jsonl: a header line, and a line for each page (section "pages.jsonl").
func (p *Package) pages(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	if _, err := io.WriteString(w, `{"format":"json-pages-1.0","id":"pages","title":"All Pages"}`+"\n"); err != nil {
		return err
	}
	if p.Pages == nil {
		return nil
	}
	for page, err := range p.Pages {
		if err != nil {
			return fmt.Errorf("pages: %w", err)
		}
		if page.URL == "" || page.Time.IsZero() {
			return fmt.Errorf("page %q at %v: it must have a URL and a time", page.URL, page.Time)
		}
		err = enc.Encode(struct {
			ID    string `json:"id,omitempty"`
			URL   string `json:"url"`
			TS    string `json:"ts"`
			Title string `json:"title,omitempty"`
		}{page.ID, page.URL, page.Time.UTC().Format(time.RFC3339Nano), page.Title})
		if err != nil {
			return err
		}
	}
	return nil
}

// A writer writes a package, and remembers its files for datapackage.json.
type writer struct {
	zip       *zip.Writer
	created   time.Time
	resources []resource
}

// add writes a file of the package. fill writes its contents, and method is how ZIP stores it.
func (z *writer) add(name string, method uint16, fill func(io.Writer) error) error {
	w, err := z.zip.CreateHeader(&zip.FileHeader{Name: name, Method: method, Modified: z.created.UTC()})
	if err != nil {
		return err
	}
	sum := sha256.New()
	size := &counter{}
	if err := fill(io.MultiWriter(w, sum, size)); err != nil {
		return err
	}
	z.resources = append(z.resources, resource{path.Base(name), name, hash(sum.Sum(nil)), size.n})
	return nil
}

func hash(sum []byte) string { return "sha256:" + hex.EncodeToString(sum) }

type counter struct{ n int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}

// blocks writes a large index in the form called ZipNum: blocks of lines, each a gzip member,
// and a second index with the offsets and lengths of the blocks. The second index is small,
// because it has one line for each block.
func (z *writer) blocks(index *cdxj.Sorter) error {
	var second bytes.Buffer
	fmt.Fprintf(&second, `!meta 0 {"format":"cdxj-gzip-1.0","filename":%q}`+"\n", path.Base(blocksName))
	err := z.add(blocksName, zip.Store, func(w io.Writer) error {
		b := &blockWriter{out: w, index: &second}
		if _, err := index.WriteTo(b); err != nil {
			return err
		}
		return b.flush()
	})
	if err != nil {
		return err
	}
	return z.add(blockIndex, zip.Store, func(w io.Writer) error {
		_, err := second.WriteTo(w)
		return err
	})
}

// A blockWriter splits a stream of lines into blocks.
type blockWriter struct {
	out    io.Writer
	index  *bytes.Buffer
	block  []byte
	lines  int
	zipped bytes.Buffer
	offset int64
}

func (b *blockWriter) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			b.block = append(b.block, p...)
			break
		}
		b.block = append(b.block, p[:end+1]...)
		p = p[end+1:]
		if b.lines++; b.lines == blockLines {
			if err := b.flush(); err != nil {
				return 0, err
			}
		}
	}
	return n, nil
}

func (b *blockWriter) flush() error {
	if len(b.block) == 0 {
		return nil
	}
	b.zipped.Reset()
	zip := gzip.NewWriter(&b.zipped)
	zip.Write(b.block) // ignore the error, because writing to memory cannot fail
	zip.Close()
	key, _, _ := bytes.Cut(b.block, []byte(" {"))
	sum := sha256.Sum256(b.zipped.Bytes())
	fmt.Fprintf(b.index, `%s {"offset":%d,"length":%d,"digest":%q,"filename":%q}`+"\n",
		key, b.offset, b.zipped.Len(), hash(sum[:]), path.Base(blocksName))
	b.offset += int64(b.zipped.Len())
	b.block, b.lines = b.block[:0], 0
	_, err := b.out.Write(b.zipped.Bytes())
	return err
}

// finish writes datapackage.json and datapackage-digest.json.
func (z *writer) finish(p *Package) error {
	text, err := json.MarshalIndent(dataPackage{
		Profile: profile, WACZVersion: Version, Title: p.Title, Description: p.Description,
		Created: p.Created.UTC().Format(time.RFC3339), Software: p.Software, MainPageURL: p.MainPageURL, Resources: z.resources,
	}, "", "  ")
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	digest, err := json.MarshalIndent(packageDigest{packageName, hash(sum[:])}, "", "  ")
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		text []byte
	}{{packageName, text}, {digestName, digest}} {
		err := z.add(f.name, zip.Deflate, func(w io.Writer) error {
			_, err := w.Write(f.text)
			return err
		})
		if err != nil {
			return err
		}
	}
	return z.zip.Close()
}
