package main

import (
	"fmt"
	"slices"
	"time"
)

// A scenario is a table: what is measured, and on which webs.
type scenario struct {
	name, about string
	contestants []string // default contestants; nil: all that can take part
	cases       []benchCase
}

// A benchCase is one web, and the task on it.
type benchCase struct {
	label       string
	web         WebParams
	tls         bool
	concurrency int
	limit       int  // pages after which to stop
	anywhere    bool // from the first host to all others, by name
}

// can reports whether a contestant can take part.
func (bc *benchCase) can(c *contestant) bool {
	switch {
	case bc.tls && !c.tls,
		bc.web.Delay > 0 && !c.delays,
		bc.anywhere && !c.names,
		bc.limit > 0 && !c.limit,
		c.floor && bc.web.Faults:
		return false
	}
	return true
}

// expected returns how many pages a contestant finds if it loses none.
func (bc *benchCase) expected() int64 {
	if bc.limit > 0 {
		return int64(bc.limit)
	}
	return bc.web.Expected()
}

// Settings of all contestants that have them.
const defaultConcurrency = 64

var (
	ours   = []string{"permesso-memory", "permesso"}
	polite = []string{"permesso-memory", "permesso", "permesso-warc", "fetchbot", "gocrawl", "colly", "scrapy"}
)

// ownScenario returns the scenario of a web that the user describes.
func ownScenario(w WebParams) scenario {
	bc := benchCase{label: fmt.Sprintf("%d hosts", w.Hosts), web: w, concurrency: defaultConcurrency, anywhere: w.Cross > 0}
	about := "A web that was described for this run."
	if w.Latency > 0 {
		about = fmt.Sprintf("A web that was described for this run; it waits %v before each answer.", w.Latency)
	}
	return scenario{"own", about, nil, []benchCase{bc}}
}

// scenarios returns all scenarios. scale changes the size of those that take long.
func scenarios(scale float64) []scenario {
	scaled := func(n int) int { return max(1, int(float64(n)*scale)) }
	site := func(hosts, pages int) WebParams {
		return WebParams{Hosts: hosts, Pages: pages, Size: 20 << 10, Links: 50}
	}
	delayed := func(hosts, pages int, delay time.Duration) WebParams {
		w := site(hosts, pages)
		w.Delay = delay
		return w
	}
	faulty, large := site(20, scaled(100)), site(20, scaled(20))
	faulty.Faults, large.Size = true, 1<<20
	validated := site(20, scaled(500))
	validated.Validators = true
	shallow := WebParams{Hosts: scaled(1_000_000), Pages: 1, Size: 4 << 10, Cross: 50}
	all := []scenario{
		{"engine", "The engine: no pause between two requests.", nil,
			[]benchCase{{label: "20 hosts", web: site(20, scaled(500))}}},
		{"again", "A second crawl of a web that has not changed, beside the first.", []string{"permesso-snapshot", "permesso-again"},
			[]benchCase{{label: "pages have an ETag", web: validated}, {label: "they have none", web: site(20, scaled(500))}}},
		{"politeness", "Efficiency under a pause: requests/s against the bound of hosts / (pause + mean response time), and how late requests are.", polite,
			[]benchCase{
				{label: "500 hosts, 200 ms", web: delayed(500, scaled(100), 200*time.Millisecond)},
				{label: "10,000 hosts, 1 s", web: delayed(10_000, scaled(10), time.Second)},
			}},
		{"growth", "Growth with the URLs seen: 500 new ones on each page.", ours, nil},
		{"deep", "One host with many pages.", nil,
			[]benchCase{{label: "1 host", web: site(1, scaled(10_000))}}},
		{"shallow", "Many hosts with one page each.", ours,
			[]benchCase{{label: fmt.Sprintf("%d hosts", shallow.Hosts), web: shallow, anywhere: true}}},
		{"faults", "Slow hosts, dead links and bodies that are cut once, among others.", nil,
			[]benchCase{{label: "20 hosts", web: faulty}}},
		{"large", "Bodies of 1 MiB.", nil,
			[]benchCase{{label: "20 hosts", web: large}}},
		{"tls", "HTTPS (HTTP/1.1).", nil,
			[]benchCase{{label: "20 hosts", web: site(20, scaled(500)), tls: true}}},
	}
	growth := &all[slices.IndexFunc(all, func(s scenario) bool { return s.name == "growth" })]
	for _, seen := range []int{1_000, 10_000, 100_000, 500_000, 5_000_000} {
		const links = 500
		growth.cases = append(growth.cases, benchCase{
			label: fmt.Sprintf("%d seen", scaled(seen)), limit: max(1, scaled(seen)/links),
			web: WebParams{Hosts: 10, Pages: 1_000_000, Size: 32 << 10, Links: links, Tree: true},
		})
	}
	for i := range all {
		for j := range all[i].cases {
			all[i].cases[j].concurrency = defaultConcurrency
		}
	}
	return all
}
