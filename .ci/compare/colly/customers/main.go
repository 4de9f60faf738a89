// Command customers runs a crawl for each customer, as programs request over HTTP. After a kill
// the same command continues all crawls, except those that were stopped.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"github.com/gocolly/colly/v2"
	"github.com/gocolly/colly/v2/storage"
)

// An order is what a customer wants. It is stored in the customer's directory.
type order struct {
	Seeds   []string `json:"seeds"`
	Pages   uint32   `json:"pages"`         // 0: no limit
	Delay   uint16   `json:"delay_seconds"` // further pause before each request
	Stopped bool     `json:"stopped"`
}

// A report is the status of a crawl.
type report struct {
	Pages   int  `json:"pages"`
	Running bool `json:"running"`
	stop    func()
}

// A service has the crawls of all customers.
type service struct {
	dir  string
	base *colly.Collector // the collectors of all customers share its limits

	mu    sync.Mutex
	crawl map[string]*report
}

var names = regexp.MustCompile(`^[a-z0-9-]{1,40}$`)

func main() {
	s := &service{dir: "customers", base: colly.NewCollector(), crawl: map[string]*report{}}
	s.base.IgnoreRobotsTxt = false
	if err := s.base.Limit(&colly.LimitRule{DomainGlob: "*", Parallelism: 1, Delay: time.Second}); err != nil {
		log.Fatal(err)
	}
	stored, err := filepath.Glob(filepath.Join(s.dir, "*", "order.json"))
	if err != nil {
		log.Fatal(err)
	}
	for _, file := range stored {
		name := filepath.Base(filepath.Dir(file))
		o, err := s.load(name)
		if err == nil && !o.Stopped {
			err = s.start(name, o)
		}
		if err != nil {
			log.Println(name, err)
		}
	}
	http.HandleFunc("GET /customers", func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		json.NewEncoder(w).Encode(s.crawl)
	})
	http.HandleFunc("PUT /customers/{name}", func(w http.ResponseWriter, r *http.Request) {
		var o order
		err := json.NewDecoder(r.Body).Decode(&o)
		if err == nil {
			err = s.start(r.PathValue("name"), o)
		}
		answer(w, err)
	})
	http.HandleFunc("DELETE /customers/{name}", func(w http.ResponseWriter, r *http.Request) {
		answer(w, s.stop(r.PathValue("name")))
	})
	log.Fatal(http.ListenAndServe("localhost:8121", nil))
}

func answer(w http.ResponseWriter, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// start stores the order and runs the crawl of a customer.
func (s *service) start(name string, o order) error {
	if !names.MatchString(name) || len(o.Seeds) == 0 {
		return fmt.Errorf("%q needs a name of letters, digits and hyphens, and seeds", name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.crawl[name]; r != nil && r.Running {
		return fmt.Errorf("%s runs: stop it first", name)
	}
	if err := s.save(name, o); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(s.dir, name, "pages.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	r := &report{Running: true, stop: stop}
	s.crawl[name] = r
	go func() {
		defer f.Close()
		s.collect(ctx, name, o, func(page *colly.HTMLElement) {
			s.mu.Lock()
			defer s.mu.Unlock()
			r.Pages++
			line := map[string]any{"url": page.Request.URL.String(), "title": page.ChildText("title")}
			if err := json.NewEncoder(f).Encode(line); err != nil {
				log.Println(name, err)
				stop()
			}
		})
		s.mu.Lock()
		defer s.mu.Unlock()
		r.Running = false
	}()
	return nil
}

// collect crawls until all pages are visited or ctx ends.
func (s *service) collect(ctx context.Context, name string, o order, tell colly.HTMLCallback) {
	c := s.base.Clone()
	if err := c.SetStorage(&storage.InMemoryStorage{}); err != nil { // clones share what they have visited
		log.Println(name, err)
		return
	}
	c.Context, c.MaxRequests = ctx, o.Pages
	c.CacheDir = filepath.Join(s.dir, name, "cache") // a crawl that continues requests no page twice
	for _, seed := range o.Seeds {
		if u, err := url.Parse(seed); err == nil {
			c.AllowedDomains = append(c.AllowedDomains, u.Hostname())
		}
	}
	c.OnRequest(func(r *colly.Request) {
		if ctx.Err() != nil {
			r.Abort()
		}
		time.Sleep(time.Duration(o.Delay) * time.Second)
	})
	c.OnHTML("html", tell)
	c.OnHTML("a[href]", func(e *colly.HTMLElement) {
		e.Request.Visit(e.Attr("href"))
	})
	for _, seed := range o.Seeds {
		if err := c.Visit(seed); err != nil {
			log.Println(name, err)
		}
	}
}

// stop stops the crawl of a customer, if it runs.
func (s *service) stop(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, err := s.load(name)
	if err != nil {
		return err
	}
	o.Stopped = true
	if r := s.crawl[name]; r != nil {
		r.stop()
	}
	return s.save(name, o)
}

func (s *service) load(name string) (o order, err error) {
	if !names.MatchString(name) {
		return o, fmt.Errorf("%q is not a name", name)
	}
	raw, err := os.ReadFile(filepath.Join(s.dir, name, "order.json"))
	if err == nil {
		err = json.Unmarshal(raw, &o)
	}
	return o, err
}

func (s *service) save(name string, o order) error {
	raw, err := json.Marshal(o)
	if err != nil {
		return err
	}
	file := filepath.Join(s.dir, name, "order.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return err
	}
	if err := os.WriteFile(file+".new", raw, 0o666); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}
