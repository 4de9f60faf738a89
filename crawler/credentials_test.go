package crawler_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
)

// Options.Site may give a site credentials. No other site gets them, not even by a redirect, and no
// file and no log of the crawl contains them.
func TestCredentialsAreForTheirSiteAlone(t *testing.T) {
	t.Parallel()
	const auth, cookie = "Basic c2VjcmV0OnNlY3JldA==", "session=very-secret"
	for _, own := range []string{"http://staging.example", "https://staging.example"} {
		synctest.Test(t, func(t *testing.T) {
			w := crawltest.New(t)
			guarded := func(body string) http.HandlerFunc {
				return func(rw http.ResponseWriter, r *http.Request) {
					if r.Header.Get("Authorization") != auth || r.Header.Get("Cookie") != cookie {
						rw.WriteHeader(http.StatusUnauthorized)
						return
					}
					rw.Header().Set("Content-Type", "text/html")
					rw.Write([]byte(body))
				}
			}
			site := w.Site(own).Func("/robots.txt", guarded("User-agent: *\nDisallow: /no\n")).
				Func("/", guarded(`<a href="/1"><a href="/no"><a href="/moved"><a href="http://other.example/">`)).
				Func("/1", guarded("<title>one</title>")).Redirect("/moved", "http://other.example/there")
			if strings.HasPrefix(own, "https") {
				site.HTTP2()
			}
			w.Site("http://other.example").Page("/", "").Page("/there", "")
			dir := filepath.Join(t.TempDir(), "crawl")
			var said bytes.Buffer
			opts := crawler.Options{
				Identity: testIdentity, Dir: dir, Seeds: []string{own + "/"}, Scope: crawler.Anywhere(),
				Keep: crawler.Keep{Output: []crawler.Output{crawler.OutputWARC, crawler.OutputPages}}, Wire: crawler.Wire{Network: w, RootCAs: w.RootCAs()},
				Hooks: crawler.Hooks{Logger: slog.New(slog.NewTextHandler(&said, nil))},
				Site: table(t, map[string]crawler.SiteOptions{
					"staging.example": {Header: http.Header{"Authorization": {auth}, "Cookie": {cookie}}, Reason: "it is ours"},
				}),
			}
			c, err := crawler.New(opts)
			if err != nil {
				t.Fatal(err)
			}
			err = c.Run(t.Context(), crawler.HandlerFunc(func(_ context.Context, p *crawler.Page) error {
				if h := p.Exchange.RequestHeader; h.Get("Authorization") != "" || h.Get("Cookie") != "" {
					t.Errorf("%s: %v", p.URL, h)
				}
				return nil
			}))
			if err != nil {
				t.Fatal(err)
			}
			w.AssertFetched(own+"/", own+"/1", "http://other.example/", "http://other.example/there")
			w.AssertNeverFetched(own + "/no")
			for _, r := range w.Log() {
				got, ours := r.Header.Get("Authorization")+r.Header.Get("Cookie"), string(r.Site) == own
				if ours != (got == auth+cookie) || !ours && got != "" {
					t.Errorf("%s got %q", r.URL(), got)
				}
			}
			all := files(t, dir)
			if !bytes.Contains(bytes.Join(all, nil), []byte("GET /1 HTTP/1.1")) {
				t.Error("there is no request in the archive")
			}
			for _, raw := range append(all, said.Bytes()) {
				if bytes.Contains(raw, []byte("c2VjcmV0")) || bytes.Contains(raw, []byte("very-secret")) {
					t.Errorf("a credential is kept: %.200q", raw)
				}
			}
			w.AssertPolite()
		})
	}
}

// Credentials need a Reason. They are refused in Options.Header, because then every site would get
// them.
func TestCredentialsNeedAReason(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Authorization", "cookie"} {
		h := http.Header{}
		h.Set(name, "x")
		o := crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}}
		var bad *crawler.OptionError
		if err := o.CheckSite(crawler.SiteOptions{Header: h}); !errors.As(err, &bad) || bad.Field != "Site.Header" || !strings.Contains(bad.Reason, "say in Reason") {
			t.Errorf("%v", err)
		}
		if err := o.CheckSite(crawler.SiteOptions{Header: h, Reason: "it is ours"}); err != nil {
			t.Error(err)
		}
		o.Header = h
		if _, err := crawler.New(o); !errors.As(err, &bad) || bad.Field != "Header" || !strings.Contains(bad.Reason, "a Go program can give it to one site") {
			t.Errorf("%v", err)
		}
	}
}

// files returns the decompressed contents of all files in dir.
func files(t *testing.T, dir string) (all [][]byte) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if err == nil && strings.HasSuffix(path, ".gz") {
			var in *gzip.Reader
			if in, err = gzip.NewReader(bytes.NewReader(raw)); err == nil {
				raw, err = io.ReadAll(in)
			}
		}
		all = append(all, raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
