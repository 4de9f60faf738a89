package account

import (
	"bufio"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/robots"
)

// ChangedPurposes returns the old and new purposes of all changes of the purpose that crawl.log
// has at the beginning of a run. It returns nil if there is no log.
func ChangedPurposes(dir string) (all []robots.Purpose, err error) {
	file, err := os.Open(filepath.Join(dir, store.LogFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	const changed = "changed:purpose:"
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if !bytes.Contains(lines.Bytes(), []byte(changed)) {
			continue
		}
		l, err := crawllog.Parse(lines.Text())
		if err != nil || l.URL != crawllog.RunURL { // skip a line with the same text in a URL or a tag
			continue
		}
		for _, note := range l.Annotations {
			if words, ok := strings.CutPrefix(note, changed); ok {
				for _, word := range strings.Split(words, "->") {
					all = append(all, robots.Purpose(strings.TrimPrefix(word, "none")))
				}
			}
		}
	}
	return all, lines.Err()
}
