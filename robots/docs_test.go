package robots

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// table returns the rows of one table of docs/reference/robots.md: the table whose first heading
// is head.
func table(t *testing.T, head string) [][]string {
	t.Helper()
	page, err := os.ReadFile("../docs/reference/robots.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(page), "\n| "+head+" |")
	if !ok {
		t.Fatalf("no table %q", head)
	}
	var rows [][]string
	for i, line := range strings.Split(rest, "\n") {
		if !strings.HasPrefix(line, "|") && i > 0 {
			break
		}
		if i < 2 {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for j := range cells {
			cells[j] = strings.TrimSpace(cells[j])
		}
		rows = append(rows, cells)
	}
	if len(rows) < 5 {
		t.Fatalf("table %q has %d rows", head, len(rows))
	}
	return rows
}

// code returns the code in a cell: the text between backquotes.
func code(cell string) string {
	_, c, _ := strings.Cut(cell, "`")
	c, _, _ = strings.Cut(c, "`")
	return c
}

var dialects = []Dialect{RFC9309, Google, Koster1996}

// The package behaves as each row of the tables in docs/reference/robots.md says.
func TestDialectTables(t *testing.T) {
	for _, row := range table(t, "where they differ") {
		file, err := strconv.Unquote(`"` + code(row[1]) + `"`)
		if err != nil {
			t.Fatal(row, err)
		}
		for i, d := range dialects {
			if got := Parse([]byte(file), d).Group("mybot").Match(code(row[2])).Access.String(); got != row[3+i] {
				t.Errorf("%s, %s: %s, the page says %s", row[0], d, got, row[3+i])
			}
		}
	}
	for _, row := range table(t, "answer | age of the copy") {
		s := answer(t, row[0])
		if row[1] != "-" {
			good := at(attempt(200, "User-agent: *\nDisallow: /a\n"), noon.Add(-duration(t, row[1])))
			if row[2] != "-" {
				good = at(attempt(503, ""), noon.Add(-duration(t, row[2]))).After(good)
			}
			s = s.After(good)
		} else if row[2] != "-" {
			s = s.After(at(attempt(503, ""), noon.Add(-duration(t, row[2]))).After(nil))
		}
		for i, d := range dialects {
			v := s.Group(Policy{Dialect: d, Token: "mybot"}, noon).Match("/a")
			got := v.Access.String()
			if v.Reason == RuleMatched {
				got = "copy"
			}
			if got != row[3+i] {
				t.Errorf("%v, %s: %s", row, d, got)
			}
			if open := s.Group(Policy{Dialect: d, Token: "mybot", AllowForbidden: true}, noon).Match("/a"); v.Reason == Forbidden && !open.Allowed() {
				t.Errorf("%v, %s, AllowForbidden: %v", row, d, open)
			}
		}
	}
	for _, row := range table(t, "answer | header") {
		s := answer(t, row[0])
		name, value, _ := strings.Cut(code(row[1]), ": ")
		switch name {
		case "Cache-Control":
			s.Header.CacheControl = value
		case "Expires":
			s.Header.Expires = value
		}
		for i, d := range dialects {
			if got := s.Expires(Policy{Dialect: d}).Sub(noon); got != duration(t, row[2+i]) {
				t.Errorf("%v, %s: %v", row, d, got)
			}
		}
	}
}

// answer returns the snapshot that a cell describes: a status, or a failure.
func answer(t *testing.T, cell string) *Snapshot {
	t.Helper()
	status, err := strconv.Atoi(code(cell))
	if err != nil {
		return failed(code(cell))
	}
	s := attempt(status, "")
	if strings.Contains(cell, "object store") {
		s.Header.ObjectStore, s.Body = "1", []byte("<Code>AccessDenied</Code>")
	}
	return s
}

func duration(t *testing.T, s string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
