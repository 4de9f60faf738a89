package crawler

import (
	"sync"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
)

// givenTags are the tags that handlers have given to links. An entry that was queued before its
// URL got a tag, for example because a sitemap named it, gets the tag when it is visited.
type givenTags struct {
	db func(frontier.Site) *store.DB // where the tags are stored; nil: in byKey

	mu    sync.Mutex
	byKey map[string]string // tags by frontier.Entry.Key
}

// put stores the tags of entries.
func (g *givenTags) put(entries []frontier.Entry) error {
	for i := range entries {
		e := &entries[i]
		if g.db != nil {
			if err := g.db(e.URL.Site()).PutTag(e); err != nil {
				return err
			}
			continue
		}
		g.mu.Lock()
		g.byKey[e.Key()] = e.Tag
		g.mu.Unlock()
	}
	return nil
}

// retag sets the tag of e, which is about to be visited. db is the storage of its site, or nil.
func (g *givenTags) retag(db *store.DB, e *frontier.Entry) error {
	switch {
	case e.Hops == "":
		return nil
	case db != nil:
		return db.Retag(e)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if tag, ok := g.byKey[e.Key()]; ok {
		e.Tag = tag
	}
	return nil
}
