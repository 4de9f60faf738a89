package crawler

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// A job is what a crawl was asked to be: kept with it, so that a run that goes
// on can say what has changed.
type job struct {
	Identity Identity
	Settings map[string]string
}

// A Start says how a run begins.
type Start struct {
	Resumed  bool     // an earlier run had begun the crawl
	Changes  []Change // settings that are not those of the last run
	Requeued int      // URLs that a narrower scope had put aside and that are queued again
}

// A Change is a setting that is not the same as in the last run.
type Change struct{ Setting, Was, Is string }

func (c Change) String() string { return fmt.Sprintf("%s: %s -> %s", c.Setting, c.Was, c.Is) }

// begun tells of the start of a run.
func (c *Crawler) begun(s Start) error {
	for _, d := range s.Changes {
		c.opts.Logger.Info("resumed with another setting", "setting", d.Setting, "was", d.Was, "is", d.Is)
	}
	if c.opts.OnStart == nil {
		return nil
	}
	return safely("OnStart", func() { c.opts.OnStart(s) })
}

type setting struct{ name, value string }

// settings are what a crawl may go on with otherwise, by name.
func (o *Options) settings() []setting {
	return []setting{
		{"scope", scopeName(o.Scope)}, {"include", pattern(o.Include)}, {"exclude", pattern(o.Exclude)},
		{"depth", number(o.Depth)}, {"limit", number(o.Limit)}, {"max-bytes", number(o.MaxBytes)}, {"max-time", number(o.MaxTime)},
		{"max-host-pages", number(o.MaxHostPages)}, {"max-host-bytes", number(o.MaxHostBytes)}, {"max-host-time", number(o.MaxHostTime)},
		{"delay", fmt.Sprint(o.Delay)}, {"ip-delay", fmt.Sprint(o.IPDelay)}, {"domain-delay", number(o.DomainDelay)},
		{"rate", fmt.Sprint(o.Rate)}, {"bandwidth", number(o.Bandwidth)}, {"concurrency", fmt.Sprint(o.Concurrency)},
		{"patience", o.patience().String()}, {"max-size", fmt.Sprint(o.MaxSize)}, {"timeout", fmt.Sprint(o.Timeout)},
		{"dialect", o.Dialect.String()}, {"alias", aliasNames(o.Aliases)},
		{"header", fieldNames(o.Header)}, {"robots-forbidden", yesNo(o.AllowForbidden)}, {"allow-private", yesNo(o.AllowPrivate)},
		{"nofollow", yesNo(!o.FollowNoFollow)}, {"requisites", yesNo(o.Requisites)}, {"output", outputNames(o.Output)},
	}
}

func (c *Crawler) job() job {
	j := job{c.opts.Identity, map[string]string{}}
	for _, s := range c.opts.settings() {
		j.Settings[s.name] = s.value
	}
	return j
}

// changes are the settings that are not the same in now.
func (j job) changes(o *Options) (all []Change) {
	for _, s := range o.settings() {
		if was := j.Settings[s.name]; was != s.value {
			all = append(all, Change{s.name, was, s.value})
		}
	}
	return all
}

func scopeName(s Scope) string {
	if named, ok := s.(fmt.Stringer); ok {
		return named.String()
	}
	return fmt.Sprintf("%T", s)
}

func pattern(r *regexp.Regexp) string {
	if r == nil {
		return "none"
	}
	return r.String()
}

// number is a bound.
func number[T ~int | ~int64](n T) string {
	if n <= 0 {
		return "none"
	}
	return fmt.Sprint(n)
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func aliasNames(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, " ")
}

func outputNames(out []Output) string {
	names := make([]string, len(out))
	for i, o := range out {
		names[i] = string(o)
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, " ")
}

// fieldNames are the names of header fields, and a few digits that change with
// the values: these may be secrets.
func fieldNames(h http.Header) string {
	var names []string
	for name, values := range h {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s%q", name, values))
		names = append(names, fmt.Sprintf("%s#%x", name, sum[:3]))
	}
	if len(names) == 0 {
		return "none"
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}
