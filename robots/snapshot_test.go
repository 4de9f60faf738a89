package robots

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	noon   = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	policy = Policy{Token: "wrenbot"}
)

// attempt returns the snapshot of an attempt that ended at noon with the given status.
func attempt(status int, body string) *Snapshot {
	return &Snapshot{URL: "https://robots.test/robots.txt", Fetched: noon, Status: status, Body: []byte(body)}
}

func failed(name string) *Snapshot {
	s := attempt(0, "")
	s.Failure = name
	return s
}

func at(s *Snapshot, t time.Time) *Snapshot {
	n := *s
	n.Fetched = t
	return &n
}

const closedA = "User-agent: *\nDisallow: /a\n"

func wantMatch(t *testing.T, g *Group, target string, access Access, reason Reason) Verdict {
	t.Helper()
	v := g.Match(target)
	if v.Access != access || v.Reason != reason {
		t.Errorf("%s: %v, %v, want %v, %v", target, v.Access, v.Reason, access, reason)
	}
	return v
}

// "If the crawler successfully downloads the robots.txt file, the crawler MUST
// follow the parseable rules." (RFC 9309, 2.3.1.1) Any 2xx is a success, and any
// body is the file: an empty one, or a page.
func TestSnapshotSuccess(t *testing.T) {
	for _, status := range []int{200, 203, 206, 299} {
		s := attempt(status, closedA)
		g := s.Group(policy, noon)
		wantMatch(t, g, "/a", Disallow, RuleMatched)
		wantMatch(t, g, "/b", Allow, NoRule)
		if !s.Reachable() {
			t.Errorf("%d is not reachable", status)
		}
	}
	wantMatch(t, attempt(204, "").Group(policy, noon), "/a", Allow, NoGroup)
	wantMatch(t, attempt(200, "<html>not found</html>").Group(policy, noon), "/a", Allow, NoGroup)
}

// A redirected file applies to the site of the first request (RFC 9309, 2.3.1.2).
func TestSnapshotBelongsToFirstAuthority(t *testing.T) {
	s := attempt(200, "User-agent: *\nDisallow: https://robots.test/a\nDisallow: https://cdn.test/b\nSitemap: /s.xml\n")
	s.Final = "https://cdn.test/robots.txt"
	g := s.Group(policy, noon)
	wantMatch(t, g, "/a", Disallow, RuleMatched)
	wantMatch(t, g, "/b", Allow, NoRule)
	if got := s.File(RFC9309).Sitemaps(); len(got) != 1 || got[0] != "https://robots.test/s.xml" {
		t.Errorf("sitemaps %q", got)
	}
}

// "If a server status code indicates that the robots.txt file is unavailable to the crawler, then
// the crawler MAY access any resources on the server." (RFC 9309, 2.3.1.3)
func TestSnapshotMissing(t *testing.T) {
	for _, status := range []int{400, 404, 405, 406, 410, 415, 418, 499} {
		s := attempt(status, closedA)
		wantMatch(t, s.Group(policy, noon), "/a", Allow, Missing)
		if got := s.Expires(policy); !got.Equal(noon.Add(24 * time.Hour)) {
			t.Errorf("%d expires %v", status, got)
		}
	}
}

// "On server response indicating access restrictions (HTTP Status Code 401 or 403) a robot
// should regard access to the site completely restricted." (the draft of 1996, 3.1; the Guide.)
// House: this is also true for 402 and 451. RFC 9309 permits access, and so does
// AllowForbidden.
func TestSnapshotForbidden(t *testing.T) {
	for _, status := range []int{401, 402, 403, 451} {
		s := attempt(status, closedA)
		wantMatch(t, s.Group(policy, noon), "/b", Disallow, Forbidden)
		wantMatch(t, s.Group(policy, noon), "/robots.txt", Allow, RobotsFile)
		wantMatch(t, s.Group(Policy{Dialect: Koster1996, Token: "wrenbot"}, noon), "/b", Disallow, Forbidden)
		wantMatch(t, s.Group(Policy{Token: "wrenbot", AllowForbidden: true}, noon), "/a", Allow, Missing)
		wantMatch(t, s.Group(Policy{Dialect: Google, Token: "wrenbot"}, noon), "/a", Allow, Missing)
		if !s.Reachable() {
			t.Errorf("%d is not reachable", status)
		}
	}
}

// House: object stores that hide their listing answer 403 for a missing file.
func TestSnapshotObjectStore(t *testing.T) {
	denied := `<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>`
	s := attempt(403, denied)
	wantMatch(t, s.Group(policy, noon), "/a", Disallow, Forbidden)
	s.Header.ObjectStore = "4442587FB7D0A2F9"
	wantMatch(t, s.Group(policy, noon), "/a", Allow, Missing)
	s.Body = []byte("<html>go away</html>")
	wantMatch(t, s.Group(policy, noon), "/a", Disallow, Forbidden)
	s = attempt(401, denied)
	s.Header.ObjectStore = "4442587FB7D0A2F9"
	wantMatch(t, s.Group(policy, noon), "/a", Disallow, Forbidden)
}

// "If the robots.txt file is unreachable due to server or network errors, this means the
// robots.txt file is undefined and the crawler MUST assume complete disallow." (RFC 9309, 2.3.1.4)
// House: since this is temporary, the verdict is Defer.
func TestSnapshotUnreachable(t *testing.T) {
	list := []*Snapshot{nil}
	for _, status := range []int{0, 100, 301, 302, 304, 308, 408, 421, 425, 429, 500, 502, 503, 504, 599, 600, 999} {
		list = append(list, attempt(status, closedA))
	}
	for _, name := range []string{"dns", "connect", "tls", "timeout", "redirect"} {
		list = append(list, failed(name))
	}
	cut := attempt(200, closedA) // a body that ended early does not count as a file
	cut.Failure = "truncated"
	list = append(list, cut)
	for _, s := range list {
		if s.Reachable() {
			t.Errorf("%+v is reachable", s)
		}
		for _, d := range []Dialect{RFC9309, Google, Koster1996} {
			p := Policy{Dialect: d, Token: "wrenbot", AllowForbidden: true}
			if d == Google && s != nil && (s.Status == 408 || s.Status == 421 || s.Status == 425 || s.Failure == "redirect") {
				continue // TestSnapshotGoogleMissing tests these
			}
			v := wantMatch(t, s.Group(p, noon), "/b", Defer, Unreachable)
			if !v.Until.Equal(s.Expires(p)) {
				t.Errorf("until %v, expires %v", v.Until, s.Expires(p))
			}
		}
		wantMatch(t, s.Group(policy, noon), "/robots.txt", Allow, RobotsFile)
	}
}

// "Google's crawlers treat all 4xx errors, except 429, as if a valid robots.txt file didn't
// exist". They also treat redirects that cannot be followed in this way (Google's page).
func TestSnapshotGoogleMissing(t *testing.T) {
	google := Policy{Dialect: Google, Token: "wrenbot"}
	list := []*Snapshot{failed("redirect")}
	for _, status := range []int{400, 401, 402, 403, 404, 408, 421, 425, 451, 499} {
		list = append(list, attempt(status, closedA))
	}
	for _, s := range list {
		s = s.After(attempt(200, closedA))
		wantMatch(t, s.Group(google, noon), "/a", Allow, Missing)
		if got := s.Expires(google); !got.Equal(noon.Add(24 * time.Hour)) {
			t.Errorf("%d %s expires %v", s.Status, s.Failure, got)
		}
	}
	wantMatch(t, attempt(429, "").Group(google, noon), "/a", Defer, Unreachable)
}

// While the file is unreachable, a good copy is used for 30 days (RFC 9309, 2.3.1.4, 2.4), counted
// from the time at which the site last confirmed the copy.
func TestSnapshotCopyInForce(t *testing.T) {
	s := attempt(200, closedA)
	for i := range 3 {
		s = at(attempt(503, ""), noon.Add(time.Duration(i)*time.Hour)).After(s)
	}
	if s.Failures != 3 || s.Copy == nil || s.Copy.Copy != nil || !s.Since.Equal(noon) {
		t.Fatalf("%+v", s)
	}
	day := 24 * time.Hour
	wantMatch(t, s.Group(policy, noon.Add(30*day)), "/a", Disallow, RuleMatched)
	wantMatch(t, s.Group(policy, noon.Add(30*day)), "/b", Allow, NoRule)
	wantMatch(t, s.Group(policy, noon.Add(30*day+1)), "/b", Defer, Unreachable)

	// The age of a copy that is dated in the future is unknown.
	wantMatch(t, s.Group(policy, noon.Add(-1)), "/b", Defer, Unreachable)
	wantMatch(t, at(attempt(503, ""), noon).After(at(attempt(200, closedA), noon.Add(5*365*day))).Group(policy, noon), "/b", Defer, Unreachable)

	// Google's page: after 30 days the last copy is used. Without a copy there are no
	// restrictions.
	google := Policy{Dialect: Google, Token: "wrenbot"}
	wantMatch(t, s.Group(google, noon.Add(90*day)), "/a", Disallow, RuleMatched)
	wantMatch(t, s.Group(google, noon.Add(90*day)), "/b", Allow, NoRule)
	s = failed("dns").After(nil)
	wantMatch(t, s.Group(google, noon.Add(30*day)), "/a", Defer, Unreachable)
	wantMatch(t, s.Group(google, noon.Add(30*day+1)), "/a", Allow, LongUnreachable)
	s = at(failed("dns"), noon.Add(31*day)).After(s)
	wantMatch(t, s.Group(google, noon.Add(31*day)), "/a", Allow, LongUnreachable)
	wantMatch(t, s.Group(policy, noon.Add(31*day)), "/a", Defer, Unreachable)

	// "On the request attempt resulted in temporary failure a robot should defer visits to the
	// site" (1996, 3.1), with or without a copy.
	s = failed("timeout").After(attempt(200, closedA))
	wantMatch(t, s.Group(Policy{Dialect: Koster1996, Token: "wrenbot"}, noon), "/b", Defer, Unreachable)
}

// If a site without robots.txt becomes unreachable, the verdict is Defer. The earlier 404 does not
// count as a copy, and an unreachable file never allows.
func TestSnapshotMissingIsNoCopy(t *testing.T) {
	for _, status := range []int{404, 403} {
		s := failed("timeout").After(attempt(status, ""))
		if s.Copy != nil {
			t.Errorf("%d is kept as a copy", status)
		}
		wantMatch(t, s.Group(policy, noon), "/a", Defer, Unreachable)
	}
}

// 304 renews the copy.
func TestSnapshotNotModified(t *testing.T) {
	old := attempt(200, closedA)
	old.Header = Header{ETag: `"1"`, CacheControl: "max-age=600", ContentType: "text/plain"}
	fresh := at(attempt(304, ""), noon.Add(time.Hour))
	fresh.Header.CacheControl = "max-age=7200"
	for _, prev := range []*Snapshot{old, failed("timeout").After(old)} {
		s := fresh.After(prev)
		want := *old
		want.Fetched = fresh.Fetched
		want.Header.CacheControl = "max-age=7200"
		if diff := cmp.Diff(&want, s); diff != "" {
			t.Error(diff)
		}
		wantMatch(t, s.Group(policy, noon), "/a", Disallow, RuleMatched)
		if got := s.Expires(policy); !got.Equal(noon.Add(3 * time.Hour)) {
			t.Errorf("expires %v", got)
		}
	}
	// Without a copy a 304 is unreachable.
	for _, prev := range []*Snapshot{nil, attempt(404, ""), failed("dns")} {
		if s := fresh.After(prev); s.Reachable() || s.Failures == 0 {
			t.Errorf("304 after %+v: %+v", prev, s)
		}
	}
}

// After does not change its arguments. The first answer resets the failures. A file that is
// stricter, less strict or missing counts at once.
func TestSnapshotAfter(t *testing.T) {
	good := attempt(200, closedA)
	down := failed("connect").After(failed("connect").After(good))
	before, _ := json.Marshal(down)
	for _, s := range []*Snapshot{attempt(200, "User-agent: *\nDisallow: /\n"), attempt(404, ""), attempt(403, "")} {
		n := s.After(down)
		if n.Failures != 0 || n.Copy != nil || !n.Since.IsZero() {
			t.Errorf("%+v", n)
		}
		if n == s || s.Failures != 0 {
			t.Error("the receiver was used")
		}
	}
	if after, _ := json.Marshal(down); !bytes.Equal(before, after) {
		t.Error("the argument was changed")
	}
	if down.Failures != 2 || down.Good() != down.Copy || good.Good() != good {
		t.Errorf("%+v", down)
	}
	wantMatch(t, attempt(404, "").After(good).Group(policy, noon), "/a", Allow, Missing)
	if s := failed("dns").After(nil); s.Failures != 1 || s.Good() != nil {
		t.Errorf("%+v", s)
	}
	// A previous snapshot that was not made by After counts as one failure.
	if s := failed("dns").After(failed("dns")); s.Failures != 2 || !s.Since.Equal(noon) {
		t.Errorf("%+v", s)
	}
	if (*Snapshot)(nil).Good() != nil {
		t.Error("a nil snapshot has a good copy")
	}
}

// A snapshot can be encoded and decoded without loss.
func TestSnapshotIsPlainData(t *testing.T) {
	s := attempt(200, closedA)
	s.Header = Header{"a", "b", "c", "d", "e", "f", noon, "g"}
	s.Final, s.Cut = "https://cdn.test/robots.txt", true
	s = failed("tls").After(s)

	var buf bytes.Buffer
	var fromGob Snapshot
	if err := gob.NewEncoder(&buf).Encode(s); err != nil {
		t.Fatal(err)
	}
	if err := gob.NewDecoder(&buf).Decode(&fromGob); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s.Copy, fromGob.Copy); diff != "" {
		t.Error(diff)
	}
	var fromJSON Snapshot
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &fromJSON); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s, &fromJSON); diff != "" {
		t.Error(diff)
	}
}

// The caller may have cut the body (Cut). A last line that was cut counts only if it is a
// Disallow.
func TestSnapshotCutBody(t *testing.T) {
	s := attempt(200, "User-agent: *\nDisallow: /\nAllow: /a")
	wantMatch(t, s.Group(policy, noon), "/ab", Allow, RuleMatched)
	s.Cut = true
	wantMatch(t, s.Group(policy, noon), "/ab", Disallow, RuleMatched)
}

// "Crawlers SHOULD NOT use the cached version for more than 24 hours" (RFC 9309, 2.4). House: an
// answer is used for at least 5 minutes.
func TestSnapshotExpires(t *testing.T) {
	date := "Sun, 01 Mar 2026 11:00:00 GMT" // the server's clock is an hour slow
	for _, c := range []struct {
		cache, expires, date string
		want, koster         time.Duration
	}{
		{"", "", "", 24 * time.Hour, 7 * 24 * time.Hour},
		{"max-age=3600", "", "", time.Hour, time.Hour},
		{"public, MAX-AGE = \"3600\"", "", "", time.Hour, time.Hour},
		{"max-age=3600, max-age=600", "", "", 10 * time.Minute, 10 * time.Minute},
		{"max-age=0", "", "", 5 * time.Minute, 5 * time.Minute},
		{"max-age=60", "", "", 5 * time.Minute, 5 * time.Minute},
		{"no-store", "", "", 5 * time.Minute, 5 * time.Minute},
		{"no-cache, max-age=3600", "", "", 5 * time.Minute, 5 * time.Minute},
		{"max-age=soon", "", "", 5 * time.Minute, 5 * time.Minute},
		{"max-age=-1", "", "", 5 * time.Minute, 5 * time.Minute},
		{"max-age=", "", "", 5 * time.Minute, 5 * time.Minute},
		{"max-age=172800", "", "", 24 * time.Hour, 48 * time.Hour},
		{"max-age=99999999999999999999999", "", "", 24 * time.Hour, 30 * 24 * time.Hour},
		{"max-age=9223372036854775807", "", "", 24 * time.Hour, 30 * 24 * time.Hour},
		{"public", "", "", 24 * time.Hour, 7 * 24 * time.Hour},
		{"s-maxage=60", "", "", 24 * time.Hour, 7 * 24 * time.Hour},
		{"", "Sun, 01 Mar 2026 13:00:00 GMT", date, 2 * time.Hour, 2 * time.Hour},
		{"", "Sun, 01 Mar 2026 13:00:00 GMT", "", time.Hour, time.Hour},
		{"", "Sunday, 01-Mar-26 13:00:00 GMT", "", time.Hour, time.Hour},
		{"", "Sun Mar  1 13:00:00 2026", "", time.Hour, time.Hour},
		{"", "Tue, 10 Mar 2026 11:00:00 GMT", date, 24 * time.Hour, 9 * 24 * time.Hour},
		{"", "Sun, 01 Mar 2026 10:00:00 GMT", date, 5 * time.Minute, 5 * time.Minute},
		{"", "0", "", 5 * time.Minute, 5 * time.Minute},
		{"max-age=3600", "0", "", time.Hour, time.Hour},
	} {
		s := attempt(200, "")
		s.Header = Header{CacheControl: c.cache, Expires: c.expires, Date: c.date}
		if got := s.Expires(policy).Sub(noon); got != c.want {
			t.Errorf("%+v: %v, want %v", s.Header, got, c.want)
		}
		if got := s.Expires(Policy{Dialect: Koster1996}).Sub(noon); got != c.koster {
			t.Errorf("koster1996, %+v: %v, want %v", s.Header, got, c.koster)
		}
	}
}

// House: after a failure robots.txt is requested again after a minute. This time is doubled up to
// an hour. A Retry-After can make it longer, without a limit, but never shorter.
func TestSnapshotRetry(t *testing.T) {
	var s *Snapshot
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
		s = attempt(503, "").After(s)
		if got := s.Expires(policy).Sub(noon); got != want*time.Minute {
			t.Errorf("after %d failures: %v, want %v", s.Failures, got, want*time.Minute)
		}
	}
	s = attempt(429, "")
	s.Header.RetryAfter = noon.Add(1000 * time.Hour)
	if got := s.Expires(policy); !got.Equal(s.Header.RetryAfter) {
		t.Errorf("%v", got)
	}
	s.Header.RetryAfter = noon.Add(time.Second)
	if got := s.Expires(policy); !got.Equal(noon.Add(time.Minute)) {
		t.Errorf("%v", got)
	}
	s.Failures = 1 << 30
	if got := s.Expires(policy); !got.Equal(noon.Add(time.Hour)) {
		t.Errorf("%v", got)
	}
	if got := new(Snapshot).Expires(policy); !got.IsZero() {
		t.Errorf("zero snapshot expires %v", got)
	}
}

// After keeps Mining after any attempt to fetch robots.txt. Mining is not used as a copy.
func TestTheTDMRepOfASiteStaysWithItsSnapshots(t *testing.T) {
	begin := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	mining := &Snapshot{Status: 200, Fetched: begin, Body: []byte("[]")}
	good := &Snapshot{Status: 200, Fetched: begin, Body: []byte("x"), Mining: mining}
	for _, next := range []*Snapshot{
		{Status: 304, Fetched: begin.Add(time.Hour)}, {Status: 200, Fetched: begin.Add(time.Hour)},
		{Status: 404, Fetched: begin.Add(time.Hour)}, {Status: 503, Fetched: begin.Add(time.Hour)}, {Failure: "timeout", Fetched: begin.Add(time.Hour)},
	} {
		s := next.After(good)
		if s.Mining != mining || s.Copy != nil && s.Copy.Mining != nil {
			t.Errorf("after %d %s: %+v", next.Status, next.Failure, s)
		}
		if again := (&Snapshot{Status: 304, Fetched: begin.Add(2 * time.Hour)}).After(s); again.Mining != mining {
			t.Errorf("after %d %s and 304: %+v", next.Status, next.Failure, again)
		}
	}
	if s := (&Snapshot{Status: 200, Fetched: begin}).After(nil); s.Mining != nil {
		t.Errorf("the first has %+v", s.Mining)
	}
}
