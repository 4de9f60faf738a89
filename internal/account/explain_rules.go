package account

import (
	"cmp"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// Rules says what robots.txt decides about a URL. If the URL was fetched or refused, this is
// the robots.txt that was in force then. If the URL is still queued, it is the robots.txt that
// would be in force now. It is read with the settings of the last run.
type Rules struct {
	URL     string
	Fetched time.Time
	Status  int
	Failure string    // why the last request for robots.txt had no answer; empty: it had one
	Copy    time.Time // when the file in force was fetched, if an earlier request has fetched it; otherwise zero
	Digest  string    // SHA-1 of the file in force: "sha1:" and base 32; empty: there is no file
	Expires time.Time

	Agent     []string // User-agent lines of the group that applies to the crawler
	GroupLine int
	Verdict   robots.Verdict // the decision and its rule; there is no rule if none matches
	Against   robots.Rule    // the longest matching rule that decides the opposite of Verdict; Line is 0 if no rule does
	Nearest   robots.Rule    // if no rule matches, the rule that shares the longest prefix with the URL
}

// rules returns what robots.txt decides about u. It returns nil if robots.txt was never
// requested. fate is the fate of u, which says what robots.txt was in force.
func (a *Account) rules(u frontier.URL, fate frontier.Fate) (*Rules, error) {
	var s *robots.Snapshot
	for next, err := range a.from.Snapshots(u.Site()) {
		if err != nil {
			return nil, err
		}
		if s != nil && !fate.Rules.IsZero() && next.Fetched.After(fate.Rules) {
			break
		}
		s = next
	}
	if s == nil {
		return nil, nil
	}
	settings, err := a.Site(u.Site())
	if err != nil {
		return nil, err
	}
	policy := settings.Policy
	at := a.at(fate)
	g := s.Group(policy, at)
	r := &Rules{URL: s.URL, Fetched: s.Fetched, Status: s.Status, Failure: s.Failure, Expires: s.Expires(policy), Agent: g.Names(), GroupLine: g.Line(), Verdict: g.Match(u.Target())}
	good := cmp.Or(s.Good(), s)
	if good != s {
		r.Copy = good.Fetched
	}
	if good.Status/100 == 2 {
		r.Digest = warc.PayloadDigest(&warc.HTTP{Body: good.Body})
	}
	if by := r.Verdict.Rule; by.Line > 0 {
		r.Against = g.Only(!by.Allow).Match(u.Target()).Rule
	}
	if r.Against.Line == 0 {
		r.Nearest = nearest(g.Rules(), r.Verdict.Rule, u.Target())
	}
	return r, nil
}

// nearest returns the rule that shares the longest prefix with target. The prefix must be
// longer than the first slash. nearest ignores rules on the line of but.
func nearest(rules []robots.Rule, but robots.Rule, target string) (best robots.Rule) {
	most := 1
	for _, r := range rules {
		plain, _, _ := strings.Cut(strings.TrimSuffix(r.Pattern, "$"), "*")
		n := 0
		for n < len(plain) && n < len(target) && plain[n] == target[n] {
			n++
		}
		if n > most && r.Line != but.Line {
			best, most = r, n
		}
	}
	return best
}
