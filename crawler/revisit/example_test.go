package revisit_test

import (
	"fmt"
	"log"
	"net/http"
	"time"

	"github.com/permesso-crawler/permesso/crawler/revisit"
)

// Parse makes a policy from text. Next returns the pause before the next visit of a page.
func ExampleParse() {
	policy, err := revisit.Parse("adaptive:1h-30d")
	if err != nil {
		log.Fatal(err)
	}
	for _, changed := range []bool{true, false} {
		fmt.Println(policy.Next(revisit.Visit{Pause: 10 * time.Hour, Changed: changed}))
	}
	// Output:
	// 6h0m0s
	// 14h0m0s
}

// Rate fetches a page once in Mean if it changes once in Mean. A page that changes too often is
// fetched once in Most.
func ExampleRate() {
	policy := revisit.Rate{Mean: 7 * day, Least: day, Most: 30 * day}
	for _, changes := range []int{5, 20, 140} { // changes in 140 visits, with one visit a day
		h := revisit.History{Seen: 140, Changes: changes, Watched: 140 * day}
		fmt.Printf("%.2f changes a day: again in %.1f days\n", h.Rate(day), policy.Next(revisit.Visit{History: h}).Hours()/24)
	}
	// Output:
	// 0.04 changes a day: again in 11.0 days
	// 0.15 changes a day: again in 6.9 days
	// 5.64 changes a day: again in 30.0 days
}

// The program that visits a page keeps its History. Package crawler does this for each page.
func ExampleHistory() {
	var h revisit.History
	h = h.And(2*day, true)
	h = h.And(3*day, false)
	fmt.Println(h.Seen, h.Changes, h.Watched)
	// Output: 2 1 120h0m0s
}

// At first Hinted follows the header of the answer. If a list reports a change, the next visit may
// be earlier.
func ExampleHinted() {
	policy := revisit.Hinted{Else: revisit.Fixed{Every: 7 * day}, Least: time.Hour, Most: 30 * day}
	sent := time.Date(2030, 1, 2, 0, 0, 0, 0, time.UTC)
	hints := revisit.ReadHints(http.Header{"Cache-Control": {"max-age=864000"}}, sent)
	fmt.Println(hints.Fresh, policy.Next(revisit.Visit{Hints: hints}))
	least, ok := policy.Believes("https://example.org/sitemap.xml")
	fmt.Println(least, ok)
	// Output:
	// 240h0m0s 240h0m0s
	// 1h0m0s true
}

// This policy of a program fetches news every hour, and all other pages every week.
func ExamplePolicyFunc() {
	policy := revisit.PolicyFunc(func(v revisit.Visit) time.Duration {
		if v.Tag == "news" {
			return time.Hour
		}
		return 7 * day
	})
	fmt.Println(policy.Next(revisit.Visit{Tag: "news"}), policy.Next(revisit.Visit{}))
	// Output: 1h0m0s 168h0m0s
}
