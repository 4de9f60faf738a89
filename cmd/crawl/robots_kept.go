package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/crawldir"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
	"github.com/permesso-crawler/permesso/storage"
	"github.com/permesso-crawler/permesso/storage/warc"
	"github.com/spf13/pflag"
)

// keptFlags are the flags that choose one of the copies of a robots.txt that a crawl has
// kept.
type keptFlags struct {
	at  string
	raw bool
}

func (f *keptFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.at, "at", "", "with DIR SITE: the copy that was in force at a `time`, as 2026-07-01T12:00:00Z; a date is its end, in UTC (default: the last one)")
	fs.BoolVar(&f.raw, "raw", false, "with DIR SITE: print the file and nothing else, byte by byte")
}

// A keptCopy is one of the copies of a robots.txt that a crawl has kept.
type keptCopy struct {
	*robots.Snapshot
	number, of int       // in the order of their times, from 1
	next       time.Time // when the next copy was fetched; zero for the last
}

// keptShown is what is printed of a keptCopy. The names of its fields are never
// changed.
type keptShown struct {
	shown
	Digest  string    `json:"digest,omitempty"` // of body
	Copy    time.Time `json:"copy,omitzero"`    // when the copy in use was fetched, if robots.txt is unreachable
	Number  int       `json:"number"`
	Of      int       `json:"of"`
	InForce time.Time `json:"in_force_until,omitzero"` // when the next copy was fetched
}

// robotsKept shows the robots.txt of a site that was in force at some time.
func (p *program) robotsKept(dir, name string, f *keptFlags, policyOf func(robots.Policy) (robots.Policy, error), asJSON bool) (err error) {
	at, err := f.time()
	if err != nil {
		return err
	}
	r, _, err := crawldir.Open(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	site, err := p.keptSite(r, dir, name)
	if err != nil {
		return err
	}
	account, err := crawler.NewAccount(r, dir, time.Now())
	if err != nil {
		return err
	}
	settings, err := account.Site(site)
	if err != nil {
		return err
	}
	policy, err := policyOf(settings.Policy)
	if err != nil {
		return err
	}
	c, err := copyAt(r, site, at)
	if err != nil {
		return err
	}
	good := cmp.Or(c.Good(), c.Snapshot)
	switch {
	case f.raw && good.Status/100 != 2:
		return exit.With(exit.Nothing, fmt.Errorf("there is no file of %s: %s", c.URL, answered(c.Snapshot)))
	case f.raw:
		_, err := p.out.Write(good.Body)
		return err
	}
	out := keptShown{Number: c.number, Of: c.of, InForce: c.next.UTC()}
	var v robots.Verdict
	out.shown, v = shownOf(c.Snapshot, policy)
	if len(good.Body) > 0 {
		out.Digest = warc.PayloadDigest(&warc.HTTP{Body: good.Body})
		out.Body, out.Size, out.Cut = string(good.Body), len(good.Body), good.Cut
	}
	if good != c.Snapshot {
		out.Copy = good.Fetched.UTC()
	}
	if asJSON {
		return p.object(out)
	}
	w := &say.Lines{W: p.out}
	keptLines(w, &out)
	robotsLines(w, &out.shown, v, c.Snapshot, policy, "with --raw, piped into crawl robots lint -, it")
	fileLines(w, out.Body)
	return w.Err
}

// keptLines prints which copy it is.
func keptLines(w *say.Lines, out *keptShown) {
	until := "the last one"
	if !out.InForce.IsZero() {
		until = "in force until " + out.InForce.Format(time.RFC3339)
	}
	w.Line("copy", "%d of %d, %s", out.Number, out.Of, until)
	if !out.Copy.IsZero() {
		w.Line("in force", "the copy of %s, %s, since there was no answer", out.Copy.Format(time.RFC3339), say.Size(int64(out.Size)))
	}
	if out.Digest != "" {
		w.Line("digest", "%s", out.Digest)
	}
}

// time returns the time of --at, or zero if it was not given.
func (f *keptFlags) time() (time.Time, error) {
	if f.at == "" {
		return time.Time{}, nil
	}
	if day, err := time.Parse(time.DateOnly, f.at); err == nil {
		return day.AddDate(0, 0, 1).Add(-1), nil
	}
	at, err := time.Parse(time.RFC3339Nano, f.at)
	if err != nil {
		return at, exit.Usagef("--at: %q is no time: write it as 2026-07-01 or 2026-07-01T12:00:00Z", f.at)
	}
	return at, nil
}

// copyAt returns the copy of a site's robots.txt that was in force at a time, or the last
// one if the time is zero.
func copyAt(r *storage.Reader, site frontier.Site, at time.Time) (keptCopy, error) {
	var c keptCopy
	var first time.Time
	for s, err := range r.Snapshots(site) {
		if err != nil {
			return c, err
		}
		if c.of++; c.of == 1 {
			first = s.Fetched
		}
		switch {
		case at.IsZero() || !s.Fetched.After(at):
			c.Snapshot, c.number, c.next = s, c.of, time.Time{}
		case c.next.IsZero():
			c.next = s.Fetched
		}
	}
	if c.Snapshot == nil {
		return c, exit.Usagef("--at: no robots.txt of %s was in force by then: the first one was fetched at %s", site, first.UTC().Format(time.RFC3339))
	}
	return c, nil
}

// keptSite returns the site that a user names. A host means its site that has a robots.txt
// in the crawl.
func (p *program) keptSite(r *storage.Reader, dir, name string) (frontier.Site, error) {
	schemes := []string{"https://", "http://", "ftp://"}
	if strings.Contains(name, "://") {
		schemes = []string{""}
	}
	var found []frontier.Site
	for _, scheme := range schemes {
		u, err := frontier.ParseURL(scheme + name)
		if err != nil {
			return "", exit.Usagef("%q is not a site: write it as https://example.org", name)
		}
		for _, err := range r.Snapshots(u.Site()) {
			if err != nil {
				return "", err
			}
			found = append(found, u.Site())
			break
		}
	}
	if len(found) == 0 {
		like, err := crawldir.LikeSite(r.Names(), name)
		if err != nil {
			return "", err
		}
		return "", exit.Usagef("the crawl in %s never requested a robots.txt of %s%s", dir, name, like)
	}
	if len(found) > 1 {
		p.note("crawl: this is %s; %s has a robots.txt of its own: name it so", found[0], found[1])
	}
	return found[0], nil
}
