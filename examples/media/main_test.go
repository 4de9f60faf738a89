package main

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
)

// A server is an S3 store on this machine.
type server struct {
	bucket
	down atomic.Bool // uploads are refused
	puts atomic.Int64
}

func newServer(t *testing.T) *server {
	backend := s3mem.New()
	if err := backend.CreateBucket("media"); err != nil {
		t.Fatal(err)
	}
	s, store := &server{}, gofakes3.New(backend).Server()
	http := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			s.puts.Add(1)
			if s.down.Load() {
				http.Error(w, "", http.StatusForbidden)
				return
			}
		}
		store.ServeHTTP(w, r)
	}))
	t.Cleanup(http.Close)
	client, err := minio.New(strings.TrimPrefix(http.URL, "http://"), &minio.Options{
		Creds: credentials.NewStaticV4("key", "secret", ""), MaxRetries: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.bucket = bucket{client, "media"}
	return s
}

func name(body string) string {
	sum := sha256.Sum256([]byte(body))
	return hex.EncodeToString(sum[:])
}

// stored returns the bodies in the bucket, by name.
func (s *server) stored(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for o := range s.store.ListObjects(t.Context(), s.name, minio.ListObjectsOptions{}) {
		r, err := s.store.GetObject(t.Context(), s.name, o.Key, minio.GetObjectOptions{})
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		all[o.Key] = string(body)
	}
	return all
}

// crawl returns the names of the objects that a crawl uploads.
func (s *server) crawl(t *testing.T, w *crawltest.Web, dir string) (uploaded []string, err error) {
	err = run(t.Context(), s.bucket, crawler.Options{
		Identity: crawler.Identity{Token: "mediabot", Contact: "https://example.org/mediabot"},
		Seeds:    []string{"http://a.example/"}, Dir: dir, Pace: crawler.Pace{Delay: crawler.NoDelay, IPDelay: crawler.NoDelay},
		Wire: crawler.Wire{Network: w, MaxSize: 1000},
	}, func(o object) { uploaded = append(uploaded, o.name) })
	slices.Sort(uploaded)
	return uploaded, err
}

// Files of a site, also those that its pages show from another site, are in the bucket once,
// with their metadata. Another crawl uploads only what is new.
func TestFilesAreKeptOnce(t *testing.T) {
	t.Parallel()
	w, s := crawltest.New(t), newServer(t)
	site := w.Site("http://a.example").
		Page("/", `<a href="/gallery">x</a> <a href="/film.mp4">film</a> <img src="/cat.png">`).
		Page("/gallery", `<a rel="license" href="http://license.example/by">CC BY</a> <img src="/dog.png"> <img src="http://b.example/cat.png"> <img src="/gone.png">`).
		File("/cat.png", "image/png", "cat").File("/dog.png", "image/png", "dog").
		Func("/film.mp4", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "video/mp4")
			w.Header().Set("Link", `</terms>; rel="license"`)
			io.WriteString(w, "film")
		})
	w.Site("http://b.example").File("/cat.png", "image/png", "cat")
	began := time.Now().Truncate(time.Second)
	want := slices.Sorted(slices.Values([]string{name("cat"), name("dog"), name("film")}))
	if got, err := s.crawl(t, w, filepath.Join(t.TempDir(), "crawl")); err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, want %q; %v", got, want, err)
	}
	for body, from := range map[string]map[string]string{
		"dog":  {"Url": "http://a.example/dog.png", "Page": "http://a.example/gallery", "License": "http://license.example/by"},
		"film": {"Url": "http://a.example/film.mp4", "Page": "http://a.example/", "License": "http://a.example/terms"},
	} {
		o, err := s.store.StatObject(t.Context(), s.name, name(body), minio.StatObjectOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for key, want := range from {
			if o.UserMetadata[key] != want {
				t.Errorf("%s of %s is %q, want %q", key, body, o.UserMetadata[key], want)
			}
		}
		if at, err := time.Parse(time.RFC3339, o.UserMetadata["Time"]); err != nil || at.Before(began) || at.After(time.Now()) {
			t.Errorf("the time of %s is %v, %v", body, at, err)
		}
	}
	site.Page("/", `<img src="/cat.png"> <audio src="/new.ogg">`).File("/new.ogg", "audio/ogg", "new")
	if got, err := s.crawl(t, w, filepath.Join(t.TempDir(), "crawl")); err != nil || !slices.Equal(got, []string{name("new")}) {
		t.Errorf("the next crawl uploads %q, %v", got, err)
	}
	if stored := s.stored(t); len(stored) != 4 || stored[name("cat")] != "cat" || s.puts.Load() != 4 {
		t.Errorf("the bucket has %q after %d uploads", stored, s.puts.Load())
	}
}

// Bodies that are not kept are not read. Scripts are not requested. A file that its owner does not
// want in an archive is not uploaded.
func TestOtherBodiesAreNotRead(t *testing.T) {
	t.Parallel()
	w, s := crawltest.New(t), newServer(t)
	sent := make(chan error, 2)
	large := func(mediaType string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", mediaType)
			w.Header().Set("Content-Length", strconv.Itoa(64<<20))
			_, err := w.Write(make([]byte, 64<<20))
			sent <- err
		}
	}
	w.Site("http://a.example").
		Page("/", `<a href="/paper">paper</a> <a href="/film.mp4">film</a> <img src="/long.png"> <img src="/private.png"> <img src="/empty.png"> <script src="/a.js"></script>`).
		Func("/paper", large("application/pdf")).Func("/film.mp4", large("video/mp4")).
		File("/empty.png", "image/png", "").
		Func("/private.png", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "image/png")
			w.Header().Set("X-Robots-Tag", "noarchive")
			io.WriteString(w, "private")
		}).
		Func("/long.png", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "image/png")
			io.WriteString(w, strings.Repeat("x", 5000)) // without a Content-Length
		})
	got, err := s.crawl(t, w, filepath.Join(t.TempDir(), "crawl"))
	if err != nil || len(got) > 0 || len(s.stored(t)) > 0 {
		t.Errorf("%q were uploaded, %v", got, err)
	}
	w.AssertFetched("http://a.example/paper", "http://a.example/film.mp4", "http://a.example/long.png", "http://a.example/private.png", "http://a.example/empty.png")
	w.AssertNeverFetched("http://a.example/a.js")
	for range 2 {
		if <-sent == nil {
			t.Error("a large body was sent as a whole")
		}
	}
}

// If the store fails, the crawl ends, and the next run uploads the file.
func TestAStoreThatFails(t *testing.T) {
	t.Parallel()
	w, s := crawltest.New(t), newServer(t)
	w.Site("http://a.example").Page("/", `<img src="/cat.png">`).File("/cat.png", "image/png", "cat")
	dir := filepath.Join(t.TempDir(), "crawl")
	s.down.Store(true)
	if got, err := s.crawl(t, w, dir); len(got) > 0 || err == nil || !strings.HasPrefix(err.Error(), "the store: ") {
		t.Errorf("%q were uploaded, %v", got, err)
	}
	s.down.Store(false)
	if got, err := s.crawl(t, w, dir); err != nil || !slices.Equal(got, []string{name("cat")}) {
		t.Errorf("%q were uploaded, %v", got, err)
	}
}
