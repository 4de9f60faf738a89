package fetch

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// Failures of a robots.txt that are not failures of an exchange.
const (
	failRedirect = "redirect" // too many, a loop, or to nowhere
)

// A chain is a robots.txt on its way: the redirects so far. It outlives the
// turn, because every request needs a turn, or a hop, of its own.
type chain struct {
	at    frontier.URL // to be asked next
	seen  map[string]bool
	plain bool // asked again with plain header fields
}

// refresh asks for robots.txt. The entry of the turn stays undecided.
func (h *host) refresh(ctx context.Context, turn *frontier.Turn) (Result, error) {
	if h.chain == nil {
		at, err := frontier.ParseURL(string(h.site) + "/robots.txt")
		if err != nil {
			return Result{}, err
		}
		h.chain = &chain{at: at, seen: map[string]bool{at.Key(): true}}
	}
	res := Result{Rules: h.snapshot, Outcome: frontier.Outcome{Again: true}}
	for {
		c := h.chain
		own := c.at.Site() == h.site
		if own && res.Outcome.Request != nil {
			return res, nil // the turn's one request is made: the next turn goes on
		}
		x, err := h.askRules(ctx, turn, &res.Outcome)
		if x == nil || err != nil {
			return res, err
		}
		if x.Err != nil && x.Err.Stage == StageAddress && own {
			h.chain = nil
			res.Outcome.Gone, res.Outcome.Fate.Detail = true, x.Err.Err.Error()
			return res, nil
		}
		if x.Err == nil || x.Err.Stage != StageAddress {
			res.Exchanges = append(res.Exchanges, x)
		}
		if own {
			res.Outcome.Request, res.Outcome.RetryAfter = x.request(), x.retryAfter()
			if t := x.trouble(); t != frontier.PageTrouble {
				res.Outcome.Trouble = t
			}
		}
		if x.Err != nil && (x.Err.Stage == StageStopped || x.Err.Stage == StageStale) {
			return res, nil
		}
		failure, again := c.follow(x)
		if again {
			continue
		}
		h.chain = nil
		return res, h.conclude(turn, x, failure, &res)
	}
}

// askRules asks for the chain's next URL: by the turn itself, or by a hop to
// another site. Both results are nil where a right could not be had.
func (h *host) askRules(ctx context.Context, turn *frontier.Turn, o *frontier.Outcome) (*Exchange, error) {
	at := h.chain.at
	a := ask{url: at, robots: true, limit: robots.MaxBytes, header: h.rulesHeader()}
	if at.Site() == h.site {
		x, err := h.exchange(ctx, turn, a)
		return x, notYet(err, o)
	}
	hop, err := turn.Hop(at.Site())
	if err != nil {
		return nil, notYet(err, o)
	}
	other := h.fetcher.host(at.Site())
	x, err := other.exchange(ctx, hop, a)
	h.fetcher.rest(other)
	if err != nil {
		// The address of the other site is in use: nothing tells when it will
		// be free, so this site asks again after a while.
		_, ferr := hop.Finish(frontier.Outcome{Again: true})
		o.Defer = time.Now().Add(time.Second)
		return nil, errors.Join(notYet(err, o), ferr)
	}
	end := frontier.Outcome{Again: true, RetryAfter: x.retryAfter()}
	if x.Err == nil || x.Err.Stage != StageAddress {
		end.Request = x.request()
		if t := x.trouble(); t != frontier.PageTrouble {
			end.Trouble = t
		}
	}
	_, err = hop.Finish(end)
	return x, err
}

// follow moves the chain behind an answer that is not the end of it. failure
// says why it ends without one.
func (c *chain) follow(x *Exchange) (failure string, again bool) {
	if x.Err != nil {
		return string(x.Err.Stage), false
	}
	switch x.Status {
	case http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusUnsupportedMediaType:
		if !c.plain {
			c.plain = true
			return "", true
		}
		return "", false
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return "", false
	}
	location := x.Header.Get("Location")
	next, err := c.at.Resolve(location)
	if location == "" || err != nil || c.seen[next.Key()] || len(c.seen) > frontier.MaxRedirects {
		return failRedirect, false
	}
	c.at = next
	c.seen[next.Key()] = true
	return "", true
}

// conclude makes a snapshot of the chain's end.
func (h *host) conclude(turn *frontier.Turn, x *Exchange, failure string, res *Result) error {
	at, err := robots.Locate(turn.Entry().URL.String())
	if err != nil {
		return err
	}
	s := &robots.Snapshot{
		URL: at, Fetched: x.Ended, Status: x.Status, Failure: failure,
		Body: x.Body, Cut: x.Truncated == "length",
		Header: robots.Header{
			CacheControl: x.Header.Get("Cache-Control"), Expires: x.Header.Get("Expires"), Date: x.Header.Get("Date"),
			ETag: x.Header.Get("ETag"), LastModified: x.Header.Get("Last-Modified"), ContentType: x.Header.Get("Content-Type"),
			RetryAfter: x.retryAfter(), ObjectStore: objectStore(x.Header),
		},
	}
	if s.Failure != "" {
		s.Body = nil
	}
	if final := x.URL.String(); final != at {
		s.Final = final
	}
	s = s.After(h.snapshot)
	if err := h.fetcher.opts.Snapshots.PutSnapshot(h.site, s); err != nil {
		return err
	}
	h.snapshot, h.group, h.unused = s, nil, true
	res.Rules = s
	now := time.Now()
	res.Verdict = h.verdict(turn.Entry().URL, now)
	res.Outcome.Rules = h.rules(now)
	if res.Verdict.Access == robots.Defer {
		res.Outcome.Defer = res.Verdict.Until
		res.Outcome.RobotsFailures = s.Failures
		res.Outcome.Gone = x.URL.Site() == h.site && x.Err != nil && x.Err.Stage == StageDNS && gone(x.Err)
		res.Outcome.Fate.Detail = failure
		if failure == "" {
			res.Outcome.Fate.Detail = "http " + strconv.Itoa(x.Status)
		}
	}
	return nil
}

// rulesHeader is the header of a request for robots.txt: conditional, where
// the copy at hand came from the same URL.
func (h *host) rulesHeader() http.Header {
	if h.chain.plain {
		return h.fetcher.plainHeader
	}
	header := h.fetcher.rulesHeader
	s := h.snapshot.Good()
	if s == nil {
		return header
	}
	from := s.URL
	if s.Final != "" {
		from = s.Final
	}
	if from != h.chain.at.String() {
		return header
	}
	return Validators{s.Header.ETag, s.Header.LastModified}.condition(header)
}

// objectStore is the field by which the large object stores mark their own
// answers; a 403 with it means that the file is missing.
func objectStore(h http.Header) string {
	if id := h.Get("X-Amz-Request-Id"); id != "" {
		return id
	}
	return h.Get("X-Guploader-Uploadid")
}
