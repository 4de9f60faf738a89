package diff

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/robots"
	"github.com/permesso-crawler/permesso/storage"
)

// A snapshot is one of the two crawls.
type snapshot struct {
	dir     string
	state   *storage.Reader
	account *crawler.Account
}

// openSnapshot opens the crawl in a directory to read it.
func openSnapshot(dir string) (*snapshot, error) {
	if _, err := os.Stat(filepath.Join(dir, storage.StateFile)); err != nil {
		return nil, fmt.Errorf("%w in %s: %w", storage.ErrNoCrawl, dir, err)
	}
	r, err := storage.OpenReader(dir)
	if err != nil {
		return nil, err
	}
	// What is due now does not count: a site that waits is one that was not asked yet.
	account, err := crawler.NewAccount(r, dir, time.Time{})
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return &snapshot{dir, r, account}, nil
}

func (s *snapshot) close() error { return s.state.Close() }

// pages calls f with each line of pages.jsonl, and says how many are none. A crawl need
// not have the file.
func (s *snapshot) pages(f func(*storage.PageRecord) error) (other int64, err error) {
	other, err = storage.ReadPages(s.dir, f)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	return other, err
}

// settings compares what the two crawls were asked to be, as far as it decides what they
// have seen.
func (c *comparison) settings() error {
	was, _ := c.was.account.Stored()
	is, _ := c.is.account.Stored()
	c.Was.Dir, c.Is.Dir = c.was.dir, c.is.dir
	c.Was.Token, c.Is.Token = was.Options.Identity.Token, is.Options.Identity.Token
	o := &is.Options
	c.policy = robots.Policy{Dialect: o.Dialect, Token: o.Identity.Token, Aliases: o.Aliases, AllowForbidden: o.AllowForbidden}
	c.Settings = []Setting{}
	add := func(name, a, b string) {
		if a != b {
			c.Settings = append(c.Settings, Setting{name, crawler.InWords(a), crawler.InWords(b)})
		}
	}
	add("name", was.Options.Identity.Token, is.Options.Identity.Token)
	before := was.Options.Settings()
	for i, s := range is.Options.Settings() {
		switch {
		case s.Group == crawler.GroupPace, s.Group == crawler.GroupOutput, s.Resume == crawler.ThisRun:
		default:
			add(s.Name, before[i].String(), s.String())
		}
	}
	if c.Begin == nil {
		return nil
	}
	return c.Begin(c.Result)
}
