package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/permesso-crawler/permesso/internal/outfile"
	"github.com/permesso-crawler/permesso/internal/state"
)

// ackedFile is the name of the file in which a node notes what the database has acknowledged.
const ackedFile = "acked.json"

// maxForgotten limits how much a database may have lost of what it has acknowledged so that a node
// goes on by itself: the time in which the node has made these commits, by the clock of the node,
// because the clock of the database may be another one after a failover. A crash and a failover
// lose seconds or minutes; a backup that was restored lacks hours.
const maxForgotten = 10 * time.Minute

// acked is the contents of ackedFile.
type acked struct {
	Seed      int64       `json:"seed"`               // of the crawl
	System    string      `json:"system,omitempty"`   // the server's identifier, if it can be known
	Timeline  int64       `json:"timeline,omitempty"` // of the server, if it can be known
	Open      bool        `json:"open"`               // a session was begun and not ended
	Seq       int64       `json:"seq"`                // of the last commit of the session
	Committed time.Time   `json:"committed"`          // last commit of the node, by the clock of the database
	At        time.Time   `json:"at"`                 // the same, by the clock of the node
	Recent    []ackedAt   `json:"recent"`             // some commits of the last minutes, and one that is older than maxForgotten, or the first
	Marks     state.Marks `json:"marks"`              // of the files that grew at the last commit
	Rewind    bool        `json:"rewind,omitempty"`   // the user has allowed to go on with a database that lacks more
}

// An ackedAt is a commit, by the clocks of the database and of the node.
type ackedAt struct {
	Committed time.Time `json:"committed"`
	At        time.Time `json:"at"`
}

// recentEvery is the time between two commits in acked.Recent.
const recentEvery = 30 * time.Second

// committed notes a commit.
func (a *acked) committed(committed, at time.Time) {
	a.Committed, a.At = committed, at
	if n := len(a.Recent); n == 0 || at.Sub(a.Recent[n-1].At).Abs() >= recentEvery {
		a.Recent = append(a.Recent, ackedAt{committed, at})
	}
	for len(a.Recent) > 1 && at.Sub(a.Recent[1].At) > maxForgotten {
		a.Recent = a.Recent[1:]
	}
}

// lacks returns how long the node has worked since the last commit that the database has. If that
// is much longer than maxForgotten, the result may be less, but is more than maxForgotten.
func (a *acked) lacks(committed time.Time) time.Duration {
	for _, r := range a.Recent {
		if r.Committed.After(committed) {
			return a.At.Sub(r.At)
		}
	}
	return 0 // only commits of the last recentEvery
}

// readAcked reads the note in dir. It returns nil if it does not exist, or was not written
// completely before the machine lost its power.
func readAcked(dir string) (*acked, error) {
	raw, err := os.ReadFile(filepath.Join(dir, ackedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	a := new(acked)
	if json.Unmarshal(raw, a) != nil {
		return nil, nil
	}
	return a, nil
}

// write replaces the note in dir.
func (a *acked) write(dir string) error {
	raw, err := json.Marshal(a)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, ackedFile)
	if err := os.WriteFile(path+".new", append(raw, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// A behindError says that the database lacks more of what it has acknowledged than a crash or a
// failover can explain.
type behindError struct {
	dir, why string
}

func (e *behindError) Error() string {
	return e.why + ": nothing was changed"
}

// Behind returns the directory of the node. Its name tells this error from others.
func (e *behindError) Behind() string { return e.dir }

// A found is what the database has of a node.
type found struct {
	tables    bool      // there is a crawl
	seed      int64     // of the crawl
	committed time.Time // last commit of the node; zero: none
}

// compare compares what the database has with what it has acknowledged. forgot says that it has
// lost a part of it. The error is a *behindError if the node must not go on.
func (a *acked) compare(dir string, f found, system string, timeline int64) (forgot bool, err error) {
	other := ""
	if system != "" && a.System != "" && system != a.System {
		other = " (another server: its identifier is " + system + ", not " + a.System + ")"
	}
	switch {
	case a.Rewind:
		return f.committed.Before(a.Committed) || f.tables && f.seed != a.Seed, nil
	case f.tables && f.seed != a.Seed:
		return false, &behindError{dir, "the database has another crawl than that of " + dir + other}
	case other == "" && timeline > 0 && timeline < a.Timeline:
		return false, &behindError{dir, fmt.Sprintf("the server is an old primary that another one has replaced, or was restored from a backup (timeline %d; %s knows %d)", timeline, dir, a.Timeline)}
	case !f.committed.Before(a.Committed):
		return false, nil
	}
	if a.lacks(f.committed) <= maxForgotten {
		return true, nil
	}
	has := "nothing of this node"
	if !f.committed.IsZero() {
		has = "its last commit of " + f.committed.UTC().Format(time.RFC3339)
	}
	return false, &behindError{dir, fmt.Sprintf("the database is older than the files of %s: it has %s, and has acknowledged one of %s%s",
		dir, has, a.Committed.UTC().Format(time.RFC3339), other)}
}

// remember reads the note of the directory, and compares it with what the database has. It sets
// db.forgotten.
func (db *node) remember(ctx context.Context, f found) error {
	a, err := readAcked(db.dir)
	if err != nil {
		return err
	}
	db.acked.System = db.system(ctx)
	db.acked.Timeline = db.server.timeline.Load()
	if a == nil {
		return nil
	}
	forgot, err := a.compare(db.dir, f, db.acked.System, db.acked.Timeline)
	if err != nil {
		return err
	}
	if !f.tables && !a.Rewind {
		db.seed = uint64(a.Seed) // the nodes of the crawl find each other again
	}
	db.acked.Committed, db.acked.At, db.acked.Recent = a.Committed, a.At, a.Recent
	db.begun.Unclean = db.begun.Unclean || a.Open
	if !forgot {
		return nil
	}
	db.begun.Unclean = true
	db.acked.Committed, db.acked.At = f.committed, time.Time{}
	db.acked.Recent = slices.DeleteFunc(slices.Clone(a.Recent), func(r ackedAt) bool { return r.Committed.After(f.committed) })
	db.forgotten = &state.Forgotten{Acked: a.Marks, Finished: state.Marks{}}
	if !f.tables {
		return nil
	}
	rows, err := db.pool.Query(ctx, "select file, mark from mark where node = $1 and finished", db.name)
	if err != nil {
		return err
	}
	var file string
	var mark state.Mark
	_, err = pgx.ForEachRow(rows, []any{&file, &mark}, func() error {
		db.forgotten.Finished[file] = mark
		return nil
	})
	return err
}

// system returns the identifier of the server, or "" if this user may not read it.
func (db *node) system(ctx context.Context) (system string) {
	if db.pool.QueryRow(ctx, "select system_identifier::text from pg_catalog.pg_control_system()").Scan(&system) != nil {
		return ""
	}
	return system
}

// Forgotten implements state.Forgetful.
func (db *node) Forgotten() *state.Forgotten { return db.forgotten }

// ForgottenIn returns the directory to which Open has copied what the database has forgotten, or ""
// if it has copied nothing.
func (db *node) ForgottenIn() string {
	if db.forgotten == nil {
		return ""
	}
	return db.forgotten.Into
}

// acknowledge notes what the database has acknowledged: a commit at the given time of its clock, or
// the zero time if it was none.
func (db *node) acknowledge(committed time.Time, marks state.Marks, open bool) error {
	a := &db.acked
	a.Seed, a.Seq, a.Open, a.Marks = int64(db.seed), db.session.seq.Load(), open, maps.Clone(marks)
	if !committed.IsZero() {
		a.committed(committed, time.Now())
	}
	return a.write(db.dir)
}

// Rewind lets the node with the directory dir go on with a database that lacks more than a crash
// can explain, at its next start. It returns an error if a process has the node, or the node has
// noted nothing.
func (d *database) Rewind(dir string) error {
	f, err := os.OpenFile(filepath.Join(dir, state.NodeFile), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return noNode(dir)
	}
	if err != nil {
		return err
	}
	if got, err := outfile.Lock(f); err != nil || !got {
		f.Close()
		if err == nil {
			run, _ := state.ReadRun(dir)
			err = &state.InUseError{Dir: dir, Run: run}
		}
		return err
	}
	a, err := readAcked(dir)
	if err == nil && a == nil {
		err = fmt.Errorf("%s has no %s: the node has committed nothing", dir, ackedFile)
	}
	if err == nil {
		a.Rewind = true
		err = a.write(dir)
	}
	return errors.Join(err, outfile.Release(f))
}

var _ state.Forgetful = (*node)(nil)
