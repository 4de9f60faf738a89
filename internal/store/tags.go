package store

import (
	"crypto/sha256"
	"encoding/base64"
	"iter"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// keyTag is the prefix of the keys under which PutTag stores tags.
const keyTag = "tag "

// A givenTag is the tag that a program gave to a link.
type givenTag struct {
	Tag  string    `json:"tag"`
	Time time.Time `json:"time"` // when the program gave the tag
}

// tagKey returns the key of the tag of e. It has a hash in place of the URL, because a program
// may give a tag to each link.
func tagKey(e *frontier.Entry) string {
	sum := sha256.Sum256([]byte(e.Key()))
	return keyTag + base64.RawStdEncoding.EncodeToString(sum[:12])
}

// PutTag stores the tag of e, which a program gave to a link. If the URL is already queued,
// Retag gives this tag to its entry.
func (db *DB) PutTag(e *frontier.Entry) error {
	db.tagged.Store(true)
	return db.Put(tagKey(e), givenTag{e.Tag, time.Now().UTC().Truncate(time.Millisecond)})
}

// Retag sets the tag of e, which is queued, to the last tag that PutTag has stored for its URL.
// It changes nothing if there is no such tag, or if e is a seed.
func (db *DB) Retag(e *frontier.Entry) error {
	if !db.tagged.Load() {
		return nil
	}
	return db.retag(e, time.Time{})
}

// retag is like DB.Retag for an entry that was fetched at the given time. The zero time means
// that the entry is still queued. A tag that was given after the fetch does not apply.
func (r *Records) retag(e *frontier.Entry, fetched time.Time) error {
	if e.Hops == "" {
		return nil
	}
	var given givenTag
	ok, err := r.from.Get(tagKey(e), &given)
	if ok && err == nil && (fetched.IsZero() || !given.Time.After(fetched)) {
		e.Tag = given.Tag
	}
	return err
}

// hasTags reports whether PutTag has stored a tag.
func (r *Records) hasTags() (bool, error) {
	for _, err := range r.from.Keys(keyTag) {
		return err == nil, err
	}
	return false, nil
}

// retagKept sets the tag of k as DB.Retag does. If k was fetched, it uses the last tag that was
// given before the fetch.
func (r *Records) retagKept(k *Kept) error {
	if k.Fate.Code == frontier.Undecided || k.Fate.Waits() {
		return r.retag(&k.Entry, time.Time{})
	}
	return r.retag(&k.Entry, k.Fate.Time)
}

// retagged yields the same pairs as all, with the tags that DB.Retag would set.
func (r *Records) retagged(all iter.Seq2[Kept, error]) iter.Seq2[Kept, error] {
	return func(yield func(Kept, error) bool) {
		has, err := r.hasTags()
		if err != nil {
			yield(Kept{}, err)
			return
		}
		for k, err := range all {
			if err == nil && has {
				err = r.retagKept(&k)
			}
			if !yield(k, err) || err != nil {
				return
			}
		}
	}
}
