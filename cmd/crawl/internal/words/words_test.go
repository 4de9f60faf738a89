package words

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/fetch"
)

// Each reason and each stage has words, also in the singular.
func TestEveryReasonHasWords(t *testing.T) {
	for _, r := range []crawler.Reason{crawler.SkipOptOut, crawler.SkipUse, crawler.SkipExcluded, crawler.SkipRobots, crawler.SkipFailed, crawler.SkipNarrowed, crawler.SkipSiteDead, crawler.SkipRobotsUnreachable, crawler.SkipBudget, crawler.SkipLimit, crawler.SkipWaits, crawler.SkipQueued} {
		if urlWords[r] == "" {
			t.Errorf("%s has no words", r)
		}
	}
	for _, r := range []crawler.Reason{crawler.SkipScope, crawler.SkipDepth, crawler.SkipFilter, crawler.SkipNoFollow, crawler.SkipOptOut, crawler.SkipRedirects, crawler.SkipHook, crawler.SkipTrap} {
		if linkWords[r] == "" {
			t.Errorf("%s has no words", r)
		}
	}
	for _, s := range allStages(t) {
		if Stage(s) == s {
			t.Errorf("%s has no words", s)
		}
	}
	counts := say.InOrder(map[crawler.Reason]int{crawler.SkipScope: 1, crawler.SkipNoFollow: 7, "new": 7})
	var got []string
	for _, c := range counts {
		got = append(got, c.Words(Links))
	}
	if want := []string{"7 links new", "7 links marked nofollow", "1 link out of scope"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// allStages returns the stages that the source of package fetch declares.
func allStages(t *testing.T) (all []string) {
	source, err := os.ReadFile("../../../../fetch/failure.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^\tStage\w+ +Stage = "([^"]+)"`).FindAllSubmatch(source, -1) {
		all = append(all, string(m[1]))
	}
	if len(all) < 20 || !slices.Contains(all, string(fetch.StageCalm)) {
		t.Fatalf("stages %q", all)
	}
	return all
}

// Words for counts are right for one, too.
func TestWordsFitOne(t *testing.T) {
	plural := regexp.MustCompile(`\b(are|were|have)\b|^1 \w+s\b|^1 kept `)
	see := func(of string, in func(string) string) {
		if words := (say.Count{Of: of, N: 1}).Words(in); plural.MatchString(words) {
			t.Errorf("%s: %q", of, words)
		}
	}
	for stage := range stageWords {
		see(string(stage), Stage)
	}
	for reason := range urlWords {
		see(string(reason), URLs)
	}
	for reason := range linkWords {
		see(string(reason), Links)
	}
}
