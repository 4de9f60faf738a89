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

// A SeedError is an invalid line of a seed file.
type SeedError struct {
	File string
	Line int
	Err  error
}

func (e *SeedError) Error() string { return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err) }

func (e *SeedError) Unwrap() error { return e.Err }

// ReadSeeds reads a seed file. Each line has a URL, with an optional tag after a tab. Blank
// lines and lines that begin with # are ignored. A host without a scheme means https. Invalid
// lines are returned in bad, and an error of r in err. All these errors call the file by the
// given name.
func ReadSeeds(r io.Reader, name string) (seeds []string, bad []*SeedError, err error) {
	in := bufio.NewReaderSize(r, maxLine+1) // plus the newline
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

// readLine reads a line. If the line is too long for the buffer of in, it returns the beginning
// of the line, and long is true.
func readLine(in *bufio.Reader) (line string, long bool, err error) {
	raw, long, err := in.ReadLine()
	line = string(raw)
	for rest := long; rest && err == nil; {
		_, rest, err = in.ReadLine()
	}
	if long && err == io.EOF {
		err = nil // the next call returns the error again
	}
	return line, long, err
}

// maxLine is the longest line of a seed file, in bytes. Real URLs and tags are far shorter.
const maxLine = 64 << 10

var errLongLine = fmt.Errorf("longer than %d bytes: is this a seed file?", maxLine)

// errEmptySeed has the text of ParseURL's error for an empty URL.
var errEmptySeed = errors.New("not an absolute URL: it must start with http:// or https://")

var errBlank = errors.New("has blanks: write one URL on each line, a tag behind a tab, a blank inside a URL as %20")

// parseSeed parses one seed: a URL or a host, and a tag.
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

// parseSeeds parses a list of seeds. The error is an *OptionError.
func parseSeeds(lines []string) ([]frontier.Entry, error) {
	seeds := make([]frontier.Entry, 0, len(lines))
	for i, s := range lines {
		e, err := parseSeed(s)
		if err != nil {
			return nil, &OptionError{Field: "Seeds", Reason: fmt.Sprintf("the seed %q at %d: %v", shown(s), i, err), Err: err}
		}
		seeds = append(seeds, e)
	}
	return seeds, nil
}

// Add queues further seeds, in the form of Options.Seeds, and adds them to the scope. It may be
// called at any time, from any goroutine, also from a Handler. If it is called before Run, Run
// queues the seeds. A crawl in a directory stores them, so a later run need not name them
// again. Add blocks only if the disk is slow.
//
// It returns how many of the seeds are new: no earlier seed or link of the crawl has led to them.
// Seeds that are not new are not fetched again. A URL that was found within the last second may
// count as new. If Add is called before Run, a URL that an earlier run has found may also count
// as new.
//
// A seed that was queued is fetched, or Left says why not, even if the run is about to end. If
// the run has ended, the error is ErrEnded and nothing is queued. But if there are more than a
// thousand seeds, the first of them may be queued even then. If a seed is invalid, or if it is
// on the public Internet and the contact of the Identity cannot be reached from there, the
// error is an *OptionError and nothing is queued. Any other error ends the run.
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
		if c.known == nil {
			c.known = map[string]bool{}
			_, _ = newAmong(c.seeds, c.known, nil)
		}
		added, _ = newAmong(entries, c.known, nil)
		c.early = append(c.early, entries...)
	}
	c.mu.Unlock()
	switch {
	case stop:
		return 0, ErrEnded
	case !seeded:
		return added, nil
	}
	if added, err = newAmong(entries, map[string]bool{}, queue.Known); err == nil {
		err = c.plant(entries)
	}
	if err != nil {
		return 0, tooLate(err)
	}
	return added, nil
}

// newAmong returns how many of entries are neither in keys nor known. It adds their keys to
// keys. If known is nil, no entry is known.
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

// plant adds seeds that are not in Options to the scope, and queues them. Before it queues
// them, it stores them as roots for the scope of later runs. So they stay in scope even if the
// frontier refuses to queue them because the run ends.
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

// begin queues the seeds. A stop takes effect only after they are queued, so the seeds are
// stored even if the run requests none of them.
func (c *Crawler) begin() error {
	err := c.frontier.Add(c.seeds...)
	c.mu.Lock()
	defer c.mu.Unlock()
	for err == nil && len(c.early) > 0 {
		early := c.early
		c.early = nil
		c.mu.Unlock()
		err = c.plant(early)
		c.mu.Lock()
	}
	c.seeded, c.known = true, nil
	if c.stop {
		c.frontier.Stop()
	}
	return err
}

// looksLikeHost reports whether raw, up to its first slash, looks like a host with an optional
// port: the host has a dot in it, or is localhost. If it returns false, raw is a plain word and
// not a seed.
func looksLikeHost(raw string) bool {
	host, _, _ := strings.Cut(raw, "/")
	name, port, _ := strings.Cut(host, ":")
	if strings.ContainsAny(host, " \t<>\"@") || strings.Trim(port, "0123456789") != "" {
		return false
	}
	return name == "localhost" || strings.Contains(strings.Trim(name, "."), ".")
}

// distinct joins errors and leaves out duplicates, because every worker returns the same error
// when, for instance, the disk is full.
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

// admit returns an error if the crawl was begun under another identity, or if the previous
// crawl (Options.Previous) is running or missing. It is called before anything is written.
func (c *Crawler) admit(was store.Values) error {
	var old asked
	known, err := was.Get(keyAsked, &old)
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

// checkSeeds returns an *OptionError if the crawl has no seed and does not wait for one.
func (c *Crawler) checkSeeds() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.seeds) > 0 || len(c.early) > 0 || c.limits.Open {
		return nil
	}
	return errNoSeeds
}

// errNoSeeds is the error of a crawl without a seed.
var errNoSeeds = &OptionError{Field: "Seeds", Reason: "is empty: give at least one URL to start from, here or by Add; or set Limits.Open by Allow, if seeds are added while the crawl runs"}

// widen adds to the scope the URLs at which redirects of seeds ended, and, if this run has no
// seeds, those of earlier runs. It then queues entries again that an earlier run had dropped
// because they were out of its scope, if they are in scope now. It returns the number of
// entries that it queued.
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

// admitSeeds adds the seeds of earlier runs to the scope. Without them a run that has no seeds
// would drop all links.
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
