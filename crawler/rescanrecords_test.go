package crawler_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
)

const recordDate = "2020-01-01T00:00:00.000000Z"

// warcRecord returns a WARC record with any contents, for instance one that another crawler has
// written or that is damaged.
func warcRecord(kind, id, uri, body string, fields ...string) string {
	return "WARC/1.1\r\nWARC-Type: " + kind + "\r\nWARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-" + fmt.Sprintf("%012s", id) + ">\r\nWARC-Date: " + recordDate +
		"\r\nWARC-Target-URI: " + uri + "\r\nContent-Length: " + fmt.Sprint(len(body)) + "\r\n" + strings.Join(append(fields, ""), "\r\n") + "\r\n" + body + "\r\n\r\n"
}

func answerRecord(id, uri, status, head, body string, fields ...string) string {
	return warcRecord("response", id, uri, "HTTP/1.1 "+status+" X\r\nContent-Type: text/html\r\n"+head+"\r\n"+body,
		append(fields, "Content-Type: application/http; msgtype=response")...)
}

func revisitRecord(id, uri, refers string, fields ...string) string {
	return warcRecord("revisit", id, uri, "HTTP/1.1 200 OK\r\n\r\n", append(fields, "Content-Type: application/http; msgtype=response",
		"WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest",
		"WARC-Refers-To-Target-URI: "+refers, "WARC-Refers-To-Date: "+recordDate)...)
}

func metadataRecord(of, uri, block string, fields ...string) string {
	return warcRecord("metadata", "9"+of, uri, block, append(fields, "Content-Type: application/warc-fields",
		"WARC-Concurrent-To: <urn:uuid:00000000-0000-4000-8000-"+fmt.Sprintf("%012s", of)+">")...)
}

// damaged is the prefix of a record that writeArchive writes with a wrong checksum.
const damaged = "damaged "

// writeArchive writes the records to a WARC file in the crawl in dir.
func writeArchive(t *testing.T, dir string, records ...string) {
	t.Helper()
	var file []byte
	for _, r := range records {
		r, bad := strings.CutPrefix(r, damaged)
		member := gzipped(r)
		if bad {
			member[len(member)-8] ^= 1 // a byte of its CRC
		}
		file = append(file, member...)
	}
	archive := filepath.Join(dir, store.ArchiveDir)
	if err := errors.Join(os.MkdirAll(archive, 0o755), os.WriteFile(filepath.Join(archive, archiveName), file, 0o644)); err != nil {
		t.Fatal(err)
	}
}

const archiveName = "x-20200101000000-00000.warc.gz"

// A rescan reads each archived page once, including pages of revisit records. It takes the URL and
// the hops from the metadata record. It skips other records, and logs damaged ones.
func TestRescanOfRecords(t *testing.T) {
	const a, b, link = "http://a.example/", "http://b.example/dir/", `<a href="to">x</a>`
	page := answerRecord("1", a, "200", "", link)
	site := func(t *testing.T) *crawltest.Web {
		w := crawltest.New(t)
		for _, host := range []string{"http://a.example", "http://b.example", "http://c.example"} {
			w.Site(host).Default(func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprint(rw, "x") })
		}
		return w
	}
	begun := t.TempDir() // a crawl that has fetched /a without an archive
	synctest.Test(t, func(t *testing.T) {
		crawl(t, site(t), func(o *crawler.Options) { o.Dir, o.Output = begun, []crawler.Output{} }, a)
	})
	for _, test := range []struct {
		name    string
		records []string
		change  func(*crawler.Options)
		pages   string // pages that the rescan finds and the run fetches
		read    int    // number of pages that the rescan reads
		said    string
	}{
		{name: "page", records: []string{page, metadataRecord("1", a, "")}, pages: a + "to", read: 1},
		{name: "request between", records: []string{page, warcRecord("request", "2", a, "GET / HTTP/1.1\r\n\r\n"), metadataRecord("1", a, "")}, pages: a + "to", read: 1},
		{name: "two metadata records", records: []string{page, metadataRecord("1", a, ""), metadataRecord("1", b, "")}, pages: a + "to", read: 1},
		{name: "no metadata", records: []string{page}},
		{name: "metadata of another", records: []string{page, metadataRecord("2", a, "")}},
		{name: "metadata of the one before", records: []string{page, answerRecord("2", a, "404", "", ""), metadataRecord("1", a, "")}},
		{name: "metadata of one before a revisit", records: []string{page, revisitRecord("2", b, a), metadataRecord("1", a, "")}},
		{name: "metadata alone", records: []string{metadataRecord("1", a, "")}},
		{name: "the least status of a page", records: []string{answerRecord("1", a, "200", "", link), metadataRecord("1", a, "")}, pages: a + "to", read: 1},
		{name: "the last status of a page", records: []string{answerRecord("1", a, "299", "", link), metadataRecord("1", a, "")}, pages: a + "to", read: 1},
		{name: "less", records: []string{answerRecord("1", a, "199", "", link), metadataRecord("1", a, "")}},
		{name: "redirect", records: []string{answerRecord("1", a, "300", "Location: /moved\r\n", link), metadataRecord("1", a, "")}, pages: a + "moved", read: 1},
		{name: "the last redirect", records: []string{answerRecord("1", a, "399", "Location: /moved\r\n", link), metadataRecord("1", a, "")}, pages: a + "moved", read: 1},
		{name: "not found", records: []string{answerRecord("1", a, "404", "Location: /moved\r\n", link), metadataRecord("1", a, "")}},
		{name: "robots.txt", records: []string{page, metadataRecord("1", a, "hopsFromSeed: LP\r\n")}},
		{name: "of no URL", records: []string{page, metadataRecord("1", "gopher://a.example/", "")}},
		{name: "broken coding", records: []string{answerRecord("1", a, "200", "Content-Encoding: gzip\r\n", link), metadataRecord("1", a, "")}},
		{name: "coding that breaks later", records: []string{answerRecord("1", a, "200", "Content-Encoding: gzip\r\n", string(gzipped(strings.Repeat(link, 5000))[:200])), metadataRecord("1", a, "")}, pages: a + "to", read: 1},
		{name: "revisit", records: []string{page, metadataRecord("1", a, ""), revisitRecord("2", b, a), metadataRecord("2", b, "")}, pages: a + "to " + b + "to", read: 2},
		{name: "revisit before its page", records: []string{revisitRecord("2", b, a), metadataRecord("2", b, ""), page, metadataRecord("1", a, "")}, pages: a + "to " + b + "to", read: 2},
		{name: "two revisits", records: []string{page, revisitRecord("2", b, a), metadataRecord("2", b, ""), revisitRecord("3", "http://c.example/", a), metadataRecord("3", "http://c.example/", "")},
			pages: b + "to http://c.example/to", read: 2},
		{name: "revisit of nothing", records: []string{page, revisitRecord("2", b, "http://c.example/"), metadataRecord("2", b, "")}},
		{name: "revisit of no URL", records: []string{page, revisitRecord("2", b, a), metadataRecord("2", "gopher://b.example/", "")}},
		{name: "revisit of a robots.txt", records: []string{page, revisitRecord("2", b, a), metadataRecord("2", b, "hopsFromSeed: P\r\n")}},
		{name: "damaged page", records: []string{damaged + page, metadataRecord("1", a, ""), answerRecord("2", b, "200", "", link), metadataRecord("2", b, "")},
			pages: b + "to", read: 1, said: "cannot be read again"},
		{name: "damaged revisit", records: []string{damaged + revisitRecord("2", b, a), metadataRecord("2", b, ""), page, metadataRecord("1", a, "")},
			pages: a + "to", read: 1, said: "cannot be read again"},
		{name: "damaged metadata", records: []string{page, damaged + metadataRecord("1", a, "via: x\r\n"), answerRecord("2", b, "200", "", link), metadataRecord("2", b, "")},
			pages: b + "to", read: 1, said: "cannot be read again"},
		{name: "metadata without fields", records: []string{page, metadataRecord("1", a, "no field\r\n"), answerRecord("2", b, "200", "", link), metadataRecord("2", b, "")},
			pages: b + "to", read: 1, said: "cannot be read again"},
		{name: "no answer", records: []string{warcRecord("response", "1", a, "no answer", "Content-Type: application/http; msgtype=response"), metadataRecord("1", a, ""), answerRecord("2", b, "200", "", link), metadataRecord("2", b, "")},
			pages: b + "to", read: 1, said: "cannot be read again"},
		{name: "damaged at the end", records: []string{page, metadataRecord("1", a, ""), damaged + answerRecord("2", b, "200", "", link)},
			pages: a + "to", read: 1, said: "cannot be read again"},
		{name: "metadata of one before a damaged revisit", records: []string{page, damaged + revisitRecord("2", b, a), metadataRecord("1", a, "")}, said: "cannot be read again"},
		{name: "more revisits than are remembered", records: []string{page, revisitRecord("2", b, a), metadataRecord("2", b, ""),
			revisitRecord("3", b+"3", "http://c.example/"), metadataRecord("3", b+"3", "")},
			change: func(o *crawler.Options) { crawler.SetSmallestBounds(o, 0) }, pages: b + "to", read: 1, said: "were not read again: their bodies stand in the archive under other URLs\" pages=1\n"},
		{name: "just not too deep", records: []string{page, metadataRecord("1", a, "hopsFromSeed: LRLE\r\n")}, change: func(o *crawler.Options) { o.Depth = 3 }, pages: a + "to", read: 1},
		{name: "too deep", records: []string{page, metadataRecord("1", a, "hopsFromSeed: LRLEL\r\n")}, change: func(o *crawler.Options) { o.Depth = 3 }, read: 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			var said bytes.Buffer
			if err := os.CopyFS(dir, os.DirFS(begun)); err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Hour) // the clocks of begun are later than the start of virtual time
				w := site(t)
				writeArchive(t, dir, test.records...)
				pages, sum := crawl(t, w, func(o *crawler.Options) {
					o.Dir, o.Output, o.Scope, o.Rescan = dir, []crawler.Output{}, crawler.Anywhere(), true
					o.Logger = slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelWarn}))
					if test.change != nil {
						test.change(o)
					}
				}, a)
				wantPages(t, pages, strings.Fields(test.pages)...)
				if sum.Rescanned != test.read {
					t.Errorf("%d pages were read again, want %d", sum.Rescanned, test.read)
				}
			})
			if text := said.String(); !strings.Contains(text, test.said) || test.said == "" && text != "" || strings.Count(text, "\n") > 1 {
				t.Errorf("said %q, want %q", text, test.said)
			}
		})
	}
}

// If a file of the archive cannot be read at all, the run ends with an error that names the file.
func TestRescanOfAnUnreadableArchive(t *testing.T) {
	for _, test := range []struct {
		name  string
		spoil func(archive string) error
		said  string
	}{
		{"a file that is a directory", func(archive string) error { return os.MkdirAll(filepath.Join(archive, archiveName), 0o755) }, archiveName},
		{"a file that is not there", func(archive string) error {
			return errors.Join(os.Mkdir(archive, 0o755), os.Symlink("nowhere", filepath.Join(archive, archiveName)))
		}, "open "},
		{"a directory that is a file", func(archive string) error { return os.WriteFile(archive, nil, 0o644) }, store.ArchiveDir},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				w.Site("http://a.example").Page("/", "x")
				bare := func(o *crawler.Options) { o.Dir, o.Output, o.Rescan = dir, []crawler.Output{}, true }
				if _, err := try(t, w, bare, nil); err != nil {
					t.Fatal(err)
				}
				asked := len(w.Log())
				archive := filepath.Join(dir, store.ArchiveDir)
				if err := test.spoil(archive); err != nil {
					t.Skip(err)
				}
				if sum, err := try(t, w, bare, nil); err == nil || !strings.Contains(err.Error(), archive) || !strings.Contains(err.Error(), test.said) || len(w.Log()) != asked {
					t.Errorf("Run: %v; requested %d times; %s", err, len(w.Log())-asked, sum)
				}
			})
		})
	}
}

// If the archive is damaged after the crawl was opened, the run ends with an error, too. It does
// not continue as if there were no archive.
func TestRescanOfAnArchiveThatIsDamagedMeanwhile(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", "<a href=/1>1</a>").Page("/1", "x")
		bare := func(o *crawler.Options) { o.Dir, o.Output = dir, []crawler.Output{} }
		if _, err := try(t, w, func(o *crawler.Options) { bare(o); o.Limit = 1 }, nil); err != nil {
			t.Fatal(err)
		}
		asked := len(w.Log())
		archive := filepath.Join(dir, store.ArchiveDir)
		_, err := try(t, w, func(o *crawler.Options) {
			bare(o)
			o.Rescan, o.OnStart = true, func(crawler.Start) {
				if err := os.WriteFile(archive, nil, 0o644); err != nil {
					t.Error(err)
				}
			}
		}, nil)
		if err == nil || !strings.Contains(err.Error(), archive) || len(w.Log()) != asked {
			t.Errorf("Run: %v; requested %d times", err, len(w.Log())-asked)
		}
	})
}

// If a Scope panics for an archived page, the run ends. This is tested for both passes of the
// rescan.
func TestAScopeThatPanicsInARescan(t *testing.T) {
	for host, read := range map[string]int{"a.example": 0, "b.example": 1} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			w := crawltest.New(t)
			w.Site("http://a.example").Page("/", "x")
			bare := func(o *crawler.Options) { o.Dir, o.Output = dir, []crawler.Output{} }
			if _, err := try(t, w, bare, nil); err != nil {
				t.Fatal(err)
			}
			asked := len(w.Log())
			const a, b = "http://a.example/", "http://b.example/"
			writeArchive(t, dir, answerRecord("1", a, "200", "", "<a href=to>x</a>"), metadataRecord("1", a, ""),
				revisitRecord("2", b, a), metadataRecord("2", b, ""))
			sum, err := try(t, w, func(o *crawler.Options) {
				bare(o)
				o.Rescan, o.Scope = true, crawler.ScopeFunc(func(e frontier.Entry) bool {
					if e.URL.Host() == host {
						panic("a bug")
					}
					return true
				})
			}, nil)
			if err == nil || !strings.HasSuffix(err.Error(), ": Scope, Links, Rewrite or Same panicked: a bug") || sum.Rescanned != read || len(w.Log()) != asked {
				t.Errorf("Run: %v; %d pages were read", err, sum.Rescanned)
			}
		})
	}
}
