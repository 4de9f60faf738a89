package control

import (
	"fmt"
	"net/http"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/metrics"
)

// Metrics returns the HTTP handler for clients that may read figures but not steer the crawl:
// GET /metrics, in the text format of Prometheus, and GET /healthz.
func Metrics(status func() crawler.Status) *http.ServeMux {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics.Handler(status))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintln(w, status().State)
	})
	return mux
}
