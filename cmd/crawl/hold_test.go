package main

import (
	"github.com/permesso-crawler/permesso/storage"
	"github.com/rogpeppe/go-internal/testscript"
)

func holdDir(ts *testscript.TestScript, dir string) error {
	db, err := storage.Open(dir, storage.Options{})
	if err != nil {
		return err
	}
	ts.Defer(func() { db.Close() })
	return nil
}
