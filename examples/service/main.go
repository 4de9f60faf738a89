// Command service crawls URLs that it is given while it runs, and publishes metrics.
//
//	go run ./examples/service DIRECTORY https://example.org/ &
//	curl -d url=https://example.net/ localhost:8120/seeds
//	curl localhost:8120/metrics
//
// An interrupt stops the command after the visits under way have ended. The same command
// continues the crawl.
package main

import (
	"context"
	"errors"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/metrics"
)

func main() {
	if len(os.Args) < 3 {
		log.Fatal("usage: service DIRECTORY URL...")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	l, err := net.Listen("tcp", "localhost:8120")
	if err == nil {
		err = serve(ctx, l, crawler.Options{
			Identity: crawler.Identity{Token: "servicebot", Contact: "https://example.org/servicebot"},
			Seeds:    os.Args[2:],
			Dir:      os.Args[1],
		})
	}
	if err != nil {
		log.Fatal(err)
	}
}

// serve crawls, and answers requests, until ctx ends.
func serve(ctx context.Context, l net.Listener, opts crawler.Options) error {
	c, err := crawler.New(opts)
	if err == nil {
		err = c.Allow(func(l *crawler.Limits) { l.Open = true }) // the crawl does not end when its queue is empty, but waits for seeds
	}
	if err != nil {
		return errors.Join(err, l.Close())
	}
	server := &http.Server{Handler: handler(c), ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	// This goroutine runs the HTTP server. It ends before serve returns. If the server fails,
	// the crawl is stopped.
	go func() { served <- server.Serve(l); c.Stop() }()
	defer context.AfterFunc(ctx, c.Stop)()
	err = c.Run(context.WithoutCancel(ctx), nil) // pages are stored in the directory
	end, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	err = errors.Join(err, server.Shutdown(end))
	if s := <-served; s != http.ErrServerClosed {
		err = errors.Join(err, s)
	}
	return err
}

// handler accepts seeds from programs, but not from pages in a browser.
func handler(c *crawler.Crawler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /seeds", func(w http.ResponseWriter, r *http.Request) {
		switch _, err := c.Add(r.FormValue("url")); {
		case errors.As(err, new(*crawler.OptionError)):
			http.Error(w, err.Error(), http.StatusBadRequest)
		case err != nil:
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	})
	mux.Handle("GET /metrics", metrics.Handler(c.Status))
	return http.NewCrossOriginProtection().Handler(mux)
}
