package fetch

import (
	"cmp"
	"context"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// maxMiningAge is the time after which a tdmrep.json is requested again if it redirected to
// another site. Such a redirect is not followed, because the file of the other site may not be
// meant for this site: even the http and the https site of one host each have their own file.
const maxMiningAge = 24 * time.Hour

// maxMiningRedirects is the largest number of redirects of a tdmrep.json that are followed.
const maxMiningRedirects = 5

// consult checks tdmrep.json and licenses, after robots.txt has allowed the queued URL. They
// contain statements about the use of pages. If done is true, the turn ends here, because consult
// has requested such a file or because a statement refuses the use.
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

// lacksMining reports whether the tdmrep.json of the site has to be fetched before a page, and
// returns the URL to request. It returns true only if the purpose of the crawl includes text
// and data mining, and if robots.txt allows that URL. A stored tdmrep.json is valid for as long
// as a robots.txt would be. It is always valid for the queued URL for which it was fetched.
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
	if h.miningChain != nil {
		u = h.miningChain.at
	}
	may, err := h.mayBeAsked(u, now)
	if !may {
		h.miningChain = nil // the rules may have changed since the redirect
	}
	return u, may, err
}

// mayBeAsked reports whether robots.txt and Options.OptOut allow a request for u to this
// site.
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

// askMining requests tdmrep.json. This is the one request of the turn, so the frontier hands out
// the URL of the turn again. Pages are also requested if the site has no tdmrep.json, or if the
// request for it fails.
func (h *host) askMining(ctx context.Context, turn *frontier.Turn, u frontier.URL, res *Result) error {
	header := copyOf(h.snapshot.Mining, u).condition(h.settings.rules)
	x, err := h.exchange(ctx, turn, requestSpec{url: u, robots: true, limit: robots.MaxTDMRepBytes, header: header})
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
	s := snapshotOf(x)
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

// followMining reports whether the answer for tdmrep.json is a redirect that the next turn
// follows. Its target must be on this site, and robots.txt must allow the target.
func (h *host) followMining(x *Exchange) (bool, error) {
	way := h.miningChain
	if h.miningChain = nil; x.Err != nil {
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
		h.miningChain = way
	}
	return may, err
}

// copyOf returns the validators of the last document in s that was fetched. They are empty if that
// document did not come from u.
func copyOf(s *robots.Snapshot, u frontier.URL) Validators {
	good := s.Good()
	if good == nil || u.String() != cmp.Or(good.Final, good.URL) {
		return Validators{}
	}
	return Validators{good.Header.ETag, good.Header.LastModified}
}

// snapshotOf returns a snapshot of a tdmrep.json or a license document. It leaves out the body of
// an error page.
func snapshotOf(x *Exchange) *robots.Snapshot {
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

// miningRules returns the rules of the site's tdmrep.json, or nil if it was not requested.
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

// refusesMining reports whether the tdmrep.json of the site refuses the purpose of the crawl
// for u, and returns the statement that refuses it.
func (h *host) refusesMining(u frontier.URL) (by robots.Statement, refused bool) {
	rules := h.miningRules()
	if rules == nil {
		return by, false
	}
	return rules.Signals(u.Target()).Refuses(h.fetcher.opts.Purpose)
}
