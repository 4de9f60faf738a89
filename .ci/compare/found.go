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

// order orders a crawl of the whole site, one of five of its pages, and one that is stopped. It
// returns when the service makes no more requests. After a kill it orders nothing.
func order(s *shop) error {
	began := time.Now()
	if !s.ordered {
		for _, step := range [][3]string{
			{http.MethodPut, "smith", `{"seeds": ["http://shop.test/"]}`},
			{http.MethodPut, "jones", `{"seeds": ["http://shop.test/"], "pages": 5}`},
			{http.MethodPut, "brown", `{"seeds": ["http://shop.test/"], "pages": 5}`},
			{http.MethodDelete, "brown", ""},
		} {
			if err := ask(step[0], step[1], step[2]); err != nil {
				return err
			}
		}
		s.ordered = true
	}
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

// ask makes a request to the service about a customer. It waits until the service listens.
func ask(method, customer, body string) error {
	for tries := 100; ; tries-- {
		req, err := http.NewRequest(method, "http://localhost:8121/customers/"+customer, strings.NewReader(body))
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode != http.StatusAccepted {
				return fmt.Errorf("%s of %s: %s", method, customer, resp.Status)
			}
			return nil
		}
		if tries == 0 {
			return err
		}
		time.Sleep(100 * time.Millisecond)
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

// browse reads the copy of a site as a browser does: from its index page, by relative links. It
// adds a record for each page that it reads. It also adds a record, which no right result has, for
// each link to a missing file, and for each link to the page /old, which must lead to its copy.
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
