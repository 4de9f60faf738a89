package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/permesso-crawler/permesso/internal/state"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// archive repairs the WARC files in the stage, the directory of the mended files.
func (r *Repair) archive() error {
	files, err := warcFiles(r.dir)
	if err != nil {
		return err
	}
	present, changed := map[string]bool{}, false
	for _, f := range files {
		key := archiveKey(f.name)
		name := filepath.Join(ArchiveDir, filepath.Base(f.path))
		of := r.marks.Finished
		want, ok := of[key]
		if !ok {
			of = r.marks.Growing
			want, ok = of[key]
		}
		if !ok {
			r.gone = append(r.gone, filepath.ToSlash(name))
			if !f.grows {
				r.lost("%s: %s does not know this file: it is put aside", filepath.ToSlash(name), StateFile)
			}
			continue
		}
		present[key] = true
		if err := r.linkTo(name); err != nil {
			return err
		}
		if f.grows {
			if err := r.own(name); err != nil {
				return err
			}
			// A later Open of the stage truncates and renames the copy, so the old file is put
			// aside.
			r.gone = append(r.gone, filepath.ToSlash(name))
		}
		now, err := r.warc(name, want)
		if err != nil {
			return err
		}
		now.Part = want.Part
		changed = changed || !now.Same(want)
		of[key] = now
	}
	for _, known := range []state.Marks{r.marks.Finished, r.marks.Growing} {
		for key, m := range known {
			if strings.HasPrefix(key, ArchiveDir+"/") && m.Length > 0 && !present[key] && !r.opts.Moved {
				r.lost("%s is missing; %d bytes of it were written", key, m.Length)
				known[key], changed = state.Mark{}, true
			}
		}
	}
	for key, m := range r.marks.Growing {
		if strings.HasPrefix(key, ArchiveDir+"/") && m.Length == 0 {
			delete(r.marks.Growing, key)
		}
	}
	if m := r.marks.Growing[indexPart]; changed && (m.Length > 0 || m.Lost) {
		return r.forgetIndex()
	}
	return nil
}

// forgetIndex records in the marks that the index is lost, so that it is rebuilt from the
// archive. It also removes the existing index. With RepairOptions.Moved the existing index
// stays, because the lines about files that were moved away are copied from it.
func (r *Repair) forgetIndex() error {
	r.marks.Growing[indexPart] = state.Mark{Lost: true}
	if r.opts.Moved {
		return nil
	}
	for _, name := range []string{indexPart, IndexFile} {
		if err := os.Remove(filepath.Join(r.stage, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// A gap is a part of a WARC file in which no record can be read.
type gap struct {
	at, end int64
	next    int64 // end of the record that follows the gap, or 0
}

// warc repairs one WARC file and returns its new mark. It corrects the file if one bit has
// flipped. Otherwise it replaces each record that cannot be read by a record of the same length
// which says that a record was lost, so that all other records keep their offsets.
func (r *Repair) warc(name string, want state.Mark) (state.Mark, error) {
	path := filepath.Join(r.stage, name)
	is, size, gaps, err := readWARC(r.ctx, path, want.Length)
	if err != nil || is.Same(want) && len(gaps) == 0 {
		if err == nil && size > want.Length && !strings.HasSuffix(name, openSuffix) {
			if err = r.own(name); err == nil {
				err = os.Truncate(path, want.Length)
			}
			r.mended("%s: %d bytes after its end are put aside", filepath.ToSlash(name), size-want.Length)
		}
		return want, err
	}
	if err := r.own(name); err != nil {
		return want, err
	}
	if is.Length == want.Length && len(gaps) <= 1 {
		low, high := int64(0), want.Length
		if len(gaps) == 1 {
			low, high = gaps[0].at, gaps[0].end
		}
		found, ok, err := findFlip(r.ctx, path, want, low, high)
		if err != nil {
			return want, err
		}
		if ok {
			if err := flip(path, found.at, found.bit); err != nil {
				return want, err
			}
			if _, _, still, err := readWARC(r.ctx, path, want.Length); err != nil || len(still) == 0 {
				r.mended("%s: one bit of byte %d had flipped: it is as it was written", filepath.ToSlash(name), found.at)
				return want, err
			}
			if err := flip(path, found.at, found.bit); err != nil {
				return want, err
			}
		}
	}
	if size > want.Length { // if bytes were inserted, the last bytes of the file are after want.Length
		if is, _, gaps, err = readWARC(r.ctx, path, size); err != nil {
			return want, err
		}
	}
	if cut, err := r.cutOut(path, gaps, want); err != nil || cut {
		if err == nil {
			r.mended("%s: bytes between its records are taken out: it is as it was written", filepath.ToSlash(name))
		}
		return want, err
	}
	for _, g := range gaps {
		if g.next > 0 && r.filler(path, g).Fill(io.Discard, g.end-g.at) != nil {
			g.end = g.next // the gap is too small for a record, so replace the next record, too
		}
		r.lost("%s: %d bytes at byte %d cannot be read", filepath.ToSlash(name), g.end-g.at, g.at)
		if g.end >= is.Length {
			if err := os.Truncate(path, g.at); err != nil {
				return want, err
			}
			continue
		}
		if err := r.fill(path, g); err != nil {
			return want, err
		}
	}
	if len(gaps) == 0 {
		r.lost("%s: its records are not those that were written, or not at their places", filepath.ToSlash(name))
	}
	f, err := os.Open(path)
	if err != nil {
		return want, err
	}
	defer f.Close()
	now := marking{r: r.reading(f)}
	_, err = io.Copy(io.Discard, &now)
	return now.Mark, err
}

// cutOut removes the gaps of a WARC file if the file without them is as it was written. The
// gaps are then bytes that were inserted between its records. cut reports whether it removed
// them.
func (r *Repair) cutOut(path string, gaps []gap, want state.Mark) (cut bool, err error) {
	if len(gaps) == 0 {
		return false, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	whole := func() io.Reader {
		var parts []io.Reader
		at := int64(0)
		for _, g := range gaps {
			parts = append(parts, io.NewSectionReader(f, at, g.at-at))
			at = g.end
		}
		return io.LimitReader(io.MultiReader(append(parts, io.NewSectionReader(f, at, math.MaxInt64-at))...), want.Length)
	}
	left := marking{r: r.reading(whole())}
	if _, err := io.Copy(io.Discard, &left); err != nil || !left.Same(want) {
		return false, err
	}
	out, err := os.Create(path + newSuffix)
	if err != nil {
		return false, err
	}
	_, err = io.Copy(out, r.reading(whole()))
	if err = errors.Join(err, out.Sync(), out.Close()); err != nil {
		return false, err
	}
	return true, os.Rename(path+newSuffix, path)
}

// fill fills a gap with a record that says that a record was lost there.
func (r *Repair) fill(path string, g gap) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return errors.Join(r.filler(path, g).Fill(io.NewOffsetWriter(f, g.at), g.end-g.at), f.Sync())
}

// filler returns the record that fill writes into the gap g.
func (r *Repair) filler(path string, g gap) *warc.Purged {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", filepath.Base(path), g.at, r.opts.Time.UnixNano()))
	id := hex.EncodeToString(sum[:16])
	return &warc.Purged{
		ID:   fmt.Sprintf("urn:uuid:%s-%s-%s-%s-%s", id[:8], id[8:12], id[12:16], id[16:20], id[20:]),
		Date: r.opts.Time, Was: lostRecord,
	}
}

// lostRecord is the value of warc.FieldPurged in a record that replaces one that cannot be
// read.
const lostRecord = "damaged"

// readWARC reads the first length bytes of a WARC file. It returns the mark of these bytes,
// the size of the whole file, and the gaps within these bytes.
func readWARC(ctx context.Context, path string, length int64) (is state.Mark, size int64, gaps []gap, err error) {
	f, err := os.Open(path)
	if err != nil {
		return is, 0, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return is, 0, nil, err
	}
	marked := &marking{r: io.LimitReader(f, length)}
	in := warc.NewReader(marked)
	var at int64 // end of the last record that was read
	for {
		if err := ended(ctx); err != nil {
			return is, 0, nil, err
		}
		rec, err := in.Next()
		if err == io.EOF {
			break
		}
		var n int64
		if err == nil {
			err = rec.Verify()
		}
		if err == nil {
			n, err = rec.Close()
		}
		if err == nil {
			if rec.Offset > at {
				gaps = append(gaps, gap{at, rec.Offset, rec.Offset + n})
			}
			at = rec.Offset + n
			continue
		}
		var bad *warc.Error
		if !errors.As(err, &bad) {
			return is, 0, nil, err
		}
		if _, err := in.Skip(); err != nil && err != io.EOF {
			return is, 0, nil, err
		}
	}
	if end := min(length, info.Size()); end > at {
		gaps = append(gaps, gap{at: at, end: end})
	}
	return marked.Mark, info.Size(), slices.Clip(gaps), nil
}
