package main

import (
	"fmt"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/spf13/pflag"
)

// parsed are the options that flags ask for, by field, as text.
func parsed(t *testing.T, args ...string) map[string]string {
	t.Helper()
	var f runFlags
	fs := pflag.NewFlagSet("run", pflag.ContinueOnError)
	f.register(fs)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	o, err := f.options()
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]string{}
	v := reflect.ValueOf(o)
	for field, value := range v.Fields() {
		switch {
		case !field.IsExported():
		case field.Name == "Proxy":
			fields[field.Name] = "none"
			if o.Proxy != nil {
				to, err := o.Proxy(&url.URL{Scheme: "http", Host: "a.test"})
				fields[field.Name] = fmt.Sprint(to, err)
			}
		default:
			fields[field.Name] = fmt.Sprint(value.Interface())
		}
	}
	return fields
}

// elsewhere are the flags that are no options of a crawl: the scripts see what
// they do.
var elsewhere = []string{"dir", "name", "contact", "progress", "json", "log-level", "fresh"}

// Each flag sets one option, and only that; crawler's tests see what that does.
// A flag that is added needs a row.
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
		{"scope", "domain", "Scope", "domain"}, {"scope", "prefix", "Scope", "prefix"}, {"scope", "list", "Scope", "list"},
		{"include", "x", "Include", "x"}, {"exclude", "x", "Exclude", "x"},
		{"exclude-from", "testdata/places.txt", "Exclude", `^http://a\.test/a|(?:/calendar/\d+$)`},
		{"max-size", "3MB", "MaxSize", "3000000"}, {"body-budget", "3MB", "BodyBudget", "3000000"}, {"timeout", "3s", "Timeout", "3s"},
		{"output", "links", "Output", "[links]"}, {"output", "none", "Output", "[]"},
		{"requisites", "page", "Requisites", "true"}, {"robots-forbidden", "allow", "AllowForbidden", "true"},
		{"dialect", "google", "Dialect", "google"}, {"alias", "oldbot", "Aliases", "[oldbot]"},
		{"allow-private", "true", "AllowPrivate", "true"}, {"connect-to", "::127.0.0.1:80", "ConnectTo", "[{  127.0.0.1 80}]"},
		{"proxy", "http://127.0.0.1:3128", "Proxy", "http://127.0.0.1:3128 <nil>"}, {"header", "X-A: b", "Header", "map[X-A:[b]]"},
		{"rescan", "true", "Rescan", "true"}, {"bandwidth", "3kB", "Bandwidth", "3000"},
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
	var f runFlags
	fs := pflag.NewFlagSet("run", pflag.ContinueOnError)
	f.register(fs)
	fs.VisitAll(each)
}

// The defaults are those that README.md says.
func TestDefaultsAreThoseOfTheReadme(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `--([a-z-]+)` \\| ([^|]*) \\|").FindAllStringSubmatch(string(readme), -1) {
		said[row[1]] = strings.Trim(row[2], "` ")
	}
	if len(said) < 12 {
		t.Fatalf("README.md says %d defaults: %v", len(said), said)
	}
	flags(func(f *pflag.Flag) {
		is := f.DefValue
		if d, err := time.ParseDuration(is); err == nil && d > 0 {
			is = strings.TrimSuffix(d.String(), "0s")
			if !strings.HasSuffix(is, "m") {
				is = d.String()
			}
		}
		if is == "0" || is == "0s" || is == "" {
			is = "none"
		}
		if want, ok := said[f.Name]; ok && is != want {
			t.Errorf("--%s is %s by default, README.md says %s", f.Name, is, want)
		}
		delete(said, f.Name)
	})
	for name := range said {
		t.Errorf("README.md names --%s, which is no flag", name)
	}
	// What the command does by default is what the library does.
	usual := parsed(t)
	for field, want := range map[string]string{
		"Delay": "1s", "IPDelay": "250ms", "Patience": "2m0s", "Timeout": "30s", "Depth": "0", "Concurrency": "64",
		"MaxHostPages": "10000", "MaxSize": fmt.Sprint(fetch.DefaultMaxSize), "BodyBudget": fmt.Sprint(crawler.DefaultBodyBudget), "Limit": "0", "Rate": "0", "AllowForbidden": "false", "AllowPrivate": "false",
	} {
		if usual[field] != want {
			t.Errorf("%s is %s by default, want %s", field, usual[field], want)
		}
	}
}
