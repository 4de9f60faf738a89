package crawler

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/permesso-crawler/permesso/crawler/revisit"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/internal/same"
	"github.com/permesso-crawler/permesso/robots"
)

// A choice is the value of a setting that is one of a few words. It reads and writes the option
// *to.
type choice[T any] struct {
	to    *T
	words []string // if the words are ordered, the first allows the fewest requests
	of    func(word string) T
	word  func(T) string
	flag  bool // the command line flag may be given without a value
}

func (c choice[T]) Type() string { return strings.Join(c.words, "|") }

func (c choice[T]) Choices() []string { return c.words }

func (c choice[T]) IsBoolFlag() bool { return c.flag }

func (c choice[T]) String() string { return c.word(*c.to) }

func (c choice[T]) Set(text string) error {
	n, err := c.Measure(text)
	if err == nil {
		*c.to = c.of(c.words[int(n)])
	}
	return err
}

// Measure returns the index of text in words. Upper and lower case are equal.
func (c choice[T]) Measure(text string) (float64, error) {
	if yes, err := strconv.ParseBool(text); c.flag && err == nil {
		text = c.words[0]
		if yes {
			text = c.words[1]
		}
	}
	i := slices.IndexFunc(c.words, func(w string) bool { return strings.EqualFold(w, text) })
	if i < 0 {
		return 0, fmt.Errorf("%q is not one of %s", text, strings.Join(c.words, ", "))
	}
	return float64(i), nil
}

// either is a choice of two words for a bool: no for false and yes for true.
func either(to *bool, no, yes string) choice[bool] {
	return choice[bool]{to: to, words: []string{no, yes},
		of: func(word string) bool { return word == yes },
		word: func(b bool) string {
			if b {
				return yes
			}
			return no
		}}
}

func yesNo(to *bool) choice[bool] {
	c := either(to, "no", "yes")
	c.flag = true
	return c
}

func sitemaps(to *Sitemaps) choice[Sitemaps] {
	return choice[Sitemaps]{to: to, words: []string{"also", string(SitemapsOnly), string(SitemapsNone)},
		of: func(word string) Sitemaps {
			if word == "also" {
				return SitemapsAlso
			}
			return Sitemaps(word)
		},
		word: func(s Sitemaps) string { return cmp.Or(string(s), "also") }}
}

func scopes(to *Scope) choice[Scope] {
	known := map[string]func() Scope{"list": SeedsOnly, "prefix": SamePrefix, "host": SameHost, "domain": SameDomain, "any": Anywhere}
	return choice[Scope]{to: to, words: []string{"list", "prefix", "host", "domain", "any"},
		of: func(word string) Scope { return known[word]() }, word: scopeName}
}

func dialects(to *robots.Dialect) choice[robots.Dialect] {
	c := choice[robots.Dialect]{to: to, word: robots.Dialect.String}
	for _, d := range []robots.Dialect{robots.RFC9309, robots.Google, robots.Koster1996} {
		c.words = append(c.words, d.String())
	}
	c.of = func(word string) robots.Dialect { return robots.Dialect(slices.Index(c.words, word)) }
	return c
}

// purposes is a choice of purposes. The word "none" means that no purpose is declared.
func purposes(to *robots.Purpose) choice[robots.Purpose] {
	c := choice[robots.Purpose]{to: to, words: []string{"none"}}
	for _, p := range robots.Purposes() {
		c.words = append(c.words, string(p))
	}
	c.of = func(word string) robots.Purpose {
		if word == "none" {
			return ""
		}
		return robots.Purpose(word)
	}
	c.word = func(p robots.Purpose) string { return cmp.Or(string(p), "none") }
	return c
}

// A pattern is the value of a setting that is a regular expression. The empty text means no
// expression.
type pattern struct{ to **regexp.Regexp }

func (pattern) Type() string { return "regexp" }

func (p pattern) String() string {
	if *p.to == nil {
		return ""
	}
	return (*p.to).String()
}

func (p pattern) Set(text string) (err error) {
	var r *regexp.Regexp
	if text != "" {
		r, err = regexp.Compile(text)
	}
	if err == nil {
		*p.to = r
	}
	return err
}

// Measure returns +Inf for the empty text and 0 for an expression. So any expression counts as
// narrower than none, and two expressions are not compared.
func (p pattern) Measure(text string) (float64, error) {
	if text == "" {
		return math.Inf(1), nil
	}
	return 0, nil
}

type aliases struct{ to *[]string }

func (aliases) IsList() bool { return true }

func (aliases) Type() string { return "token" }

func (a aliases) String() string { return strings.Join(*a.to, " ") }

func (a aliases) Set(text string) error {
	*a.to = append(slices.Clip(*a.to), text)
	return nil
}

// hosts is the value of a setting that is a list of sites and hosts, or the word all.
type hosts struct{ to *[]string }

func (hosts) IsList() bool { return true }

func (hosts) Type() string { return "site|host|all" }

func (h hosts) String() string { return strings.Join(*h.to, " ") }

func (h hosts) Set(text string) error {
	o := Options{Pace: Pace{Lift: []string{text}}}
	var wrong *OptionError
	if errors.As(o.checkLift(), &wrong) {
		return errors.New(wrong.Reason)
	}
	*h.to = append(slices.Clip(*h.to), text)
	return nil
}

// directory is the value of a setting that is the path of a directory. The empty text means no
// directory.
type directory struct{ to *string }

func (directory) Type() string { return "directory" }

func (d directory) String() string { return *d.to }

func (d directory) Set(text string) error {
	*d.to = text
	return nil
}

// outputs is the value of a setting that is a list of outputs, separated by commas. An empty slice
// means no output, and a nil slice means the default outputs.
type outputs struct{ to *[]Output }

func (outputs) IsList() bool { return true }

func (outputs) Type() string { return "names" }

func (outputs) Choices() []string {
	return append(strings.Split(join(outputNames, "|"), "|"), noOutput)
}

func (o outputs) String() string {
	out := *o.to
	if out == nil {
		out = usualOutputs
	}
	if len(out) == 0 {
		return noOutput
	}
	return join(out, ",")
}

func (o outputs) Set(text string) error {
	names := strings.Split(text, ",")
	out := append([]Output{}, *o.to...)
	none := *o.to != nil && len(out) == 0
	for _, n := range names {
		switch {
		case none || n == noOutput && (len(names) > 1 || len(out) > 0):
			return errors.New("none goes with nothing else")
		case n == noOutput || text == "":
		case slices.Contains(outputNames, Output(n)):
			out = append(out, Output(n))
		default:
			return fmt.Errorf("%q is not one of %s, none", n, join(outputNames, ", "))
		}
	}
	*o.to = out
	return nil
}

func join[T ~string](names []T, by string) string {
	words := make([]string, len(names))
	for i, n := range names {
		words[i] = string(n)
	}
	return strings.Join(words, by)
}

// fields is the value of a setting that is a list of header fields. String returns the names and a
// short hash of the values. It does not return the values, which may be secrets.
type fields struct{ to *http.Header }

func (fields) IsList() bool { return true }

func (fields) Type() string { return "field" }

func (f fields) String() string {
	var names []string
	for name, values := range *f.to {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s%q", name, values))
		names = append(names, fmt.Sprintf("%s#%x", name, sum[:3]))
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func (f fields) Set(text string) error {
	h, err := fetch.ParseHeader([]string{text})
	if err != nil {
		return err
	}
	for name, values := range *f.to {
		h[name] = append(slices.Clip(values), h[name]...)
	}
	*f.to = h
	return nil
}

type detours struct{ to *[]fetch.ConnectTo }

func (detours) IsList() bool { return true }

func (detours) Type() string { return "HOST1:PORT1:HOST2:PORT2" }

func (d detours) String() string {
	all := make([]string, len(*d.to))
	for i, c := range *d.to {
		all[i] = c.String()
	}
	return strings.Join(all, " ")
}

func (d detours) Set(text string) error {
	c, err := fetch.ParseConnectTo(text)
	if err == nil {
		*d.to = append(slices.Clip(*d.to), c)
	}
	return err
}

// A proxy is the value of the setting for Options.Proxy. That is a function, which has no text
// form. So Set stores a text for it in Options.proxyName.
type proxy struct{ of *Options }

// fromEnvironment is the text for the proxies that the environment variables HTTP_PROXY,
// HTTPS_PROXY and NO_PROXY name.
const fromEnvironment = "env"

func (proxy) Type() string { return "URL|" + fromEnvironment }

func (p proxy) String() string {
	switch {
	case p.of.Proxy == nil:
		return ""
	case p.of.proxyName == "":
		return "a function"
	}
	return p.of.proxyName
}

func (p proxy) Set(text string) (err error) {
	var f fetch.ProxyFunc
	var name string
	switch text {
	case "":
	case fromEnvironment:
		if f, err = fetch.EnvironmentProxy(); err == nil {
			name = fromEnvironment + ": " + chosen(f)
		}
	default:
		if f, err = fetch.ParseProxy(text); err == nil {
			name = chosen(f)
		} else {
			err = fmt.Errorf("%w; or %s", err, fromEnvironment)
		}
	}
	if err == nil {
		p.of.Proxy, p.of.proxyName = f, name
	}
	return err
}

// chosen returns the proxies that f uses for http and for https, without user names and passwords.
func chosen(f fetch.ProxyFunc) string {
	var names []string
	for _, scheme := range []string{"http", "https"} {
		name := "none"
		if u, err := f(&url.URL{Scheme: scheme, Host: "example.org"}); err == nil && u != nil {
			name = (&url.URL{Scheme: u.Scheme, Host: u.Host}).String()
		}
		names = append(names, name)
	}
	return strings.Join(slices.Compact(names), " ")
}

// policy is the value of the setting for Options.Revisit, a text in the form of revisit.Parse.
type policy struct{ of *Options }

func (policy) Type() string { return "policy" }

func (p policy) String() string {
	if p.of.Revisit != nil && p.of.again == "" {
		return "a function"
	}
	return p.of.again
}

func (p policy) Set(text string) (err error) {
	p.of.Revisit, p.of.again = nil, ""
	if text == "" || text == "none" {
		return nil
	}
	if p.of.Revisit, err = revisit.Parse(text); err == nil {
		p.of.again = text
	}
	return err
}

// sameness is the value of the setting for Options.Same: names of rules for equivalent URLs,
// separated by commas.
type sameness struct{ of *Options }

func (sameness) Type() string { return "rules" }

func (sameness) Choices() []string { return same.Names() }

func (s sameness) String() string {
	switch {
	case s.of.Same == nil:
		return ""
	case s.of.sameNames == nil:
		return "a function"
	}
	return strings.Join(s.of.sameNames, ",")
}

func (s sameness) Set(text string) error {
	wanted := slices.Clone(s.of.sameNames)
	if text != "" {
		wanted = append(wanted, strings.Split(text, ",")...)
	}
	rule, names, err := same.ByNames(wanted)
	if err == nil {
		s.of.Same, s.of.sameNames = rule, names
	}
	return err
}

// lifts reports whether Options.Lift revokes an order of an earlier run. An order for all sites is
// revoked only by LiftAll.
func (o *Options) lifts(was Order) bool {
	return slices.ContainsFunc(o.Lift, func(of string) bool {
		name, err := parseTarget(of)
		return of == LiftAll || err == nil && name != "" && name == was.Of
	})
}

// checkLift returns an *OptionError for an entry of Options.Lift that is neither a site, nor a
// host, nor LiftAll.
func (o *Options) checkLift() error {
	for _, of := range o.Lift {
		var wrong *OptionError
		if _, err := parseTarget(of); of != LiftAll && errors.As(err, &wrong) {
			return &OptionError{Field: "Lift", Reason: wrong.Reason, Err: err}
		}
		if strings.TrimSpace(of) == "" {
			return &OptionError{Field: "Lift", Reason: "is empty: name a site, a host, or " + LiftAll}
		}
	}
	return nil
}

// LiftAll in Options.Lift revokes all orders.
const LiftAll = "all"
