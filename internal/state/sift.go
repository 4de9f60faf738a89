package state

import (
	"cmp"
	"slices"

	"github.com/permesso-crawler/permesso/frontier"
	"go.etcd.io/bbolt"
)

// mayBeNew returns the links of a completion that neither the cache nor the state file has, so
// that they may be new. Nine of ten links are known. They need not be written to the journal or
// merged. mayBeNew runs in parallel, on the goroutines of the submitters, so that the
// committer, a single goroutine, has less work. The result is valid until the draft is reused.
func (db *DB) mayBeNew(c *frontier.Completion, draft *draft) []finger {
	all := draft.news[:0]
	for i := range c.Links {
		all = append(all, finger{fingerprint(c.Links[i].Key(), db.seed), int32(i)})
	}
	draft.news = all
	// Do only this in the loop, so that the processor loads several lines of its cache at once.
	news := all[:0]
	for _, f := range all {
		if !db.cache.known(f.fp) {
			news = append(news, f)
		}
	}
	if len(news) == 0 || db.file.size.Load() < int64(db.limits.Sift) {
		return news
	}
	left := news
	err := db.file.view(func(tx *bbolt.Tx) error {
		var err error
		left, err = db.sift(tx, c, slices.Clone(news))
		return err
	})
	if err != nil {
		return news // ignore the error, because the commit will get the same error
	}
	return left
}

// sift returns the elements of news that the state file does not have. It overwrites the slice
// news.
func (db *DB) sift(tx *bbolt.Tx, c *frontier.Completion, news []finger) ([]finger, error) {
	rows := tx.Bucket(bucketEntries).Cursor()
	site := func(f finger) frontier.Site { return c.Links[f.i].URL.Site() }
	slices.SortFunc(news, func(a, b finger) int {
		return cmp.Or(cmp.Compare(site(a), site(b)), cmp.Compare(a.fp, b.fp))
	})
	left := make([]finger, 0, len(news)/4+1)
	for len(news) > 0 {
		name := site(news[0])
		end := 1
		for end < len(news) && site(news[end]) == name {
			end++
		}
		n, own := splitID(c.Entry.ID)
		if name != c.Site || own == 0 {
			var err error
			if n, err = db.probablyNumber(tx, name); err != nil {
				return nil, err
			}
		}
		if n == 0 {
			left = append(left, news[:end]...)
		} else {
			at := len(left)
			err := unseen(rows, n, news[:end], func(i int32) { left = append(left, finger{i: i}) })
			if err != nil {
				return nil, err
			}
			db.noteSeen(news[:end], left[at:])
		}
		news = news[end:]
	}
	slices.SortFunc(left, func(a, b finger) int { return cmp.Compare(a.i, b.i) })
	return left, nil
}

// probablyNumber returns the number of a site, or 0 if the site is unknown. Rarely it returns
// the number of another site (see numberCache).
func (db *DB) probablyNumber(tx *bbolt.Tx, site frontier.Site) (n siteNum, err error) {
	if n = db.numbers.number(site); n == 0 {
		if n, err = siteNumber(tx.Bucket(bucketNames), site); n != 0 {
			db.numbers.note(site, n)
		}
	}
	return n, err
}

// noteSeen adds to the cache the links of all that the state file has. left has the other
// links, in the order of all. noteSeen copies their fingerprints from all to left.
func (db *DB) noteSeen(all, left []finger) {
	k := 0
	for _, f := range all {
		if k < len(left) && left[k].i == f.i {
			left[k].fp = f.fp
			k++
		} else {
			db.cache.note(f.fp)
		}
	}
}
