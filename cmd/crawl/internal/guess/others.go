package guess

import (
	"slices"
	"strings"
)

// others has the names that curl, wget, Scrapy, Heritrix and others have for a flag or a setting,
// and the name that it has here.
var others = map[string][]string{
	"bandwidth":      {"limit-rate"},
	"concurrency":    {"concurrent-requests", "jobs", "parallel", "threads", "workers"},
	"contact":        {"email", "from", "operator-contact-url"},
	"delay":          {"crawl-delay", "download-delay", "wait"},
	"depth":          {"depth-limit", "level", "max-depth", "max-hops"},
	"dir":            {"directory-prefix", "out", "output-dir", "output-directory"},
	"exclude":        {"reject", "reject-regex"},
	"include":        {"accept", "accept-regex"},
	"limit":          {"max-documents", "max-pages", "max-requests", "max-urls", "page-limit", "pages"},
	"max-bytes":      {"quota"},
	"max-host-pages": {"max-pages-per-domain", "max-pages-per-host", "max-pages-per-site"},
	"max-size":       {"max-body-size", "max-filesize"},
	"name":           {"agent", "user-agent", "useragent"},
	"requisites":     {"page-requisites"},
	"scope":          {"allowed-domains", "domains", "span-hosts"},
}

// fromOthers returns the known name of what other programs call name, or "" if it has no known name.
// Both have the same dashes before them.
func fromOthers(name string, known []string) string {
	word := strings.ReplaceAll(strings.TrimLeft(name, "-"), "_", "-")
	dashes := strings.Repeat("-", len(name)-len(strings.TrimLeft(name, "-")))
	for ours, theirs := range others {
		if slices.Contains(theirs, word) && slices.Contains(known, dashes+ours) {
			return dashes + ours
		}
	}
	return ""
}
