// Package robotsfetch fetches one robots.txt in the same way as a crawl, with the same pauses
// and checks. It is for the commands that look at a site without a crawl.
package robotsfetch

import (
	"context"
	"errors"
	"fmt"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/words"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// Options say who fetches a robots.txt, and how.
type Options struct {
	Identity     crawler.Identity
	Network      fetch.Network             // nil means the network of this machine
	OptOut       func(frontier.URL) string // why a URL is on the opt-out list, or ""; nil: there is no list
	AllowPrivate bool
	ConnectTo    []fetch.ConnectTo
	Shared       frontier.Shared // pauses that all crawls of this machine keep together; nil: none
}

// Get fetches the robots.txt of the site of u as a crawl would, with the same client, pauses
// and checks. If no answer came, the result says that the robots.txt is unreachable.
func Get(ctx context.Context, u frontier.URL, o Options) (*robots.Snapshot, error) {
	fetcher, err := o.fetcher()
	if err != nil {
		return nil, err
	}
	defer fetcher.Close()
	front, err := frontier.New(frontier.NewMemory(), frontier.Options{Shared: o.Shared})
	if err != nil {
		return nil, err
	}
	if err := front.Add(frontier.Entry{URL: u}); err != nil {
		return nil, err
	}
	return ask(ctx, front, fetcher, u)
}

// ask fetches the robots.txt of u, which is the only URL of the frontier, the queue of URLs.
// The frontier hands out turns, and each turn makes one request. If the robots.txt is
// redirected, more than one turn is needed.
func ask(ctx context.Context, front *frontier.Frontier, fetcher *fetch.Fetcher, u frontier.URL) (*robots.Snapshot, error) {
	for {
		turn, err := front.Next(ctx)
		if errors.Is(err, frontier.ErrPatience) {
			return nil, exit.With(exit.Later, fmt.Errorf("%s may not be contacted for some minutes: a crawl on this machine uses it, or it asks for a pause: try again later", u.Site()))
		}
		if err != nil {
			return nil, err
		}
		res, err := fetcher.Get(ctx, turn)
		if _, ferr := turn.Finish(res.Outcome); err == nil {
			err = ferr
		}
		switch {
		case err != nil:
			return nil, err
		case res.Snapshot != nil:
			return res.Snapshot, nil
		case !res.Outcome.Again || res.Outcome.Gone:
			detail := res.Outcome.Fate.Detail
			if res.Outcome.Fate.Code == frontier.OptedOut {
				detail = "it is on the opt-out list, and is not contacted: " + detail
			}
			return nil, exit.With(exit.Nothing, fmt.Errorf("%s: %s%s", u.Site(), detail, words.Permits(detail)))
		}
	}
}

// fetcher returns a Fetcher like that of a crawl.
func (o Options) fetcher() (*fetch.Fetcher, error) {
	optedOut := func(u frontier.URL) (string, error) {
		if o.OptOut == nil {
			return "", nil
		}
		return o.OptOut(u), nil
	}
	return fetch.New(fetch.Options{
		OptOut: optedOut,
		Policy: robots.Policy{Token: o.Identity.Token}, UserAgent: o.Identity.UserAgent(), From: o.Identity.From(), Network: o.Network,
		AllowPrivate: o.AllowPrivate, ConnectTo: o.ConnectTo,
	})
}
