//go:build unix

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"crypto/tls"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/pgtest"
	"github.com/permesso-crawler/permesso/storage/postgres"
)

// tlsServer returns the address of a server that answers a request for TLS. If agrees is true, it
// then shows a certificate that no authority has signed.
func tlsServer(t *testing.T, agrees bool) (host, port string) {
	t.Helper()
	web := httptest.NewTLSServer(nil) // only its certificate is used
	web.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() { // this goroutine ends with Close
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			question := make([]byte, 8)
			if _, err := io.ReadFull(c, question); err == nil && agrees {
				c.Write([]byte{'S'})
				tls.Server(c, web.TLS).Handshake()
			} else {
				c.Write([]byte{'N'})
			}
			c.Close()
		}
	}()
	host, port, _ = net.SplitHostPort(l.Addr().String())
	return host, port
}

// If a server or a database cannot be used, the error says how to correct this.
func TestServersThatAreRefused(t *testing.T) {
	t.Parallel()
	plainHost, plainPort := tlsServer(t, false)
	falseHost, falsePort := tlsServer(t, true)
	for name, test := range map[string]struct {
		sql  string // executed in the database before; USER stands for a user of this test
		used bool   // a node has already made the tables
		url  string // connection string; HOST and DATABASE are replaced
		path string // value of search_path
		want string
	}{
		"a wrong password": {sql: "create role USER login password 'right'", url: "host=HOST user=USER password=secret dbname=DATABASE",
			want: `the password in $PGPASSWORD or ~/.pgpass`},
		"no password":                  {sql: "create role USER login password 'right'", url: "host=HOST user=USER dbname=DATABASE", want: `the password in $PGPASSWORD or ~/.pgpass`},
		"a database that is not there": {url: "host=HOST user=permesso dbname=missing", want: `database "missing" does not exist`},
		"no right to make tables": {sql: "create role USER login password 'secret'", url: "host=HOST user=USER password=secret dbname=DATABASE",
			want: "the first node needs one that may create a schema"},
		"no right to the tables": {sql: "create role USER login password 'secret'", used: true, url: "host=HOST user=USER password=secret dbname=DATABASE",
			want: "all nodes need the user that has made the tables"},
		"too few connections": {sql: "create role USER login password 'secret' connection limit 0", url: "host=HOST user=USER password=secret dbname=DATABASE",
			want: "raise max_connections of the server, or the limit of the user"},
		"an old version": {sql: `create schema skew; create function skew.current_setting(text) returns text language sql as 'select ''120022''::text'`,
			path: "skew, crawl, pg_catalog", want: "the server has version 12; PostgreSQL 13 or newer is needed"},
		"the schema of another program":                    {sql: "create schema crawl; create table crawl.pages (id int)", want: "give the crawl a database of its own"},
		"the schema of another program, with a like table": {sql: "create schema crawl; create table crawl.crawl (id int)", want: "give the crawl a database of its own"},
		"no TLS":                         {url: fmt.Sprintf("host=%s port=%s user=x password=secret dbname=DATABASE sslmode=require", plainHost, plainPort), want: "server refused TLS connection"},
		"TLS of an unknown authority":    {url: fmt.Sprintf("host=%s port=%s user=x password=secret dbname=DATABASE sslmode=verify-full sslrootcert=system", falseHost, falsePort), want: "certificate"},
		"two servers that do not answer": {url: "host=/nonexistent/a,/nonexistent/b user=x dbname=DATABASE", want: "of PostgreSQL at /nonexistent/a,/nonexistent/b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			direct := postgres.NewDatabase(t)
			host := strings.TrimPrefix(strings.Fields(direct)[0], "host=")
			database := direct[strings.LastIndexByte(direct, '=')+1:]
			replace := strings.NewReplacer("HOST", host, "DATABASE", database, "USER", "u_"+database).Replace
			if test.used {
				if err := run(t, options(t, direct, filepath.Join(t.TempDir(), "first.crawl"))); err != nil {
					t.Fatal(err)
				}
			}
			if test.sql != "" {
				execute(t, direct, replace(test.sql))
			}
			url := direct
			if test.url != "" {
				url = replace(test.url)
			}
			o := options(t, url, filepath.Join(t.TempDir(), "node.crawl"))
			if test.path != "" {
				postgres.SetSearchPath(o.State, test.path)
			}
			err := run(t, o)
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
			t.Log(err)
			// The database was not changed, so a node that can use it still can.
			if test.sql == "" || strings.Contains(test.sql, "crawl.") {
				return
			}
			if err := run(t, options(t, direct, filepath.Join(t.TempDir(), "last.crawl"))); err != nil {
				t.Error(err)
			}
		})
	}
}

// A user with only one connection is slow, but no page is lost.
func TestAUserWithOneConnection(t *testing.T) {
	t.Parallel()
	direct := postgres.NewDatabase(t)
	database := direct[strings.LastIndexByte(direct, '=')+1:]
	execute(t, direct, fmt.Sprintf("create role u_%s login password 'secret' connection limit 1; grant create on database %s to u_%s", database, database, database))
	dir := filepath.Join(t.TempDir(), "node.crawl")
	next := chain(t, strings.Replace(direct, "user=permesso", "user=u_"+database+" password=secret", 1), dir, 8)
	if err := run(t, next()); err != nil {
		t.Fatal(err)
	}
	if all := pagesOf(t, filepath.Join(dir, "pages.jsonl")); len(all) != 9 {
		t.Error(all)
	}
}

// A standby is refused as long as it is a standby. If the URL has several hosts, the node finds
// the primary at any place in the list, and Collect does, too.
func TestSeveralHosts(t *testing.T) {
	t.Parallel()
	primary, err := pgtest.Start("fsync=off")
	if errors.Is(err, pgtest.ErrNone) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { primary.Close() })
	if _, err := primary.Create("crawl"); err != nil {
		t.Fatal(err)
	}
	standby, err := primary.Standby()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { standby.Close() })
	if err := run(t, options(t, standby.URL("crawl"), filepath.Join(t.TempDir(), "node.crawl"))); err == nil || !strings.Contains(err.Error(), "the server is a standby") {
		t.Error(err)
	}
	dir := filepath.Join(t.TempDir(), "node.crawl")
	for _, hosts := range []string{primary.Dir + "," + standby.Dir, standby.Dir + "," + primary.Dir} {
		for _, url := range []string{
			"host=" + hosts + " user=permesso dbname=crawl", "host=" + hosts + " user=permesso dbname=crawl target_session_attrs=read-write",
			"postgres:///crawl?host=" + strings.ReplaceAll(hosts, "/", "%2F") + "&user=permesso",
		} {
			if err := run(t, options(t, url, dir)); err != nil {
				t.Errorf("%s: %v", url, err)
			}
		}
	}
	note, err := os.ReadFile(filepath.Join(dir, "crawl.json"))
	if err != nil || !strings.Contains(string(note), primary.Dir+","+standby.Dir) {
		t.Errorf("%s, %v", note, err)
	}
	state, err := postgres.New("host=" + standby.Dir + "," + primary.Dir + " user=permesso dbname=crawl target_session_attrs=primary")
	if err != nil {
		t.Fatal(err)
	}
	if done, err := postgres.Collect(t.Context(), state, []string{dir}, filepath.Join(t.TempDir(), "all.crawl")); err != nil || done.Pages != 2 {
		t.Error(done, err)
	}
}

// If the directory of a running node was copied, the copy is refused. Otherwise two processes
// would make requests to the same sites.
func TestTheCopyOfADirectory(t *testing.T) {
	t.Parallel()
	url, dir := postgres.NewDatabase(t), filepath.Join(t.TempDir(), "node.crawl")
	double := filepath.Join(t.TempDir(), "double.crawl")
	o := options(t, url, dir)
	var second error
	c, err := crawler.New(o)
	if err != nil {
		t.Fatal(err)
	}
	err = c.Run(t.Context(), crawler.HandlerFunc(func(ctx context.Context, p *crawler.Page) error {
		if second == nil {
			if err := os.CopyFS(double, os.DirFS(dir)); err != nil {
				return err
			}
			second = run(t, options(t, url, double))
		}
		return nil
	}))
	if err != nil || second == nil || !strings.Contains(second.Error(), "is a copy of its directory; give this node a directory of its own") {
		t.Errorf("%v; the copy: %v", err, second)
	}
}
