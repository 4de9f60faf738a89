package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"

	"github.com/permesso-crawler/permesso/crawler"
)

// handler accepts requests of programs, but not of pages in a browser.
func (s *service) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /customers", func(w http.ResponseWriter, _ *http.Request) {
		all, err := s.reports()
		if err != nil {
			fail(w, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(all)
	})
	mux.HandleFunc("PUT /customers/{name}", func(w http.ResponseWriter, r *http.Request) {
		var o order
		in := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20))
		in.DisallowUnknownFields() // such as an identity: all customers have the same
		if err := in.Decode(&o); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		o.Stopped = false
		if err := s.start(r.PathValue("name"), o); err != nil {
			fail(w, err)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	})
	mux.HandleFunc("DELETE /customers/{name}", func(w http.ResponseWriter, r *http.Request) {
		if err := s.stop(r.PathValue("name")); err != nil {
			fail(w, err)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	})
	return http.NewCrossOriginProtection().Handler(mux)
}

func fail(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	switch {
	case errors.Is(err, errName), errors.Is(err, errSeeds), errors.As(err, new(*crawler.OptionError)):
		status = http.StatusBadRequest
	case errors.Is(err, errRunning):
		status = http.StatusConflict
	case errors.Is(err, fs.ErrNotExist):
		status = http.StatusNotFound
	}
	http.Error(w, err.Error(), status)
}

// customers returns the names of all customers.
func (s *service) customers() (all []string, err error) {
	if err := os.MkdirAll(s.dir, 0o777); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(s.dir)
	for _, e := range entries {
		if names.MatchString(e.Name()) {
			all = append(all, e.Name())
		}
	}
	return all, err
}

func (s *service) load(name string) (o order, err error) {
	if !names.MatchString(name) {
		return o, errName
	}
	raw, err := os.ReadFile(filepath.Join(s.dir, name, "order.json"))
	if err == nil {
		err = json.Unmarshal(raw, &o)
	}
	return o, err
}

// save stores an order. After a kill the file has the old order or the new one.
func (s *service) save(name string, o order) error {
	raw, err := json.Marshal(o)
	if err != nil {
		return err
	}
	dir := filepath.Join(s.dir, name)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	file := filepath.Join(dir, "order.json")
	if err := os.WriteFile(file+".new", raw, 0o666); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}
