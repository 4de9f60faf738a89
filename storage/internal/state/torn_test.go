package state

import (
	"fmt"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// torn outputs make their first commit fail before it is on disk.
type torn struct {
	none
	db   *DB
	done bool
}

func (o *torn) Flush() (Moment, error) {
	if !o.done {
		o.done = true
		o.db.file.handle.Close()
	}
	return Moment{}, nil
}

// A failed commit has assigned no numbers: the second attempt assigns them again.
func TestACommitThatFailedGivesNoNumbers(t *testing.T) {
	log := &tape{}
	db, err := start(t.TempDir(), Options{Gather: -1, Seed: testSeed, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	var links []frontier.Entry
	for i := range 5 {
		links = append(links, entry(t, fmt.Sprintf("%s/%d", richSite, i)))
	}
	submitted(t, db, frontier.Completion{Links: links})
	submitted(t, db, frontier.Completion{Site: richSite, Entry: readAll(t, db, richSite)[4], Fate: frontier.Fate{Code: frontier.Fetched}})
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	l := Usual
	l.MaxSlice = 2
	dir := t.TempDir()
	if db, err = Open(dir, Options{Gather: 50 * time.Millisecond, Seed: testSeed, Limits: &l}); err != nil {
		t.Fatal(err)
	}
	if err := db.Begin(&torn{db: db}, db.Marks(), nil); err != nil {
		t.Fatal(err)
	}
	if err := db.Apply(2, together(log.groups)); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	checked(t, dir)
}
