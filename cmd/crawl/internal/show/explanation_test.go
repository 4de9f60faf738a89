package show

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/account"
)

// Each state of a URL has a sentence of its own.
func TestEachFateIsToldInASentence(t *testing.T) {
	said := map[string]frontier.Code{}
	now := time.Now()
	for _, s := range append(frontier.Fates(), frontier.Unknown) {
		x := &account.Explanation{Known: s != frontier.Unknown, Listed: account.Listed{Code: s, Reason: "because", Until: now.Add(time.Minute)}}
		text := fateOf(x, now)
		if other, twice := said[text]; twice {
			t.Errorf("%s and %s are both %q", s, other, text)
		}
		said[text] = s
		if x.Over = true; s == frontier.Fetched || !x.Known {
			continue
		}
		if text := fateOf(x, now); said[text] != s {
			if other, twice := said[text]; twice || strings.Contains(text, "--lift") || strings.Contains(text, " in 1m") {
				t.Errorf("%s and %s in a snapshot that is over are both %q", s, other, text)
			}
			said[text] = s
		}
	}
	for _, c := range []struct {
		x    account.Explanation
		want string
	}{
		{account.Explanation{Known: true, Listed: account.Listed{Code: frontier.Queued}, Ahead: 3}, "queued, and due: it is requested in turn; URLs of its site that come first: 3"},
		{account.Explanation{Known: true, Listed: account.Listed{Code: frontier.Queued}, Ahead: account.MostAhead}, "; 100000 URLs of its site or more come first"},
		{account.Explanation{Known: true, Listed: account.Listed{Code: frontier.Waiting, Until: now.Add(90 * time.Second), Clock: frontier.RetryAfterClock}},
			", in 1m30s, for Retry-After in its last answer"},
		{account.Explanation{Known: true, OptOut: "a.test", Listed: account.Listed{Code: frontier.Queued}}, "queued, but it is on the opt-out list (a.test): no run that begins from now on requests it"},
		{account.Explanation{Known: true, OptOut: "a.test", Listed: account.Listed{Code: frontier.Waiting, Until: now.Add(90 * time.Second), Clock: frontier.RetryAfterClock}, Ahead: 3},
			", in 1m30s, for Retry-After in its last answer, but it is on the opt-out list (a.test): no run that begins from now on requests it"},
		{account.Explanation{Known: true, Over: true, Listed: account.Listed{Code: frontier.Waiting, Until: time.Date(2026, 7, 1, 3, 0, 0, 0, time.UTC), Clock: frontier.RetryClock}},
			"not fetched before the snapshot ended, and no run continues that: it had to wait until 2026-07-01T03:00:00Z for the pause before another try"},
		{account.Explanation{Listed: account.Listed{Code: frontier.Unknown}, Untold: []crawler.Change{{Setting: "scope", Was: "main.mine"}}},
			"whether scope keeps it out is not known from the directory: a program made that setting (main.mine)"},
		{account.Explanation{Listed: account.Listed{Code: frontier.Unknown}, Links: make([]account.LinkFact, 1)}, "the pages below link to it, and no setting keeps it out"},
		{account.Explanation{Listed: account.Listed{Code: frontier.Unknown}, HasLinks: true}, "no page that was fetched links to it"},
		{account.Explanation{Known: true, Listed: account.Listed{Code: frontier.ScopeNarrowed, Reason: "depth"}}, "links beyond --depth; it is queued again once they are wider"},
	} {
		if got := fateOf(&c.x, now); !strings.Contains(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// A site that is stopped gets no second request either.
func TestWhatStopsASecondFetchIsTold(t *testing.T) {
	at := time.Date(2026, 7, 1, 3, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		held account.Listed
		want string
	}{
		{account.Listed{Code: frontier.Queued}, ""},
		{account.Listed{Code: frontier.Waiting, Until: at, Clock: frontier.OwnClock}, ""},
		{account.Listed{Code: frontier.Excluded, Reason: "a letter", Order: "a.test"}, ", but its site was excluded (a letter): crawl run --lift a.test requests it again"},
		{account.Listed{Code: frontier.SiteDead, Reason: "dns"}, ", but its site does not answer, and was given up: dns"},
		{account.Listed{Code: frontier.Queued, Reason: "the list"}, ", but it is on the opt-out list (a.test): no run that begins from now on requests it"},
		{account.Listed{Code: frontier.RobotsUnreachable, Reason: "http 503"}, ", but robots.txt of its site cannot be had, and it was given up: http 503"},
	} {
		var out bytes.Buffer
		x := &account.Explanation{Known: true, Listed: account.Listed{Code: frontier.Fetched, Reason: "status 200", Again: at}, Held: c.held}
		if c.held.Reason == "the list" {
			x.OptOut = "a.test"
		}
		if err := Explanation(&say.Lines{W: &out}, x, at); err != nil {
			t.Fatal(err)
		}
		if want := "\nagain        due to be fetched again at 2026-07-01T03:00:00Z" + c.want + "\n"; !strings.Contains(out.String(), want) {
			t.Errorf("%s: %q, want %q", c.held.Code, out.String(), want)
		}
	}
}

// Endless chains, tries and links are cut, and the number of the rest is printed.
func TestALongExplanationIsCut(t *testing.T) {
	var out bytes.Buffer
	x := &account.Explanation{Links: make([]account.LinkFact, shownLinks+2), Tries: make([]account.Try, shownTries+4)}
	for range 3 * shownSteps {
		x.Found = append(x.Found, account.Step{URL: "http://a.test/", Hop: frontier.HopLink})
	}
	x.Found = append(x.Found, account.Step{URL: "http://a.test/"})
	if err := Explanation(&say.Lines{W: &out}, x, time.Now()); err != nil {
		t.Fatal(err)
	}
	for text, n := range map[string]int{
		"by a link on http://a.test/ (L)\n": shownSteps, "and so on, by 40 more\n": 1, "which is a seed\n": 1, "tries        4 earlier ones\n": 1,
		"ended without a request": shownTries, "and more\n": 1,
	} {
		if got := strings.Count(out.String(), text); got != n {
			t.Errorf("%q %d times, want %d", text, got, n)
		}
	}
}

// Each reason for refusing a link has words of its own.
func TestEachRefusalIsToldInWords(t *testing.T) {
	said := map[string]bool{}
	for _, r := range []frontier.Code{
		frontier.OutOfScope, frontier.TooDeep, frontier.Filtered, frontier.NoFollow, frontier.OptedOut, frontier.Trap,
		frontier.TooManyRedirects, frontier.UseRefused, frontier.RequisitesOff, frontier.SitemapsOff, frontier.LinksOff,
	} {
		text := refusalInWords(account.Refusal{Code: r, Detail: "depth 3"})
		if said[text] || text == (account.Refusal{Code: r, Detail: "depth 3"}).String() {
			t.Errorf("%s: %q", r, text)
		}
		said[text] = true
	}
}
