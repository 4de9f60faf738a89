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
	"time"

	"github.com/permesso-crawler/permesso/crawler/revisit"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// An amount is a number of Options, whose zero value stands for the usual one.
// Text says 0 for none, which the field says by a negative number where 0 is
// taken.
type amount[T ~int | ~int64 | ~float64] struct {
	to    *T
	usual T
	least T // 0: there may be none
	notation[T]
}

// A notation is how numbers are written.
type notation[T any] struct {
	name  string
	parse func(string) (T, error)
	tell  func(T) string
}

var (
	numbers   = notation[int]{"number", parseNumber, strconv.Itoa}
	fractions = notation[float64]{"number", parseFraction, func(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }}
	spans     = notation[time.Duration]{"duration", parseSpan, tellSpan}
	waits     = notation[time.Duration]{"duration", parseWait, tellWait}
	sizes     = notation[int64]{"size", parseSize, tellSize}
)

func count(to *int, usual, least int) amount[int] { return amount[int]{to, usual, least, numbers} }

func span(to *time.Duration, usual, least time.Duration) amount[time.Duration] {
	return amount[time.Duration]{to, usual, least, spans}
}

// wait is a span that may be without an end.
func wait(to *time.Duration, usual time.Duration) amount[time.Duration] {
	return amount[time.Duration]{to, usual, 0, waits}
}

func size(to *int64, usual, least int64) amount[int64] { return amount[int64]{to, usual, least, sizes} }

func (a amount[T]) Type() string { return a.name }

func (a amount[T]) String() string {
	n := *a.to
	if n == 0 {
		n = a.usual
	}
	if n <= 0 {
		return "0"
	}
	return a.tell(n)
}

func (a amount[T]) Set(text string) error {
	n, err := a.read(text)
	if err != nil {
		return err
	}
	if n == 0 && a.usual != 0 {
		n = -1
	}
	*a.to = n
	return nil
}

func (a amount[T]) read(text string) (T, error) {
	n, err := a.parse(text)
	if err == nil && n < a.least {
		least := "0"
		if a.least > 0 {
			least = a.tell(a.least)
		}
		err = fmt.Errorf("%s is out of range: the least value is %s", text, least)
	}
	return n, err
}

func (a amount[T]) measure(text string) (float64, error) {
	n, err := a.read(text)
	if n == 0 {
		return math.Inf(1), err
	}
	return float64(n), err
}

// fill puts the usual number in the place of 0, and reports whether the field
// makes sense.
func (a amount[T]) fill() bool {
	if *a.to == 0 {
		*a.to = a.usual
	}
	return !(*a.to < 0) || a.usual != 0 && a.least == 0
}

func parseNumber(text string) (int, error) {
	n, err := strconv.ParseInt(text, 0, strconv.IntSize)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%s is out of range", text)
	case err != nil:
		return 0, fmt.Errorf("%q is no whole number", text)
	}
	return int(n), nil
}

func parseFraction(text string) (float64, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("%q is no number", text)
	}
	if f >= 0 && f <= 1e9 {
		return f, nil
	}
	return 0, fmt.Errorf("%s is out of range: 0 to 1e9", text)
}

func parseSpan(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err == nil {
		return d, nil
	}
	if _, err := strconv.ParseUint(text, 10, 32); err == nil {
		return 0, fmt.Errorf("%s has no unit: write %ss for seconds, or %sm for minutes", text, text, text)
	}
	return 0, fmt.Errorf("%q is no duration: write it as 500ms, 10s or 1h30m", text)
}

// tellSpan leaves out the seconds and minutes that are none.
func tellSpan(d time.Duration) string {
	text := d.String()
	if short, ok := strings.CutSuffix(text, "m0s"); ok {
		text = short + "m"
	}
	if short, ok := strings.CutSuffix(text, "h0m"); ok {
		text = short + "h"
	}
	return text
}

const forever = "forever"

func parseWait(text string) (time.Duration, error) {
	if text == forever {
		return frontier.Forever, nil
	}
	return parseSpan(text)
}

func tellWait(d time.Duration) string {
	if d == frontier.Forever {
		return forever
	}
	return tellSpan(d)
}

type unit struct {
	name  string
	bytes int64
}

// units are those of sizes, the larger first of those that a number of bytes is
// told by.
var units = []unit{
	{"GiB", 1 << 30}, {"GB", 1e9}, {"MiB", 1 << 20}, {"MB", 1e6}, {"KiB", 1 << 10}, {"kB", 1e3}, {"KB", 1e3}, {"B", 1}, {"", 1},
}

// parseSize reads a number of bytes with an optional unit.
func parseSize(text string) (int64, error) {
	for _, u := range units {
		digits, ok := strings.CutSuffix(text, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if err != nil || n < 0 || n > (1<<50)/u.bytes {
			break
		}
		return n * u.bytes, nil
	}
	return 0, fmt.Errorf("%q is no size: write it as 500kB, 16MiB or 1GB", text)
}

func tellSize(n int64) string {
	whole := slices.IndexFunc(units, func(u unit) bool { return n%u.bytes == 0 })
	return strconv.FormatInt(n/units[whole].bytes, 10) + units[whole].name
}

// A choice is one of a few words.
type choice[T any] struct {
	to    *T
	words []string // the narrowest first, if they have an order
	of    func(word string) T
	word  func(T) string
	flag  bool // may stand without a value
}

func (c choice[T]) Type() string { return strings.Join(c.words, "|") }

func (c choice[T]) Choices() []string { return c.words }

func (c choice[T]) IsBoolFlag() bool { return c.flag }

func (c choice[T]) String() string { return c.word(*c.to) }

func (c choice[T]) Set(text string) error {
	n, err := c.measure(text)
	if err == nil {
		*c.to = c.of(c.words[int(n)])
	}
	return err
}

// measure is the place of a word.
func (c choice[T]) measure(text string) (float64, error) {
	if yes, err := strconv.ParseBool(text); c.flag && err == nil {
		text = c.words[0]
		if yes {
			text = c.words[1]
		}
	}
	i := slices.IndexFunc(c.words, func(w string) bool { return strings.EqualFold(w, text) })
	if i < 0 {
		return 0, fmt.Errorf("%q is none of %s", text, strings.Join(c.words, ", "))
	}
	return float64(i), nil
}

// either is a choice of two.
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

func scopeName(s Scope) string {
	if s == nil {
		s = SameHost()
	}
	if named, ok := s.(fmt.Stringer); ok {
		return named.String()
	}
	return fmt.Sprintf("%T", s)
}

func dialects(to *robots.Dialect) choice[robots.Dialect] {
	c := choice[robots.Dialect]{to: to, word: robots.Dialect.String}
	for _, d := range []robots.Dialect{robots.RFC9309, robots.Google, robots.Koster1996} {
		c.words = append(c.words, d.String())
	}
	c.of = func(word string) robots.Dialect { return robots.Dialect(slices.Index(c.words, word)) }
	return c
}

// purposes has "none" for a purpose that is not declared.
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

// A pattern is a regular expression; empty is none.
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

// measure knows of two expressions nothing but that each lets less through than
// none.
func (p pattern) measure(text string) (float64, error) {
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

// hosts are sites, hosts, or all.
type hosts struct{ to *[]string }

func (hosts) IsList() bool { return true }

func (hosts) Type() string { return "site|host|all" }

func (h hosts) String() string { return strings.Join(*h.to, " ") }

func (h hosts) Set(text string) error {
	o := Options{Lift: []string{text}}
	var wrong *OptionError
	if errors.As(o.checkLift(), &wrong) {
		return errors.New(wrong.Reason)
	}
	*h.to = append(slices.Clip(*h.to), text)
	return nil
}

// directory is the path of one; empty: none.
type directory struct{ to *string }

func (directory) Type() string { return "directory" }

func (d directory) String() string { return *d.to }

func (d directory) Set(text string) error {
	*d.to = text
	return nil
}

// outputs are names with commas between them. None at all is none of them, where
// nil has the usual ones.
type outputs struct{ to *[]Output }

var (
	outputNames  = []Output{OutputWARC, OutputPages, OutputBodies, OutputLinks}
	usualOutputs = []Output{OutputWARC, OutputPages}
)

const noOutput = "none"

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
			return fmt.Errorf("%q is none of %s, none", n, join(outputNames, ", "))
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

// fields are those of a header. What is told of them are their names, and a few
// digits that change with the values: these may be secrets.
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

// A proxy is a function in Options, of which nothing can be told: what was Set is
// kept beside it.
type proxy struct{ of *Options }

// fromEnvironment stands for what the environment says.
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

// chosen are the proxies of the schemes, without what is secret.
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

// policy is one of revisit.Parse.
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

// sameness is what makes two URLs one page: names with commas between them.
type sameness struct{ of *Options }

// A sameRule is one that has a name.
type sameRule struct {
	name string
	rule func(frontier.URL) frontier.URL
}

var sameRules = []sameRule{{"index", StripIndex}, {"query-order", SortQuery}, {"tracking", StripTracking}}

func (sameness) Type() string { return "rules" }

func (sameness) Choices() []string { return sameRuleNames() }

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
	for _, name := range strings.Split(text, ",") {
		if !slices.ContainsFunc(sameRules, func(r sameRule) bool { return r.name == name }) && text != "" {
			return fmt.Errorf("%q is none of %s", name, strings.Join(sameRuleNames(), ", "))
		}
		wanted = append(wanted, name)
	}
	var names []string // in one order, so that it can be compared
	var rules []func(frontier.URL) frontier.URL
	for _, r := range sameRules {
		if slices.Contains(wanted, r.name) {
			names, rules = append(names, r.name), append(rules, r.rule)
		}
	}
	if s.of.Same, s.of.sameNames = nil, names; rules != nil {
		s.of.Same = Together(rules...)
	}
	return nil
}

func sameRuleNames() (names []string) {
	for _, r := range sameRules {
		names = append(names, r.name)
	}
	return names
}
