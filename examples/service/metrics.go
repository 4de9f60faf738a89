package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/permesso-crawler/permesso/crawler"
)

// metrics writes the figures of a crawl in the text format of Prometheus, version 0.0.4.
func metrics(w io.Writer, s crawler.Stats) {
	one := func(name, kind, help string, n int64) {
		fmt.Fprintf(w, "# HELP %s %s\n# TYPE %[1]s %[3]s\n%[1]s %[4]d\n", name, help, kind, n)
	}
	one("crawl_pages_total", "counter", "Pages with a 2xx status.", int64(s.Pages))
	one("crawl_requests_total", "counter", "Requests, those for robots.txt included.", int64(s.Requests))
	one("crawl_early_requests_total", "counter", "Requests before their pause was over: must be 0.", int64(s.Frontier.Polite.Early))
	one("crawl_received_bytes_total", "counter", "Bytes of bodies, as they came.", s.Bytes)
	one("crawl_queued_urls", "gauge", "URLs that are queued.", int64(s.Frontier.Entries))
	one("crawl_visits", "gauge", "Visits under way.", int64(s.Frontier.Out))
	each(w, "crawl_responses_total", "Answers by HTTP status.", "status", s.Status)
	each(w, "crawl_failures_total", "Requests that failed, by stage.", "stage", s.Errors)
	each(w, "crawl_skipped_links_total", "Links that are not followed, by reason.", "reason", s.SkippedLinks)
	each(w, "crawl_skipped_urls_total", "URLs that ended without a page, by reason.", "reason", s.SkippedURLs)
}

func each[K cmp.Ordered](w io.Writer, name, help, label string, counts map[K]int) {
	fmt.Fprintf(w, "# HELP %s %s\n# TYPE %[1]s counter\n", name, help)
	for _, key := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(w, "%s{%s=\"%v\"} %d\n", name, label, key, counts[key])
	}
}
