package main

import (
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/rogpeppe/go-internal/testscript"
)

func holdDir(ts *testscript.TestScript, dir string) error {
	db, err := store.Open(dir, store.Options{})
	if err != nil {
		return err
	}
	ts.Defer(func() { db.Close() })
	return nil
}
