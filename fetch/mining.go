package fetch

import (
	"cmp"
	"context"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// maxMiningAge is how long it counts that the tdmrep.json of a site leads elsewhere.
// Redirects to another site are not followed: what that says of this one is not known to
// be meant, and of one site http and https each have a file.
const maxMiningAge = 24 * time.Hour

// maxMiningRedirects is how many redirects of a tdmrep.json are followed.
const maxMiningRedirects = 5

// consult asks what else the owner says about the use of pages, beside robots.txt, which
// allows the entry. done says that the turn ends here: with a question for that, or with a
// refusal.
func (h *host) consult(ctx context.Context, turn *frontier.Turn, res *Result) (done bool, err error) {
	entry := turn.Entry().URL
	refuse := func(by robots.Statement) (bool, error) {
		res.Outcome.Fate = frontier.Fate{Code: frontier.UseRefused, Detail: by.String(), Rules: h.snapshot.Fetched}
		return true, nil
	}
	u, lacks, err := h.lacksMining(turn, time.Now())
	if err != nil {
		return false, err
	}
	if lacks {
		return true, h.askMining(ctx, turn, u, res)
	}
	res.Mining = h.miningRules()
	if by, refused := h.refusesMining(entry); refused {
		return refuse(by)
	}
	if done, err := h.askLicenses(ctx, turn, res); done || err != nil {
		return done, err
	}
	if res.Licenses, err = h.terms(); err != nil {
		return false, err
	}
	if by, refused := res.Licenses.Signals(entry.String()).Refuses(h.fetcher.opts.Purpose); refused {
		return refuse(by)
	}
	return false, nil
}

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
	if h.miningWay != nil {
		u = h.miningWay.at
	}
	may, err := h.mayBeAsked(u, now)
	if !may {
		h.miningWay = nil // the rules have changed on its way
	}
	return u, may, err
}

// mayBeAsked reports whether robots.txt, and who is to be left alone, let this site be
// asked for u.
func (h *host) mayBeAsked(u frontier.URL, now time.Time) (bool, error) {
	why, err := h.fetcher.optedOut(u)
	return why == "" && err == nil && h.verdict(u, now).Access == robots.Allow, err
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
	header := copyOf(h.snapshot.Mining, u).condition(h.settings.rules)
	x, err := h.exchange(ctx, turn, ask{url: u, robots: true, limit: robots.MaxTDMRepBytes, header: header})
	if err != nil {
		return notYet(err, &res.Outcome)
	}
	x.Mining = true
	res.Outcome.Again = true
	res.add(x, &res.Outcome)
	if x.Err != nil && (x.Err.Stage == StageStopped || x.Err.Stage == StageStale) {
		return nil
	}
	if led, err := h.followMining(x); led || err != nil {
		return err
	}
	s := saidBy(x)
	if s.URL = string(h.site) + robots.TDMRepPath; u.String() != s.URL {
		s.Final = u.String()
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

// followMining reports whether the answer to the question for tdmrep.json leads on, to
// where the next turn asks: on this site, as robots.txt allows it.
func (h *host) followMining(x *Exchange) (bool, error) {
	way := h.miningWay
	if h.miningWay = nil; x.Err != nil {
		return false, nil
	}
	if way == nil {
		way = newChain(x.URL)
	}
	if _, again := way.move(x, maxMiningRedirects); !again || way.at.Site() != h.site {
		return false, nil
	}
	may, err := h.mayBeAsked(way.at, x.Ended)
	if may {
		h.miningWay = way
	}
	return may, err
}

// copyOf are the validators of the last good copy, if that came from u.
func copyOf(s *robots.Snapshot, u frontier.URL) Validators {
	good := s.Good()
	if good == nil || u.String() != cmp.Or(good.Final, good.URL) {
		return Validators{}
	}
	return Validators{good.Header.ETag, good.Header.LastModified}
}

// saidBy makes a snapshot of what is to be known beside robots.txt. An error page says
// nothing.
func saidBy(x *Exchange) *robots.Snapshot {
	s := &robots.Snapshot{
		URL: x.URL.String(), Fetched: x.Ended, Status: x.Status, Cut: x.Truncated == "length",
		Header: robots.ReadHeader(x.Header.Get),
	}
	s.Header.RetryAfter = x.RetryAfter()
	switch {
	case x.Err != nil:
		s.Failure = string(x.Err.Stage)
	case s.Status/100 == 2:
		s.Body = x.Body
	}
	return s
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
