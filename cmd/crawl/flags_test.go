package main

import (
	"bytes"
	"flag"
	"fmt"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/settings"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/setting"
	"github.com/spf13/pflag"
)

// parsed returns the options that flags set, by field, as text.
func parsed(t *testing.T, args ...string) map[string]string {
	t.Helper()
	f := settings.Usual()
	fs := pflag.NewFlagSet("run", pflag.ContinueOnError)
	f.Register(fs)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	o, err := f.Options()
	if err != nil {
		t.Fatal(err)
	}
	return asText(o)
}

// asText returns the fields of o as text.
func asText(o crawler.Options) map[string]string {
	fields := map[string]string{}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[crawler.Options]()) {
		if field.Anonymous { // a group: its fields follow
			continue
		}
		value := reflect.ValueOf(o).FieldByIndex(field.Index)
		switch {
		case !field.IsExported():
		case field.Name == "Proxy":
			fields[field.Name] = "none"
			if o.Proxy != nil {
				to, err := o.Proxy(&url.URL{Scheme: "http", Host: "a.test"})
				fields[field.Name] = fmt.Sprint(to, err)
			}
		case field.Name == "Same":
			fields[field.Name] = "none"
			if u, err := frontier.ParseURL("http://a.test/x/index.html?utm_source=x&b&a"); err == nil && o.Same != nil {
				fields[field.Name] = o.Same(u).Target()
			}
		case value.Kind() == reflect.Slice && value.IsNil():
			fields[field.Name] = "usual"
		default:
			fields[field.Name] = fmt.Sprint(value.Interface())
		}
	}
	return fields
}

// elsewhere are the flags that are not options of a crawl: the scripts test them.
var elsewhere = []string{"dir", "column", "name", "contact", "progress", "json", "log-level", "log-file", "metrics", "on-end", "fresh", "job", "dry-run", "series", "due", "provenance", "sign-key", "sign-requests", "signature-agent", "state"}

// Each flag sets one option, and only that; the tests of crawler check its effect. A new
// flag needs a row.
func TestEachFlagReachesItsOption(t *testing.T) {
	usual := parsed(t)
	rows := map[string]bool{}
	for _, row := range []struct{ flag, value, field, want string }{
		{"delay", "3s", "Delay", "3s"}, {"delay", "0", "Delay", fmt.Sprint(time.Duration(crawler.NoDelay))},
		{"ip-delay", "3s", "IPDelay", "3s"}, {"ip-delay", "0", "IPDelay", "-1ns"},
		{"domain-delay", "3s", "DomainDelay", "3s"}, {"concurrency", "3", "Concurrency", "3"}, {"limit", "3", "Limit", "3"},
		{"max-bytes", "3kB", "MaxBytes", "3000"}, {"max-time", "3s", "MaxTime", "3s"},
		{"max-host-pages", "3", "MaxHostPages", "3"}, {"max-host-pages", "0", "MaxHostPages", "-1"},
		{"max-host-bytes", "3kB", "MaxHostBytes", "3000"}, {"max-host-time", "3s", "MaxHostTime", "3s"},
		{"patience", "3s", "Patience", "3s"}, {"patience", "0", "Patience", "-1ns"}, {"rate", "3", "Rate", "3"}, {"depth", "3", "Depth", "3"},
		{"scope", "domain", "Scope", "domain"}, {"scope", "prefix", "Scope", "prefix"}, {"scope", "list", "Scope", "list"}, {"scope", "any", "Scope", "any"},
		{"include", "x", "Include", "x"}, {"exclude", "x", "Exclude", "x"},
		{"exclude-from", "testdata/places.txt", "Exclude", `^http://a\.test/a|(?:/calendar/\d+$)`},
		{"max-size", "3MB", "MaxSize", "3000000"}, {"body-budget", "3MB", "BodyBudget", "3000000"}, {"timeout", "3s", "Timeout", "3s"},
		{"output", "links", "Output", "[links]"}, {"output", "none", "Output", "[]"},
		{"sitemaps", "only", "Sitemaps", "only"}, {"sitemaps", "none", "Sitemaps", "none"}, {"traps", "follow", "FollowTraps", "true"}, {"forms", "true", "Forms", "true"},
		{"same", "index,tracking", "Same", "/x/?b&a"}, {"same", "query-order", "Same", "/x/index.html?a&b&utm_source=x"}, {"clean-param", "true", "CleanParam", "true"},
		{"revisit", "fixed:7d", "Revisit", "{168h0m0s}"}, {"patience", "forever", "Patience", "2562047h47m16.854775807s"},
		{"previous", "a.crawl", "Previous", "a.crawl"}, {"text-digest", "true", "TextDigest", "true"},
		{"requisites", "page", "Requisites", "true"}, {"robots-forbidden", "allow", "AllowForbidden", "true"},
		{"dialect", "google", "Dialect", "google"}, {"alias", "oldbot", "Aliases", "[oldbot]"}, {"lift", "a.test", "Lift", "[a.test]"},
		{"allow-private", "true", "AllowPrivate", "true"}, {"connect-to", "::127.0.0.1:80", "ConnectTo", "[::127.0.0.1:80]"},
		{"proxy", "http://127.0.0.1:3128", "Proxy", "http://127.0.0.1:3128 <nil>"}, {"header", "X-A: b", "Header", "map[X-A:[b]]"},
		{"rescan", "true", "Rescan", "true"}, {"purpose", "ai-train", "Purpose", "ai-train"}, {"bandwidth", "3kB", "Bandwidth", "3000"},
	} {
		rows[row.flag] = true
		got := parsed(t, "--"+row.flag+"="+row.value)
		if got[row.field] != row.want || usual[row.field] == row.want {
			t.Errorf("--%s %s: %s is %s, want %s; %s without it", row.flag, row.value, row.field, got[row.field], row.want, usual[row.field])
		}
		for field := range got {
			if field != row.field && got[field] != usual[field] {
				t.Errorf("--%s %s changes %s, too: %s", row.flag, row.value, field, got[field])
			}
		}
	}
	for _, name := range elsewhere {
		rows[name] = true
	}
	flags(func(f *pflag.Flag) {
		if !rows[f.Name] {
			t.Errorf("--%s has no row: what does it do?", f.Name)
		}
	})
}

func flags(each func(*pflag.Flag)) {
	fs := pflag.NewFlagSet("run", pflag.ContinueOnError)
	settings.Usual().Register(fs)
	fs.VisitAll(each)
}

// Without flags the options are those of a program that sets none.
func TestDefaultsAreThoseOfTheLibrary(t *testing.T) {
	zero := asText(crawler.Options{})
	for field, is := range parsed(t) {
		if is != zero[field] {
			t.Errorf("%s is %s without a flag, want %s", field, is, zero[field])
		}
	}
}

// Flags, examples and documents are made from tables.
var rewrite = flag.Bool("rewrite", false, "write what the tables say into the documents")

// same compares a file with its expected text, or writes it with -rewrite.
func same(t *testing.T, name, want string) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(name)
	if err != nil || string(got) != want {
		t.Errorf("%s does not say what the program does (%v): go test ./cmd/crawl -run '%s' -rewrite, and read the difference\n%s", name, err, t.Name(), want)
	}
}

// Each setting of the command has all that the documents need.
func TestSettingsAreComplete(t *testing.T) {
	names := map[string]bool{}
	for _, s := range settings.Usual().All() {
		if names[s.Name] || !slices.Contains(settings.Groups, s.Group) || s.Help == "" || s.Larger == "" || s.Resume == "" || s.Type() == "" || s.CodeOnly {
			t.Errorf("--%s is there twice, or is not complete: %+v", s.Name, s)
		}
		names[s.Name] = true
	}
}

// The help is the first text that users read: it is kept in a file to be reviewed.
func TestSettingsStandInTheHelp(t *testing.T) {
	var out bytes.Buffer
	if code := run([]string{"run", "--delay", "9s", "--help"}, nil, &out, &out); code != 0 {
		t.Fatalf("exit %d", code)
	}
	same(t, "testdata/help.txt", out.String())
	for n, line := range strings.Split(out.String(), "\n") {
		if utf8.RuneCountInString(line) > 80 {
			t.Errorf("line %d is wider than a terminal: %s", n+1, line)
		}
	}
}

// A setting that only programs can set is not printed as a flag.
func TestChangesAreSaidAsFlags(t *testing.T) {
	for want, c := range map[string]crawler.Change{
		"--depth: 1 -> 2 (wider)":            {Setting: "depth", Was: "1", Is: "2", Way: setting.Wider},
		"--dialect: rfc9309 -> google":       {Setting: "dialect", Was: "rfc9309", Is: "google", Way: setting.Other},
		"nofollow: ignore -> obey (tighter)": {Setting: "nofollow", Was: "ignore", Is: "obey", Way: setting.Tighter},
	} {
		if got := change(c); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// The examples of the help are valid.
func TestExamplesOfTheHelpAreUnderstood(t *testing.T) {
	cmd := (&program{}).runCommand()
	examples := regexp.MustCompile(`(?m)^  crawl run (.*)$`).FindAllStringSubmatch(cmd.Example, -1)
	if len(examples) < 5 {
		t.Errorf("%d examples", len(examples))
	}
	for _, e := range examples {
		fs := pflag.NewFlagSet("run", pflag.ContinueOnError)
		settings.Usual().Register(fs)
		if err := fs.Parse(strings.Fields(e[1])); err != nil || fs.NArg() != 1 && !fs.Changed("job") {
			t.Errorf("%s: %v, arguments %q", e[0], err, fs.Args())
		}
	}
}

func TestSettingsStandInTheDocuments(t *testing.T) {
	same(t, "../../docs/reference/settings.md", settingsPage())
}

// cell escapes a text for a cell of a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", "\\|") }

// settingsPage returns the text of docs/reference/settings.md.
func settingsPage() string {
	var b strings.Builder
	b.WriteString(`# Settings

Each is a flag of ` + "`crawl run`" + `, and most are a field of ` + "`crawler.Options`" + `, which a
program sets itself or by text (` + "`Options.Settings`" + `). A duration is written as 500ms,
10s or 1h30m; a size as 500kB, 16MiB or 1GB, or as a number of bytes. 0 means no limit or no
pause, except for ` + "`--concurrency`, `--timeout`, `--max-size` and `--body-budget`" + `,
which always have one.

A *tighter* value demands less of sites. If a run has other settings than the last one, the
changes are printed at its start, marked as tighter or wider, and recorded in
` + "`crawl.log`" + ` ([outputs](outputs.md#crawllog)).

This page is made from the table of settings in crawler/settings.go and
cmd/crawl/internal/settings/settings.go: ` + "`go test ./cmd/crawl -run Settings -rewrite`" + `.
`)
	var effects []setting.Effect
	by := map[setting.Effect][]string{}
	var group setting.Group
	for _, s := range settings.Usual().All() {
		if s.Group != group {
			group = s.Group
			fmt.Fprintf(&b, "\n## %s\n\n| flag | value | default | | tighter | `crawler.Options` |\n|---|---|---|---|---|---|\n", group)
		}
		field := ""
		if s.Field != "" {
			field = "`" + s.Field + "`"
		}
		row := fmt.Sprintf("| `--%s` | %s | %s | %s | %s | %s |\n", s.Name, valueOf(s), setting.InWords(s.String()), cell(s.Help), tighter(s), field)
		b.WriteString(strings.ReplaceAll(row, "|  ", "| "))
		if !slices.Contains(effects, s.Resume) {
			effects = append(effects, s.Resume)
		}
		by[s.Resume] = append(by[s.Resume], "`--"+s.Name+"`")
	}
	b.WriteString("\n## Another value than in the last run\n\n| what it does | flags |\n|---|---|\n")
	for _, e := range effects {
		fmt.Fprintf(&b, "| %s | %s |\n", e, strings.Join(by[e], " "))
	}
	return b.String()
}

// valueOf returns the values of a setting.
func valueOf(s setting.Setting) string {
	of := s.Type()
	switch {
	case s.Unit != "" && of == "number":
		of += " of " + s.Unit
	case strings.HasSuffix(s.Unit, "/s"):
		of += " per second"
	}
	return strings.ReplaceAll(of, "|", ", ")
}

// tighter returns which values of a setting mean fewer requests to sites.
func tighter(s setting.Setting) string {
	first, _, choice := strings.Cut(s.Type(), "|")
	switch {
	case s.Larger == setting.Other:
		return ""
	case choice:
		return first
	case s.Type() == "regexp":
		return "any"
	case s.Larger == setting.Tighter:
		return "more"
	}
	return "less"
}
