package crawler

import (
	"errors"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
)

// carry copies from the previous crawl into a new crawl: the last robots.txt of each site with the
// time at which it was fetched, and the clocks of sites that must still wait or had failures. The
// clock of a site has the time of its last request and the pause after that request.
//
// A run calls carry only if the new crawl has stored no options yet, and stores them afterwards. So
// if a kill interrupts carry, the next run calls it again. carry returns the number of copied
// robots.txt files.
//
// If the state of the previous crawl is damaged, carry logs the damage and copies less: robots.txt
// is then fetched again. The error is a *storage.InUseError or a *storage.PurgeError of the
// previous crawl, or an error of the new crawl.
func (c *Crawler) carry() (copies int, err error) {
	if c.opts.Previous == "" {
		return 0, nil
	}
	before, err := store.OpenReader(c.opts.Previous)
	var inUse *store.InUseError
	var purge *store.PurgeError
	if errors.As(err, &inUse) || errors.As(err, &purge) {
		return 0, err
	}
	if err != nil {
		c.notCarried(err)
		return 0, nil
	}
	defer before.Close()
	carried := &carrier{db: c.db, now: time.Now()}
	bad := carried.clocks(before)
	if bad == nil && carried.err == nil {
		bad = carried.rules(before)
	}
	if bad != nil && carried.err == nil {
		c.notCarried(bad)
	}
	return carried.copies, carried.settle()
}

func (c *Crawler) notCarried(err error) {
	c.opts.Logger.Warn("the crawl before cannot be read in full: robots.txt of its sites is requested again",
		"dir", c.opts.Previous, "error", err)
}

// A carrier copies data of the previous crawl into the new crawl db.
type carrier struct {
	db        *store.DB
	now       time.Time
	copies    int
	submitted int
	err       error // error of writing db
}

// errCarrier ends the reading of the previous crawl because writing the new crawl has failed. The
// error of the write is in carrier.err.
var errCarrier = errors.New("crawler: the new crawl takes nothing more")

// clocks copies the clocks of sites that must not get a request yet or have failed lately. It also
// copies the clocks that several sites share, if they forbid requests now. The error is errCarrier,
// or an error of reading the previous crawl.
func (c *carrier) clocks(before *store.Reader) error {
	for st, err := range before.Sites() {
		if err != nil {
			return err
		}
		k := st.Clocks
		if k.Ended.IsZero() || !k.Due.After(c.now) && k.Strikes == 0 && k.Failures == 0 && !k.Ended.After(c.now) {
			continue
		}
		if err := c.submit(frontier.Completion{Site: st.Site, Clocks: k}); err != nil {
			return err
		}
	}
	for k, err := range before.Common() {
		if err != nil {
			return err
		}
		if !k.Due.After(c.now) {
			continue
		}
		if err := c.submit(frontier.Completion{Common: []frontier.CommonClock{k}}); err != nil {
			return err
		}
	}
	return nil
}

func (c *carrier) submit(done frontier.Completion) error {
	if c.err = c.db.Submit(done); c.err != nil {
		return errCarrier
	}
	c.submitted++
	return nil
}

// rules copies the last robots.txt of each site. The error is errCarrier, or an error of reading
// the previous crawl.
func (c *carrier) rules(before *store.Reader) error {
	for site, err := range before.Names() {
		if err != nil {
			return err
		}
		s, err := before.Snapshot(site)
		if err != nil {
			return err
		}
		if s == nil {
			continue
		}
		if c.err = c.db.PutSnapshot(site, s); c.err != nil {
			return errCarrier
		}
		c.copies++
	}
	return nil
}

// settle waits until the new crawl has stored the clocks. A frontier that is opened afterwards
// reads them.
func (c *carrier) settle() error {
	for c.err == nil && c.submitted > 0 {
		news := <-c.db.Grown()
		c.submitted -= news.Settled
		c.err = news.Err
	}
	return c.err
}
