package metrics_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/metrics"
)

// A program publishes the figures of its crawl for Prometheus.
func ExampleHandler() {
	c, err := crawler.New(crawler.Options{
		Identity: crawler.Identity{Token: "examplebot", Contact: "https://example.org/bot"},
		Seeds:    []string{"https://example.org/"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics.Handler(c.Status))
	// go http.ListenAndServe("localhost:9090", mux)
	// err = c.Run(ctx, handler)

	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for line := range strings.Lines(answer.Body.String()) {
		if strings.Contains(line, "permesso_early_requests_total") {
			fmt.Print(line)
		}
	}
	// Output:
	// # HELP permesso_early_requests_total Paced requests that came before the site was due: always 0.
	// # TYPE permesso_early_requests_total counter
	// permesso_early_requests_total 0
}
