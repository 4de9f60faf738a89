package words

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
)

// Each stage has words, also in the singular.
func TestEveryStageHasWords(t *testing.T) {
	for _, s := range allStages(t) {
		if Stage(s) == s {
			t.Errorf("%s has no words", s)
		}
	}
	counts := say.InOrder(map[string]int{frontier.OutOfScope.String(): 1, frontier.NoFollow.String(): 7, "new": 7})
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
	for c := frontier.Code(1); c <= frontier.Unknown; c++ {
		see(c.String(), URLs)
		see(c.String(), Links)
	}
}
