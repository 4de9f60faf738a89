package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const rules = `User-agent: *
Disallow: /

User-agent: examplebot
Disallow: /no
Allow: /no/but
`

// Each URL has the verdict of the robots.txt of its own site, with the line that decides.
func TestTheLineThatDecides(t *testing.T) {
	dir := t.TempDir()
	for site, body := range map[string]string{
		"https/a.example": rules, "http/a.example:8080": "User-agent: *\nDisallow: /", "https/b.example": "",
	} {
		if err := os.MkdirAll(filepath.Join(dir, site), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, site, "robots.txt"), []byte(body), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	allowed, err := run([]string{"examplebot", dir}, strings.NewReader(`https://a.example/
https://A.example:443/no?q=1
https://a.example/no/but
http://a.example:8080/
https://b.example/x
https://c.example/
no URL
https://a.example/%6Eo
`), &out)
	want := `allow	https://a.example/	no rule matches
disallow	https://A.example:443/no?q=1	line 5: Disallow: /no
allow	https://a.example/no/but	line 6: Allow: /no/but
disallow	http://a.example:8080/	line 2: Disallow: /
allow	https://b.example/x	no group applies
disallow	https://a.example/%6Eo	line 5: Disallow: /no
`
	if out.String() != want || allowed != 3 {
		t.Errorf("%d are allowed:\n%s, want\n%s", allowed, out.String(), want)
	}
	if err == nil || !strings.Contains(err.Error(), "https://c.example/: ") || !strings.Contains(err.Error(), `"no URL"`) {
		t.Errorf("the error is %v", err)
	}
}

// The robots.txt on standard input applies only to the site of the first URL.
func TestRobotsTxtOnStandardInput(t *testing.T) {
	for _, tc := range []struct {
		args    []string
		allowed int
		wrong   string
	}{
		{[]string{"examplebot", "-", "https://a.example/yes", "https://a.example/no"}, 1, ""},
		{[]string{"examplebot", "-", "https://a.example/no"}, 0, ""},
		{[]string{"otherbot", "-", "https://a.example/yes"}, 0, ""},
		{[]string{"examplebot", "-", "https://a.example/yes", "https://b.example/yes"}, 1, "https://b.example/yes: "},
		{[]string{"examplebot", "-", "yes"}, 0, `"yes"`},
		{[]string{"bot/1.0", "-", "https://a.example/yes"}, 0, `"bot/1.0"`},
		{[]string{"examplebot", "-"}, 0, "usage: "},
		{[]string{"examplebot", "sites", "https://a.example/yes"}, 0, "usage: "},
	} {
		allowed, err := run(tc.args, strings.NewReader(rules), io.Discard)
		if allowed != tc.allowed || (err != nil) != (tc.wrong != "") || err != nil && !strings.Contains(err.Error(), tc.wrong) {
			t.Errorf("%q: %d are allowed, %v; want %d, %q", tc.args, allowed, err, tc.allowed, tc.wrong)
		}
	}
}
