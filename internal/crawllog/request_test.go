package crawllog

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const requested = "2026-05-04T10:00:01.500Z   200       4711 http://a.test/x L http://a.test/ text/html #001 20260504100000000+1500 - - "

// Each annotation of a request sets its field. Unknown annotations are ignored.
func TestARequestIsReadFromItsAnnotations(t *testing.T) {
	begin := time.Date(2026, 5, 4, 10, 0, 0, 123456000, time.UTC)
	l, err := Parse(requested + "start:2026-05-04T10:00:00.123456Z,ttfb:0.250000,took:1.376544,asked:2.000000,clock:retry-after,since:2026-05-04T09:59:58.000001Z,retry-after:2026-05-04T10:01:00.000003Z," +
		"ip:[2001:db8::1]:443,proxy:socks5://p.test:1080,proto:h2,robots:2026-05-04T09:00:00.000002Z,for:use,error:truncated,refused:noai,kept:text/html,news:1")
	if err != nil {
		t.Fatal(err)
	}
	r, err := l.Request()
	want := &Request{
		Start: begin, End: begin.Add(1376544 * time.Microsecond), TTFB: 250 * time.Millisecond, Asked: 2 * time.Second, Clock: "retry-after",
		Since: time.Date(2026, 5, 4, 9, 59, 58, 1000, time.UTC), Addr: netip.MustParseAddrPort("[2001:db8::1]:443"), Proxy: "socks5://p.test:1080",
		RetryAfter: time.Date(2026, 5, 4, 10, 1, 0, 3000, time.UTC),
		Robots:     time.Date(2026, 5, 4, 9, 0, 0, 2000, time.UTC), Use: true, Error: "truncated", Refused: "noai", Kept: "text/html",
	}
	if diff := cmp.Diff(want, r, cmpopts.EquateComparable(netip.AddrPort{})); err != nil || diff != "" {
		t.Errorf("%v, %s", err, diff)
	}
	for _, text := range []string{
		strings.Replace(requested, "20260504100000000+1500", "-", 1) + "rule:3",
		strings.Replace(requested, "http://a.test/x", RunURL, 1) + "begin:clean",
	} {
		if l, err = Parse(text); err != nil {
			t.Fatal(err)
		}
		if r, err := l.Request(); r != nil || err != nil {
			t.Errorf("%s: %v, %v", text, r, err)
		}
	}
}

func TestARequestThatSaysTooLittleIsAnError(t *testing.T) {
	for notes, want := range map[string]string{
		"-":                                 "without the annotations start and took",
		"took:1.0":                          "without the annotations start and took",
		"start:2026-05-04T10:00:00.123456Z": "without the annotations start and took",
		"took:-1.0":                         "annotation took:-1.0: negative duration",
		"start:2026-05-04,took:1":           "annotation start:2026-05-04: ",
		"ip:a.test:80":                      "annotation ip:a.test:80: ",
		"since:now":                         "annotation since:now: ",
		"retry-after:30":                    "annotation retry-after:30: ",
		"robots:never":                      "annotation robots:never: ",
		"asked:long":                        "annotation asked:long: ",
		"ttfb:":                             "annotation ttfb:: ",
		"start:2026-05-04T10:00:00.000000Z,took:1,a": "",
	} {
		l, err := Parse(requested + notes)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = l.Request(); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", notes, err, want)
		}
	}
}
