package diff

import (
	"net/http"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/account"
)

// A stage is how far one crawl has come with a URL.
type stage uint8

const (
	absent   stage = iota // the crawl does not know the URL
	waiting               // the URL is known and was not requested
	refused               // the URL was not requested or not stored, because the owner of the site refuses
	failing               // the URL had no answer, or an error
	missing               // the answer was 404 or 410
	redirect              // the answer was a redirect
	page
)

func (v *view) stage() stage {
	switch v.Fate {
	case frontier.Undecided:
		return absent
	case frontier.RobotsDisallowed, frontier.UseRefused:
		return refused
	case frontier.Failed, frontier.SiteDead, frontier.RobotsUnreachable:
		return failing
	case frontier.Fetched:
	default:
		return waiting
	}
	switch status := v.Status; {
	case status == http.StatusNotFound, status == http.StatusGone:
		return missing
	case status >= 400:
		return failing
	case status/100 == 3 && status != http.StatusNotModified:
		return redirect
	}
	return page
}

// asked reports whether a URL without an answer was requested itself. It was not if the crawl
// gave up the whole site before.
func (v *view) asked() bool {
	return v.Fate == frontier.Fetched || v.Fate == frontier.Failed
}

// mayBeAsked reports whether the crawl would request the URL if it were resumed.
func (v *view) mayBeAsked() bool {
	return v.Fate == frontier.Queued || v.Fate == frontier.Waiting
}

func (s stage) there() bool { return s == page || s == redirect }

// change compares the facts about a URL in both crawls, and returns the change.
func (c *comparison) change(u frontier.URL, p *pair) (*Change, error) {
	d := &Change{URL: p.url(), Site: u.Site(), Was: p.was.state(), Is: p.is.state()}
	var err error
	was, is := p.was.stage(), p.is.stage()
	switch {
	case was.there() && is.there():
		err = c.compare(d, u, p)
	case is.there():
		d.Kind = appeared(was)
	case was.there():
		d.Kind = disappeared(is)
	case was == refused && p.is.asked():
		d.Kind = Allowed
	case is == refused && p.was.asked():
		d.Kind = Refused
	case (is == failing || is == missing) && p.is.asked() && (was == absent || was == waiting):
		d.Kind = Failing
	default:
		d.Kind = Other
	}
	return d, err
}

// appeared returns the kind of a URL that has an answer without an error only in the later
// crawl. was is its stage in the earlier crawl.
func appeared(was stage) Kind {
	switch was {
	case refused:
		return Allowed
	case failing, missing:
		return Recovered
	}
	return New
}

// disappeared returns the kind of a URL that has an answer without an error only in the earlier
// crawl. is is its stage in the later crawl.
func disappeared(is stage) Kind {
	switch is {
	case absent:
		return LeftOut
	case refused:
		return Refused
	case failing:
		return Failing
	case missing:
		return Gone
	}
	return NotAsked
}

// compare compares the two answers of a URL that has an answer without an error in both crawls.
func (c *comparison) compare(d *Change, u frontier.URL, p *pair) (err error) {
	d.Kind = NotModified
	if p.is.stage() == redirect {
		if err := c.locate(u, p); err != nil {
			return err
		}
		d.Was, d.Is = p.was.state(), p.is.state()
		permanent := p.is.Status == http.StatusMovedPermanently || p.is.Status == http.StatusPermanentRedirect
		same := p.was.stage() == redirect && (p.was.Location == p.is.Location || p.was.Location == "" || p.is.Location == "")
		switch {
		case same && (p.was.Status == p.is.Status || !permanent):
		case permanent:
			d.Kind = Moved
			d.Target, err = c.target(u, p)
		default:
			d.Kind = Redirected
		}
		return err
	}
	if p.was.stage() == page && (p.was.Digest == p.is.Digest || p.is.Status == http.StatusNotModified) {
		return nil
	}
	if d.Kind = Modified; p.was.stage() != page {
		return nil
	}
	if d.Text, err = c.sameText(u, p); d.Text == TextSame {
		d.Kind = SameText
	}
	return err
}

// locate sets the targets of a URL's redirects in both crawls. If pages.jsonl does not have
// them, it reads the archive.
func (c *comparison) locate(u frontier.URL, p *pair) error {
	for _, of := range []struct {
		v *view
		s *snapshot
	}{{&p.was, c.was}, {&p.is, c.is}} {
		if of.v.stage() != redirect || of.v.Location != "" || !of.v.Archived {
			continue
		}
		resp, err := of.s.answer(u)
		if err != nil {
			return err
		}
		if resp == nil {
			continue
		}
		resp.Body.Close()
		if to, err := u.Resolve(resp.Header.Get("Location")); err == nil {
			of.v.Location = to.String()
		}
	}
	return nil
}

// target returns what the later crawl knows about the URL to which another URL redirects
// permanently.
func (c *comparison) target(u frontier.URL, p *pair) (*Target, error) {
	to, err := frontier.ParseURL(p.is.Location)
	if err != nil {
		return nil, nil
	}
	t := &Target{URL: to.String()}
	k, ok, err := c.is.state.Entry(to)
	if err != nil || !ok {
		return t, err
	}
	t.Status, t.Fate = k.Fate.Status, account.CodeOf(k.Fate)
	if p.was.stage() != page || k.Fate.Code != frontier.Fetched || k.Fate.Status/100 != 2 {
		return t, nil
	}
	if t.SameBody = p.was.Digest != "" && p.was.Digest == k.Fate.Digest; t.SameBody {
		return t, nil
	}
	is := view{fact{URL: to.String(), Archived: k.Fate.Answer != frontier.Place{}}}
	t.Text, err = c.texts(u, &p.was, to, &is)
	return t, err
}
