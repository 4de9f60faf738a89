package state

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
	berrors "go.etcd.io/bbolt/errors"
)

// A Collector is an Opener of crawls on several nodes, whose state can be copied into a state
// file.
type Collector interface {
	// CollectState returns the state of the crawl as of now. It fails if a node has a session.
	CollectState(ctx context.Context) (Source, error)
}

// A Source is the state of a crawl on several nodes at one moment.
type Source interface {
	// Nodes returns all nodes that ever took part in the crawl, sorted by name.
	Nodes() []Node

	// Hold prevents the node from running whose outputs are in dir, until the caller closes
	// held, and returns the name of the node. It fails if dir belongs to no node of this crawl.
	Hold(dir string) (name string, held io.Closer, err error)

	// Copy writes the state to m, except the marks.
	Copy(ctx context.Context, m *Maker) error

	Close() error
}

// A Node describes the outputs of one node of a crawl, as of its last commit.
type Node struct {
	Name              string
	Growing, Finished Marks
	Unclean           bool // the node's last run did not close the outputs
}

// A Maker copies the state of a crawl from another Store into a new state file. The caller
// calls Site for each site, and then Entry for each of the site's entries, in the order in
// which they were found. The other methods may be called in between or after that. Finish or
// Abandon is called last. A Maker needs bounded memory. It syncs the file only in Finish, so
// after a kill the file must be thrown away.
type Maker struct {
	Sites, Entries int // numbers of sites and entries that were added

	db     *DB
	change *change
	steps  int // size of the open transaction: the number of changes, plus one for each thousand bytes in them
	most   int // largest value of steps in one transaction
	num    siteNum
	record *siteRecord // record of the current site; nil: no site was added
	news   []numbered  // entries of the current site that this transaction has added
}

// makerSteps is how many changes one transaction makes. The fingerprints of a large site go to
// blocks all over the site, so each transaction writes most of these blocks.
const makerSteps = 32 << 10

// Make creates the state file in dir.
func Make(dir string) (m *Maker, err error) {
	db := newDB(dir, Options{Limits: &Usual})
	m = &Maker{db: db, most: makerSteps}
	err = db.file.guarded(true, func() error {
		if err := errors.Join(db.first(), db.file.open()); err != nil {
			return err
		}
		db.file.bolt.NoSync = true
		return errors.Join(db.file.bolt.Update(db.create), m.begin())
	})
	if err != nil {
		return nil, errors.Join(err, m.Abandon())
	}
	return m, nil
}

func (m *Maker) begin() error {
	tx, err := m.db.file.bolt.Begin(true)
	if err == nil {
		m.change = newChange(m.db, tx, 0)
	}
	return err
}

// do calls step, which makes the given number of changes. It then commits if the transaction
// has many changes.
func (m *Maker) do(steps int, step func() error) error {
	return m.db.file.guarded(true, func() error {
		if err := step(); err != nil {
			return err
		}
		if m.steps += steps; m.steps < m.most {
			return nil
		}
		m.steps = 0
		if err := m.keep(); err != nil {
			return err
		}
		return m.next()
	})
}

// next commits the transaction and begins another one.
func (m *Maker) next() error {
	c := m.change
	if err := c.tx.Commit(); err != nil {
		return err
	}
	maps.Copy(m.db.book.archived, c.archived)
	m.db.file.bolt.AllocSize = growth(c.size)
	return m.begin()
}

// keep writes the record and the fingerprints of the current site to the file.
func (m *Maker) keep() error {
	if m.record == nil {
		return nil
	}
	c := m.change
	slices.SortFunc(m.news, func(a, b numbered) int { return cmp.Compare(a.fp, b.fp) })
	fps, left := make([]finger, 0, len(m.news)), len(m.news)
	for _, n := range m.news {
		fps = append(fps, finger{fp: n.fp})
	}
	fps = slices.CompactFunc(fps, func(a, b finger) bool { return a.fp == b.fp })
	if err := unseen(c.entryRows, m.num, fps, func(int32) { left-- }); err != nil {
		return err
	}
	if left > 0 {
		return fmt.Errorf("two URLs of %s have the same fingerprint by chance: the same command takes other fingerprints", m.record.Site)
	}
	if err := insert(c.entries, c.entryRows, m.num, m.news, m.db.limits.MaxBlock, &c.arena); err != nil {
		return err
	}
	m.news = m.news[:0]
	m.record.Queued = m.record.Ready + m.record.Waiting
	return put(c.states, m.num.key(), m.record.value(c.arena.take(256)))
}

// Site begins a site. It uses the clocks, the cost and the fate in st, and ignores other
// fields.
func (m *Maker) Site(st *frontier.SiteState) error {
	return m.do(1, func() error {
		if err := m.keep(); err != nil {
			return err
		}
		n, err := siteNumber(m.change.names, st.Site)
		if err == nil && n != 0 {
			err = fmt.Errorf("%s comes twice", st.Site)
		}
		if err != nil {
			return err
		}
		m.Sites++
		if m.num, m.record, err = m.change.site(0, st.Site); err != nil {
			return err
		}
		m.record.Clocks, m.record.Spent, m.record.Given = st.Clocks, st.Spent, st.Fate
		return nil
	})
}

// Entry adds an entry of the site that was begun last. It ignores the ID and the Number of k.
func (m *Maker) Entry(k *Kept) error {
	return m.do(1, func() error {
		c, r := m.change, m.record
		if r == nil || k.URL.Site() != r.Site {
			return fmt.Errorf("the entry %s is not of the site before it", k.URL)
		}
		r.Entries++
		num := r.Entries
		m.Entries++
		m.news = append(m.news, numbered{fingerprint(k.Key(), m.db.seed), num})
		raw := appendEntry(nil, &k.Entry, k.Tries)
		switch {
		case !k.Due.IsZero():
			if r.Waiting++; waitsAgain(raw) {
				r.Again++
			}
			return put(c.entries, waitingKey(m.num, dueMillis(k.Due), num), c.arena.value(raw))
		case !k.Fate.Ends():
			if r.Ready++; r.Ready == 1 || k.Rank < r.Head {
				r.Head = k.Rank
			}
			return put(c.entries, readyKey(m.num, k.Rank, num), c.arena.value(raw))
		}
		if k.Fate.Code.Aside() {
			if err := c.setAside(m.num, num); err != nil {
				return err
			}
		}
		ended, err := c.appendEnded(nil, k.Fate)
		if err != nil {
			return err
		}
		return put(c.entries, endedKey(m.num, num), c.arena.value(raw, ended))
	})
}

// Snapshot adds a snapshot of a robots.txt, or of a license document. name is the site, or the
// URL of the license document. Snapshots of one name must be added in the order in which they
// were put. Of s.Copy only the time is used, to find the earlier snapshot.
func (m *Maker) Snapshot(name frontier.Site, s *robots.Snapshot) error {
	return m.do(2+len(s.Body)>>10, func() error {
		if s.Copy != nil && m.change.tx.Bucket(bucketSnapshots).Get(snapshotKey(name, s.Copy.Fetched)) == nil {
			return fmt.Errorf("%s: the copy of %s is missing", copyOf(name), s.Copy.Fetched.Format(time.RFC3339))
		}
		return putSnapshot(m.change.tx, name, s)
	})
}

// Value adds a value of the crawl, as DB.Put does.
func (m *Maker) Value(key string, raw json.RawMessage) error {
	return m.do(1+len(raw)>>10, func() error { return putJSON(m.change.meta, []byte(valuePrefix+key), raw) })
}

// Payload adds the first archived answer whose payload has the digest.
func (m *Maker) Payload(digest string, p Payload) error {
	return m.do(1, func() error {
		raw := appendString(appendTime(nil, p.Date), p.URL)
		return put(m.change.tx.Bucket(bucketPayloads), payloadKey(digest), m.change.arena.value(raw))
	})
}

// Common adds a clock that several sites share.
func (m *Maker) Common(c frontier.CommonClock) error {
	return m.do(1, func() error {
		return m.change.keepCommon(map[string]time.Time{c.Name: c.Due})
	})
}

// Ended sets the time of the last commit, and whether the crawl was killed. It also sets the time
// until which a node that was killed may have made requests, unless that is zero.
func (m *Maker) Ended(committed, restarted time.Time, killed bool) error {
	return m.do(1, func() error {
		err := putCommit(m.change.meta, lastCommit{1, 0, committed})
		if killed {
			err = errors.Join(err, putJSON(m.change.meta, keyOpen, true), WriteRun(m.db.file.dir, m.db.opts.Disk))
		}
		if !restarted.IsZero() {
			err = errors.Join(err, putJSON(m.change.meta, keyRestart, restarted))
		}
		return err
	})
}

// Finish stores the marks of the outputs, and syncs and closes the file.
func (m *Maker) Finish(last Last) error {
	err := m.do(0, func() error {
		if err := m.keep(); err != nil {
			return err
		}
		tx := m.change.tx
		if err := errors.Join(keepOutputs(tx, last.Growing, last.Finished), putIndex(m.change.meta, last.Index)); err != nil {
			return err
		}
		m.change = nil
		if err := tx.Commit(); err != nil {
			return err
		}
		return m.db.file.bolt.Sync()
	})
	return errors.Join(err, m.Abandon())
}

// Abandon closes the file of a Maker that is not finished.
func (m *Maker) Abandon() error {
	var err error
	if m.change != nil {
		err = m.change.tx.Rollback()
		m.change = nil
	}
	if err != nil && !errors.Is(err, berrors.ErrTxClosed) {
		return errors.Join(err, m.db.file.close())
	}
	return m.db.file.close()
}
