package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// questions returns the rows of docs/guide/questions.md: each with its words and its
// command.
func questions() (rows [][]string, err error) {
	raw, err := os.ReadFile(questionsFile)
	if err != nil {
		return nil, err
	}
	return regexp.MustCompile("(?m)^\\| (.*) \\| `(.*)` \\|$").FindAllStringSubmatch(string(raw), -1), nil
}

// questionsFile is an absolute path, because scripts change the directory.
var questionsFile = func() string {
	name, err := filepath.Abs(filepath.Join("..", "..", "docs", "guide", "questions.md"))
	if err != nil {
		panic(err)
	}
	return name
}()

// answer CODE NUMBER ARG ... runs the command that answers a question of
// docs/guide/questions.md, with more arguments, and checks its exit code. The sites are
// those of the script, which have no TLS, and the day is today.
func answer(ts *testscript.TestScript, neg bool, args []string) {
	rows, err := questions()
	ts.Check(err)
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	here := strings.NewReplacer("https://", "http://", "2026-07-01", time.Now().UTC().Format(time.DateOnly))
	exits(ts, neg, slices.Concat(args[:1], shellWords(here.Replace(rows[n-1][2])), args[2:]))
}

// A script asks each of the sixteen questions.
func TestTheSixteenQuestionsAreAsked(t *testing.T) {
	rows, err := questions()
	if err != nil || len(rows) != 16 {
		t.Fatalf("%d questions: %v", len(rows), err)
	}
	script, err := os.ReadFile(filepath.Join("testdata", "script", "questions.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range rows {
		asked := regexp.MustCompile(`(?m)^answer \d+ ` + strconv.Itoa(i+1) + `( .*)?\nstdout|^answer \d+ ` + strconv.Itoa(i+1) + `( .*)?\nstderr`).Match(script)
		if !asked {
			t.Errorf("%s %s: no script asks that", row[1], row[2])
		}
	}
}
