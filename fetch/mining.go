package fetch

import (
	"context"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// maxMiningAge is how long it counts that the tdmrep.json of a site leads elsewhere.
// Redirects of it are not followed: what another site says of this one is not known to be
// meant, and of one site http and https each have a file.
const maxMiningAge = 24 * time.Hour

// lacksMining reports whether the tdmrep.json of the site has to be asked for, before a
// page is. It is where the crawl mines, and as a page is: robots.txt must allow it. Its
// copy lives as long as that of a robots.txt would, and in any case for the entry that it
// was asked for.
func (h *host) lacksMining(turn *frontier.Turn, now time.Time) (frontier.URL, bool, error) {
	if !h.fetcher.mines || h.site.Scheme() == "ftp" {
		return frontier.URL{}, false, nil
	}
	if s := h.snapshot.Mining; s != nil && !s.Fetched.After(now) {
		own := !turn.First().IsZero() && !s.Fetched.Before(turn.First())
		if own || now.Before(h.miningExpires(s)) {
			return frontier.URL{}, false, nil
		}
	}
	u, err := frontier.ParseURL(string(h.site) + robots.TDMRepPath)
	if err != nil {
		return u, false, nil
	}
	why, err := h.fetcher.optedOut(u)
	return u, why == "" && err == nil && h.verdict(u, now).Access == robots.Allow, err
}

func (h *host) miningExpires(s *robots.Snapshot) time.Time {
	if s.Failure == "" && s.Status/100 == 3 {
		return s.Fetched.Add(maxMiningAge)
	}
	return s.Expires(h.fetcher.opts.Policy)
}

// askMining asks for tdmrep.json, which is the turn's one request. The entry of the turn
// stays undecided; whatever the answer is, it does not close the site.
func (h *host) askMining(ctx context.Context, turn *frontier.Turn, u frontier.URL, res *Result) error {
	header := h.settings.rules
	if s := h.snapshot.Mining.Good(); s != nil {
		header = Validators{s.Header.ETag, s.Header.LastModified}.condition(header)
	}
	x, err := h.exchange(ctx, turn, ask{url: u, robots: true, limit: robots.MaxTDMRepBytes, header: header})
	if err != nil {
		return notYet(err, &res.Outcome)
	}
	x.Mining = true
	res.Outcome.Again = true
	res.add(x, &res.Outcome)
	s := &robots.Snapshot{
		URL: u.String(), Fetched: x.Ended, Status: x.Status, Body: x.Body, Cut: x.Truncated == "length",
		Header: robots.ReadHeader(x.Header.Get),
	}
	s.Header.RetryAfter = x.retryAfter()
	if x.Err != nil {
		if x.Err.Stage == StageStopped || x.Err.Stage == StageStale {
			return nil
		}
		s.Failure, s.Body = string(x.Err.Stage), nil
	}
	if s.Status/100 != 2 {
		s.Body = nil // an error page says nothing
	}
	known := *h.snapshot
	known.Mining = s.After(h.snapshot.Mining)
	if err := h.fetcher.opts.Snapshots.PutSnapshot(h.site, &known); err != nil {
		return err
	}
	h.snapshot, h.mining = &known, nil
	res.Snapshot = h.snapshot
	return nil
}

// miningRules are what the site says about mining; nil where nobody has asked.
func (h *host) miningRules() *robots.TDMRep {
	if !h.fetcher.mines || h.snapshot.Mining == nil {
		return nil
	}
	if h.mining == nil {
		h.mining = &robots.TDMRep{}
		if good := h.snapshot.Mining.Good(); good != nil && !good.Cut {
			h.mining = robots.ParseTDMRep(good.Body)
		}
	}
	return h.mining
}

// refusesMining reports whether the site refuses the purpose for u, and by what.
func (h *host) refusesMining(u frontier.URL) (by robots.Statement, refused bool) {
	rules := h.miningRules()
	if rules == nil {
		return by, false
	}
	return rules.Signals(u.Target()).Refuses(h.fetcher.opts.Purpose)
}
