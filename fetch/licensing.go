package fetch

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

const (
	// maxLicenseRedirects is the largest number of redirects of a license document that are
	// followed. Each redirect is stored under its own URL.
	maxLicenseRedirects = 2

	// maxLicenseRequests is the largest number of requests, in one run, to the sites of one
	// registrable domain for licenses that other sites name. Requests for robots.txt are included.
	// The limit is needed because any site may name documents of any other site.
	maxLicenseRequests = 64

	// licensePatience is how long a site waits for a license document that it names on another
	// site, and that cannot be requested yet. After that, the pages of the site are fetched as if
	// it named no license.
	licensePatience = time.Hour
	failedPatience  = time.Minute // like licensePatience, after a request for the license has failed
)

// named returns the URLs of the license documents that the current robots.txt names, at most
// robots.MaxLicensesRead.
func (h *host) named() []frontier.URL {
	if h.namedBy == h.group {
		return h.licenses
	}
	h.licenses, h.namedBy = nil, h.group
	at, err := frontier.ParseURL(string(h.site) + rulesTarget)
	if err != nil {
		return nil
	}
	for _, raw := range h.group.Signals("/").Licenses {
		u, err := at.Resolve(raw)
		if err == nil && (u.Scheme() == "http" || u.Scheme() == "https") && len(h.licenses) < robots.MaxLicensesRead {
			h.licenses = append(h.licenses, u)
		}
	}
	return h.licenses
}

// askLicenses requests one license document: the first one named by the site that is missing or
// stale and may be requested. It makes no request if licenses cannot refuse the purpose of the
// crawl. If done is true, the request has used the turn, and the frontier hands out its URL again.
// No site waits for longer than licensePatience.
func (h *host) askLicenses(ctx context.Context, turn *frontier.Turn, res *Result) (done bool, err error) {
	if !h.fetcher.licensed || len(h.named()) == 0 {
		return false, nil
	}
	for _, u := range h.licenses {
		at, lacks, err := h.lacksLicense(turn, u, time.Now())
		if err != nil {
			return false, err
		}
		if !lacks {
			continue
		}
		if done, err = h.askLicense(ctx, turn, at, res); done || err != nil {
			return done, err
		}
	}
	turn.Forgo()
	return false, nil
}

// lacksLicense follows the stored redirects of a license document. It returns the first URL
// without a valid document, and whether that URL has to be requested. A document is valid for as
// long as a robots.txt would be. It is always valid for the queued URL for which it was fetched.
func (h *host) lacksLicense(turn *frontier.Turn, u frontier.URL, now time.Time) (at frontier.URL, lacks bool, err error) {
	for range 1 + maxLicenseRedirects {
		l, err := h.fetcher.licenses.at(u)
		if err != nil {
			return u, false, err
		}
		if now.Before(l.closed) {
			return u, false, nil
		}
		if !l.counts(turn, now) {
			if u.Site() != h.site && h.fetcher.licenses.spent(u.Site()) {
				return u, false, nil
			}
			why, err := h.fetcher.optedOut(u)
			return u, why == "" && err == nil, err
		}
		if l.next.IsZero() {
			break
		}
		u = l.next
	}
	return u, false, nil
}

func (l *license) counts(turn *frontier.Turn, now time.Time) bool {
	if l.fetched.IsZero() || l.fetched.After(now) {
		return false
	}
	own := !turn.First().IsZero() && !l.fetched.Before(turn.First())
	return own || now.Before(l.expires)
}

// askLicense requests the license document at u. If u is on this site, it uses turn. If u is on
// another site, it uses a turn from Turn.Hop.
func (h *host) askLicense(ctx context.Context, turn *frontier.Turn, u frontier.URL, res *Result) (done bool, err error) {
	if u.Site() != h.site {
		return h.askLicenseOf(ctx, turn, u, res)
	}
	if h.verdict(u, time.Now()).Access != robots.Allow {
		h.closeLicense(u)
		return false, nil
	}
	x, err := h.exchangeLicense(ctx, turn, u)
	if x == nil || err != nil {
		return true, notYet(err, &res.Outcome)
	}
	res.Outcome.Again = true
	res.add(x, &res.Outcome)
	return true, h.fetcher.keepLicense(u, x)
}

// askLicenseOf requests the license document at u from another site, if the robots.txt of that
// site allows the request.
func (h *host) askLicenseOf(ctx context.Context, turn *frontier.Turn, u frontier.URL, res *Result) (done bool, err error) {
	hop, err := turn.Hop(u.Site())
	if errors.Is(err, frontier.ErrExcluded) {
		return false, nil
	}
	if err != nil {
		return h.licenseLater(u, later(err, res), res)
	}
	other := h.fetcher.host(u.Site())
	end := frontier.Outcome{Again: true}
	access := robots.Defer
	if err = other.settle(); err == nil {
		access, err = other.admits(ctx, hop, u, res, &end)
	}
	switch {
	case err != nil:
	case access == robots.Disallow:
		other.closeLicense(u)
	case access == robots.Allow:
		err = other.serveLicense(ctx, turn, hop, u, res, &end)
	}
	asked := end.Request != nil
	if asked {
		h.fetcher.licenses.spend(u.Site())
	}
	h.fetcher.giveBack(other)
	if _, ferr := hop.Finish(end); err != nil || ferr != nil {
		return false, errors.Join(err, ferr)
	}
	if asked || access != robots.Defer && res.Outcome.Defer.IsZero() {
		res.Outcome.Again = true
		return true, nil
	}
	return h.licenseLater(u, nil, res)
}

// closeLicense records that the robots.txt of this site forbids a request for the license document
// at u. The record is valid until that robots.txt expires, and for at least licensePatience.
func (h *host) closeLicense(u frontier.URL) {
	until := time.Now().Add(licensePatience)
	if end := h.snapshot.Expires(h.settings.policy); end.After(until) {
		until = end
	}
	h.fetcher.licenses.change(u, func(l *license) { l.closed = until })
}

// serveLicense requests the license document at u from this site. The turn hop is the right to
// this site, which the visit of turn got from Turn.Hop. serveLicense makes no request if a valid
// document is stored: another visit may have fetched it meanwhile.
func (h *host) serveLicense(ctx context.Context, turn, hop *frontier.Turn, u frontier.URL, res *Result, end *frontier.Outcome) error {
	if l, err := h.fetcher.licenses.at(u); err != nil || l.counts(turn, time.Now()) {
		return err
	}
	x, err := h.exchangeLicense(ctx, hop, u)
	if err != nil || x == nil {
		return later(err, res)
	}
	res.add(x, end)
	return h.fetcher.keepLicense(u, x)
}

func (h *host) exchangeLicense(ctx context.Context, turn *frontier.Turn, u frontier.URL) (*Exchange, error) {
	before, err := h.fetcher.opts.Snapshots.License(u)
	if err != nil {
		return nil, err
	}
	x, err := h.exchange(ctx, turn, requestSpec{
		url: u, robots: true, limit: robots.MaxRSLBytes, header: copyOf(before, u).condition(h.settings.rules),
	})
	if x != nil {
		x.Mining = true
	}
	return x, err
}

// keepLicense stores x, the result of a request for the license document at u, and the target
// of its redirect.
func (f *Fetcher) keepLicense(u frontier.URL, x *Exchange) error {
	if x.Err != nil && (x.Err.Stage == StageStopped || x.Err.Stage == StageStale) {
		return nil
	}
	s, way := snapshotOf(x), newChain(u)
	if x.Err == nil {
		if _, again := way.move(x, maxLicenseRedirects); again {
			s.Final = way.at.String()
		}
	}
	return f.licenses.put(u, s)
}

// licenseLater handles a license document at u that cannot be requested from another site yet. The
// parameter err is the error of getting a turn of that site. If done is true, the turn ends, and
// its URL waits for u until the time in res.Outcome.
func (h *host) licenseLater(u frontier.URL, err error, res *Result) (done bool, _ error) {
	if err != nil {
		return false, err
	}
	wait := false
	h.fetcher.licenses.change(u, func(l *license) {
		if l.wanted.IsZero() {
			l.wanted = time.Now()
		}
		patience := licensePatience
		if !l.known && !l.fetched.IsZero() {
			patience = failedPatience
		}
		wait = !res.Outcome.Defer.After(l.wanted.Add(patience))
	})
	if !wait {
		res.Outcome.Defer, res.Outcome.DeferBy = time.Time{}, frontier.NoClock
	}
	res.Outcome.Again = wait
	return wait, nil
}

// terms returns the terms of the site's license documents that could be fetched. If a document has
// moved, and cannot be fetched from its new URL, the earlier document is used. A document that was
// never requested because of maxLicenseRequests permits nothing.
func (h *host) terms() (all robots.Licenses, err error) {
	if !h.fetcher.licensed {
		return nil, nil
	}
	for _, named := range h.named() {
		u := named
		var terms *robots.RSL
		unread := ""
		for range 1 + maxLicenseRedirects {
			l, err := h.fetcher.licenses.at(u)
			if err != nil {
				return nil, err
			}
			if l.terms != nil || l.known {
				terms = l.terms
			}
			if l.fetched.IsZero() && u.Site() != h.site && h.fetcher.licenses.spent(u.Site()) {
				unread = "its site was sent " + strconv.Itoa(maxLicenseRequests) + " requests for licenses in this run"
			}
			if l.next.IsZero() {
				break
			}
			u = l.next
		}
		if terms != nil || unread != "" {
			all = append(all, robots.License{URL: named.String(), Terms: terms, Unread: unread})
		}
	}
	return all, nil
}
