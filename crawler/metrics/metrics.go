package metrics

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
)

// Handler returns an HTTP handler that answers with the figures of a crawl, in the text format of
// Prometheus, version 0.0.4 (https://prometheus.io/docs/instrumenting/exposition_formats/). The
// names of the figures begin with permesso_, and each has a help text. For each request the handler
// calls status once; pass, for example, the method Status of a crawler.Crawler. The handler is safe
// for concurrent use if status is.
func Handler(status func() crawler.Status) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = io.WriteString(w, text(status()))
	})
}

// text returns a status in the text format of Prometheus.
func text(s crawler.Status) string {
	var m exposition
	run, crawl, sites := &s.Run, &s.Crawl, &s.Sites
	m.one("counter", "permesso_pages_total", "Pages with a 2xx status in this run.", run.Pages)
	m.one("counter", "permesso_requests_total", "Requests in this run, for robots.txt included.", run.Requests)
	m.one("counter", "permesso_robots_requests_total", "Requests for robots.txt in this run.", run.Robots)
	m.one("counter", "permesso_received_bytes_total", "Bytes of bodies in this run, as they came over the wire.", run.Bytes)
	m.many("counter", "permesso_answers_total", "Answers in this run, by HTTP status.", "code", inTexts(run.Status))
	m.many("counter", "permesso_errors_total", "Requests of this run that failed, by stage.", "stage", inTexts(run.Errors))
	m.many("counter", "permesso_skipped_links_total", "Links that this run did not follow, each URL once for each page, by reason.", "reason", inTexts(run.SkippedLinks))
	m.many("counter", "permesso_skipped_urls_total", "URLs that ended in this run without a page, by reason.", "reason", inTexts(run.SkippedURLs))
	m.one("counter", "permesso_retries_total", "Pages that this run queued for another try.", run.Retries)
	m.one("counter", "permesso_handler_errors_total", "Errors of the handler in this run.", run.Handler)
	m.one("gauge", "permesso_crawl_budget_pages", "Pages of the whole crawl that count for limits, each once.", crawl.BudgetPages)
	m.one("gauge", "permesso_crawl_done_urls", "URLs of the whole crawl that have ended.", crawl.Done)
	m.one("gauge", "permesso_queued_urls", "URLs that are queued, without those that wait to be fetched again.", crawl.Queued)
	m.one("gauge", "permesso_again_urls", "URLs that had ended, and wait to be fetched again.", crawl.Again)
	m.many("gauge", "permesso_left_urls", "URLs that are queued, by reason.", "reason", inTexts(s.Left))
	m.many("gauge", "permesso_sites", "Sites, by what they do.", "state", map[string]int{
		"busy": sites.Busy, "due": sites.Due, "waiting": sites.Waiting, "parked": sites.Parked,
		"given up": sites.GivenUp, "budget spent": sites.Spent, "excluded": sites.Excluded,
	})
	waiting := map[string]int{}
	for clock, c := range sites.Clocks {
		waiting[cmp.Or(string(clock), string(frontier.OwnClock))] += c.Sites
	}
	m.many("gauge", "permesso_waiting_sites", "Sites that wait, by the clock they wait for.", "clock", waiting)
	m.one("gauge", "permesso_known_sites", "Sites that were or will be contacted.", sites.Known)
	m.one("counter", "permesso_paced_requests_total", "Requests of this run that had a pause to keep.", s.Polite.Requests)
	m.one("counter", "permesso_early_requests_total", "Paced requests that came before the site was due: always 0.", s.Polite.Early)
	m.one("gauge", "permesso_least_margin_seconds", "Least time from a site's due time to its paced request.", s.Polite.LeastMargin)
	m.one("counter", "permesso_retry_after_obeyed_total", "Retry-After delays that were kept.", s.Polite.RetryAfter)
	m.one("gauge", "permesso_heap_bytes", "Memory of live objects.", s.Memory.Heap)
	m.one("gauge", "permesso_memory_bytes", "Memory that was taken from the system and not returned.", s.Memory.Total)
	m.one("gauge", "permesso_run_seconds", "Time since the start of the run.", s.Seconds)
	m.many("gauge", "permesso_state", "State that the crawl is in.", "state", map[string]int{string(s.State): 1})
	return m.b.String()
}

// An exposition builds the text of metrics.
type exposition struct{ b strings.Builder }

func (m *exposition) head(kind, name, help string) {
	fmt.Fprintf(&m.b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

func (m *exposition) one(kind, name, help string, value any) {
	m.head(kind, name, help)
	fmt.Fprintf(&m.b, "%s %v\n", name, value)
}

// many writes the metric called name. It writes one line for each entry of values, with the key as
// the value of the label called label. If values is empty, it writes nothing.
func (m *exposition) many(kind, name, help, label string, values map[string]int) {
	if len(values) == 0 {
		return
	}
	m.head(kind, name, help)
	for _, key := range slices.Sorted(maps.Keys(values)) {
		fmt.Fprintf(&m.b, "%s{%s=\"%s\"} %d\n", name, label, escapes.Replace(key), values[key])
	}
}

// escapes escapes characters in the value of a label.
var escapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

func inTexts[K comparable](of map[K]int) map[string]int {
	texts := map[string]int{}
	for k, n := range of {
		texts[fmt.Sprint(k)] += n
	}
	return texts
}
