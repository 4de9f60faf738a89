package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/show"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/account"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/robots"
)

// Text of sites, seeds and files does not control a terminal, and does not look like a line
// of the command.
func TestAnExplanationSteersNoTerminal(t *testing.T) {
	dir := hostileCrawl(t)
	const evil = "\x1b]0;owned\x07\u202e\nfate         fetched"
	for _, args := range [][]string{
		{"explain", "-d", dir, "http://a.test/\x1b[31m\u009b31m\u202e?x=\n\x07"},
		{"explain", "-d", dir, "--json", "http://a.test/\x1b[31m\u009b31m\u202e?x=\n\x07"},
		{"explain", "-d", dir, "http://b.test/\x1b]0;x"},
		{"explain", "-d", dir, "http://\x1b[31m"},
	} {
		var out, said bytes.Buffer
		run(args, nil, &out, &said)
		for _, text := range []string{out.String(), said.String()} {
			if strings.IndexFunc(text, say.Steers) >= 0 || out.Len()+said.Len() == 0 {
				t.Errorf("%q: %q", args, text)
			}
		}
	}
	var out bytes.Buffer
	x := &account.Explanation{
		Known: true, Listed: account.Listed{Kept: store.Kept{Fate: frontier.Fate{Detail: evil, Digest: evil, Answer: frontier.Place{File: evil}}}, Code: frontier.Failed, Reason: evil},
		Found: []account.Step{{URL: evil, Hop: frontier.HopLink}, {URL: evil, Tag: evil}}, Lost: evil, Links: []account.LinkFact{{LinkRecord: store.LinkRecord{From: evil, Where: evil}, Refusal: account.Refusal{Code: frontier.OutOfScope, Detail: evil}}},
		Robots: &account.Rules{Agent: []string{evil}, Failure: evil, Against: robots.Rule{Line: 1, Pattern: evil}, Nearest: robots.Rule{Line: 1, Pattern: evil}, Verdict: robots.Verdict{Access: robots.Disallow, Rule: robots.Rule{Line: 1, Pattern: evil}}},
	}
	if err := show.Explanation(&say.Lines{W: &out}, x, time.Now()); err != nil {
		t.Fatal(err)
	}
	if strings.IndexFunc(out.String(), say.Steers) >= 0 || strings.Contains(out.String(), "\nfate         fetched") {
		t.Errorf("%q", &out)
	}
}

// A directory before the URLs is that of the crawl. A directory instead of a URL is an
// error.
func TestADirectoryIsNoURL(t *testing.T) {
	dir := t.TempDir()
	var out, said bytes.Buffer
	if code := run([]string{"explain", dir, "http://a.test/"}, nil, &out, &said); code != exit.Usage || !strings.Contains(said.String(), "there is no crawl in "+dir) {
		t.Errorf("exit code %d, %s", code, &said)
	}
	for _, args := range [][]string{{dir}, {"--dir", dir, dir}, {dir, "http://a.test/", dir}} {
		said.Reset()
		if code := run(append([]string{"explain"}, args...), nil, &out, &said); code != exit.Usage || !strings.Contains(said.String(), dir+" is a directory or a file, and no URL follows it") {
			t.Errorf("%q: exit code %d, %s", args, code, &said)
		}
	}
}
