// Package metrics publishes the figures of a running crawl in the text format of Prometheus,
// without a library of Prometheus.
//
// Mount [Handler] on a server of the program:
//
//	http.Handle("GET /metrics", metrics.Handler(c.Status)) // c is a *crawler.Crawler
//
// The figures are those of [crawler.Status]. Counters, whose names end in _total, begin at 0 in
// each run. Sizes are in bytes, times in seconds, as their names say. The handler answers every
// request with status 200. It may be called from several goroutines, as the method Status of a
// [crawler.Crawler] may.
//
// The format is version 0.0.4 of https://prometheus.io/docs/instrumenting/exposition_formats/.
package metrics
