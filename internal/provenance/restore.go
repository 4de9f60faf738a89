package provenance

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/permesso-crawler/permesso/internal/store"
)

// A Restored is the original content of a file that differs from provenance.json.
type Restored struct {
	Name string
	How  string // how the content was found, in words, such as "one bit of byte 7 had flipped"
	Text []byte
}

// mostRestored is the size in bytes of the largest file that Restore can restore.
const mostRestored = 64 << 20

// mostFlipped is the size in bytes of the largest file that is searched for a flipped bit. The
// time of the search grows with the square of the size.
const mostFlipped = 16 << 10

// Restore returns the original contents of those files in differ that it can restore. A content
// is right if it matches the provenance.json in dir. Restore can remove bytes that were added
// at the end, and correct one flipped bit. It can copy a file that a crawl beside dir has, too,
// and make the lists again that Write makes from the state and the log. It writes nothing. Of o
// it uses only OptOut. It fails with the same errors as Write.
func Restore(ctx context.Context, dir string, differ []Difference, o Options) (all []Restored, err error) {
	text, err := readBounded(filepath.Join(dir, File), mostFile)
	if err != nil {
		return nil, err
	}
	var p Provenance
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, err
	}
	var lists map[string][]byte
	for _, d := range differ {
		i := slices.IndexFunc(p.Outputs, func(o Output) bool { return o.Name == d.File })
		if i < 0 || p.Outputs[i].Bytes > mostRestored || !filepath.IsLocal(filepath.FromSlash(d.File)) {
			continue
		}
		of := p.Outputs[i]
		text, how, err := found(dir, of)
		if err != nil {
			return nil, err
		}
		if text != nil {
			all = append(all, Restored{of.Name, how, text})
			continue
		}
		if lists == nil {
			if lists, err = again(ctx, dir, Options{OptOut: o.OptOut, Now: p.Written}); err != nil {
				return nil, err
			}
		}
		name := of.Name
		if name == "seeds.txt" {
			name = SeedsFile // a snapshot of a series has its seeds in seeds.txt, and Write makes the same text under the name SeedsFile
		}
		if text, ok := lists[name]; ok && of.is(text) {
			all = append(all, Restored{of.Name, "it is made again of the state and the log", text})
		}
	}
	return all, nil
}

// is reports whether text is the content of o, by length and digest.
func (o Output) is(text []byte) bool {
	sum := sha256.Sum256(text)
	return o.Bytes == int64(len(text)) && o.SHA256 == hex.EncodeToString(sum[:])
}

// found searches for the original content of a file. It tries to repair the damaged file, and
// then looks for the file in the directories beside dir. text is nil if it does not find the
// content. how says how the content was found.
func found(dir string, of Output) (text []byte, how string, err error) {
	name := filepath.FromSlash(of.Name)
	text, err = readBounded(filepath.Join(dir, name), mostRestored)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errTooLong) {
		return nil, "", err
	}
	if int64(len(text)) > of.Bytes && of.is(text[:of.Bytes]) {
		return text[:of.Bytes], fmt.Sprintf("%d bytes after its end are put aside", int64(len(text))-of.Bytes), nil
	}
	if at, ok := unflip(text, of); ok {
		return text, fmt.Sprintf("one bit of byte %d had flipped", at), nil
	}
	beside, err := os.ReadDir(filepath.Join(dir, ".."))
	if err != nil {
		return nil, "", nil
	}
	for _, d := range beside {
		if text, err := readBounded(filepath.Join(dir, "..", d.Name(), name), of.Bytes); err == nil && of.is(text) {
			return text, d.Name() + " has the same", nil
		}
	}
	return nil, "", nil
}

// unflip corrects the one bit in which text differs from the original content of the file. at
// is the index of the byte. ok is false if there is no such bit; text is then unchanged.
func unflip(text []byte, of Output) (at int, ok bool) {
	if int64(len(text)) != of.Bytes || of.Bytes > mostFlipped {
		return 0, false
	}
	for i := range text {
		for bit := range 8 {
			text[i] ^= 1 << bit
			if of.is(text) {
				return i, true
			}
			text[i] ^= 1 << bit
		}
	}
	return 0, false
}

// again returns the lists that Write would write for the crawl in dir, by file name.
func again(ctx context.Context, dir string, o Options) (lists map[string][]byte, err error) {
	state, err := store.OpenReader(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, state.Close()) }()
	temp, err := os.MkdirTemp("", "permesso-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	w := newWriter(ctx, dir, state, o)
	w.into = temp
	defer func() { err = errors.Join(err, w.discard()) }()
	for _, step := range []func() error{w.begin, w.readLog, w.readPages, w.writeLists} {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err := step(); err != nil {
			return nil, err
		}
	}
	lists = map[string][]byte{}
	for _, s := range w.staged {
		if lists[s.name], err = os.ReadFile(s.file.Name()); err != nil {
			return nil, err
		}
	}
	var seeds bytes.Buffer
	for _, url := range w.Seeds.List {
		io.WriteString(&seeds, url+"\n")
	}
	if w.Seeds.File == "" {
		lists[SeedsFile] = seeds.Bytes()
	}
	return lists, nil
}
