package robots

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/temoto/robotstxt"
	"pgregory.net/rapid"
)

// The differential test compares the verdicts with those of github.com/temoto/robotstxt (v1.1.2).
// It calls only TestAgent, because FindGroup ignores that the whole site may be disallowed. The
// verdicts may differ only if explain returns a declared divergence. Any other difference fails
// the test.

// divergence is a declared difference between permesso and temoto.
type divergence string

const (
	// Differences that are due to temoto.
	fileLost      divergence = "the whole file is lost on a rule or delay before any agent, or on a bad delay"
	agentPrefix   divergence = "the name in the file need only be a prefix of ours"
	agentUncut    divergence = "a name with something behind it is not ours, and \"* all\" is not \"*\""
	emptyOwn      divergence = "an empty group of our own falls back to *"
	delaySplits   divergence = "crawl-delay ends a list of agents"
	hashInToken   divergence = "# inside a word is no comment"
	blankSplits   divergence = "values and keys are split at blanks"
	ties          divergence = "the first of equally long rules decides"
	wildcards     divergence = "wildcards are not anchored, $ inside a pattern ends it, * alone is nothing"
	patternLength divergence = "the length of a wildcard rule is that of its regular expression"
	noNormalForm  divergence = "nothing is percent-decoded or encoded"
	badUTF8       divergence = "bytes that are not UTF-8 become U+FFFD"
	robotsFile    divergence = "/robots.txt is not exempt"

	// Differences that are due to permesso. The comments in house_test.go describe them.
	houseKeys  divergence = "house: misspelt keys and missing colons count for User-agent and Disallow"
	houseSlash divergence = "house: an Allow without a slash is ignored, an absolute URL is no path"
	houseCut   divergence = "house: limits, NUL bytes and byte order marks"
	houseDots  divergence = "house: dot segments are removed"
	houseUnion divergence = "house: escaped reserved octets of the query match plain ones of a Disallow"
)

// explain returns the declared divergences that can cause a different verdict for target.
func explain(body []byte, theirs error, agent, target string) (list []divergence) {
	found := func(d divergence, ok bool) {
		if ok && !slices.Contains(list, d) {
			list = append(list, d)
		}
	}
	found(fileLost, theirs != nil)
	found(robotsFile, normalTarget(target) == robotsPath)
	found(noNormalForm, normalTarget(target) != target)
	normal := string(appendNormal(nil, target, false))
	found(houseDots, string(removeDots([]byte(normal), true)) != normal)
	_, loose := appendLoose(nil, normal)
	found(houseUnion, loose)
	found(badUTF8, !utf8.Valid(body))

	f := Parse(body, RFC9309)
	g := f.Group(agent)
	found(houseCut, f.over || f.utf16 || strings.ContainsAny(f.text, "\x00\v\f\uFEFF") || len(f.text) != len(body) && !strings.HasPrefix(string(body), "\xEF\xBB\xBF"))
	lines := modelLine.Split(f.text, -1)
	delayed, heads := false, false // delayed: a delay is between User-agent lines
	for i := range f.entries {
		e := &f.entries[i]
		value := f.value(e)
		key, _, _ := strings.Cut(strings.Trim(lines[e.line-1], " \t"), ":")
		switch e.kind {
		case agentLine, allowLine, disallowLine, delayLine:
			found(houseKeys, e.flags != 0)
			found(hashInToken, int(e.end) < len(f.text) && f.text[e.end] == '#')
			found(blankSplits, strings.ContainsAny(key, " \t") || strings.ContainsAny(value, " \t"))
		}
		switch e.kind {
		case agentLine:
			first, _, _ := strings.Cut(strings.ToLower(value), " ")
			lower := strings.ToLower(agent)
			found(agentPrefix, first != lower && strings.HasPrefix(lower, first) && first != "")
			found(agentUncut, first != lower && f.selects(&selection{token: agent}, e) || isStar(value) && value != "*")
			found(delaySplits, delayed && heads)
			heads = true
		case delayLine:
			delayed = heads
		case allowLine, disallowLine:
			delayed, heads = false, false
		}
	}
	// Lines that only temoto reads as rules: three words, or only a key.
	for _, line := range lines {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		found(blankSplits, len(words) > 2 && !strings.Contains(words[0], ":"))
	}

	var rules []*entry
	f.walk(&g.sel, func(e *entry, _ int) {
		if e.kind == allowLine || e.kind == disallowLine {
			rules = append(rules, e)
		}
	})
	found(emptyOwn, !g.sel.star && !slices.ContainsFunc(rules, func(e *entry) bool { return f.value(e) != "" }))
	matching := map[bool][]string{}
	for _, e := range rules {
		value := f.value(e)
		if value == "" {
			continue
		}
		_, loose := appendLoose(nil, string(appendNormal(nil, value, true)))
		found(houseUnion, loose)
		found(houseSlash, value[0] != '/' && value[0] != '*')
		plain := strings.TrimRight(value, "$")
		found(noNormalForm, string(appendNormal(nil, plain, true)) != plain && strings.IndexByte(plain, '$') < 0)
		// Compare the verdicts for this rule alone.
		single := "User-agent: *\nDisallow: " + value + "\n"
		ours := Parse([]byte(single), RFC9309).Group("x").Match(target).Access == Disallow
		r, err := robotstxt.FromString(single)
		them := err == nil && !r.TestAgent(target, "x")
		wild := strings.ContainsAny(value, "*$")
		found(wildcards, wild && ours != them)
		if ours || them {
			matching[e.kind == allowLine] = append(matching[e.kind == allowLine], value)
		}
	}
	for _, a := range matching[true] {
		for _, d := range matching[false] {
			wild := strings.ContainsAny(a+d, "*$")
			found(patternLength, wild)
			found(ties, len(a) == len(d) || strings.TrimRight(a, "*") == strings.TrimRight(d, "*"))
		}
	}
	return list
}

// differ compares the verdicts of permesso and temoto. It fails on a difference without an
// explanation.
func differ(t interface {
	Helper()
	Errorf(string, ...any)
}, count map[divergence]int, name string, body []byte, agent, target string) bool {
	t.Helper()
	ours := Parse(body, RFC9309).Group(agent).Match(target)
	r, err := robotstxt.FromBytes(body)
	theirs := err == nil && r.TestAgent(target, agent)
	if err == nil && ours.Allowed() == theirs {
		return false
	}
	why := explain(body, err, agent, target)
	if len(why) == 0 {
		t.Errorf("%s, agent %q, target %q: %v of line %d (%v), temoto says allow=%v, and nothing declared explains it", name, agent, target, ours.Access, ours.Rule.Line, ours.Rule, theirs)
	}
	for _, d := range why {
		count[d]++
	}
	return true
}

func TestDifferentialVectors(t *testing.T) {
	count, n, differences := map[divergence]int{}, 0, 0
	for _, v := range readVectors(t) {
		target, err := Target(v.URL)
		if err != nil {
			t.Fatal(err)
		}
		n++
		if differ(t, count, v.ID, v.body(t), v.Agent, target) {
			differences++
		}
	}
	t.Logf("%d questions, %d differences", n, differences)
	for d, n := range count {
		t.Logf("%5d %s", n, d)
	}
}

func TestDifferentialCorpus(t *testing.T) {
	files := corpus(t)
	count, n, differences := map[divergence]int{}, 0, 0
	for i, q := range corpusQueries(t) {
		if testing.Short() && i%10 != 0 {
			continue
		}
		target, err := Target(q.url)
		if err != nil {
			t.Fatal(err)
		}
		n++
		if differ(t, count, q.file, files[q.file], q.agent, target) {
			differences++
		}
	}
	t.Logf("%d questions, %d differences", n, differences)
	for d, n := range count {
		t.Logf("%5d %s", n, d)
	}
}

func TestDifferentialGenerated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		file := genFile().Draw(t, "file")
		for _, agent := range []string{"wren", "lark"} {
			differ(t, map[divergence]int{}, "generated", []byte(file), agent, genPath().Draw(t, "target"))
		}
	})
	// Generate plain files, which have few declared divergences.
	rapid.Check(t, func(t *rapid.T) {
		file := ""
		for range rapid.IntRange(0, 12).Draw(t, "lines") {
			file += rapid.SampledFrom([]string{"User-agent: *", "User-agent: wren", "User-agent: lark", "Sitemap: https://robots.test/s", "", "# c"}).Draw(t, "line") + "\n"
			file += rapid.SampledFrom([]string{"Disallow: /", "Allow: /"}).Draw(t, "key") +
				pieces("a", "b", "ab", "/", "?", "=").Draw(t, "value") + "\n"
		}
		for _, agent := range []string{"wren", "lark"} {
			differ(t, map[divergence]int{}, "plain", []byte(file), agent, "/"+pieces("a", "b", "ab", "/", "?", "=").Draw(t, "target"))
		}
	})
}
