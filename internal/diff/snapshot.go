package diff

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/account"
	"github.com/permesso-crawler/permesso/internal/kept"
	"github.com/permesso-crawler/permesso/internal/setting"
	"github.com/permesso-crawler/permesso/internal/store"
)

// A snapshot is one of the two compared crawls, opened for reading.
type snapshot struct {
	dir     string
	state   *store.Reader
	account *account.Account
}

// openSnapshot opens the crawl in a directory for reading.
func openSnapshot(dir string) (*snapshot, error) {
	if _, err := os.Stat(filepath.Join(dir, store.StateFile)); err != nil {
		return nil, fmt.Errorf("%w in %s: %w", store.ErrNoCrawl, dir, err)
	}
	r, err := store.OpenReader(dir)
	if err != nil {
		return nil, err
	}
	// now is the zero time, so every site with a next time for a request counts as waiting. It
	// makes no difference here why a URL was not requested.
	a, err := account.New(&r.Records, time.Time{})
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return &snapshot{dir, r, a}, nil
}

// Before returns the directory of the previous crawl (crawler.Options.Previous) of the crawl in
// r. If both crawls were moved, it is the directory next to the crawl that has the name of the
// previous crawl. Before returns "" if there is no previous crawl. The directory need not
// exist.
func Before(r *store.Reader) (string, error) {
	_, settings, err := kept.Asked(r)
	if errors.Is(err, store.ErrNoCrawl) {
		return "", nil // the crawl has not begun
	}
	dir := settings["previous"]
	if err != nil || dir == "" {
		return "", err
	}
	dir, _ = store.LocatePrevious(r.Dir(), dir)
	return dir, nil
}

func (s *snapshot) close() error { return s.state.Close() }

// settings compares those settings of the two crawls that decide which URLs a crawl requests
// and what it gets from them.
func (c *comparison) settings() error {
	was, before, err := kept.Asked(c.was.state)
	if err != nil {
		return err
	}
	is, now, err := kept.Asked(c.is.state)
	if err != nil {
		return err
	}
	c.Was.Dir, c.Is.Dir = c.was.dir, c.is.dir
	c.Was.Token, c.Is.Token = was.Token, is.Token
	c.Settings = []Setting{}
	add := func(name, a, b string) {
		if a != b {
			c.Settings = append(c.Settings, Setting{name, setting.InWords(a), setting.InWords(b)})
		}
	}
	add("name", was.Token, is.Token)
	for _, s := range new(crawler.Options).Settings() {
		if decides(&s) {
			add(s.Name, settingText(before, &s), settingText(now, &s))
		}
	}
	if c.Begin == nil {
		return nil
	}
	return c.Begin(c.Result)
}

// decides reports whether a setting may decide which URLs a crawl requests and what it gets
// from them. Settings of the pace, of the outputs and of the previous crawl do not.
func decides(s *setting.Setting) bool {
	return s.Group != setting.GroupPace && s.Group != setting.GroupOutput && s.Resume != setting.ThisRun && s.Field != "Previous"
}

// settingText returns a setting as a run has recorded it, or its default if the run did not
// have it.
func settingText(settings map[string]string, s *setting.Setting) string {
	if text, ok := settings[s.Name]; ok {
		return text
	}
	return s.String()
}
