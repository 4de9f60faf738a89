package audit_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/audit"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/robots"
)

// An incomplete last line, which a kill may leave, is ignored. For each other line that cannot
// be read, Audit returns a *LineError with its number.
func TestLinesThatAreNoneAreNamed(t *testing.T) {
	w := &written{evidence: evidence{copies: map[frontier.Site][]*robots.Snapshot{}, agents: []string{testIdentity.UserAgent()}}}
	w.run(0, "begin:clean")
	w.copy(1, 200, "")
	w.ask(2.1, "/", 200)
	var log []byte
	for i := range w.lines {
		log = w.lines[i].Append(log)
	}
	r, err := w.crawl(append(slices.Clone(log), "2026-05-04T00:00"...)).Audit(audit.Options{})
	if err != nil || !r.Clean() || r.LogLines != 3 || r.Requests != 2 || r.LogBytes != int64(len(log))+16 || !strings.Contains(r.Remarks[0], "the last line of the log has no end") {
		t.Errorf("%+v, %v", r, err)
	}
	for _, tc := range []struct{ old, new, want string }{
		{"took:0.1", "took:x", "crawl.log:2: annotation took:x: "},
		{"took:0.1", "took:-1", "crawl.log:2: annotation took:-1: negative duration"},
		{"took:0.1,", "", "crawl.log:2: a request without the annotations start and took"},
		{"start:2026", "start:soon", "crawl.log:2: annotation start:soon"},
		{"ip:10.0.0.1:80", "ip:home", "crawl.log:2: annotation ip:home: "},
		{" P http://a.example/ ", " P - ", "crawl.log:2: the page that the robots.txt was needed for: "},
		{"http://a.example/ -", "a.example -", "crawl.log:3: "},
		{"begin:clean", "changed:delay:1s->2s", "crawl.log:1: a setting that changed before any run, or to nothing"},
		{"begin:clean", "begin:clean,changed:delay:1s", "crawl.log:1: a setting that changed before any run, or to nothing"},
		{"begin:clean", "changed:delay", "crawl.log:1: a setting that changed before any run, or to nothing"},
		{"begin:clean", "begin:clean,changed:delay:1s->soon", "crawl.log is damaged: setting delay is \"soon\""},
		{"begin:clean", "begin:clean,changed:delay:1s->so%6fn", "crawl.log is damaged: setting delay is \"soon\""},
		{"begin:clean", "begin:clean,changed:delay:1s->so%on", "crawl.log is damaged: setting delay is \"so%on\""},
		{"begin:clean", "lost:some", "crawl.log:1: "},
		{"begin:clean", "begin:clean,begin:unclean,committed:soon", "crawl.log:1: "},
	} {
		bad := bytes.Replace(log, []byte(tc.old), []byte(tc.new), 1)
		if r, err := w.crawl(bad).Audit(audit.Options{}); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%s for %s: %+v, %v", tc.new, tc.old, r, err)
		}
	}
}

// For any log, Audit returns a report, or a *LineError with the number of a line.
func FuzzLog(f *testing.F) {
	w := &written{evidence: evidence{copies: map[frontier.Site][]*robots.Snapshot{}}}
	w.run(0, "begin:clean")
	w.copy(1, 200, "User-agent: *\nDisallow: /no\nVisit-time: 0000-0100\n")
	w.ask(2.1, "/", 429, "error:challenge")
	w.run(3, "begin:unclean", "lost:1")
	w.run(3, "changed:delay:1s->3s", "changed:alias:none->a b")
	w.ask(4, "/no", 200, "asked:2", "clock:ip", "since:2026-05-04T00:00:01.000000Z")
	var log []byte
	for i := range w.lines {
		log = w.lines[i].Append(log)
	}
	f.Add(log)
	f.Add(bytes.ReplaceAll(log, []byte("10.0.0.1"), []byte("16.0.0.1")))
	f.Fuzz(func(t *testing.T, log []byte) {
		c := w.crawl(log)
		if _, err := c.Audit(audit.Options{Site: "a.example", Request: func(audit.Request) error { return nil }, Copy: func(audit.Copy) error { return nil }}); err != nil {
			var line *audit.LineError
			var damaged *store.DamagedError
			if !errors.As(err, &line) && !errors.As(err, &damaged) {
				t.Errorf("%v", err)
			}
		}
	})
}
