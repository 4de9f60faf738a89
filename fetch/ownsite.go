package fetch

import (
	"fmt"
	"net/http"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// SiteOptions are the settings of one site. The zero value changes nothing.
type SiteOptions struct {
	AllowForbidden bool        // like Policy.AllowForbidden, for this site's robots.txt
	Header         http.Header // further header fields; they replace fields with the same name in Options.Header. See CheckHeader
}

// settings are the policy and the header fields for the requests to a site. They are immutable.
type settings struct {
	policy      robots.Policy
	page, rules http.Header
}

// settingsOf returns the settings of site. It returns the error of Options.Site, or an error
// that says which header field is refused.
func (f *Fetcher) settingsOf(site frontier.Site) (*settings, error) {
	if f.opts.Site == nil {
		return f.usual, nil
	}
	o, err := f.opts.Site(site)
	if err != nil {
		return nil, err
	}
	if len(o.Header) == 0 && !o.AllowForbidden {
		return f.usual, nil
	}
	if err := CheckHeader(o.Header, true); err != nil {
		return nil, fmt.Errorf("fetch: SiteOptions.Header of %s: %w", site, err)
	}
	s := *f.usual
	s.policy.AllowForbidden = s.policy.AllowForbidden || o.AllowForbidden
	s.page, s.rules = f.headers(f.opts.Header, o.Header)
	return &s, nil
}

// headers returns the headers of requests for pages and for robots.txt, including the fields in
// further. Later fields replace earlier ones with the same name. An Accept field in further is
// used for pages only.
func (f *Fetcher) headers(further ...http.Header) (page, rules http.Header) {
	page, rules = f.plainHeader.Clone(), f.plainHeader.Clone()
	page.Set("Accept", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8")
	for _, h := range []http.Header{page, rules} {
		for _, fields := range further {
			for name, values := range fields {
				h[http.CanonicalHeaderKey(name)] = values
			}
		}
		h.Set("Accept-Encoding", acceptEncoding)
	}
	rules.Set("Accept", "text/plain,*/*;q=0.8")
	return page, rules
}

// settle sets the settings of the site, if they are not set yet. It is called before the first
// request to the site.
func (h *host) settle() (err error) {
	if h.settings == nil {
		h.settings, err = h.fetcher.settingsOf(h.site)
	}
	return err
}
