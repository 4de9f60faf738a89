package crawler

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
)

// A SeedError describes an invalid line of a seed file.
type SeedError struct {
	File string
	Line int
	Err  error
}

func (e *SeedError) Error() string { return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err) }

func (e *SeedError) Unwrap() error { return e.Err }

// ReadSeeds reads a seed file. Each line has a URL, with an optional tag after a tab. Blank lines
// and lines that begin with # are ignored. A host without a scheme means https. Invalid lines are
// returned in bad, and an error of r in err. The errors contain name as the name of the file.
func ReadSeeds(r io.Reader, name string) (seeds []string, bad []*SeedError, err error) {
	in := bufio.NewReaderSize(r, maxLine+1) // one byte more, for the newline
	for n := 1; ; n++ {
		line, long, err := readLine(in)
		if err == io.EOF {
			return seeds, bad, nil
		}
		if err != nil {
			return seeds, bad, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		line = strings.TrimSpace(strings.TrimPrefix(line, "\ufeff"))
		if line == "" || line[0] == '#' {
			continue
		}
		if _, err = parseSeed(line); long {
			err = errLongLine
		}
		if err != nil {
			bad = append(bad, &SeedError{name, n, err})
			continue
		}
		seeds = append(seeds, line)
	}
}

// readLine reads a line. If the line does not fit into the buffer of in, it returns the beginning
// of the line, skips the rest, and long is true.
func readLine(in *bufio.Reader) (line string, long bool, err error) {
	raw, long, err := in.ReadLine()
	line = string(raw)
	for rest := long; rest && err == nil; {
		_, rest, err = in.ReadLine()
	}
	if long && err == io.EOF {
		err = nil // the next call returns io.EOF again
	}
	return line, long, err
}

// maxLine is the maximum length of a line in a seed file, in bytes. Real URLs and tags are far
// shorter.
const maxLine = 64 << 10

var errLongLine = fmt.Errorf("longer than %d bytes: is this a seed file?", maxLine)

// errEmptySeed has the same text as ParseURL's error for an empty URL.
var errEmptySeed = errors.New("not an absolute URL: it must start with http:// or https://")

var errBlank = errors.New("has blanks: write one URL on each line, a tag behind a tab, a blank inside a URL as %20")

// parseSeed parses one seed: a URL or a host, and optionally a tab and a tag.
func parseSeed(line string) (frontier.Entry, error) {
	raw, tag, _ := strings.Cut(line, "\t")
	raw, _, _ = strings.Cut(raw, " #")
	raw, tag = strings.TrimSpace(raw), strings.TrimSpace(tag)
	if strings.ContainsAny(raw, " \r\v\f") {
		return frontier.Entry{}, &frontier.URLError{Raw: line, Err: errBlank}
	}
	if raw == "" {
		return frontier.Entry{}, &frontier.URLError{Raw: line, Err: errEmptySeed}
	}
	u, err := frontier.ParseURL(raw)
	if err != nil && !strings.Contains(raw, "://") && looksLikeHost(raw) {
		u, err = frontier.ParseURL("https://" + raw)
	}
	if err == nil {
		err = checkTag(tag)
	}
	return frontier.Entry{URL: u, Tag: tag}, err
}

// parseSeeds parses a list of seeds. The error is an *OptionError for the first invalid seed.
func parseSeeds(lines []string) ([]frontier.Entry, error) {
	seeds := make([]frontier.Entry, 0, len(lines))
	for i, s := range lines {
		e, err := parseSeed(s)
		if err != nil {
			return nil, &OptionError{Field: "Seeds", Reason: fmt.Sprintf("the seed %q at %d: %v", shorten(s), i, err), Err: err}
		}
		seeds = append(seeds, e)
	}
	return seeds, nil
}

// Add queues further seeds, written like Options.Seeds, and adds them to the scope. It may be
// called at any time and from any goroutine, including from a Handler. Before Run it only remembers
// the seeds, and Run queues them. A crawl in a directory stores them, so a later run need not name
// them again. Add blocks only if the disk is slow.
//
// Add returns the number of new seeds: URLs that the crawl has not found before. Other seeds are
// not fetched again. A URL that was found within the last second may count as new. If Add is called
// before Run or in OnStart, a URL that an earlier run has found may also count as new.
//
// Every queued seed is either fetched or yielded by Left, even if the run is about to end. If the
// run has ended, the error is ErrEnded and nothing is queued. But if there are more than a thousand
// seeds, the first of them may be queued even then. If a seed is invalid, the error is an
// *OptionError and nothing is queued. The same applies if a seed is on the public Internet and the
// contact of the Identity cannot be reached from there. Any other error ends the run.
func (c *Crawler) Add(seeds ...string) (added int, err error) {
	entries, err := parseSeeds(seeds)
	if err == nil {
		err = c.opts.rewriteSeeds(entries)
	}
	if err == nil {
		err = c.opts.checkReach(entries)
	}
	if err != nil {
		return 0, err
	}
	c.gate.RLock()
	defer c.gate.RUnlock()
	c.mu.Lock()
	stop, seeded, queue := c.stop, c.seeded, c.queue
	if !stop && !seeded {
		if c.seedKeys == nil {
			c.seedKeys = map[string]bool{}
			_, _ = newAmong(c.seeds, c.seedKeys, nil)
		}
		added, _ = newAmong(entries, c.seedKeys, nil)
		if queue == nil {
			c.earlySeeds = append(c.earlySeeds, entries...)
		}
	}
	c.mu.Unlock()
	switch {
	case stop:
		return 0, ErrEnded
	case queue == nil:
		return added, nil
	}
	if seeded {
		added, err = newAmong(entries, map[string]bool{}, queue.Known)
	}
	if err == nil {
		err = c.plant(entries)
	}
	if err != nil {
		return 0, tooLate(err)
	}
	return added, nil
}

// newAmong returns the number of entries whose keys are not in keys and for which known returns
// false. It adds their keys to keys. If known is nil, no entry is known.
func newAmong(entries []frontier.Entry, keys map[string]bool, known func(*frontier.Entry) (bool, error)) (n int, err error) {
	for i := range entries {
		e := &entries[i]
		if keys[e.Key()] {
			continue
		}
		keys[e.Key()] = true
		old := false
		if known != nil {
			if old, err = known(e); err != nil {
				return n, err
			}
		}
		if !old {
			n++
		}
	}
	return n, nil
}

// plant queues seeds that Add got, and adds them to the scope. Before it queues them, it stores
// them as roots for the scope of later runs. So they stay in scope even if the frontier refuses to
// queue them because the run ends.
func (c *Crawler) plant(entries []frontier.Entry) error {
	for _, e := range entries {
		if err := safely("Scope", func() { c.opts.Scope.Admit(e.URL) }); err != nil {
			return err
		}
		if c.db == nil {
			continue
		}
		if err := c.tell(keyRoot+e.URL.String(), true, told{Roots: []string{e.URL.String()}}); err != nil {
			return err
		}
	}
	return c.frontier.Add(entries...)
}

// begin queues the seeds of the options and of Add. A call of Stop takes effect only afterwards. So
// the seeds are stored even if the run requests none of them.
func (c *Crawler) begin() error {
	err := c.frontier.Add(c.seeds...)
	if err == nil {
		err = c.plant(c.earlySeeds)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seeded, c.seedKeys, c.earlySeeds = true, nil, nil
	if c.stop {
		c.frontier.Stop()
	}
	return err
}

// looksLikeHost reports whether raw, up to its first slash, looks like a host with an optional
// port: the host contains a dot, or is localhost. Other words are not seeds.
func looksLikeHost(raw string) bool {
	host, _, _ := strings.Cut(raw, "/")
	name, port, _ := strings.Cut(host, ":")
	if strings.ContainsAny(host, " \t<>\"@") || strings.Trim(port, "0123456789") != "" {
		return false
	}
	return name == "localhost" || strings.Contains(strings.Trim(name, "."), ".")
}

// distinct joins errors without duplicates. If, for instance, the disk is full, every worker
// returns the same error.
func distinct(errs ...error) error {
	var list []error
	said := map[string]bool{}
	var add func(err error)
	add = func(err error) {
		if several, ok := err.(interface{ Unwrap() []error }); ok {
			for _, e := range several.Unwrap() {
				add(e)
			}
		} else if err != nil && !said[err.Error()] {
			said[err.Error()] = true
			list = append(list, err)
		}
	}
	for _, err := range errs {
		add(err)
	}
	if len(list) == 1 {
		return list[0]
	}
	return errors.Join(list...)
}

// admit checks the values that earlier runs have stored, before anything is written. It returns an
// error if the crawl was begun under another identity, or if the previous crawl (Options.Previous)
// is running or missing.
func (c *Crawler) admit(was store.Values) error {
	var old storedRun
	known, err := was.Get(keyStoredRun, &old)
	if err != nil {
		return err
	}
	switch {
	case !known:
		if err := c.checkSeeds(); err != nil {
			return err
		}
	case old.Identity.Token != c.opts.Identity.Token || old.Identity.Contact != c.opts.Identity.Contact:
		return &IdentityError{c.opts.Dir, old.Identity, c.opts.Identity}
	}
	if c.opts.Previous != "" {
		if _, err := store.OpenPast(c.opts.Previous); err != nil {
			return err
		}
	}
	_, err = readOrders(c.opts.Dir, was)
	return err
}

// checkSeeds returns an *OptionError if the crawl has no seeds. Seeds may be missing if Limits.Open
// is set, because they may be added later.
func (c *Crawler) checkSeeds() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.seeds) > 0 || len(c.earlySeeds) > 0 || c.limits.Open {
		return nil
	}
	return errNoSeeds
}

// errNoSeeds is the error for a crawl without seeds.
var errNoSeeds = &OptionError{Field: "Seeds", Reason: "is empty: give at least one URL to start from, here or by Add; or set Limits.Open by Allow, if seeds are added while the crawl runs"}

// widen adds the URLs at which redirects of seeds ended to the scope. If this run has no seeds, it
// also adds the seeds of earlier runs. Then it queues entries again that an earlier run had removed
// because they were out of its scope, if they are in scope now. It returns the number of entries
// that it queued.
func (c *Crawler) widen() (requeued int, err error) {
	if len(c.seeds) == 0 {
		if err := c.admitSeeds(); err != nil {
			return 0, err
		}
	}
	var panicked error
	for raw, err := range c.db.Keys(keyRoot) {
		if err != nil {
			return 0, err
		}
		u, err := frontier.ParseURL(raw)
		if err != nil {
			return 0, &store.DamagedError{Path: filepath.Join(c.db.Dir(), store.StateFile), Err: err}
		}
		if err := safely("Scope", func() { c.opts.Scope.Admit(u) }); err != nil {
			return 0, err
		}
	}
	requeued, err = c.db.Requeue(func(e frontier.Entry) (wanted bool) {
		if panicked == nil {
			panicked = safely("Scope", func() { wanted = c.visits.admits.unwanted(&e) == frontier.Undecided })
		}
		return wanted
	})
	return requeued, errors.Join(panicked, err)
}

// admitSeeds adds the seeds of earlier runs to the scope. Without them, a run without seeds would
// have an empty scope and drop all links.
func (c *Crawler) admitSeeds() error {
	for site, err := range c.db.Names() {
		if err != nil {
			return err
		}
		for k, err := range c.db.Entries(site) {
			if err == nil && k.FromSeed() {
				err = safely("Scope", func() { c.opts.Scope.Admit(k.URL) })
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
