package house

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	scriptRun     = regexp.MustCompile(`go test[^\n]*?((?: \./\S+)+)[^\n]*? -run (?:'([^']+)'|(\w+))`)
	alternatives  = regexp.MustCompile(`\(([^()]*)\)`)
	testFunctions = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
)

// `go test -run` succeeds if no test has the name: a script whose test was renamed would
// no longer run it, and pass.
func TestScriptsNameTestsThatExist(t *testing.T) {
	t.Chdir("../..")
	scripts := []string{"CONTRIBUTING.md", filepath.Join(".ci", "run")}
	err := filepath.WalkDir(".ci", func(path string, d fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".sh") {
			scripts = append(scripts, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, script := range scripts {
		text, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range scriptRun.FindAllStringSubmatch(string(text), -1) {
			run := m[2] + m[3]
			if run == "^$" {
				continue // a fuzz target
			}
			tests := ""
			for _, pkg := range strings.Fields(m[1]) {
				tests += testsBelow(t, pkg)
			}
			for _, pattern := range expand(run) {
				found++
				re, err := regexp.Compile(pattern)
				if err != nil {
					t.Errorf("%s: %s: %v", script, run, err)
				} else if !re.MatchString(tests) {
					t.Errorf("%s: no test in%s has the name %s", script, m[1], pattern)
				}
			}
		}
	}
	if found < 20 {
		t.Errorf("%d names of tests were found in %q", found, scripts)
	}
}

// expand returns the pattern with each of its alternatives alone, for lines of names.
func expand(pattern string) (all []string) {
	before, choice, after := "", pattern, ""
	if m := alternatives.FindStringSubmatchIndex(pattern); m != nil {
		before, choice, after = pattern[:m[0]], pattern[m[2]:m[3]], pattern[m[1]:]
	}
	for one := range strings.SplitSeq(choice, "|") {
		all = append(all, "(?m)"+before+one+after)
	}
	return all
}

// testsBelow returns the names of the tests of a package, or of all packages below it if it
// ends in "...", a line each.
func testsBelow(t *testing.T, pkg string) string {
	dir, below := strings.CutSuffix(pkg, "/...")
	var names strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != dir && !below {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, m := range testFunctions.FindAllStringSubmatch(string(text), -1) {
			names.WriteString(m[1] + "\n")
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return names.String()
}
