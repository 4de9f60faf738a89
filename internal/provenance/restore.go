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

// A Restored is a file that differs from provenance.json, and the original content of the file.
type Restored struct {
	Name string
	How  string // how the content was found, in words, such as "one bit of byte 7 had flipped"
	Text []byte
}

// mostRestored is the maximum length of a file that Restore can restore, in bytes.
const mostRestored = 64 << 20

// mostFlipped is the maximum length, in bytes, of a file in which a flipped bit is searched
// for. The time for the search grows with the square of the length.
const mostFlipped = 16 << 10

// Restore returns the original contents of the files in differ that it can restore: contents
// that match the provenance.json in dir. It can restore a file that became longer, or in which
// one bit has flipped. It can also restore a file that another snapshot has, too, and the lists
// that Write makes from the state and the log. It writes nothing. OptOut is the only field of
// Options that it uses. The errors are those of Write.
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
			name = SeedsFile // a snapshot of a series has its seeds in seeds.txt; Write makes the same text under the name SeedsFile
		}
		if text, ok := lists[name]; ok && of.is(text) {
			all = append(all, Restored{of.Name, "it is made again of the state and the log", text})
		}
	}
	return all, nil
}

// is reports whether text is the content of the file o, by its length and digest.
func (o Output) is(text []byte) bool {
	sum := sha256.Sum256(text)
	return o.Bytes == int64(len(text)) && o.SHA256 == hex.EncodeToString(sum[:])
}

// found searches for the original content of a file. It tries to repair the damaged file, and
// looks for a file with the same name and content in the directories beside dir. If it does not
// find the content, text is nil.
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

// unflip flips the one bit of text that differs from the original content of the file, and
// returns the index of the byte. ok is false if no such bit is found.
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

// again returns the lists that Write would write for a crawl, by file name.
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
