package series

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/storage/cdxj"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// mostRevisits is how many revisit records of a snapshot RefersBehind reads. That is enough:
// the bodies of unchanged pages are all in the oldest snapshot, so if one record refers to an
// old snapshot, most do.
const mostRevisits = 1000

// RefersBehind reports whether the archive of a snapshot has revisit records that refer to an
// answer from before the given time. They lose their bodies if the snapshot with that answer is
// removed. RefersBehind reads only the first mostRevisits of them. It returns false if there is
// no archive.
func (n Snapshot) RefersBehind(before time.Time) (bool, error) {
	index, err := os.Open(filepath.Join(n.Dir, store.IndexFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer index.Close()
	in := bufio.NewReader(index)
	for looked := 0; looked < mostRevisits; {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return false, err
		}
		if !bytes.Contains(line, []byte("warc/revisit")) {
			continue
		}
		e, err := cdxj.Parse(string(bytes.TrimSpace(line)))
		if err != nil || e.MIME != "warc/revisit" {
			continue // skip a damaged line, because crawl verify reports it
		}
		looked++
		switch of, err := n.original(e); {
		case err != nil:
			return false, err
		case of.Before(before):
			return true, nil
		}
	}
	return false, nil
}

// original returns the time of the answer to which a revisit record refers.
func (n Snapshot) original(e *cdxj.Entry) (time.Time, error) {
	file, err := store.OpenArchive(filepath.Join(n.Dir, store.ArchiveDir, filepath.Base(e.Filename)))
	if err != nil {
		return time.Time{}, err
	}
	defer file.Close()
	rec, err := warc.ReadAt(file, e.Offset)
	if err != nil {
		return time.Time{}, fmt.Errorf("%s: %w", file.Name(), err)
	}
	at, err := time.Parse(time.RFC3339Nano, rec.Header.Get(warc.FieldRefersToDate))
	if err != nil {
		return time.Time{}, fmt.Errorf("%s: the record at %d: %w", file.Name(), e.Offset, err)
	}
	return at, nil
}
