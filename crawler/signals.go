package crawler

import (
	"github.com/permesso-crawler/permesso/robots"
)

// Signals are what was said about the use of the page: by the robots.txt that
// allowed it, by its header, and by its meta elements. They are statements of the
// owner and no permissions of a law: what is not stated is unknown.
func (p *Page) Signals() robots.Signals {
	if p.signalled {
		return p.signals
	}
	if p.rules != nil {
		if p.signals = p.rules.Signals(p.URL.Target()); !p.signals.IsZero() {
			p.signals.Copied = p.copied
		}
	}
	a := robots.Answer{
		Token: p.token, Time: p.Exchange.Started, Type: p.Type, Header: p.Header,
		Meta: p.html.Directives, TDM: p.html.TDM,
	}
	if own := a.Signals(); !own.IsZero() {
		p.signals = p.signals.Merge(own)
	}
	p.signalled = true
	return p.signals
}
