package state

import (
	"fmt"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// A torn is an Outputs that makes the first commit fail before it is on disk.
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

// If a commit fails that gives a number to a new site, the number is not used. The second
// attempt gives the number again.
func TestACommitThatFailedGivesNoNumbers(t *testing.T) {
	l := Usual
	l.MaxSlice = 2
	dir := t.TempDir()
	db, err := Open(dir, Options{Gather: 50 * time.Millisecond, Limits: &l})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Begin(&torn{db: db}, db.Marks(), nil); err != nil {
		t.Fatal(err)
	}
	var links []frontier.Entry
	for i := range 5 {
		links = append(links, entry(t, fmt.Sprintf("%s/%d", richSite, i)), entry(t, fmt.Sprintf("http://b.example/%d", i)))
	}
	db.queue.starve(richSite) // the first commit merges a part of the site, and the pass merges the rest
	if err := db.Submit(frontier.Completion{Links: links}); err != nil {
		t.Fatal(err)
	}
	settle(t, db, 1)
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	if done := checked(t, dir); done.Sites != 2 || done.Entries != len(links) {
		t.Errorf("%+v", done)
	}
}
