package robots

import (
	"slices"
	"testing"
	"time"
)

const competing = "User-agent: other\nDisallow: /\n\nUser-agent: bot\nDisallow: /a\nAllow: /a/b\nDisallow: /a/b/*.pdf\nDisallow:\nAllow: /a/b/c.pdf\n"

// Rules returns the rules of the group, as written.
func TestRulesAreThoseOfTheGroup(t *testing.T) {
	g := Parse([]byte(competing), RFC9309).Group("bot")
	want := []Rule{{false, "/a", 5}, {true, "/a/b", 6}, {false, "/a/b/*.pdf", 7}, {false, "", 8}, {true, "/a/b/c.pdf", 9}}
	if got := g.Rules(); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for _, g := range []*Group{{}, Parse([]byte("User-agent: other\nDisallow: /"), RFC9309).Group("bot"), (*Snapshot)(nil).Group(Policy{Token: "bot"}, time.Time{})} {
		if got := g.Rules(); got != nil {
			t.Errorf("a group without rules has %v", got)
		}
	}
}

// In the result of Only, the longest rule of the remaining kind decides. Only does not change the
// original group.
func TestOnlyTheRulesOfOneKindDecide(t *testing.T) {
	g := Parse([]byte(competing), RFC9309).Group("bot")
	for _, c := range []struct {
		target               string
		all, allowed, denied int // numbers of the lines that decide
	}{
		{"/a", 5, 0, 5},
		{"/a/b", 6, 6, 5},
		{"/a/b/x.pdf", 7, 6, 7},
		{"/a/b/c.pdf", 9, 9, 7},
		{"/z", 0, 0, 0},
	} {
		for name, got := range map[string][2]int{
			"all": {g.Match(c.target).Rule.Line, c.all}, "Allow": {g.Only(true).Match(c.target).Rule.Line, c.allowed}, "Disallow": {g.Only(false).Match(c.target).Rule.Line, c.denied},
		} {
			if got[0] != got[1] {
				t.Errorf("%s by %s: line %d, want %d", c.target, name, got[0], got[1])
			}
		}
	}
	if g := (&Group{}).Only(true); g.Match("/").Access != Defer {
		t.Error("the zero Group does not defer without its rules")
	}
	forbidden := (&Snapshot{URL: "http://a.test/robots.txt", Status: 403}).Group(Policy{Token: "bot"}, time.Time{})
	if v := forbidden.Only(true).Match("/"); v.Access != Disallow || v.Reason != Forbidden {
		t.Errorf("a forbidden robots.txt: %+v", v)
	}
	koster := Parse([]byte("User-agent: bot\nAllow: /a\nDisallow: /a/b\n"), Koster1996).Group("bot")
	if v := koster.Match("/a/b"); v.Rule.Line != 2 {
		t.Errorf("by the draft: %+v", v)
	}
	if v := koster.Only(false).Match("/a/b"); v.Rule.Line != 3 {
		t.Errorf("by the draft, of those that forbid: %+v", v)
	}
}
