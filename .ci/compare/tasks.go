package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
)

// A task is a program with a known result, written for each of the tools.
type task struct {
	name   string
	ours   string          // where its source is, below the repository
	args   []string        // of ours; NEW is the number of the run if twice, OLD that of the run before
	scrapy []string        // further arguments of Scrapy
	twice  bool            // the program is run again after the site has changed
	alone  bool            // the program makes no requests
	fresh  bool            // Scrapy's runs share no JOBDIR, because each is a crawl of its own
	want   func() []string // the records of the result
	record *regexp.Regexp  // finds the records in the outputs; nil: found finds them
	found  func(dir string, records map[string]int) error
	drive  func(*shop) error // see shop
}

var feed = []string{"-o", "items.jsonl:jsonlines"}

var tasks = []task{
	{name: "api", ours: "examples/api", args: []string{"http://shop.test/items"}, scrapy: feed,
		want: numbered("item-%d", 4*apiPages), record: regexp.MustCompile(`item-\d+`)},
	{name: "feeds", ours: "examples/feeds", twice: true, scrapy: feed,
		args: []string{"http://shop.test/feed/1", "http://shop.test/feed/2", "http://shop.test/feed/3", "http://shop.test/feed/4"},
		want: wantFeeds, record: regexp.MustCompile(`http://shop\.test/item/([\d-]+)`)},
	{name: "changes", ours: ".ci/compare/permesso/changes", twice: true, fresh: true, scrapy: feed, args: []string{"NEW.crawl", "OLD.crawl", "http://shop.test/"},
		want: wantChanges, record: regexp.MustCompile(`\b(new|modified|gone)\b.*?http://shop\.test(/[^\s",]*)`)},
	{name: "corpus", ours: "examples/corpus", args: []string{"corpus", "docs=http://shop.test/docs/", "news=http://shop.test/news/"}, scrapy: feed,
		want: wantCorpus, record: regexp.MustCompile(`"url": ?"http://shop\.test([^"]*)".*"section": ?"([^"]*)"(?:.*"link": ?"([^"]*)")?`)},
	{name: "policy", ours: "examples/policy", args: []string{"news.crawl", "http://shop.test/"}, scrapy: feed,
		want: wantPolicy, record: regexp.MustCompile(`http://shop\.test/\d+/\d+/\d+/(new-\d+-\d+)`)},
	{name: "mirror", ours: "examples/mirror", args: []string{"mirror", "http://shop.test/"}, want: wantMirror, found: browse},
	{name: "media", ours: "examples/media", args: []string{"http://" + storeAddress + "/bucket", "media.crawl", "http://shop.test/"},
		want: wantMedia},
	{name: "ownfetcher", ours: "examples/ownfetcher", args: []string{"http://shop.test/"}, scrapy: feed,
		want: wantOwn, record: regexp.MustCompile(`http://shop\.test(/page/\d+|/busy|/)[\s",].*\b200\b`)},
	{name: "customers", ours: "examples/customers", args: []string{"customers"}, want: wantCustomers, found: ordered, drive: order},
	{name: "robotscheck", ours: "examples/robotscheck", alone: true, args: []string{"examplebot", "sites"},
		want: wantVerdicts, record: regexp.MustCompile(`\b(allow|disallow)\s+(http\S+)`)},
}

func taskNamed(name string) *task {
	for i := range tasks {
		if tasks[i].name == name {
			return &tasks[i]
		}
	}
	return nil
}

func numbered(format string, last int) func() []string {
	return func() (all []string) {
		for i := range last {
			all = append(all, fmt.Sprintf(format, i+1))
		}
		return all
	}
}

func wantFeeds() (all []string) {
	for n := range newFeeds {
		all = append(all, numbered(fmt.Sprintf("%d-%%d", n+1), feedItems)()...)
	}
	return append(all, fmt.Sprintf("1-%d", feedItems+1))
}

func wantChanges() []string {
	return append(numbered("new /page/%d", watched+1)(), "modified /page/2", "gone /page/4")
}

func wantCorpus() (all []string) {
	for _, section := range []string{"docs", "news"} {
		all = append(all, "/"+section+"/ "+section)
		for n := 1; n <= sections; n++ {
			if section == "news" || n < 3 || n > 5 {
				all = append(all, fmt.Sprintf("/%s/%d %[1]s link %[2]d", section, n))
			}
		}
	}
	return all
}

func wantPolicy() (all []string) {
	for n := range topics {
		all = append(all, numbered(fmt.Sprintf("new-%d-%%d", n+1), newest)()...)
	}
	return all
}

func wantMirror() []string {
	return []string{"/", "/guide/one", "/guide/two", "/list?page=1", "/list?page=2", "/about.html", "/style.css", "/app.js", "/a.png", "/bg.png"}
}

func wantMedia() (all []string) {
	for n := 1; n <= mediaPages; n++ {
		all = append(all, numbered(fmt.Sprintf("/image/%d-%%d.png /license/%[1]d", n), 4)()...)
	}
	return append(all, "/image/double.png")
}

func wantOwn() []string { return append(numbered("/page/%d", ownPages)(), "/", "/busy") }

func wantCustomers() []string {
	return append(numbered("smith /page/%d", ownPages)(), "smith /", "smith /busy")
}

// order orders a crawl of the whole site, one of five of its pages, and one that is stopped. It
// returns when the service makes no more requests. After a kill it orders nothing.
func order(s *shop) error {
	const at = "http://localhost:8121/customers/"
	began := time.Now()
	for _, step := range [][2]string{{"PUT", "smith"}, {"PUT", "jones"}, {"PUT", "brown"}, {"DELETE", "brown"}} {
		if s.ordered {
			break
		}
		for {
			order := `{"seeds": ["http://shop.test/"], "pages": 5}`
			if step[1] == "smith" {
				order = `{"seeds": ["http://shop.test/"]}`
			}
			req, err := http.NewRequest(step[0], at+step[1], strings.NewReader(order))
			if err != nil {
				return err
			}
			resp, err := http.DefaultClient.Do(req)
			if err == nil {
				resp.Body.Close()
				if resp.StatusCode != http.StatusAccepted {
					return fmt.Errorf("%v: %s", step, resp.Status)
				}
				break
			}
			if time.Since(began) > 10*time.Second {
				return err // the service does not start
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	s.ordered = true
	for {
		time.Sleep(time.Second)
		s.mu.Lock()
		last := s.last
		s.mu.Unlock()
		if last.Before(began) {
			last = began
		}
		if time.Since(last) > 2*retryAfter {
			return nil
		}
	}
}

// ordered reads the pages that a service has stored for smith, and checks the number of those of
// jones. A redirect is no page.
func ordered(dir string, records map[string]int) error {
	for _, pattern := range []string{"customers/*/pages.jsonl", "customers/*/crawl/pages.jsonl"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return err
		}
		for _, file := range files {
			found, err := recordsOf(file, regexp.MustCompile(`"url": ?"http://shop\.test(/|/busy|/page/\d+)"`))
			if err != nil {
				return err
			}
			customer := strings.Split(strings.TrimPrefix(file, dir+"/"), "/")[1]
			for url, n := range found {
				if customer == "smith" {
					records[customer+" "+url] += n
				}
			}
			if customer == "jones" && len(found) != 5 {
				records[fmt.Sprintf("jones: %d pages", len(found))]++
			}
		}
	}
	return nil
}

// browse reads the copy of a site as a browser does: from its index page, by relative links. A
// link without a file is a record that no result has, and so is a link to the site that leads to
// a page with a copy.
func browse(dir string, records map[string]int) error {
	var first string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Name() == "index.html" && (first == "" || strings.Count(path, "/") < strings.Count(first, "/")) {
			first = path
		}
		return err
	})
	queue, known := []string{first}, map[string]bool{}
	for err == nil && first != "" && len(queue) > 0 {
		path := queue[0]
		if queue = queue[1:]; known[path] {
			continue
		}
		known[path] = true
		raw, err := os.ReadFile(path)
		if err != nil {
			records["broken: "+path]++
			continue
		}
		if m := marked.FindSubmatch(raw); m != nil {
			records[string(m[1])]++
		}
		for _, m := range links.FindAllSubmatch(raw, -1) {
			link, _, _ := strings.Cut(string(m[1])+string(m[2]), "#")
			if strings.HasSuffix(link, "/old") {
				records["not relative: "+link]++
			}
			if link != "" && !strings.Contains(link, ":") {
				queue = append(queue, filepath.Join(filepath.Dir(path), link))
			}
		}
	}
	return err
}

var (
	marked = regexp.MustCompile(copyOf + `(\S+)`)
	links  = regexp.MustCompile(`(?:href|src)="([^"]*)"|url\(["']?([^"')]*)`)
)

// storeAddress is that of the S3 store.
const storeAddress = "127.0.0.1:9000"

// A store is an S3 store that keeps which objects it has, and their licenses.
type store struct {
	mu      sync.Mutex
	names   map[string]bool
	records map[string]int // the file and the license of each upload
}

func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("ETag", `"0"`)
	w.Header().Set("Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT")
	switch {
	case r.URL.Query().Has("location"):
		fmt.Fprint(w, `<LocationConstraint xmlns="http://s3.amazonaws.com/doc/2006-03-01/"/>`)
	case r.Method == http.MethodPut:
		var raw strings.Builder
		if err := r.Write(&raw); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.names[r.URL.Path] = true
		if m := marked.FindStringSubmatch(raw.String()); m != nil {
			license := strings.TrimPrefix(r.Header.Get("X-Amz-Meta-License"), "http://shop.test")
			if m[1] == "/image/double.png" {
				license = "" // any of its pages
			}
			s.records[strings.TrimSpace(m[1]+" "+license)]++
		}
	case !s.names[r.URL.Path]:
		w.WriteHeader(http.StatusNotFound)
	}
}
