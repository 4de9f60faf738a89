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

// ackedFile is the name of the file in which a node records its commits that the database has
// acknowledged.
const ackedFile = "acked.json"

// maxForgotten is how much a database may have lost of its acknowledged commits so that a node
// continues without asking the user. It is the time in which the node has made the lost commits,
// by the node's clock, because a failover may change the clock of the database. A crash or a
// failover loses seconds or minutes; a backup that was restored lacks hours.
const maxForgotten = 10 * time.Minute

// acked is the content of ackedFile.
type acked struct {
	Seed      int64       `json:"seed"`               // seed of the crawl, which identifies it
	System    string      `json:"system,omitempty"`   // identifier of the server; empty if it is not known
	Timeline  int64       `json:"timeline,omitempty"` // timeline of the server; 0 if it is not known
	Open      bool        `json:"open"`               // a session was begun and has not ended
	Seq       int64       `json:"seq"`                // number of the last commit of the session
	Committed time.Time   `json:"committed"`          // time of the node's last commit, by the clock of the database
	At        time.Time   `json:"at"`                 // time of the same commit, by the clock of the node
	Recent    []ackedAt   `json:"recent"`             // some commits of the last minutes, and one older than maxForgotten (or the first commit)
	Marks     state.Marks `json:"marks"`              // marks of the files that the node still wrote at its last commit
	Rewind    bool        `json:"rewind,omitempty"`   // the user permits the node to use a database that lacks more
}

// An ackedAt is the time of one commit, by the clock of the database and by that of the node.
type ackedAt struct {
	Committed time.Time `json:"committed"`
	At        time.Time `json:"at"`
}

// recentEvery is the least time between two commits in acked.Recent.
const recentEvery = 30 * time.Second

// committed records the times of a commit: committed by the clock of the database, at by the
// node's.
func (a *acked) committed(committed, at time.Time) {
	a.Committed, a.At = committed, at
	if n := len(a.Recent); n == 0 || at.Sub(a.Recent[n-1].At).Abs() >= recentEvery {
		a.Recent = append(a.Recent, ackedAt{committed, at})
	}
	for len(a.Recent) > 1 && at.Sub(a.Recent[1].At) > maxForgotten {
		a.Recent = a.Recent[1:]
	}
}

// lacks returns how long the node has worked after the commit at the time committed, which is the
// last one that the database has. If this is much longer than maxForgotten, the result may be too
// small, but is still more than maxForgotten.
func (a *acked) lacks(committed time.Time) time.Duration {
	for _, r := range a.Recent {
		if r.Committed.After(committed) {
			return a.At.Sub(r.At)
		}
	}
	return 0 // the database lacks only commits of the last recentEvery
}

// readAcked reads ackedFile in dir. It returns nil if the file does not exist, or was not written
// completely before a power cut.
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

// write replaces ackedFile in dir.
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

// A behindError says that the database lacks more acknowledged commits than a crash or a failover
// can explain.
type behindError struct {
	dir, why string
}

func (e *behindError) Error() string {
	return e.why + ": nothing was changed"
}

// Behind returns the directory of the node. Callers recognize this error by its method Behind.
func (e *behindError) Behind() string { return e.dir }

// A found is what the database knows of a node and its crawl.
type found struct {
	tables    bool      // the tables of a crawl exist
	seed      int64     // seed of the crawl, which identifies it
	committed time.Time // time of the last commit of the node; zero if there was none
}

// compare compares f, the data in the database, with the record of acknowledged commits. forgot
// says that the database has lost some of them. The error is a *behindError if the node must not
// continue.
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

// remember reads ackedFile of the node's directory and compares it with f, the data in the
// database. It sets db.forgotten if the database has lost commits.
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
		db.seed = uint64(a.Seed) // all nodes of the crawl get the same seed
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

// system returns the identifier of the server, or "" if this user is not permitted to read it.
func (db *node) system(ctx context.Context) (system string) {
	if db.pool.QueryRow(ctx, "select system_identifier::text from pg_catalog.pg_control_system()").Scan(&system) != nil {
		return ""
	}
	return system
}

// Forgotten implements state.Forgetful.
func (db *node) Forgotten() *state.Forgotten { return db.forgotten }

// ForgottenIn returns the directory to which Open has copied the data that the database has lost.
// It returns "" if Open has copied nothing.
func (db *node) ForgottenIn() string {
	if db.forgotten == nil {
		return ""
	}
	return db.forgotten.Into
}

// acknowledge records a commit that the database has acknowledged. The parameter committed is its
// time by the clock of the database, or zero if there was no commit.
func (db *node) acknowledge(committed time.Time, marks state.Marks, open bool) error {
	a := &db.acked
	a.Seed, a.Seq, a.Open, a.Marks = int64(db.seed), db.session.seq.Load(), open, maps.Clone(marks)
	if !committed.IsZero() {
		a.committed(committed, time.Now())
	}
	return a.write(db.dir)
}

// Rewind permits the node with the directory dir, at its next start, to use a database that lacks
// more commits than a crash can explain. It returns an error if a process uses the directory, or
// if the directory has no record of commits.
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
