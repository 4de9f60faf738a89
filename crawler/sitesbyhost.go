package crawler

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/places"
)

// SitesByHost returns a function for Options.Site that looks up sites in a table. A key of the
// table is a host or a site. A host, such as example.org, includes all hosts below it, and
// every scheme and port. A site, such as http://localhost:8080, includes only itself. For a
// site only one key applies: the key of the site itself if there is one, otherwise the longest
// host name that includes it. Sites without a key have no settings of their own. The function
// is safe for concurrent use if the scopes in the table are. The table may be changed after
// SitesByHost has returned.
//
// The error is an *OptionError for a key that is neither a host nor a site, or that means the
// same as another key; OptionError.Site is the key as written. The options in the table are not
// checked here. Options.CheckSite checks them, and so does each crawl.
func SitesByHost(table map[string]SiteOptions) (func(frontier.Site) SiteOptions, error) {
	hosts, sites := map[string]SiteOptions{}, map[frontier.Site]SiteOptions{}
	written := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(table)) {
		host, site, err := siteKey(key)
		if err != nil {
			return nil, err
		}
		name := host + string(site)
		if other, twice := written[name]; twice {
			return nil, &OptionError{Field: "Site", Site: key, Reason: fmt.Sprintf("names what %q does, too: take one of them out", other)}
		}
		if written[name] = key; host != "" {
			hosts[host] = table[key]
		} else {
			sites[site] = table[key]
		}
	}
	return func(site frontier.Site) SiteOptions {
		if o, ok := sites[site]; ok {
			return o
		}
		for name := site.Host(); name != ""; {
			if o, ok := hosts[name]; ok {
				return o
			}
			_, name, _ = strings.Cut(name, ".")
		}
		return SiteOptions{}
	}, nil
}

// siteKey parses a key: a host, or one site.
func siteKey(key string) (host string, site frontier.Site, err error) {
	if !strings.Contains(key, "://") {
		if host = places.Host(key); host == "" {
			return "", "", &OptionError{Field: "Site", Site: key, Reason: "is neither a host, as example.org, which includes all hosts below it and all ports, nor a site, as http://localhost:8080"}
		}
		return host, "", nil
	}
	u, err := frontier.ParseURL(key)
	switch {
	case err != nil:
		return "", "", &OptionError{Field: "Site", Site: key, Reason: err.Error(), Err: err}
	case u.Target() != "/":
		return "", "", &OptionError{Field: "Site", Site: key, Reason: fmt.Sprintf("is a page: write the site alone, as %s", u.Site())}
	}
	return "", u.Site(), nil
}
