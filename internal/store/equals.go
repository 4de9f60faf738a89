package store

import (
	"slices"
	"strings"
	"sync"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/same"
	"github.com/permesso-crawler/permesso/internal/state"
	"github.com/permesso-crawler/permesso/robots"
)

// KeyRun is the key in the state under which the options of the last run are stored, with other
// fields.
const KeyRun = "job"

// An equals has the rules by which the last run counts URLs as one page. The entry of such a page
// has the key of the URL that represents them all, which may not be the URL that was requested.
// The methods are safe for concurrent use.
type equals struct {
	mu      sync.Mutex
	known   bool // the rules were read from the state
	rule    func(frontier.URL) frontier.URL
	clean   bool // the Clean-param lines of each site count, too
	dialect robots.Dialect

	site    frontier.Site
	cleaner *robots.Cleaner // has the Clean-param lines of site
}

// keys returns the keys that the entry of u may have because u counts as the same page as other
// URLs. There are none if the rules are a function of the program, which is not stored.
func (q *equals) keys(from state.Records, u frontier.URL) (keys []string, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.known {
		if err := q.read(from); err != nil {
			return nil, err
		}
	}
	var clean *robots.Cleaner
	if q.clean {
		if clean, err = q.lines(from, u.Site()); err != nil {
			return nil, err
		}
	}
	// Links from other sites are queued without the Clean-param lines of the site.
	for _, v := range []frontier.URL{same.Of(u, clean, q.rule), same.Of(u, nil, q.rule)} {
		if !v.IsZero() && !slices.Contains(keys, v.Key()) {
			keys = append(keys, v.Key())
		}
	}
	return keys, nil
}

// read reads the rules of the last run.
func (q *equals) read(from state.Records) error {
	var run struct{ Settings map[string]string }
	ok, err := from.Get(KeyRun, &run)
	if err != nil {
		return err
	}
	q.rule = nil
	if text := run.Settings["same"]; text != "" {
		// Ignore the error, because the text may say that the rule is a function of the program.
		q.rule, _, _ = same.ByNames(strings.Split(text, ","))
	}
	q.clean = run.Settings["clean-param"] == "yes"
	// Ignore the error, because without a dialect the default applies.
	q.dialect, _ = robots.ParseDialect(run.Settings["dialect"])
	q.known = ok
	return nil
}

// lines returns the Clean-param lines of a site.
func (q *equals) lines(from state.Records, site frontier.Site) (*robots.Cleaner, error) {
	if site == q.site {
		return q.cleaner, nil
	}
	s, err := from.Snapshot(site)
	if err != nil {
		return nil, err
	}
	q.site, q.cleaner = site, nil
	if s = s.Good(); s != nil {
		q.cleaner = s.File(q.dialect).Cleaner()
	}
	return q.cleaner, nil
}

// forget makes q read the rules, and the lines of its site, again.
func (q *equals) forget() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.known, q.site = false, ""
}
