package fetch

import (
	"context"
	"errors"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// rulesTarget may be requested from every site, even if the site's robots.txt disallows it (RFC
// 9309, section 2.2.2).
const rulesTarget = "/robots.txt"

// askOther sends the request a to another site, because the robots.txt of this site redirects
// to the URL of a.
//
// A site can redirect its robots.txt to any URL. A target other than /robots.txt is therefore
// requested only if the robots.txt of the target's site allows it, as for a page. Otherwise the
// redirect fails, and the robots.txt of this site counts as unreachable. RFC 9309, section
// 2.3.1.2, does not cover this case. Google treats a chain with a disallowed URL as a missing
// robots.txt (https://developers.google.com/search/docs/crawling-indexing/robots/robots_txt),
// but that would allow all pages of this site. Redirects within one site are not checked.
func (h *host) askOther(ctx context.Context, turn *frontier.Turn, a requestSpec, res *Result) (x *Exchange, failure string, err error) {
	hop, err := turn.Hop(a.url.Site())
	if errors.Is(err, frontier.ErrExcluded) {
		return &Exchange{URL: a.url, Status: h.chain.status, Ended: time.Now()}, failRedirect, nil
	}
	if err != nil {
		return nil, "", notYet(err, &res.Outcome)
	}
	other := h.fetcher.host(a.url.Site())
	end := frontier.Outcome{Again: true}
	access := robots.Allow
	if err = other.settle(); err != nil {
		access = robots.Defer
	} else if a.header = h.rulesHeader(other.settings); a.url.Target() != rulesTarget {
		access, err = other.admits(ctx, hop, a.url, res, &end)
	}
	switch {
	case access == robots.Defer: // checked first, because err may be set, too
	case access == robots.Disallow:
		x, failure = &Exchange{URL: a.url, Status: h.chain.status, Ended: time.Now()}, failRedirect
	default:
		if x, err = other.exchange(ctx, hop, a); err != nil {
			x, err = nil, later(err, res)
		} else {
			res.add(x, &end)
		}
	}
	h.fetcher.giveBack(other)
	_, ferr := hop.Finish(end)
	return x, failure, errors.Join(err, ferr)
}

// admits returns whether the robots.txt of this site allows a request for u on behalf of
// another site. hop is the right to one request to this site. If robots.txt has to be fetched
// first, that request fetches it, and the result is robots.Defer: the other site has to try
// again later. So it does if the robots.txt of this site redirects to a third site, until a visit of
// this site has followed the redirect. If the rules for u cannot be known, or are not known after
// rulesPatience, the result is robots.Disallow.
func (h *host) admits(ctx context.Context, hop *frontier.Turn, u frontier.URL, res *Result, end *frontier.Outcome) (robots.Access, error) {
	if err := h.load(); err != nil {
		return robots.Defer, err
	}
	now := time.Now()
	if h.chain == nil && h.fresh(hop, u, now) {
		end.Gap = h.gap(now)
		if h.verdict(u, now).Access != robots.Allow {
			return robots.Disallow, nil
		}
		if opens := h.group.NextVisit(now); opens.After(now) {
			res.Outcome.Defer, res.Outcome.DeferBy = opens, frontier.VisitTimeClock
			return robots.Defer, nil
		}
		return robots.Allow, nil
	}
	asked, err := h.refresh(ctx, hop, purpose{u, true})
	res.Exchanges = append(res.Exchanges, asked.Exchanges...)
	*end = asked.Outcome
	switch {
	case err != nil:
		return robots.Defer, err
	case h.chain != nil && h.chain.at.Site() != h.site:
		if h.chain.wanted.IsZero() {
			h.chain.wanted = now
		}
		if now.Sub(h.chain.wanted) >= rulesPatience {
			h.chain = nil
			return robots.Disallow, nil
		}
		res.Outcome.Defer = now.Add(busyFor)
		return robots.Defer, nil
	case h.chain != nil:
		if end.Request == nil {
			res.Outcome.Defer = now.Add(busyFor)
		}
		return robots.Defer, nil
	case asked.Verdict.Access != robots.Allow:
		return robots.Disallow, nil
	}
	return robots.Defer, nil // the next hop requests u
}

// busyFor is how long a site waits before it tries again to get a turn of another site. It cannot
// get one while the other site has a visit. It is not notified when the visit ends.
const busyFor = time.Second

// rulesPatience is how long a site waits for the rules of another site while these are at a third
// site. It has an end, because the sites could wait for each other, and because this other site may
// have no visits.
const rulesPatience = time.Minute

// later handles err, the error of getting the right to another site, as notYet does. It also
// sets when the turn of this site tries again.
func later(err error, res *Result) error {
	o := &res.Outcome
	o.Defer = time.Now().Add(busyFor)
	var wait *frontier.NotYet
	if errors.As(err, &wait) && wait.Until.After(o.Defer) {
		o.Defer, o.DeferBy = wait.Until, wait.By
	}
	return notYet(err, o)
}
