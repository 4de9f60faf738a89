package crawler

import (
	"fmt"
	"regexp"
)

// A job is what a crawl was asked to be: kept with it, so that a run that goes
// on can say what has changed.
type job struct {
	Identity Identity
	Settings map[string]string
}

func (c *Crawler) job() job {
	o := &c.opts
	s := map[string]string{
		"depth": fmt.Sprint(o.Depth), "limit": fmt.Sprint(o.Limit), "max-host-pages": fmt.Sprint(o.MaxHostPages),
		"max-bytes": fmt.Sprint(o.MaxBytes), "max-host-bytes": fmt.Sprint(o.MaxHostBytes), "max-host-time": fmt.Sprint(o.MaxHostTime),
		"domain-delay": fmt.Sprint(o.DomainDelay),
		"delay":        fmt.Sprint(o.Delay), "ip-delay": fmt.Sprint(o.IPDelay), "rate": fmt.Sprint(o.Rate),
		"max-size": fmt.Sprint(o.MaxSize), "timeout": fmt.Sprint(o.Timeout),
		"include": pattern(o.Include), "exclude": pattern(o.Exclude), "scope": scopeName(o.Scope),
		"robots-forbidden": fmt.Sprint(o.AllowForbidden), "allow-private": fmt.Sprint(o.AllowPrivate),
		"bandwidth": fmt.Sprint(o.Bandwidth), "header": fmt.Sprint(o.Header),
		"nofollow": fmt.Sprint(!o.FollowNoFollow), "output": fmt.Sprint(o.Output), "requisites": fmt.Sprint(o.Requisites),
	}
	return job{o.Identity, s}
}

func scopeName(s Scope) string {
	if named, ok := s.(fmt.Stringer); ok {
		return named.String()
	}
	return fmt.Sprintf("%T", s)
}

func pattern(r *regexp.Regexp) string {
	if r == nil {
		return ""
	}
	return r.String()
}

type difference struct{ name, was, is string }

// differences are the settings that are not the same in now.
func (j job) differences(now job) []difference {
	var ds []difference
	for _, name := range settingNames {
		if was, is := j.Settings[name], now.Settings[name]; was != is {
			ds = append(ds, difference{name, was, is})
		}
	}
	return ds
}

var settingNames = []string{
	"scope", "include", "exclude", "depth", "limit", "max-bytes", "max-host-pages", "max-host-bytes", "max-host-time",
	"delay", "ip-delay", "domain-delay", "rate", "bandwidth",
	"max-size", "timeout", "header", "robots-forbidden", "allow-private", "nofollow", "output", "requisites",
}
