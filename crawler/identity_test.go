package crawler_test

import (
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/permesso-crawler/permesso/crawler"
)

// For site owners: "A crawl without a name and a contact does not start, nor does one
// that uses the name of a known robot or browser."
func TestOptionErrors(t *testing.T) {
	good := crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}}
	for field, change := range map[string]func(*crawler.Options){
		"Identity.Token":   func(o *crawler.Options) { o.Identity.Token = "" },
		"Identity.Token ":  func(o *crawler.Options) { o.Identity.Token = "bot/1.0" },
		"Identity.Token  ": func(o *crawler.Options) { o.Identity.Token = "Googlebot" },
		"Identity.Contact": func(o *crawler.Options) { o.Identity.Contact = "me" },
		"Seeds ":           func(o *crawler.Options) { o.Seeds = []string{"not a url"} },
		"Limit":            func(o *crawler.Options) { o.Limit = -1 },
		"Output":           func(o *crawler.Options) { o.Output = []crawler.Output{"csv"} },
	} {
		o := good
		change(&o)
		_, err := crawler.New(o)
		var option *crawler.OptionError
		if !errors.As(err, &option) || option.Field != strings.TrimSpace(field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// Negative values are refused, except for options that give them a meaning.
func TestNegativeOptions(t *testing.T) {
	means := []string{"Delay", "IPDelay", "Patience", "MaxHostPages"}
	for _, f := range optionFields() {
		o := crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}}
		v := reflect.ValueOf(&o).Elem().FieldByIndex(f.Index)
		switch {
		case !f.IsExported():
			continue
		case v.CanInt():
			v.SetInt(-1)
		case v.CanFloat():
			v.SetFloat(-1)
		default:
			continue
		}
		_, err := crawler.New(o)
		var option *crawler.OptionError
		if slices.Contains(means, f.Name) {
			if err != nil {
				t.Errorf("%s: %v", f.Name, err)
			}
		} else if !errors.As(err, &option) || option.Field != f.Name {
			t.Errorf("%s is -1: %v", f.Name, err)
		}
	}
}

func TestIdentityIsInTheUserAgent(t *testing.T) {
	for contact, want := range map[string]string{
		"https://example.org/bot": "testbot (+https://example.org/bot) permesso/" + crawler.Version,
		"me@example.org":          "testbot (+mailto:me@example.org) permesso/" + crawler.Version,
		"mailto:me@example.org":   "testbot (+mailto:me@example.org) permesso/" + crawler.Version,
	} {
		id := crawler.Identity{Token: "testbot", Contact: contact}
		if err := id.Check(); err != nil || id.UserAgent() != want {
			t.Errorf("%s: %s, %v", contact, id.UserAgent(), err)
		}
	}
}

func TestReadSeeds(t *testing.T) {
	seeds, bad, err := crawler.ReadSeeds(strings.NewReader("\ufeff# seeds\n\nhttp://a.example/\nb.example/x\ttag\n  http://c.example  # a comment\nnot a seed # at all\ngopher://d.example/\nlocalhost:8080\n"), "f.txt")
	if err != nil || strings.Join(seeds, "|") != "http://a.example/|b.example/x\ttag|http://c.example  # a comment|localhost:8080" {
		t.Errorf("seeds %q, %v", seeds, err)
	}
	if len(bad) != 2 || bad[0].Line != 6 || bad[1].Line != 7 || !strings.HasPrefix(bad[0].Error(), "f.txt:6: ") {
		t.Errorf("bad: %v", bad)
	}
}

// A line that is too long is an invalid line. The following lines are read.
func TestReadSeedsOfLongLines(t *testing.T) {
	const most = 64 << 10
	tagged := func(n int) string { return "a.example\t" + strings.Repeat("t", n-len("a.example\t")) }
	for _, test := range []struct {
		name, file string
		seeds, bad int // numbers of valid and of invalid lines
	}{
		{"as long as may be", tagged(most) + "\nb.example\n", 2, 0},
		{"too long", tagged(most+1) + "\nb.example\n", 1, 1},
		{"several times", tagged(5*most) + "\nb.example\n", 1, 1},
		{"several times, at the end", "b.example\n" + tagged(5*most), 1, 2},
		{"exactly two", "b.example\n" + tagged(2*(most+1)), 1, 2},
		{"a remark", "#" + tagged(5*most) + "\nb.example\n", 1, 0},
		{"no end of line", "b.example\na.example", 2, 0},
	} {
		seeds, bad, err := crawler.ReadSeeds(strings.NewReader(test.file), "f.txt")
		if err != nil || len(seeds) != test.seeds || (test.bad > 0) != (len(bad) == 1) || test.bad > 0 && bad[0].Line != test.bad {
			t.Errorf("%s: %d seeds, bad %v, %v", test.name, len(seeds), bad, err)
		}
	}
	broken := errors.New("broken")
	for begin, at := range map[string]string{"b.example\n": "f.txt:2: ", "b.example\n" + tagged(2*most) + "\n": "f.txt:3: "} {
		seeds, _, err := crawler.ReadSeeds(io.MultiReader(strings.NewReader(begin), iotest.ErrReader(broken)), "f.txt")
		if !errors.Is(err, broken) || len(seeds) != 1 || !strings.HasPrefix(err.Error(), at) {
			t.Errorf("%q, %v", seeds, err)
		}
	}
}
