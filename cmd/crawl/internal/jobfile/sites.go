package jobfile

import (
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/guess"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/settings"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/setting"
	"go.yaml.in/yaml/v3"
)

// siteSettings are the settings that a single site may have.
var siteSettings = []string{
	"delay", "max-host-pages", "max-host-bytes", "max-host-time", "include", "exclude", "robots-forbidden", "header",
}

// Keys of a site that are not settings.
const (
	keyExcluded = "excluded" // the site is not contacted
	keyReason   = "reason"
)

// jobSites are the settings of single sites in a job file, and the places of these sites
// in the file.
type jobSites struct {
	table map[string]crawler.SiteOptions
	at    map[string]*yaml.Node
}

// readSites reads the settings of single sites, by host or site.
func (j *File) readSites(n *yaml.Node) {
	j.sites = jobSites{map[string]crawler.SiteOptions{}, map[string]*yaml.Node{}}
	j.mapping(n, keySites, func(key, value *yaml.Node) {
		j.sites.table[key.Value], j.sites.at[key.Value] = j.site(value), key
	})
}

// site reads the settings of one site.
func (j *File) site(n *yaml.Node) (s crawler.SiteOptions) {
	var own crawler.Options // receives the values; the settings have the same names as those of a whole crawl
	given := map[string]bool{}
	j.mapping(n, "a site", func(key, value *yaml.Node) {
		given[key.Value] = true
		switch {
		case key.Value == keyReason:
			j.assign(setting.Setting{Name: keyReason, Value: settings.Text(&s.Reason)}, value)
		case key.Value == keyExcluded:
			j.assign(setting.Setting{Name: keyExcluded, Value: settings.YesNo(&s.Exclude)}, value)
		case slices.Contains(siteSettings, key.Value):
			all := own.Settings()
			j.assign(all[slices.IndexFunc(all, func(s setting.Setting) bool { return s.Name == key.Value })], value)
		default:
			known := append([]string{keyExcluded, keyReason}, siteSettings...)
			j.wrong(key, "a site has no setting %q: %sit may have %s", key.Value, guess.DidYouMean(key.Value, known), strings.Join(known, ", "))
		}
	})
	s.Delay, s.AllowForbidden, s.Header = max(0, own.Delay), own.AllowForbidden, own.Header
	s.MaxPages = own.MaxHostPages // a negative number means no limit
	s.MaxBytes = unlimited(own.MaxHostBytes, given["max-host-bytes"])
	s.MaxTime = unlimited(own.MaxHostTime, given["max-host-time"])
	s.Scope = within(own.Include, own.Exclude)
	return s
}

// unlimited returns n. If 0 was given, it returns -1, which means no limit, because 0 in
// a SiteOptions means the limit of other sites.
func unlimited[T ~int64](n T, given bool) T {
	if given && n == 0 {
		return -1
	}
	return n
}

// within returns the scope of the URLs that match include and do not match exclude. If
// both are nil, it returns nil, which means all URLs.
func within(include, exclude *regexp.Regexp) crawler.Scope {
	if include == nil && exclude == nil {
		return nil
	}
	return crawler.ScopeFunc(func(e frontier.Entry) bool {
		u := e.URL.String()
		return (include == nil || include.MatchString(u)) && (exclude == nil || !exclude.MatchString(u))
	})
}

// Settle sets the settings of single sites, from the job file, in o. All other options in o
// must be set before.
func (j *File) Settle(o *crawler.Options) {
	if len(j.sites.table) == 0 {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(j.sites.table)) {
		var wrong *crawler.OptionError
		if errors.As(o.CheckSite(j.sites.table[key]), &wrong) {
			j.wrong(j.sites.at[key], "%s: %s", key, siteReason(wrong))
		}
	}
	site, err := crawler.SitesByHost(j.sites.table)
	var wrong *crawler.OptionError
	if errors.As(err, &wrong) {
		j.wrong(j.sites.at[wrong.Site], "%s %s", wrong.Site, wrong.Reason)
	}
	o.Site = site
}

// siteReason returns what is wrong with an option of a site, in the words of a job file.
func siteReason(wrong *crawler.OptionError) string {
	if wrong.Field == "Site.Header" {
		return "header: " + wrong.Reason
	}
	return wrong.Reason + `, as in "reason: the owner's mail of 3 May"`
}
