package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/seeds"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/settings"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/words"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
	"github.com/spf13/pflag"
)

// siteFlags are the flags that name a site whose robots.txt to fetch, and how to fetch it.
type siteFlags struct {
	site, name string
	contact    []string
	way        crawler.Options // settings for reaching the site
}

func (f *siteFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.site, "site", "", "`URL` of the site whose robots.txt is to be fetched")
	fs.StringVar(&f.name, "name", "", "with --site: product `token` of the request (or $CRAWL_NAME)")
	fs.StringArrayVar(&f.contact, "contact", nil, "with --site: `URL` or e-mail address of the request, or both (or $CRAWL_CONTACT)")
	settings.Borrow(fs, &f.way, "with --site: ", "allow-private", "connect-to")
}

// snapshot fetches the robots.txt of a site as a crawl would, with the same client, clocks
// and checks. The result may be unreachable.
func (p *program) snapshot(ctx context.Context, f *siteFlags) (*robots.Snapshot, error) {
	id, err := p.identity(f.name, f.contact)
	if err != nil {
		return nil, err
	}
	urls, bad, err := crawler.ReadSeeds(strings.NewReader(f.site), "--site")
	if err != nil || len(bad) > 0 || len(urls) != 1 {
		return nil, exit.Usagef("--site: %q is not a URL: write it as https://example.org/", f.site)
	}
	u, err := seeds.URL(urls[0])
	if err != nil {
		return nil, exit.Usagef("--site: %v", err)
	}
	never, err := optOut()
	if err != nil {
		return nil, err
	}
	fetcher, err := f.fetcher(id, p.network, never)
	if err != nil {
		return nil, err
	}
	defer fetcher.Close()
	var clocks frontier.Options
	if shared := sharedClocks(slog.New(slog.DiscardHandler)); shared != nil {
		defer shared.Close()
		clocks.Shared = shared
	}
	front, err := frontier.New(frontier.NewMemory(), clocks)
	if err != nil {
		return nil, err
	}
	if err := front.Add(frontier.Entry{URL: u}); err != nil {
		return nil, err
	}
	return ask(ctx, front, fetcher, u)
}

// ask fetches the robots.txt of u, the only URL of the frontier. Each turn makes one
// request; a robots.txt that is redirected takes more.
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

// fetcher returns a Fetcher like that of a crawl with these flags.
func (f *siteFlags) fetcher(id crawler.Identity, network fetch.Network, never func(frontier.URL) string) (*fetch.Fetcher, error) {
	optedOut := func(u frontier.URL) (string, error) {
		if never == nil {
			return "", nil
		}
		return never(u), nil
	}
	return fetch.New(fetch.Options{
		OptOut: optedOut,
		Policy: robots.Policy{Token: id.Token}, UserAgent: id.UserAgent(), From: id.From(), Network: network,
		AllowPrivate: f.way.AllowPrivate, ConnectTo: f.way.ConnectTo,
	})
}

// answered returns what a site answered, in a few words.
func answered(s *robots.Snapshot) string {
	text := fmt.Sprintf("status %d", s.Status)
	if s.Status == 0 {
		text = "no answer"
	}
	if s.Failure != "" {
		text += " (" + s.Failure + ")"
	}
	return text
}
