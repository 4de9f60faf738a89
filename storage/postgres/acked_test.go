//go:build unix

package postgres

import (
	"strings"
	"testing"
	"time"
)

// If a database lacks acknowledged commits of a few seconds, it has crashed, and the node
// continues. If it lacks hours, or is another database, the node is refused, unless the user
// permits it.
func TestADatabaseThatIsOlderThanTheFiles(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	here := at.Add(-3 * time.Hour) // the time by the clock of the node
	was := acked{Seed: 7, System: "1", Timeline: 2}
	young := was
	for ago := 24 * time.Hour; ago >= 0; ago -= time.Second {
		was.committed(at.Add(-ago), here.Add(-ago))
		if ago <= time.Minute {
			young.committed(at.Add(-ago), here.Add(-ago))
		}
	}
	if n := len(was.Recent); n > 25 {
		t.Errorf("%d commits are noted", n)
	}
	for name, test := range map[string]struct {
		f        found
		system   string
		timeline int64
		young    bool // the node's first commit was one minute before its last one
		forgot   bool
		refused  string
		rewound  bool // the user permits it, so the commits count as forgotten
	}{
		"as it was":                     {f: found{true, 7, at}, system: "1", timeline: 2},
		"an answer was lost":            {f: found{true, 7, at.Add(time.Second)}, system: "1", timeline: 2},
		"moved to another server":       {f: found{true, 7, at}, system: "3", timeline: 1},
		"a standby was promoted":        {f: found{true, 7, at}, system: "1", timeline: 3},
		"a crash":                       {f: found{true, 7, at.Add(-time.Second)}, system: "1", timeline: 2, forgot: true},
		"ten minutes":                   {f: found{true, 7, at.Add(-maxForgotten)}, timeline: 3, forgot: true},
		"more than ten minutes":         {f: found{true, 7, at.Add(-maxForgotten - time.Minute)}, timeline: 3, refused: "its last commit of 2026-03-01T11:49:00Z, and has acknowledged one of 2026-03-01T12:00:00Z", rewound: true},
		"hours, on another server":      {f: found{true, 7, at.Add(-5 * time.Hour)}, system: "3", timeline: 1, refused: "its identifier is 3, not 1", rewound: true},
		"no commit of a young node":     {f: found{tables: true, seed: 7}, young: true, forgot: true},
		"no commit of an old node":      {f: found{tables: true, seed: 7}, refused: "nothing of this node", rewound: true},
		"no tables, a young node":       {young: true, forgot: true},
		"no tables, an old node":        {refused: "nothing of this node", rewound: true},
		"another crawl":                 {f: found{true, 8, at}, refused: "another crawl", rewound: true},
		"another crawl, a young node":   {f: found{tables: true, seed: 8}, young: true, refused: "another crawl", rewound: true},
		"an old primary":                {f: found{true, 7, at}, system: "1", timeline: 1, refused: "an old primary"},
		"an old primary, not permitted": {f: found{true, 7, at}, timeline: 1, refused: "an old primary"},
	} {
		t.Run(name, func(t *testing.T) {
			a := was
			if test.young {
				a = young
			}
			forgot, err := a.compare("n.crawl", test.f, test.system, test.timeline)
			switch {
			case test.refused == "" && (err != nil || forgot != test.forgot):
				t.Errorf("forgot %v, %v", forgot, err)
			case test.refused != "" && (err == nil || !strings.Contains(err.Error(), test.refused) || !strings.Contains(err.Error(), "nothing was changed")):
				t.Errorf("%v, want %q", err, test.refused)
			}
			a.Rewind = true
			if forgot, err := a.compare("n.crawl", test.f, test.system, test.timeline); err != nil || forgot != (test.forgot || test.rewound) {
				t.Errorf("with the consent: forgot %v, %v", forgot, err)
			}
		})
	}
}
