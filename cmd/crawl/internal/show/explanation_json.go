package show

import (
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/account"
	"github.com/permesso-crawler/permesso/robots"
)

// The lines of crawl explain --json. The names of their fields are never changed.
type (
	explainedLine struct {
		Asked     string          `json:"asked"`
		URL       string          `json:"url,omitempty"`  // as it is queued
		Known     bool            `json:"known"`          // the URL has entered the crawl
		Near      string          `json:"near,omitempty"` // a URL that has entered the crawl and is nearly the same
		Fate      frontier.Code   `json:"fate"`
		Reason    string          `json:"reason,omitempty"`
		Status    int             `json:"status,omitempty"`
		Time      time.Time       `json:"time,omitzero"`
		Clock     frontier.Clock  `json:"clock,omitempty"`
		Until     time.Time       `json:"until,omitzero"`
		Ahead     int             `json:"ahead,omitempty"`
		Depth     int             `json:"depth"`
		Hops      string          `json:"hops,omitempty"`
		Tag       string          `json:"tag,omitempty"`
		Found     []explainedStep `json:"found,omitempty"` // from the URL back to a seed
		Lost      string          `json:"found_lost,omitempty"`
		Links     []explainedLink `json:"links,omitempty"`
		Robots    *explainedRules `json:"robots,omitempty"`
		Tries     []explainedTry  `json:"tries,omitempty"`
		LeadsTo   string          `json:"redirects_to,omitempty"`
		TargetIs  frontier.Code   `json:"redirects_to_fate,omitempty"`
		TargetWhy string          `json:"redirects_to_reason,omitempty"`
		SameAs    string          `json:"same_as,omitempty"` // the URL whose answer has the archived body
		SameAt    time.Time       `json:"same_at,omitzero"`
		Gone      time.Time       `json:"same_purged,omitzero"` // when that answer was purged, and the body with it
		Purged    time.Time       `json:"purged,omitzero"`      // when the archived answers of the URL were removed from the crawl
		OptOut    string          `json:"opt_out,omitempty"`    // line of the opt-out list that forbids a later request for the URL
		WARC      string          `json:"warc,omitempty"`
		Offset    int64           `json:"offset,omitempty"`
		Digest    string          `json:"digest,omitempty"`
		SiteLeft  int             `json:"site_queued"`
		SiteAgain int             `json:"site_again,omitempty"`
	}
	explainedStep struct {
		URL string `json:"url"`
		Hop string `json:"hop,omitempty"` // left out if the URL is a seed
	}
	explainedLink struct {
		From   string        `json:"from"`
		Hop    string        `json:"hop"`
		Where  string        `json:"where,omitempty"`
		Rel    string        `json:"rel,omitempty"`
		Reason frontier.Code `json:"reason,omitempty"`
		Detail string        `json:"detail,omitempty"`
	}
	explainedRules struct {
		URL      string         `json:"url"`
		Fetched  time.Time      `json:"fetched"`
		Status   int            `json:"status"`
		Failure  string         `json:"failure,omitempty"`
		Copy     time.Time      `json:"copy,omitzero"`
		Digest   string         `json:"digest,omitempty"`
		Expires  time.Time      `json:"expires"`
		Group    []string       `json:"group,omitempty"`
		Line     int            `json:"group_line,omitempty"`
		Access   string         `json:"access"`
		Why      string         `json:"reason"`
		Rule     *explainedRule `json:"rule,omitempty"`
		Against  *explainedRule `json:"against,omitempty"` // the longest of the rules that match but do not decide
		Neighbor *explainedRule `json:"nearest,omitempty"` // a rule that almost matches
	}
	explainedRule struct {
		Line int    `json:"line"`
		Rule string `json:"rule"`
	}
	explainedTry struct {
		Time   time.Time `json:"time"`
		Status int       `json:"status"` // HTTP status; a number below 0 says why there is no answer, as in crawl.log
		Start  time.Time `json:"start,omitzero"`
		Took   float64   `json:"took_seconds,omitempty"`
		Size   int64     `json:"size"` // of the body as received; -1: no body
		Notes  []string  `json:"annotations,omitempty"`
	}
)

// ExplanationJSON returns an explanation as crawl explain --json prints it.
func ExplanationJSON(x *account.Explanation) any {
	f := &x.Fate
	l := explainedLine{
		Asked: x.Asked.String(), URL: x.URL.String(), Known: x.Known, Near: x.Near.String(), Fate: x.Code, Reason: x.Reason, Status: f.Status, Time: f.Time.UTC(),
		Clock: x.Clock, Until: x.Until.UTC(), Ahead: x.Ahead, Depth: x.Depth, Hops: x.Hops, Tag: x.Tag, Lost: x.Lost,
		LeadsTo: x.LeadsTo.String(), SameAs: x.SameAs, SameAt: x.SameAt.UTC(), Gone: x.Gone.UTC(), Purged: x.Purged.UTC(), OptOut: x.OptOut, WARC: f.Answer.File, Offset: f.Answer.Offset, Digest: f.Digest, SiteLeft: x.Site.Queued, SiteAgain: x.Site.Again,
	}
	if l.TargetWhy = x.Astray; x.Target != nil {
		l.TargetIs, l.TargetWhy = x.Target.Code, x.Target.Reason
	}
	for _, s := range x.Found {
		step := explainedStep{URL: s.URL}
		if s.Hop != 0 {
			step.Hop = string(rune(s.Hop))
		}
		l.Found = append(l.Found, step)
	}
	for _, link := range x.Links {
		l.Links = append(l.Links, explainedLink{link.From, link.Hop, link.Where, link.Rel, link.Code, link.Detail})
	}
	for _, t := range x.Tries {
		l.Tries = append(l.Tries, explainedTry{t.Time.UTC(), t.Status, t.Start.UTC(), t.Duration.Seconds(), t.Size, t.Annotations})
	}
	if r := x.Robots; r != nil {
		l.Robots = &explainedRules{
			URL: r.URL, Fetched: r.Fetched.UTC(), Status: r.Status, Failure: r.Failure, Copy: r.Copy.UTC(), Digest: r.Digest, Expires: r.Expires.UTC(),
			Group: r.Agent, Line: r.GroupLine, Access: r.Verdict.Access.String(), Why: r.Verdict.Reason.String(),
			Rule: ruleJSON(r.Verdict.Rule), Against: ruleJSON(r.Against), Neighbor: ruleJSON(r.Nearest),
		}
	}
	return l
}

func ruleJSON(r robots.Rule) *explainedRule {
	if r.Line == 0 {
		return nil
	}
	return &explainedRule{r.Line, r.String()}
}
