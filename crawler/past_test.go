package crawler_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/purge"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/storage/cdxj"
)

// In a second crawl an unchanged page is not transferred again, but the handler gets it like any
// other page. A changed page has its ChangeClass.
func TestASecondCrawlKnowsTheFirst(t *testing.T) {
	bubble(t, func(s *series, shelf *shelf) {
		all := []string{"/list", "/weak", "/dated", "/deaf", "/script", "/text", "/gone", "/moved", "/zipped", "/back", "/plain", "/feed", "/quiet", "/error"}
		shelf.put("/", resource{body: filler + pages(all...)})
		shelf.put("/list", resource{body: "<title>A list</title>" + filler + pages("/deep"), etag: `"1"`, header: http.Header{"X-Old": {"1"}, "Cache-Control": {"max-age=1"}}})
		shelf.put("/deep", resource{body: filler + "deep", etag: `"1"`})
		shelf.put("/weak", resource{body: filler + "weak", etag: `W/"1"`})
		shelf.put("/dated", resource{body: filler + "dated", modified: longAgo})
		shelf.put("/deaf", resource{body: filler + "deaf", etag: `"1"`, ignoresConditions: true})
		shelf.put("/script", resource{body: filler + "<script>1</script>"})
		shelf.put("/text", resource{body: filler + "old text", etag: `"1"`})
		shelf.put("/gone", resource{body: filler + "gone", etag: `"1"`})
		shelf.put("/moved", resource{body: filler + "moved", etag: `"1"`})
		shelf.put("/zipped", resource{body: filler + "zipped" + pages("/inzip"), etag: `"1"`, header: http.Header{"Content-Encoding": {"gzip"}}})
		shelf.put("/inzip", resource{body: filler + "in it"})
		shelf.put("/plain", resource{body: "plain  " + strings.Repeat("text ", 30), header: http.Header{"Content-Type": {"text/plain"}}})
		shelf.put("/feed", resource{body: strings.Repeat("\x00\x01\x02", 100), header: http.Header{"Content-Type": {"application/octet-stream"}}})
		shelf.put("/quiet", resource{says304: true})
		shelf.put("/error", resource{body: filler + "error", etag: `"1"`, status: 403})
		s.crawl()
		for target, p := range s.last {
			if p.change != "" || p.notModified {
				t.Errorf("%s of the first crawl is %+v", target, p)
			}
		}
		first := s.last
		shelf.forget()
		shelf.put("/", resource{body: filler + pages(append(all, "/new")...)})
		shelf.put("/new", resource{body: filler + "new"})
		shelf.put("/list", resource{etag: `"1"`, header: http.Header{"Cache-Control": {"max-age=2"}, "X-Robots-Tag": {"noindex"}}})
		shelf.put("/script", resource{body: filler + "<script>2</script>"})
		shelf.put("/text", resource{body: filler + "new text", etag: `"2"`})
		shelf.put("/gone", resource{body: "no", status: 404})
		shelf.put("/moved", resource{status: 301, header: http.Header{"Location": {"/moved-to"}}})
		shelf.put("/moved-to", resource{body: filler + "moved"})
		shelf.put("/back", resource{body: filler + "it is back"})
		shelf.put("/plain", resource{body: "plain " + strings.Repeat("text\n", 30), header: http.Header{"Content-Type": {"text/plain"}}})
		shelf.put("/feed", resource{body: strings.Repeat("\x00\x01\x03", 100), header: http.Header{"Content-Type": {"application/octet-stream"}}})
		shelf.put("/error", resource{body: filler + "no error", etag: `"1"`})
		s.crawl()
		for _, row := range []struct {
			target, requests string
			change           crawler.ChangeClass
			kept             bool
		}{
			{"/", "-", crawler.ChangeSameText, false}, // the page has a new link, but the same text
			{"/list", "c", crawler.ChangeNotModified, true}, {"/deep", "c", crawler.ChangeNotModified, true},
			{"/weak", "c", crawler.ChangeNotModified, true}, {"/dated", "c", crawler.ChangeNotModified, true},
			{"/deaf", "c", crawler.ChangeNotModified, false}, {"/script", "-", crawler.ChangeSameText, false},
			{"/text", "c", crawler.ChangeModified, false}, {"/gone", "c", "", false}, {"/moved", "c", "", false},
			{"/moved-to", "-", crawler.ChangeNew, false}, {"/zipped", "c", crawler.ChangeNotModified, true},
			{"/inzip", "-", crawler.ChangeNotModified, false}, {"/back", "-", crawler.ChangeNew, false}, {"/new", "-", crawler.ChangeNew, false},
			{"/plain", "-", crawler.ChangeSameText, false}, {"/feed", "-", crawler.ChangeModified, false},
			{"/quiet", "-", "", false}, {"/error", "-", crawler.ChangeNew, false},
		} {
			p, ok := s.last[row.target]
			if row.target == "/" {
				row.change = crawler.ChangeModified // the text has one more x
			}
			if got := shelf.requests(row.target); got != row.requests || !ok || p.change != row.change || p.notModified != row.kept {
				t.Errorf("%s: requests %q, %q, %t, want %q, %q, %t", row.target, got, p.change, p.notModified, row.requests, row.change, row.kept)
			}
			if row.kept {
				if before := first[row.target]; p.status != 200 || p.asked != 304 || p.body != before.body || p.links != before.links || p.title != before.title || p.text != before.text {
					t.Errorf("%s: %+v, was %+v", row.target, p, before)
				}
			}
		}
		for _, l := range logLines(t, s.dir(2)) {
			is, said := l.Annotation("kept")
			target, _ := strings.CutPrefix(l.URL, "http://a.example")
			if p := s.last[target]; said != p.notModified || said && (is != "text/html" || l.Status != 304) {
				t.Errorf("the log says of %s: %d, %v", l.URL, l.Status, l.Annotations)
			}
		}
		list := s.last["/list"]
		if h := list.header; h.Get("Cache-Control") != "max-age=2" || h.Get("X-Old") != "1" || h.Get("Content-Type") != "text/html; charset=utf-8" || !list.noindex || list.title != "A list" {
			t.Errorf("the header is %v, the title %q", list.header, list.title)
		}
		want := map[crawler.ChangeClass]int{crawler.ChangeNew: 4, crawler.ChangeModified: 3, crawler.ChangeSameText: 2, crawler.ChangeNotModified: 7}
		if !maps.Equal(s.sum.Changes, want) || s.sum.Unread != 0 || s.sum.Pages != 16 {
			t.Errorf("%v, %d unread, %d pages", s.sum.Changes, s.sum.Unread, s.sum.Pages)
		}
		for url, p := range pagesIn(t, s.dir(2)) {
			if seen := s.last[strings.TrimPrefix(url, "http://a.example")]; p.Change != string(seen.change) || p.TextDigest != seen.text || p.Status != seen.status {
				t.Errorf("%s: the line says %q, %s, %d", url, p.Change, p.TextDigest, p.Status)
			}
		}
	})
}

// A body is found even if no crawl has received it for several crawls. The page has the header of
// the last answer.
func TestABodyIsFoundManyCrawlsBack(t *testing.T) {
	bubble(t, func(s *series, shelf *shelf) {
		shelf.put("/", resource{body: filler + pages("/same"), etag: `"1"`})
		shelf.put("/same", resource{body: filler + "same"})
		s.crawl()
		for n := 2; n <= 4; n++ {
			shelf.forget()
			s.crawl()
			for target, kept := range map[string]bool{"/": true, "/same": false} {
				if p := s.last[target]; p.change != crawler.ChangeNotModified || p.notModified != kept || !strings.HasPrefix(p.body, filler) {
					t.Errorf("crawl %d: %s is %+v", n, target, p)
				}
			}
		}
		if len(archiveOf(t, s.dir(4))) == 0 || bytes.Contains(archiveOf(t, s.dir(4)), []byte("words that stand")) {
			t.Error("the archive of the last crawl has a body that the first one has")
		}
	})
}

// The crawl whose archive has the body may be in another place than the later crawls, whose
// directories are next to each other.
func TestABodyIsFoundInACrawlElsewhere(t *testing.T) {
	bubble(t, func(s *series, shelf *shelf) {
		shelf.put("/", resource{body: filler, etag: `"1"`})
		elsewhere := filepath.Join(s.t.TempDir(), "elsewhere.crawl")
		for _, where := range []func(*crawler.Options){
			func(o *crawler.Options) { o.Dir = elsewhere }, func(o *crawler.Options) { o.Previous = elsewhere }, func(*crawler.Options) {},
		} {
			if err := s.run(where); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := store.Verify(t.Context(), s.dir(3), func(err error) { t.Error(err) }); err != nil {
			t.Error(err)
		}
		if p := s.last["/"]; !p.notModified || p.body != filler {
			t.Errorf("the third crawl has %+v", p)
		}
	})
}

// archiveOf returns the WARC files of a crawl, decompressed and joined.
func archiveOf(t *testing.T, dir string) []byte {
	t.Helper()
	files, err := store.ArchiveFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all bytes.Buffer
	for _, path := range files {
		all.Write(unzipped(t, path))
	}
	return all.Bytes()
}

// unzipped returns the decompressed contents of a file.
func unzipped(t *testing.T, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// If the archived answer of a page cannot be used, the page is requested without a condition, and
// is not lost. This is tested with archived answers that cannot be read or were cut, and with a 304
// that names another version.
func TestAnUnusableCopyCostsARequest(t *testing.T) {
	damaged := func(change func(path string) error) func(t *testing.T, s *series) {
		return func(t *testing.T, s *series) {
			files, err := store.ArchiveFiles(s.dir(1))
			if err != nil || len(files) != 1 {
				t.Fatal(files, err)
			}
			if err := change(files[0]); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		damage   func(t *testing.T, s *series)
		requests string // requests for an unchanged page
		unread   bool
		cut      bool
		change   crawler.ChangeClass
	}{
		"whole":   {func(*testing.T, *series) {}, "c", false, false, crawler.ChangeNotModified},
		"no file": {damaged(os.Remove), "-", true, false, ""},
		"a body": {damaged(func(path string) error {
			raw, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			// The large record is that of the page.
			raw[len(raw)*2/3] ^= 0x55
			return os.WriteFile(path, raw, 0o644)
		}), "c-", true, false, crawler.ChangeNotModified},
		"no index": {func(t *testing.T, s *series) { os.Remove(filepath.Join(s.dir(1), store.IndexFile)) }, "-", false, false, ""},
		"an index of text": {func(t *testing.T, s *series) {
			if err := os.WriteFile(filepath.Join(s.dir(1), store.IndexFile), []byte("example,a)/ 2030\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}, "-", true, false, ""},
		"cut": {func(*testing.T, *series) {}, "-", false, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(s *series, shelf *shelf) {
				noise := make([]byte, 100<<10)
				state := uint32(7)
				for i := range noise {
					state = state*1664525 + 1013904223
					noise[i] = 'a' + byte(state>>24)%26
				}
				shelf.put("/", resource{body: string(noise) + pages("/other"), etag: `"1"`})
				shelf.put("/other", resource{body: filler})
				size := func(o *crawler.Options) {
					if c.cut {
						o.MaxSize = 50 << 10
					}
				}
				s.crawl(size)
				c.damage(t, s)
				shelf.forget()
				s.crawl(size)
				got := shelf.requests("/")
				if p := s.last["/"]; got != c.requests || p.change != c.change || p.status != 200 || len(p.body) < 50<<10 {
					t.Errorf("requests %q, want %q: %q, %d bytes", got, c.requests, p.change, len(p.body))
				}
				if told := strings.Count(s.logs.String(), "the figures count"); (s.sum.Unread > 0) != c.unread || (told == 1) != c.unread {
					t.Errorf("%d unread, told %d times", s.sum.Unread, told)
				}
			})
		})
	}
}

// If a 304 names another version than the archived one, the page is requested again without a
// condition.
func TestA304ForAnotherCopyIsRequestedAgain(t *testing.T) {
	for is, want := range map[string]string{`"1"`: "c", `"2"`: "c-", `W/"2"`: "c", "": "c"} {
		bubble(t, func(s *series, shelf *shelf) {
			shelf.put("/", resource{body: filler, etag: `"1"`, modified: longAgo})
			s.crawl()
			shelf.forget()
			s.web.Site("http://a.example").Func("/", func(w http.ResponseWriter, req *http.Request) {
				shelf.mu.Lock()
				shelf.asked["/"] = append(shelf.asked["/"], req.Header)
				shelf.mu.Unlock()
				if is != "" {
					w.Header().Set("ETag", is)
				}
				if req.Header.Get("If-None-Match") != "" {
					w.WriteHeader(http.StatusNotModified)
					return
				}
				w.Header().Set("Content-Type", "text/html")
				w.Write([]byte(filler + "other"))
			})
			s.crawl()
			change := crawler.ChangeNotModified
			if want == "c-" {
				change = crawler.ChangeModified
			}
			if got := shelf.requests("/"); got != want || s.last["/"].change != change {
				t.Errorf("%s: requests %q, want %q; %+v", is, got, want, s.last["/"])
			}
		})
	}
}

// Pages that were requested with HEAD are not requested with a condition later. If the previous
// crawl has no archive, no page is, and this is logged once.
func TestWhatIsNotRemembered(t *testing.T) {
	bubble(t, func(s *series, shelf *shelf) {
		shelf.put("/", resource{body: filler + pages("/head"), etag: `"1"`})
		shelf.put("/head", resource{body: filler, etag: `"1"`})
		head := func(o *crawler.Options) {
			o.Links = func(_ *crawler.Page, l *crawler.Link) bool { l.Head = l.URL.Target() == "/head"; return true }
		}
		s.crawl()
		shelf.forget()
		s.crawl(head)
		if p := s.last["/head"]; shelf.requests("/head") != "-" || p.change != "" || p.text != "" {
			t.Errorf("asked for with HEAD: %q, %+v", shelf.requests("/head"), p)
		}
		shelf.forget()
		s.crawl()
		if p := s.last["/head"]; shelf.requests("/head") != "-" || p.change != crawler.ChangeNew {
			t.Errorf("with GET, after HEAD: %q, %+v", shelf.requests("/head"), p)
		}
		shelf.forget()
		s.crawl(func(o *crawler.Options) { o.Output = []crawler.Output{crawler.OutputPages} })
		if p := s.last["/"]; p.change != crawler.ChangeNotModified || !p.notModified {
			t.Errorf("a crawl that keeps no archive: %+v", p)
		}
		shelf.forget()
		s.crawl()
		if p := s.last["/"]; shelf.requests("/") != "-" || p.change != "" || strings.Count(s.logs.String(), "no archive") != 1 {
			t.Errorf("after a crawl without an archive: %q, %+v, %s", shelf.requests("/"), p, s.logs.String())
		}
	})
}

// A crawl in memory can use a previous crawl, too. BodyBudget limits the archived bodies in memory.
func TestACrawlInMemoryKnowsTheOneBefore(t *testing.T) {
	bubble(t, func(s *series, shelf *shelf) {
		shelf.put("/", resource{body: filler + strings.Repeat("x", 600<<10), etag: `"1"`})
		s.crawl()
		if err := s.run(func(o *crawler.Options) { o.Dir, o.BodyBudget = "", 1 }); err != nil {
			t.Fatal(err)
		}
		if p := s.last["/"]; !p.notModified || len(p.body) < 600<<10 {
			t.Errorf("%t, %d bytes", p.notModified, len(p.body))
		}
		if err := s.run(func(o *crawler.Options) { o.Dir, o.Previous, o.MaxSize = "", s.dir(1), 1<<10 }); err != nil {
			t.Fatal(err)
		}
		if p := s.last["/"]; !p.notModified || len(p.body) != 1<<10 || p.truncated != "length" {
			t.Errorf("%t, %d bytes, %q", p.notModified, len(p.body), p.truncated)
		}
	})
}

// If the previous crawl is not valid, the run ends before its first request.
func TestInvalidPreviousCrawls(t *testing.T) {
	bubble(t, func(s *series, shelf *shelf) {
		shelf.put("/", resource{body: filler})
		var wrong *crawler.OptionError
		if err := s.run(func(o *crawler.Options) { o.Previous = o.Dir + "/" }); !errors.As(err, &wrong) || wrong.Field != "Previous" {
			t.Errorf("the crawl itself: %v", err)
		}
		if err := s.run(func(o *crawler.Options) { o.Previous = t.TempDir() }); !errors.Is(err, store.ErrNoCrawl) {
			t.Errorf("an empty directory: %v", err)
		}
		dir := t.TempDir()
		db, err := store.Open(dir, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		var inUse *store.InUseError
		if err := s.run(func(o *crawler.Options) { o.Previous = dir }); !errors.As(err, &inUse) {
			t.Errorf("a crawl that runs: %v", err)
		}
	})
}

// A page counts for limits even if the server answers 304.
func TestWhatIsNotModifiedCountsForLimits(t *testing.T) {
	bubble(t, func(s *series, shelf *shelf) {
		shelf.put("/", resource{body: filler + pages("/1", "/2", "/3"), etag: `"1"`})
		for _, target := range []string{"/1", "/2", "/3"} {
			shelf.put(target, resource{body: filler + target, etag: `"1"`})
		}
		s.crawl()
		s.crawl(func(o *crawler.Options) { o.Limit = 2 })
		if got := slices.Sorted(maps.Keys(s.last)); len(got) != 2 || s.sum.End != crawler.EndLimit {
			t.Errorf("%v, %s", got, s.sum.End)
		}
	})
}

// If an archived body cannot be read any more and the server sends it unchanged, it is archived
// again.
func TestABodyThatCannotBeReadIsKeptAgain(t *testing.T) {
	bubble(t, func(s *series, shelf *shelf) {
		noise := strings.Repeat("0123456789abcdef", 4<<10)
		shelf.put("/", resource{body: noise, etag: `"1"`, ignoresConditions: true})
		s.crawl()
		files, err := store.ArchiveFiles(s.dir(1))
		if err != nil {
			t.Fatal(err)
		}
		raw, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		index, err := os.ReadFile(filepath.Join(s.dir(1), store.IndexFile))
		if err != nil {
			t.Fatal(err)
		}
		line, _, _ := strings.Cut(string(index), "\n")
		e, err := cdxj.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		raw[e.Offset+e.Length-6] ^= 1 // a byte in the checksum of the record
		if err := os.WriteFile(files[0], raw, 0o644); err != nil {
			t.Fatal(err)
		}
		s.crawl()
		if p := s.last["/"]; p.change != crawler.ChangeNotModified || p.notModified || s.sum.Unread != 1 {
			t.Errorf("%+v, %d unread", p.change, s.sum.Unread)
		}
		if !bytes.Contains(archiveOf(t, s.dir(2)), []byte(noise)) {
			t.Error("the only whole copy of a body was not kept")
		}
	})
}

// A rescan also reads the links of pages whose bodies are only in the archive of an earlier crawl.
func TestARescanReadsBodiesOfThePreviousCrawl(t *testing.T) {
	bubble(t, func(s *series, shelf *shelf) {
		shelf.put("/", resource{body: filler + pages("/list", "/same"), etag: `"1"`})
		shelf.put("/list", resource{body: filler + pages("/deep"), etag: `"1"`})
		shelf.put("/same", resource{body: filler + pages("/deeper")})
		shelf.put("/deep", resource{body: filler + "deep"})
		shelf.put("/deeper", resource{body: filler + "deeper"})
		s.crawl()
		s.crawl(func(o *crawler.Options) { o.Depth = 1 })
		if len(s.last) != 3 {
			t.Fatalf("%d pages", len(s.last))
		}
		s.n--
		s.crawl(func(o *crawler.Options) { o.Rescan = true })
		if got := fmt.Sprint(slices.Sorted(maps.Keys(s.last))); got != "[/deep /deeper]" {
			t.Errorf("the rescan found %s", got)
		}
	})
}

// A page that was purged from an earlier crawl is new for later crawls, whose revisit records refer
// to the purged body. No damage is reported, and the page is requested without a condition.
func TestPurgedPagesAreRequestedAsNew(t *testing.T) {
	bubble(t, func(s *series, shelf *shelf) {
		shelf.put("/", resource{body: pages("/kept", "/gone") + filler, etag: `"r"`})
		shelf.put("/kept", resource{body: "kept " + filler, etag: `"k"`})
		shelf.put("/gone", resource{body: "gone " + filler, etag: `"g"`})
		s.crawl()
		s.crawl()
		purge := &purge.Purge{Dir: s.dir(1), Places: placeList(t, "http://a.example/gone"), Problem: func(err error) { t.Error(err) }}
		if done, err := purge.Run(t.Context()); err != nil || done.Records == 0 {
			t.Fatal(done, err)
		}
		if v, err := store.Verify(t.Context(), s.dir(2), func(err error) { t.Error(err) }); err != nil || v.Bodiless != 1 {
			t.Errorf("%+v, %v", v, err)
		}
		shelf.forget()
		s.crawl()
		if got := s.last["/gone"]; got.change != crawler.ChangeNew || got.notModified || !strings.HasPrefix(got.body, "gone ") || shelf.requests("/gone") != "-" {
			t.Errorf("%+v, asked %q", got, shelf.requests("/gone"))
		}
		if got := s.last["/kept"]; got.change != crawler.ChangeNotModified || shelf.requests("/kept") != "c" {
			t.Errorf("%+v, asked %q", got, shelf.requests("/kept"))
		}
		if s.sum.Unread != 0 || s.logs.Len() > 0 {
			t.Errorf("%d cannot be read: %s", s.sum.Unread, &s.logs)
		}
		s.crawl()
		if got := s.last["/gone"]; got.change != crawler.ChangeNotModified {
			t.Errorf("%+v", got)
		}
	})
}

// If the Last-Modified of a page is in the future, it is not used in a conditional request, because
// many servers would answer 304 even after a change. The ETag of the page is still used.
func TestPagesFromTheFutureAreRequestedWithoutTheirTime(t *testing.T) {
	bubble(t, func(s *series, shelf *shelf) {
		const future = "Fri, 01 Jan 2199 00:00:00 GMT"
		shelf.put("/", resource{body: pages("/future", "/both", "/now", "/odd") + filler, etag: `"r"`})
		shelf.put("/future", resource{body: "future " + filler, modified: future})
		shelf.put("/both", resource{body: "both " + filler, modified: future, etag: `"b"`})
		shelf.put("/odd", resource{body: "odd " + filler, modified: "the day before yesterday"}) // a server that compares such fields does so as text
		shelf.put("/now", resource{body: "now " + filler, modified: time.Now().UTC().Format(http.TimeFormat)})
		s.crawl()
		shelf.forget()
		s.crawl()
		for target, want := range map[string]string{"/future": "-", "/both": "c", "/now": "c", "/odd": "c"} {
			if got := shelf.requests(target); got != want || s.last[target].change != crawler.ChangeNotModified {
				t.Errorf("%s: asked %q, want %q: %+v", target, got, want, s.last[target])
			}
		}
	})
}
