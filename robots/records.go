package robots

import "strings"

// maxSitemaps is the largest number of values that Sitemaps returns.
const maxSitemaps = 10000

// Sitemaps returns the values of the Sitemap lines, in file order and without repetitions, at most
// 10,000. Sitemap lines belong to no group (Google's documentation of robots.txt) and may have
// URLs of other hosts. A relative value is resolved if the file was parsed with ParseFor, and is
// otherwise returned as it is.
func (f *File) Sitemaps() []string {
	values := f.values(sitemapLine, maxSitemaps)
	if f.site == "" {
		return values
	}
	for i, v := range values {
		if strings.Contains(v, "://") {
			continue
		}
		switch {
		case strings.HasPrefix(v, "//"):
			scheme, _, _ := strings.Cut(f.site, "//")
			values[i] = scheme + v
		default:
			values[i] = f.site + strings.TrimLeft(v, "/")
		}
	}
	return values
}

// hosts returns the values of the Host lines. Such a line names the preferred host of a site with
// several mirrors. Host lines are not part of RFC 9309.
func (f *File) hosts() []string { return f.values(hostLine, maxSitemaps) }

// licenses returns the values of the License lines (RSL 1.0) of all groups. Group.Signals returns
// only the values that concern one crawler.
func (f *File) licenses() []string { return f.values(licenseLine, maxSitemaps) }

// cleanParam is a Clean-param line. It lists query parameters that do not change the content of a
// page.
type cleanParam struct {
	Params []string
	Path   string // beginning of the paths to which the line applies; "/" by default
}

// cleanParams returns the Clean-param lines, for example "ref&sid /forum/". Clean-param lines
// are not part of RFC 9309.
func (f *File) cleanParams() []cleanParam {
	var list []cleanParam
	for _, v := range f.values(cleanParamLine, maxSitemaps) {
		params, path, _ := strings.Cut(v, " ")
		c := cleanParam{Path: trim(path)}
		if c.Path == "" {
			c.Path = "/"
		}
		for p := range strings.SplitSeq(params, "&") {
			if p != "" {
				c.Params = append(c.Params, p)
			}
		}
		if len(c.Params) > 0 {
			list = append(list, c)
		}
	}
	return list
}

// noindex returns the values of the group's Noindex lines. They are patterns of paths that the
// owner does not want in an index. Noindex lines do not change a verdict.
func (g *Group) noindex() []string {
	var list []string
	for _, i := range g.others {
		if e := &g.file.entries[i]; e.kind == noindexLine && e.start < e.end {
			list = append(list, g.file.value(e))
		}
	}
	return list
}

func (f *File) values(k kind, limit int) []string {
	var list []string
	var seen map[string]bool
	for i := range f.entries {
		e := &f.entries[i]
		if e.kind != k {
			continue
		}
		if seen == nil {
			seen = map[string]bool{}
		}
		if v := f.value(e); v != "" && !seen[v] && len(list) < limit {
			seen[v] = true
			list = append(list, v)
		}
	}
	return list
}
