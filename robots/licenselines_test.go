package robots

import (
	"strings"
	"testing"
)

// A License line applies to the crawlers of its group. A License line outside of any group applies
// to crawlers whose own group has no License line.
func TestLicenseLinesOfGroups(t *testing.T) {
	for _, test := range []struct{ name, file, want string }{
		{"of the file", "License: /g\nUser-agent: *\nDisallow:", "/g"},
		{"of the file, no group", "License: /g\nUser-agent: other\nDisallow:", "/g"},
		{"of our group", "User-agent: wren\nLicense: /o\nDisallow:", "/o"},
		{"of our group in place of that of the file", "License: /g\nUser-agent: wren\nDisallow:\nLicense: /o\n", "/o"},
		{"of our group, which is no URL", "License: /g\nUser-agent: wren\nDisallow:\nLicense: no url\n", "/g"},
		{"of all", "User-agent: *\nDisallow:\nLicense: /s", "/s"},
		{"of all, and we have a group", "User-agent: *\nDisallow:\nLicense: /s\nUser-agent: wren\nDisallow:", ""},
		{"of another", "User-agent: *\nAllow: /\n\nUser-agent: other\nAllow: /\nLicense: /x", ""},
		{"of another, before ours", "User-agent: other\nLicense: /x\nAllow: /\nUser-agent: wren\nLicense: /o", "/o"},
		{"of another and of the file", "License: /g\nUser-agent: other\nAllow: /\nLicense: /x", "/g"},
		{"of two groups of ours", "User-agent: wren\nLicense: /1\nDisallow: /a\nUser-agent: other\nDisallow: /\nLicense: /x\nUser-agent: wren\nDisallow: /b\nLicense: /2", "/1 /2"},
		{"of a group of two", "User-agent: other\nUser-agent: wren\nDisallow: /a\nLicense: /o", "/o"},
		{"after a blank line", "User-agent: *\nAllow: /\n\nUser-agent: other\nDisallow: /\n\nLicense: /g", "/g"},
		{"after a blank line of blanks", "User-agent: other\r\nDisallow: /\r\n \t\r\nLicense: /g\r\nLicense: /h\r\n", "/g /h"},
		{"after a blank line and a Sitemap", "User-agent: other\nDisallow: /\n\nSitemap: /s\nLicense: /g", "/g"},
		{"after a comment", "User-agent: other\nDisallow: / # all\n# terms\nLicense: /x", ""},
		{"after a blank line, in ours", "License: /g\nUser-agent: wren\nDisallow: /\n\nLicense: /o", "/o"},
		{"in the midst of another", "User-agent: other\n\nLicense: /g\nDisallow: /\nLicense: /x", "/g"},
		{"of a line that lost its end", "User-agent: wren Disallow: /a\nLicense: /o", "/o"},
		{"twice", "License: /g\nLicense: /g\nLicense: /h", "/g /h"},
	} {
		for _, eol := range []string{"\n", "\r", "\r\n"} {
			f := Parse([]byte(strings.ReplaceAll(test.file, "\n", eol)), RFC9309)
			if got := strings.Join(f.Group("wren").Signals("/").Licenses, " "); got != test.want {
				t.Errorf("%s: %q, want %q", test.name, got, test.want)
			}
		}
	}
	f := Parse([]byte("License: /g\n\nUser-agent: other\nDisallow:\nLicense: /x\n\nUser-agent: wren\nLicense: /o\nDisallow:\n"), Koster1996)
	for token, want := range map[string]string{"wren": "/o", "other": "/x", "third": "/g"} {
		if got := strings.Join(f.Group(token).Signals("/").Licenses, " "); got != want {
			t.Errorf("1996, %s: %q, want %q", token, got, want)
		}
	}
}

// Statements about use before the first group apply to all crawlers.
func TestStatementsBeforeTheFirstGroup(t *testing.T) {
	for file, want := range map[string]string{
		"Content-Signal: ai-train=no\nUser-agent: *\nAllow: /\n":                                       "line 1: Content-Signal: ai-train=no",
		"Content-Usage: train-ai=n\nUser-agent: wren\nAllow: /\n":                                      "line 1: Content-Usage: train-ai=n",
		"Content-Signal: ai-train=no\nUser-agent: other\nAllow: /\n":                                   "line 1: Content-Signal: ai-train=no",
		"Content-Signal: ai-train=no\nUser-agent: wren\nContent-Signal: ai-train=yes\nAllow: /\n":      "line 1: Content-Signal: ai-train=no",
		"Content-Signal: ai-train=yes\nUser-agent: wren\nContent-Signal: ai-train=no\nAllow: /\n":      "line 3: Content-Signal: ai-train=no",
		"User-agent: *\nAllow: /\n\nUser-agent: other\nContent-Signal: ai-train=no\nAllow: /\n":        "",
		"Content-Signal: /a ai-train=no\nUser-agent: *\nAllow: /\n":                                    "",
		"Content-Signal: search=yes; ai-train=no\n":                                                    "line 1: Content-Signal: ai-train=no",
		"User-agent: *\nContent-Signal: search=\"yes\", ai-train=\"no\", ai-input='no'\nAllow: /\n":    "line 2: Content-Signal: ai-train=no",
		"User-agent: *\nContent-Signal: ai-train=n\nAllow: /\n":                                        "line 2: Content-Signal: ai-train=no",
		"User-agent: *\nContent-Signal: ai-train=y, ai-train=\"yes\"\nAllow: /\n":                      "",
		"User-agent: *\nAllow: /\nCrawl-delay: 3\nUser-agent: other\nDisallow: /\nContent-Signal: a=b": "",
	} {
		by, _ := Parse([]byte(file), RFC9309).Group("wren").Signals("/p").Refuses(PurposeAITrain)
		if by.String() != want {
			t.Errorf("%q: %q, want %q", file, by.String(), want)
		}
	}
}

// BenchmarkManyLicenseLines shows that each byte is read a constant number of times, for any
// number of License lines.
func BenchmarkManyLicenseLines(b *testing.B) {
	file := []byte("User-agent: other\nDisallow: /\n" + strings.Repeat("License: /x\n", MaxBytes/12-10))
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		if s := Parse(file, RFC9309).Group("wren").Signals("/"); len(s.Licenses) != 0 {
			b.Fatal(s)
		}
	}
}
