package robots

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// pieces joins random parts of a short list, so that the rules of a file often match.
func pieces(list ...string) *rapid.Generator[string] {
	return rapid.Map(rapid.SliceOfN(rapid.SampledFrom(list), 0, 8), func(p []string) string { return strings.Join(p, "") })
}

func genPath() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return "/" + pieces("a", "b", "ab", "/", "/", ".", "..", "?", "&", "=", "%", "%2F", "%2f", "%61", "%2E", "%3A", ":", "%25", "2", "F",
			"%41", "%zz", "é", "%C3%A9", "\xE9", "%E9", " ", "%20", "*", "%2A", "$", "%24", "|", "%7C", "index.html", "robots.txt", "\x00").Draw(t, "path")
	})
}

func genPattern() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		p := genPath().Draw(t, "pattern")
		switch rapid.IntRange(0, 9).Draw(t, "shape") {
		case 0:
			p = strings.TrimLeft(p, "/:") // without "/" and ":" at its start, so that it is not an absolute URL
		case 1, 2:
			p = strings.Replace(p, "a", "*", 1)
		case 3:
			p += "*"
		case 4, 5:
			p += "$"
		}
		if strings.Contains(p, "://") {
			p = "/" + p
		}
		return p
	})
}

func genFile() *rapid.Generator[string] {
	agents := rapid.SampledFrom([]string{"*", "wren", "Wren", "wren/1.0", "lark", "wrenbot", "", "* all", "*x", "wren\x00x"})
	return rapid.Custom(func(t *rapid.T) string {
		var b strings.Builder
		for range rapid.IntRange(0, 14).Draw(t, "lines") {
			switch rapid.IntRange(0, 11).Draw(t, "kind") {
			case 0, 1, 2:
				b.WriteString(rapid.SampledFrom([]string{"User-agent: ", "user-agent:", "useragent : "}).Draw(t, "key") + agents.Draw(t, "agent"))
			case 3, 4, 5, 6:
				b.WriteString(rapid.SampledFrom([]string{"Disallow: ", "disallow:", "Disalow: ", "Disallow "}).Draw(t, "key") + genPattern().Draw(t, "value"))
			case 7, 8:
				b.WriteString(rapid.SampledFrom([]string{"Allow: ", "allow:", "Allowed: ", "Allow "}).Draw(t, "key") + genPattern().Draw(t, "value"))
			case 9:
				b.WriteString(rapid.SampledFrom([]string{"# c", "Sitemap: /s", "Crawl-delay: 1", "Mood: x", " \t", "Disallow:", "Allow:"}).Draw(t, "other"))
			case 10:
				b.WriteString("Disallow: /a # c")
			}
			b.WriteString(rapid.SampledFrom([]string{"\n", "\n", "\r\n", "\r"}).Draw(t, "end"))
		}
		return b.String()
	})
}

// The package agrees with the model in every dialect.
func TestModel(t *testing.T) {
	for _, d := range []Dialect{RFC9309, Google, Koster1996} {
		t.Run(d.String(), rapid.MakeCheck(func(t *rapid.T) {
			file := genFile().Draw(t, "file")
			f := Parse([]byte(file), d)
			for _, agent := range []string{"wren", "lark"} {
				g := f.Group(agent)
				for range 4 {
					target := genPath().Draw(t, "target")
					access, line := modelMatch(d, file, agent, target)
					if v := g.Match(target); v.Access != access || v.Rule.Line != line {
						t.Fatalf("agent %s, target %q: %v of line %d, the model says %v of line %d", agent, target, v.Access, v.Rule.Line, access, line)
					}
				}
			}
		}))
	}
}

// The package agrees with the model for files with many rules, for which it uses filters.
func TestModelManyRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		file := "User-agent: *\n"
		for range rapid.IntRange(20, 60).Draw(t, "rules") {
			file += rapid.SampledFrom([]string{"Disallow: /", "Allow: /"}).Draw(t, "key") +
				pieces("a", "b", "c", "/", "*", "?", "=", "abc", "bca").Draw(t, "value") + rapid.SampledFrom([]string{"", "", "$"}).Draw(t, "end") + "\n"
		}
		g := Parse([]byte(file), RFC9309).Group("wren")
		for range 10 {
			target := "/" + pieces("a", "b", "c", "/", "?", "=", "abc", "bca", "%3A").Draw(t, "target")
			access, line := modelMatch(RFC9309, file, "wren", target)
			if v := g.Match(target); v.Access != access || v.Rule.Line != line {
				t.Fatalf("target %q: %v of line %d, the model says %v of line %d", target, v.Access, v.Rule.Line, access, line)
			}
		}
	})
}

// Normalising a normal form changes nothing. isNormal returns true only for a normal form.
func TestNormalFormIsStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genPath().Draw(t, "s")
		once := string(appendNormal(nil, s, false))
		if twice := string(appendNormal(nil, once, false)); twice != once {
			t.Fatalf("%q: %q, then %q", s, once, twice)
		}
		if once != modelNormal(s, false) {
			t.Fatalf("%q: %q, the model says %q", s, once, modelNormal(s, false))
		}
		if isNormal(s) && (once != s || string(removeDots([]byte(s), true)) != s) {
			t.Fatalf("%q is not normal: %q", s, once)
		}
		if got, want := string(removeDots([]byte(once), true)), modelDots(once); got != want {
			t.Fatalf("%q without dot segments: %q, the model says %q", once, got, want)
		}
	})
}

// The order of groups and of rules does not change the access.
func TestOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			return rapid.SampledFrom([]string{"Disallow: ", "Allow: "}).Draw(t, "key") + genPattern().Draw(t, "value") + "\n"
		}), 1, 8).Draw(t, "rules")
		target := genPath().Draw(t, "target")
		a := Parse([]byte("User-agent: *\n"+strings.Join(rules, "")), RFC9309).Group("wren").Match(target)
		b := Parse([]byte("User-agent: *\n"+strings.Join(rapid.Permutation(rules).Draw(t, "again"), "")), RFC9309).Group("wren").Match(target)
		if a.Access != b.Access {
			t.Fatalf("target %q: %v and %v", target, a, b)
		}
	})
}

// Adding a Disallow never allows a target, and adding an Allow never disallows one.
func TestMoreRulesAreMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := ""
		for range rapid.IntRange(0, 6).Draw(t, "rules") {
			rules += rapid.SampledFrom([]string{"Disallow: ", "Allow: "}).Draw(t, "key") + genPattern().Draw(t, "value") + "\n"
		}
		target, more := genPath().Draw(t, "target"), genPattern().Draw(t, "more")
		ask := func(last string) Access {
			return Parse([]byte("User-agent: *\n"+rules+last), RFC9309).Group("wren").Match(target).Access
		}
		before := ask("")
		if ask("Disallow: "+more) == Allow && before == Disallow || ask("Allow: "+more) == Disallow && before == Allow {
			t.Fatalf("target %q, %v before", target, before)
		}
	})
}
