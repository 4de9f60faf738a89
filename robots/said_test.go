package robots_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/robots"
)

var rewrite = flag.Bool("rewrite", false, "write what is said of problems into testdata/said.txt; read the difference")

// The messages and hints of Problems, for files that have every problem.
func TestMessagesOfProblems(t *testing.T) {
	names, err := filepath.Glob("testdata/lint/*.txt")
	if err != nil || len(names) == 0 {
		t.Fatal(err, names)
	}
	files := []string{
		"User-agent: *\nDisallow: /caf\xE9\xFF\n",
		"\xFF\xFEU\x00",
		"<html>\n",
		"User-agent: *\nDisallow: /\x00x\nUser-agent a\nAllow /\nDisalow: /x\n\xEF\xBB\xBFAllow: /y\nUser-agent: b Disallow: /z",
		"User-agent: *\nDisallow: $a\nDisallow: /./a\nDisallow: /../a\nDisallow: /a*\nDisallow: /$b*\nDisallow: /c$*\nDisallow: /*d*\nDisallow: /e**\nDisallow: /*\nDisallow: *\n",
		"User-agent: *\nDisallow: # nothing\nDisallow: /#\nCrawl-delay: 24h\nCrawl-delay: 86401\n",
		"User-agent: *\nDisallow: /" + strings.Repeat("a", 59) + " \nDisallow: x" + strings.Repeat("b", 59) + "\nDisallow: x" + strings.Repeat("c", 60) + "\n",
		"us: x\nsitmap: x\ncrwal-delay: x\nAlow: /\nhots: x\nlicens: x\nxyzzy: x\nrequest-raet-of-pages: x\n",
		"User-agent: *\nDisallow: /a\nAllow: /a\nDisallow: /a/b\nDisallow: /b\nDisallow: /b/c\nDisallow: /b\nAllow: /*.html\n",
		"User-agent: *\nDisallow: /b\nDisallow: /b/c\nAllow: /*\nUser-agent: wren\nDisallow: /b\nDisallow: /b/c\nAllow: /b*\n",
		"Disallow: /\nUser-agent:\nUser-agent: * all\nUser-agent: 7\nUser-agent: wren/1\nUser-agent: Wren\nDisallow: https://robots.test/a\nAllow: a\n",
		"User-agent: *\nDisallow: **\nDisallow: %zz\nDisallow: /%\nDisallow: /%4\nDisallow: *://robots.test/\nDisallow: /://\nDisallow: /same\nDisallow: /same\nDisallow: /same\n",
		"\x00User-agent: *\nContent-Usage: x=z\nContent-Usage: train-ai\nContent-Usage: a=\nContent-Usage: /a b=n\nContent-Signal: x\n",
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file, _, _ := strings.Cut(string(b), "\n--\n")
		files = append(files, file)
	}
	var got strings.Builder
	for _, file := range files {
		fmt.Fprintf(&got, "%.60q\n", file)
		f := robots.Parse([]byte(file), robots.RFC9309)
		list := f.Problems()
		for _, d := range []robots.Dialect{robots.Google, robots.Koster1996} {
			list = append(list, f.Differences(d)...)
		}
		for _, p := range list {
			fmt.Fprintf(&got, "    %v\n        %s\n", p, p.Hint)
		}
	}
	const said = "testdata/said.txt"
	if *rewrite {
		if err := os.WriteFile(said, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(said)
	if err != nil {
		t.Fatal(err)
	}
	wants := strings.Split(string(want), "\n")
	for i, line := range strings.Split(got.String(), "\n") {
		if i >= len(wants) || line != wants[i] {
			t.Fatalf("%s:%d:\n%s\nwant\n%s", said, i+1, line, strings.Join(wants[min(i, len(wants)):min(i+1, len(wants))], ""))
		}
	}
	if got.String() != string(want) {
		t.Fatalf("%s has lines after the last message", said)
	}
}
