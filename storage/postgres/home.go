package postgres

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/permesso-crawler/permesso/internal/outfile"
	"github.com/permesso-crawler/permesso/internal/state"
)

// A homeNote is the content of state.NodeFile. It contains no password.
type homeNote struct {
	State    string `json:"state"` // always "postgres"
	Host     string `json:"host"`  // host names of the servers, separated by commas
	Port     uint16 `json:"port"`
	Ports    string `json:"ports,omitempty"` // ports of all hosts, if they differ
	Database string `json:"database"`
	Node     string `json:"node"` // name of the node that writes its outputs into the directory
}

// home opens and locks the directory of the node. It creates the directory and its note if they
// are missing.
func (db *node) home(d *database) (err error) {
	if _, err := os.Stat(filepath.Join(db.dir, state.File)); err == nil {
		return fmt.Errorf("%s has the state of a crawl on one machine (%s): give a node another directory", db.dir, state.File)
	}
	path := filepath.Join(db.dir, state.NodeFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) && db.opts.New != nil {
		if err := db.opts.New(); err != nil { // the directory has outputs of another crawl
			return err
		}
	}
	if err := os.MkdirAll(db.dir, 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	if got, err := outfile.Lock(f); err != nil || !got {
		f.Close()
		if err == nil {
			run, _ := state.ReadRun(db.dir)
			err = &state.InUseError{Dir: db.dir, Run: run}
		}
		return err
	}
	db.file = f
	raw, err := io.ReadAll(io.LimitReader(db.file, 1<<16))
	if err != nil {
		return err
	}
	c := d.config.ConnConfig
	hosts, ports := hostsOf(c)
	want := homeNote{"postgres", hosts, c.Port, ports, c.Database, nodeName(db.dir)}
	if len(raw) == 0 {
		raw, err := json.Marshal(want)
		if err != nil {
			return err
		}
		db.name = want.Node
		_, err = db.file.WriteAt(append(raw, '\n'), 0)
		return errors.Join(err, db.opts.Disk.Sync(db.file))
	}
	var have homeNote
	if err := json.Unmarshal(raw, &have); err != nil {
		return &state.DamagedError{Path: path, Err: err}
	}
	if have.State != want.State || have.Database != want.Database {
		return fmt.Errorf("%s is the directory of a node of the crawl in the database %q at %s, not of %q at %s: give the node another directory",
			db.dir, have.Database, have.Host, want.Database, want.Host)
	}
	db.name = have.Node
	return nil
}
