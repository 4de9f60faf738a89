package crawler_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/internal/setting"
)

// unsaid lists the options without a setting, because only programs need them or because they have
// no text form.
var unsaid = []string{"OnlyFollowed", "Identity", "Seeds", "Dir", "State", "Network", "Shared", "OptOut", "Site", "RootCAs", "Signing", "Links", "Rewrite", "OnStart", "OnError", "OnVisit", "OnSkip", "MaxBody", "Logger"}

// settingOf returns the setting of o with the given name.
func settingOf(t *testing.T, o *crawler.Options, name string) setting.Setting {
	t.Helper()
	all := o.Settings()
	i := slices.IndexFunc(all, func(s setting.Setting) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("no setting is named %s", name)
	}
	return all[i]
}

// sample returns a text for s that is not the default.
func sample(s setting.Setting) string {
	switch of := s.Type(); of {
	case "number":
		return "7"
	case "duration":
		return "7s"
	case "size":
		return "7kB"
	case "regexp", "token":
		return "seven"
	case "policy":
		return "fixed:7d"
	case "directory":
		return "seven.crawl"
	case "field":
		return "X-Seven: 7"
	case "names":
		return "links"
	case "rules":
		return "index"
	case "HOST1:PORT1:HOST2:PORT2":
		return "a.example::[2001:db8::7]:7"
	case "URL|env":
		return "http://proxy.example:7"
	default:
		words := strings.Split(of, "|")
		return words[slices.IndexFunc(words, func(w string) bool { return w != s.String() })]
	}
}

// shown returns the exported fields of o as texts, by name.
func shown(o *crawler.Options) map[string]string {
	fields := map[string]string{}
	for _, f := range optionFields() {
		v := reflect.ValueOf(o).Elem().FieldByIndex(f.Index)
		switch {
		case !f.IsExported():
		case f.Type.Kind() == reflect.Func:
			fields[f.Name] = fmt.Sprint(!v.IsNil())
		default:
			fields[f.Name] = fmt.Sprint(v.Interface())
		}
	}
	return fields
}

// Each option with a text form has one setting, which sets only that option. A new option needs a
// row in the table, or an entry in unsaid.
func TestEachOptionIsASetting(t *testing.T) {
	usual := shown(new(crawler.Options))
	fields, names := slices.Clone(unsaid), map[string]bool{}
	for _, row := range new(crawler.Options).Settings() {
		if names[row.Name] || row.Field == "" || row.Group == "" || row.Help == "" || row.Larger == "" || row.Resume == "" || row.Type() == "text" {
			t.Errorf("--%s is listed twice, or is not complete: %+v", row.Name, row)
		}
		names[row.Name] = true
		fields = append(fields, row.Field)
		var o crawler.Options
		s := settingOf(t, &o, row.Name)
		if err := s.Set(sample(s)); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
		if s.String() == row.String() {
			t.Errorf("%s is %s, as without %s", s.Name, s, sample(s))
		}
		for field, is := range shown(&o) {
			if (is != usual[field]) != (field == s.Field) {
				t.Errorf("%s %s: %s is %s, was %s", s.Name, sample(s), field, is, usual[field])
			}
		}
	}
	for _, f := range optionFields() {
		if n := len(slices.DeleteFunc(slices.Clone(fields), func(name string) bool { return name != f.Name })); f.IsExported() && n != 1 {
			t.Errorf("Options.%s is set by %d settings, want 1", f.Name, n)
		}
	}
}

// Set with the result of String gives the same value, unless the value hides a secret. The default
// can be set, too.
func TestSettingsSetTheirOwnText(t *testing.T) {
	for _, row := range new(crawler.Options).Settings() {
		if row.Name == "header" {
			continue
		}
		for _, text := range []string{row.String(), sample(row)} {
			if row.Name == "alias" && text == "" || row.Name == "connect-to" && text == "" || row.Name == "lift" && text == "" {
				continue // for a list, Set with an empty text adds nothing
			}
			var o, again crawler.Options
			s, copied := settingOf(t, &o, row.Name), settingOf(t, &again, row.Name)
			if err := s.Set(text); err != nil {
				t.Errorf("%s %q: %v", s.Name, text, err)
			}
			if text == row.String() && s.String() != text {
				t.Errorf("the default of %s is printed as %s, want %s", s.Name, s, text)
			}
			o.Identity, o.Seeds, o.Dir = testIdentity, []string{"http://a.example/"}, "a.crawl"
			if _, err := crawler.New(o); err != nil {
				t.Errorf("%s %q: %v", s.Name, text, err)
			}
			o.Identity, o.Seeds, o.Dir = crawler.Identity{}, nil, ""
			if err := copied.Set(s.String()); err != nil || copied.String() != s.String() {
				t.Errorf("%s %q is printed as %s, and that as %s (%v)", s.Name, text, s, copied, err)
			}
			if !reflect.DeepEqual(shown(&o), shown(&again)) {
				t.Errorf("%s %s sets something else than %s", s.Name, s, text)
			}
		}
	}
}

// The defaults in the comments of Options are the defaults of a crawl.
func TestDefaultsAreThoseOfTheComments(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "options.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		if field, ok := n.(*ast.Field); ok && len(field.Names) > 0 {
			comment := strings.Join(strings.Fields(field.Doc.Text()+" "+field.Comment.Text()), " ")
			if m := regexp.MustCompile(`; 0: ([^,;.]+)`).FindStringSubmatch(comment); m != nil && said[field.Names[0].Name] == "" {
				said[field.Names[0].Name] = strings.NewReplacer(" min", "m", "no limit", "none", " ", "").Replace(m[1])
			}
		}
		return true
	})
	for _, s := range new(crawler.Options).Settings() {
		switch s.Type() {
		case "number", "duration", "size":
			if is := setting.InWords(s.String()); said[s.Field] != is {
				t.Errorf("%s is %s by default, its comment says %q", s.Field, is, said[s.Field])
			}
		}
	}
}

// Values are printed in the form in which people write them.
func TestHowSettingsArePrinted(t *testing.T) {
	for _, env := range []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"} {
		t.Setenv(env, "")
	}
	t.Setenv("HTTPS_PROXY", "me:secret@proxy.example:8")
	for _, row := range []struct {
		name string
		set  []string
		want string
	}{
		{"delay", nil, "1s"}, {"ip-delay", nil, "250ms"}, {"patience", nil, "2m"}, {"timeout", nil, "30s"}, {"domain-delay", nil, "0"},
		{"depth", nil, "0"}, {"concurrency", nil, "64"}, {"max-host-pages", nil, "10000"}, {"max-size", nil, "16MiB"}, {"body-budget", nil, "24MiB"},
		{"max-archive", nil, "1GiB"}, {"rate", nil, "0"}, {"scope", nil, "host"}, {"exclude", nil, ""}, {"output", nil, "warc,jsonl"},
		{"allow-private", nil, "no"}, {"dialect", nil, "rfc9309"}, {"proxy", nil, ""}, {"header", nil, ""}, {"nofollow", nil, "obey"},
		{"delay", []string{"0"}, "0"}, {"delay", []string{"90m"}, "1h30m"}, {"delay", []string{"120m"}, "2h"}, {"delay", []string{"10m"}, "10m"}, {"delay", []string{"1m5s"}, "1m5s"},
		{"depth", []string{"1"}, "1"}, {"max-size", []string{"1"}, "1B"}, {"delay", []string{"1ns"}, "1ns"}, {"rate", []string{"1"}, "1"}, {"max-size", []string{"1024GiB"}, "1024GiB"},
		{"max-host-pages", []string{"0"}, "0"}, {"depth", []string{"0x10"}, "16"}, {"rate", []string{"0.25"}, "0.25"},
		{"max-size", []string{"1024 KiB"}, "1MiB"}, {"max-size", []string{"1536"}, "1536B"}, {"max-size", []string{"3000kB"}, "3MB"}, {"bandwidth", []string{"0"}, "0"},
		{"scope", []string{"any"}, "any"}, {"dialect", []string{"Google"}, "google"}, {"allow-private", []string{"true"}, "yes"}, {"allow-private", []string{"yes", "0"}, "no"},
		{"exclude", []string{"x", ""}, ""}, {"output", []string{"none"}, "none"}, {"output", []string{""}, "none"}, {"output", []string{"links", "warc,jsonl"}, "links,warc,jsonl"},
		{"same", nil, ""}, {"same", []string{"tracking", "index"}, "index,tracking"}, {"same", []string{"tracking,index", ""}, "index,tracking"},
		{"alias", []string{"a", "b"}, "a b"}, {"connect-to", []string{"::127.0.0.1:80", "[2001:db8::1]:443:X.example:"}, "::127.0.0.1:80 [2001:db8::1]:443:X.example:"},
		{"header", []string{"Cookies: secret", "X-A: b", "X-A: c"}, "Cookies#06ac66 X-A#94be45"},
		{"proxy", []string{"socks5://me:secret@proxy.example:1080"}, "socks5://proxy.example:1080"}, {"proxy", []string{"http://p:1", ""}, ""},
		{"proxy", []string{"env"}, "env: none http://proxy.example:8"},
	} {
		var o crawler.Options
		s := settingOf(t, &o, row.name)
		for _, text := range row.set {
			if err := s.Set(text); err != nil {
				t.Errorf("%s %q: %v", row.name, text, err)
			}
		}
		if got := s.String(); got != row.want {
			t.Errorf("%s %q is printed as %q, want %q", row.name, row.set, got, row.want)
		}
	}
	o := crawler.Options{Wire: crawler.Wire{Proxy: func(*url.URL) (*url.URL, error) { return nil, nil }}, Scope: crawler.ScopeFunc(nil)}
	if proxy, scope := settingOf(t, &o, "proxy").String(), settingOf(t, &o, "scope").String(); proxy != "a function" || scope != "crawler.ScopeFunc" {
		t.Errorf("functions are printed as %q and %q", proxy, scope)
	}
}

// An invalid value is refused with a hint, and changes nothing.
func TestSettingsRefuse(t *testing.T) {
	t.Setenv("HTTP_PROXY", "")
	t.Setenv("HTTPS_PROXY", "")
	t.Setenv("http_proxy", "")
	t.Setenv("https_proxy", "gopher://me:secret@p")
	for _, row := range []struct{ name, text, want string }{
		{"delay", "10", "10 has no unit: write 10s for seconds, or 10m for minutes"},
		{"delay", "ten", `"ten" is no duration: write it as 500ms, 10s or 1h30m`},
		{"delay", "-1s", "-1s is out of range: the least value is 0"},
		{"timeout", "1us", "1us is out of range: the least value is 1ms"},
		{"concurrency", "0", "0 is out of range: the least value is 1"},
		{"limit", "many", `"many" is no whole number`},
		{"limit", "99999999999999999999", "99999999999999999999 is out of range"},
		{"rate", "fast", `"fast" is no number`},
		{"rate", "NaN", "NaN is out of range: 0 to 1e9"},
		{"rate", "1e400", "1e400 is out of range: 0 to 1e9"},
		{"max-size", "0", "0 is out of range: the least value is 1B"},
		{"max-size", "1TB", `"1TB" is no size: write it as 500kB, 16MiB or 1GB`},
		{"max-size", "-1", `"-1" is no size: write it as 500kB, 16MiB or 1GB`},
		{"max-bytes", "9999999GB", `"9999999GB" is no size: write it as 500kB, 16MiB or 1GB`},
		{"scope", "planet", `"planet" is not one of list, prefix, host, domain, any`},
		{"requisites", "true", `"true" is not one of none, page`},
		{"allow-private", "perhaps", `"perhaps" is not one of no, yes`},
		{"include", "(", "error parsing regexp: missing closing ): `(`"},
		{"same", "index,csv", `"csv" is not one of index, query-order, tracking`},
		{"output", "csv", `"csv" is not one of warc, jsonl, bodies, links, none`},
		{"output", "warc,none", "none goes with nothing else"},
		{"output", "none,warc", "none goes with nothing else"},
		{"header", "nonsense", `the header field "nonsense" has no colon: write it as "Name: value"`},
		{"connect-to", "a:b:c:d", `"a:b:c:d": port "b" is not a number from 1 to 65535`},
		{"proxy", "gopher://p", `"gopher" is no scheme of a proxy: write http, https or socks5, as in http://HOST:PORT; or env`},
		{"proxy", "env", `HTTPS_PROXY: "gopher" is no scheme of a proxy: write http, https or socks5, as in http://HOST:PORT`},
	} {
		var o crawler.Options
		err := settingOf(t, &o, row.name).Set(row.text)
		if err == nil || err.Error() != row.want {
			t.Errorf("%s %s: %v, want %s", row.name, row.text, err, row.want)
		}
		if !reflect.DeepEqual(shown(&o), shown(new(crawler.Options))) {
			t.Errorf("%s %s changes the options", row.name, row.text)
		}
	}
	var o crawler.Options
	s := settingOf(t, &o, "output")
	for _, names := range [][2]string{{"none", "warc"}, {"warc", "none"}} {
		o.Output = nil
		if err := s.Set(names[0]); err != nil {
			t.Error(err)
		}
		if err := s.Set(names[1]); err == nil {
			t.Errorf("output %q: %v", names, o.Output)
		}
	}
}

// A value that leads to fewer requests is tighter. No limit and no pause are the widest values.
func TestSettingsCompare(t *testing.T) {
	for _, row := range []struct {
		name string
		from []string // from the tightest to the widest
	}{
		{"delay", []string{"1h", "1s", "999ms", "0"}}, {"ip-delay", []string{"1s", "0"}}, {"domain-delay", []string{"9s", "1s", "0"}},
		{"concurrency", []string{"1", "2", "64"}}, {"rate", []string{"0.5", "1", "0"}}, {"bandwidth", []string{"1023B", "1KiB", "1MB", "0"}},
		{"limit", []string{"1", "2", "0"}}, {"max-bytes", []string{"1", "2", "0"}}, {"max-time", []string{"1s", "1m", "0"}},
		{"max-host-pages", []string{"1", "10000", "0"}}, {"max-host-bytes", []string{"1", "2", "0"}}, {"max-host-time", []string{"1s", "1m", "0"}},
		{"max-size", []string{"1MB", "1MiB"}}, {"depth", []string{"1", "2", "0"}},
		{"scope", []string{"list", "prefix", "host", "domain", "any"}}, {"include", []string{"x", ""}}, {"exclude", []string{"x", ""}},
		{"requisites", []string{"none", "page"}}, {"nofollow", []string{"obey", "ignore"}}, {"robots-forbidden", []string{"deny", "allow"}},
		{"allow-private", []string{"no", "yes"}},
	} {
		s := settingOf(t, new(crawler.Options), row.name)
		for i, was := range row.from {
			for j, is := range row.from {
				want := setting.Other
				if j < i {
					want = setting.Tighter
				} else if j > i {
					want = setting.Wider
				}
				if got := s.Compare(was, is); got != want {
					t.Errorf("%s: %s -> %s is %s, want %s", s.Name, was, is, got, want)
				}
			}
		}
	}
	for _, row := range [][3]string{
		{"scope", "main.Mine", "any"}, {"scope", "host", "main.Mine"}, {"exclude", "x", "y"}, {"timeout", "1s", "2s"}, {"patience", "1s", "0"},
		{"dialect", "rfc9309", "google"}, {"proxy", "", "http://p"}, {"output", "none", "warc"}, {"delay", "unknown", "1s"},
	} {
		if got := settingOf(t, new(crawler.Options), row[0]).Compare(row[1], row[2]); got != setting.Other {
			t.Errorf("%s: %s -> %s is %s", row[0], row[1], row[2], got)
		}
	}
}

// A value of a type that the package does not know is compared as text, and is neither tighter nor
// wider.
func TestASettingOfAnotherKind(t *testing.T) {
	fs := flag.NewFlagSet("crawl", flag.ContinueOnError)
	fs.String("mine", "x", "")
	s := setting.Setting{Name: "mine", Larger: setting.Wider, Value: fs.Lookup("mine").Value}
	if s.Type() != "text" || s.IsBoolFlag() || s.Compare("1", "2") != setting.Other || s.String() != "x" || (setting.Setting{}).String() != "" {
		t.Errorf("%s of type %s", s, s.Type())
	}
	for value, want := range map[string]string{"": "none", "0": "none", "0.0": "none", "1": "1", "-1": "-1", "x": "x", "0s": "0s", "NaN": "NaN"} {
		if got := setting.InWords(value); got != want {
			t.Errorf("%q in words: %q", value, got)
		}
	}
}

// A program can also make flags of settings, with package flag.
func TestSettingsAreFlags(t *testing.T) {
	var o crawler.Options
	fs := flag.NewFlagSet("crawl", flag.ContinueOnError)
	var help strings.Builder
	fs.SetOutput(&help)
	for _, s := range o.Settings() {
		fs.Var(s, s.Name, s.Help)
	}
	if fs.PrintDefaults(); !strings.Contains(help.String(), "-delay") || strings.Contains(help.String(), "panic") {
		t.Errorf("the help: %s", help.String())
	}
	if err := fs.Parse([]string{"-delay", "3s", "-allow-private", "-alias", "a", "-alias", "b", "http://a.example/"}); err != nil {
		t.Fatal(err)
	}
	if o.Delay != 3*time.Second || !o.AllowPrivate || !slices.Equal(o.Aliases, []string{"a", "b"}) || fs.NArg() != 1 {
		t.Errorf("%v %v %v %v", o.Delay, o.AllowPrivate, o.Aliases, fs.Args())
	}
}

// A resumed run reports each changed setting, and whether the new value is tighter or wider. It
// hides secrets, and writes the change to crawl.log. A default that is set explicitly is not a
// change.
func TestRunsReportChangedSettings(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", "x")
		type options = crawler.Options
		for i, run := range []struct {
			change func(*options)
			want   string
		}{
			{func(*options) {}, ""},
			{func(o *options) {
				o.Delay, o.BodyBudget, o.MaxHostPages, o.Scope = time.Second, 24<<20, crawler.DefaultHostPages, crawler.SameHost()
			}, ""},
			{func(o *options) {
				o.BodyBudget, o.Delay, o.Limit, o.MaxHostPages, o.AllowPrivate = 1<<20, 3*time.Second, 9, -1, true
				o.ConnectTo = []fetch.ConnectTo{{Host: "b.example", ToHost: "c.example", ToPort: "80"}}
				o.Scope = crawler.Anywhere()
				if err := settingOf(t, o, "proxy").Set("http://me:secret@p.example:1"); err != nil {
					t.Error(err)
				}
				o.ConnectTo = append(o.ConnectTo, fetch.ConnectTo{Host: "a.example"}) // a.example is not requested through the proxy
			}, `scope: host -> any (wider); delay: 1s -> 3s (tighter); limit: none -> 9 (tighter); max-host-pages: 10000 -> none (wider); ` +
				`body-budget: 24MiB -> 1MiB (other); allow-private: no -> yes (wider); connect-to: none -> b.example::c.example:80 a.example::: (other); ` +
				`proxy: none -> http://p.example:1 (other)`},
			{func(o *options) { o.Exclude = regexp.MustCompile("x") }, `scope: any -> host (tighter); exclude: none -> x (tighter); delay: 3s -> 1s (wider); ` +
				`limit: 9 -> none (wider); max-host-pages: none -> 10000 (tighter); body-budget: 1MiB -> 24MiB (other); allow-private: yes -> no (tighter); ` +
				`connect-to: b.example::c.example:80 a.example::: -> none (other); proxy: http://p.example:1 -> none (other)`},
			{func(o *options) { o.Rescan, o.Exclude = true, regexp.MustCompile("x") }, ""},
		} {
			var said []string
			crawl(t, w, func(o *options) {
				o.Dir = dir
				o.OnStart = func(s crawler.Start) {
					for _, c := range s.Changes {
						said = append(said, fmt.Sprintf("%s (%s)", c, c.Way))
						if sorts := c.Setting == "scope" || c.Setting == "exclude"; (c.Effect == setting.SortsURLs) != sorts {
							t.Errorf("%s: %s", c, c.Effect)
						}
					}
				}
				run.change(o)
			}, "http://a.example/")
			if got := strings.Join(said, "; "); got != run.want {
				t.Errorf("run %d: %s\nwant %s", i, got, run.want)
			}
		}
	})
	var told []string
	for _, l := range logLines(t, dir) {
		if l.URL == crawllog.RunURL {
			told = append(told, l.Annotations...)
		}
	}
	for _, want := range []string{"changed:body-budget:24MiB->1MiB", "changed:proxy:none->http://p.example:1", "changed:connect-to:none->b.example::c.example:80%20a.example:::"} {
		if !slices.Contains(told, want) {
			t.Errorf("crawl.log says %q, want %s", told, want)
		}
	}
}

// Each number has a least value, and a value of its field that means none.
func TestTheLeastOfEachNumber(t *testing.T) {
	type row struct{ least, below, held string }
	none, never := row{"0", "-1", "0"}, row{"0", "-1ns", "0s"}
	rows := map[string]row{
		"depth": none, "limit": none, "rate": none, "bandwidth": none, "max-bytes": none, "max-host-bytes": none,
		"domain-delay": never, "max-time": never, "max-host-time": never,
		"delay": {"0", "-1ns", "-1ns"}, "ip-delay": {"0", "-1ns", "-1ns"}, "patience": {"0", "-1ns", "-1ns"}, "max-host-pages": {"0", "-1", "-1"},
		"concurrency": {"1", "0", "1"}, "timeout": {"1ms", "999999ns", "1ms"}, "max-size": {"1", "0", "1"}, "body-budget": {"1", "0", "1"}, "max-archive": {"1", "0", "1"},
	}
	for _, s := range new(crawler.Options).Settings() {
		switch s.Type() {
		case "number", "duration", "size":
		default:
			continue
		}
		want, ok := rows[s.Name]
		if !ok {
			t.Errorf("%s has no row", s.Name)
		}
		var o crawler.Options
		if err := settingOf(t, &o, s.Name).Set(want.below); err == nil {
			t.Errorf("%s may be %s", s.Name, want.below)
		}
		if err := settingOf(t, &o, s.Name).Set(want.least); err != nil || shown(&o)[s.Field] != want.held {
			t.Errorf("%s %s: %s (%v), want %s", s.Name, want.least, shown(&o)[s.Field], err, want.held)
		}
	}
}

// Set parses numbers exactly.
func TestNumbersAreReadExactly(t *testing.T) {
	for _, row := range []struct {
		name, text, want string // want is empty if the text is refused
	}{
		{"max-bytes", "1GiB", "1073741824"}, {"max-bytes", "1GB", "1000000000"}, {"max-bytes", "1MiB", "1048576"}, {"max-bytes", "1MB", "1000000"},
		{"max-bytes", "1KiB", "1024"}, {"max-bytes", "1kB", "1000"}, {"max-bytes", "1KB", "1000"}, {"max-bytes", "1B", "1"}, {"max-bytes", "1", "1"},
		{"max-bytes", "1125899906842624", "1125899906842624"}, {"max-bytes", "1125899906842625", ""}, {"max-bytes", "1048576GiB", "1125899906842624"},
		{"max-bytes", "1048577GiB", ""}, {"max-bytes", "9223372036854775808", ""}, {"max-bytes", "0x10", ""}, {"max-bytes", "19", "19"}, {"max-bytes", "a", ""},
		{"limit", "010", "8"}, {"limit", "0b11", "3"}, {"limit", "9223372036854775807", "9223372036854775807"}, {"limit", "9223372036854775808", ""},
		{"rate", "1e9", "1e+09"}, {"rate", "1000000001", ""}, {"rate", "-0.1", ""}, {"rate", "0.1", "0.1"}, {"rate", "0.30000000000000004", "0.30000000000000004"},
		{"delay", "1ns", "1ns"}, {"delay", "1h2m3s", "1h2m3s"},
	} {
		var o crawler.Options
		s := settingOf(t, &o, row.name)
		err := s.Set(row.text)
		if got := shown(&o)[s.Field]; (err == nil) != (row.want != "") || err == nil && got != row.want {
			t.Errorf("%s %s: %s (%v), want %s", row.name, row.text, got, err, row.want)
		}
	}
	for text, want := range map[string]string{
		"9": "9 has no unit", "19": "19 has no unit", "4294967295": "4294967295 has no unit", "4294967296": `"4294967296" is no duration`, "a": `"a" is no duration`,
	} {
		if err := settingOf(t, new(crawler.Options), "delay").Set(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("delay %s: %v, want %s", text, err, want)
		}
	}
}
