package admit

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

func TestPatternsOfTraps(t *testing.T) {
	now := time.Date(2020, 6, 1, 0, 0, 0, 0, time.UTC)
	for _, test := range []struct{ via, url, want string }{
		{"/", "/", ""},
		{"/", "/a/b/c/d/e", ""},
		{"/", "/a/b/a/b/", ""},
		{"/", "/a/b/a/b/a/b", "the path repeats /a/b"},
		{"/", "/x/a/b/a/b/a/b/y", "the path repeats /a/b"},
		{"/", "/a/a/a", "the path repeats /a"},
		{"/", "/a/a/a.html", ""},
		{"/", "/a/a/ab", ""},
		{"/", "/aa/a/a", ""},
		{"/", "/a/b/a/c/a/d", ""},
		{"/", "/tiles/0/0/0/0", ""},
		{"/", "/tiles/1/2/1/2/1/2", ""},
		{"/", "/a//////b", ""},
		{"/", strings.Repeat("/a1/b2", 2) + "/a1/b2?q", "the path repeats /a1/b2"},
		{"/", numbered(32), ""},
		{"/", numbered(33), "the path has more than 32 segments"},
		{"/", numbered(1500), "the path has more than 32 segments"},

		{"/2023-04", "/2023-05", "a calendar under /"},
		{"/2023-05", "/2023-05/31", "a calendar under /"},
		{"/2023-04", "/2023-06", ""},
		{"/2022-11", "/2022-12", ""},
		{"/", "/2023-05", ""},
		{"/x/2022/12/31", "/x/2023/1/1", "a calendar under /x/"},
		{"/events/202312", "/events/202401", "a calendar under /events/"},
		{"/events/20231201", "/events/20240101", "a calendar under /events/"},
		{"/?year=2030&month=12", "/?year=2031&month=1", "a calendar under /?year="},
		{"/?year=2030&month=12", "/?year=2033&month=1", ""},
		{"/1894_02", "/1894_01", ""},
		{"/rfc9308/12", "/rfc9309/13", ""},
		{"/rfc9308/12", "/rfc9309", ""},
		{"/2030-13", "/2030-14", ""},
		{"/questions/79010203", "/questions/79010204", ""}, // numbers of questions, threads and standards are not dates
		{"/t/450311/", "/t/450312/", ""},
		{"/iso/9075-1", "/iso/9075-2", ""},
		{"/2023113", "/2023114", ""},
		{"/e/20231299", "/e/20231298", ""},
		{"/e/20231200", "/e/20231132", ""},
		{"/p/189912", "/p/189911", ""},
		{"/p/209912", "/p/209911", "a calendar under /p/"},
		{"/p/210001", "/p/210002", ""},
		{"/2199-11", "/2199-12", "a calendar under /"},
		{"/2200-01", "/2200-02", ""},
		{"/2030-00", "/2030-001", ""},
		{"/20300", "/203001", ""},

		{"/", "/?a=1&a=1&a=1", ""},
		{"/", "/?a=1&b=1&a=1&a=1&a=1", "the query repeats a=1"},
		{"/", "/?a=1&a=2&a=3&a=4&a=5", ""},
		{"/", "/?&&&&&&", ""},
	} {
		e := entryOf(t, "http://a.example"+test.url)
		from := NewFinder(entryOf(t, "http://a.example"+test.via).URL, now)
		from.Grown = true
		if got := new(Traps).Judge(&e, &from); got != test.want {
			t.Errorf("%s, found on %s: %q, want %q", test.url, test.via, got, test.want)
		}
	}
}

// Grown is set only for pages whose paths have begun to grow.
func TestWherePathsGrow(t *testing.T) {
	for path, want := range map[string]bool{
		"/": false, "/a/b": false, "/a/a": true, "/a/a.html": false, "/x/a/b/a/b/y": true, "/a/b/a": false, "/0/0": false,
		numbered(16): false, numbered(17): true, numbered(60): true, "/?x=/a/a": false,
	} {
		if f := NewFinder(entryOf(t, "http://a.example"+path).URL, time.Now()); f.Grown != want {
			t.Errorf("%s: %v", path, f.Grown)
		}
	}
}

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "/s%d", i)
	}
	return b.String()
}

func entryOf(t *testing.T, raw string) frontier.Entry {
	t.Helper()
	u, err := frontier.ParseURL(raw)
	if err != nil {
		t.Fatal(err)
	}
	return frontier.Entry{URL: u}
}

// Some traps show only by many links. They are detected after too many links under one path of
// one site. Other paths and sites are not affected.
func TestTrapsOfManyLinks(t *testing.T) {
	for _, test := range []struct {
		url  string // format of the URLs, with a verb for a number
		most int
		want string
	}{
		{"http://a.example/x;jsessionid=%032d", maxSessions, "more than 8 session ids under /x"},
		{"http://a.example/x?b=1&PHPSESSID=%032d", maxSessions, "more than 8 session ids under /x?phpsessid"},
		{"http://a.example/x?sid=%012d", maxSessions, "more than 8 session ids under /x?sid"},
		{"http://a.example/x?sid=%011d", 10_000, ""},
		{"http://a.example/x?page=%d", 10_000, ""},
		{"http://a.example/x?p%d=1", maxShapes, "more than 128 combinations of parameters under /x"},
		{"http://a.example/x?a=1&b%d=1&a=2", maxShapes, "more than 128 combinations of parameters under /x"},
		{"http://a.example/%d?a=1", 10_000, ""},
		{"http://a.example/x?PageName%d", 10_000, ""}, // the pages of a wiki
		{"http://a.example/showthread.php?%d-title&p=7", 10_000, ""},
		{"http://a.example/x?f&red%d", maxShapes, "more than 128 combinations of parameters under /x"},
		{"http://a.example/article.pl?sid=24/05/12/%07d", 10_000, ""}, // the id of a story is no session id
		{"http://a.example/article.pl?sid=24%%2F05%%2F12%%2F%07d", 10_000, ""},
	} {
		var tr Traps
		for i := range test.most + 2 {
			for range 2 { // count each link once, even if it is found twice
				e := entryOf(t, fmt.Sprintf(test.url, i))
				want := test.want
				if i < test.most {
					want = ""
				}
				if got := tr.Judge(&e, &Finder{}); got != want {
					t.Fatalf("%d of %s: %q, want %q", i, test.url, got, want)
				}
			}
		}
		for _, other := range []string{"http://b.example/x;jsessionid=abcdefghijklmn", "http://b.example/x?sid=abcdefghijklmn&q=1", "http://a.example/y?c=1"} {
			if e := entryOf(t, other); tr.Judge(&e, &Finder{}) != "" {
				t.Errorf("after %s: %s", test.url, other)
			}
		}
	}
}

// A calendar that goes back in time is detected after maxMonths months.
func TestACalendarIsLeftAfterManyMonths(t *testing.T) {
	var tr Traps
	month := time.Date(2020, 6, 1, 0, 0, 0, 0, time.UTC)
	for i := range maxMonths + 2 {
		e := entryOf(t, "http://a.example/"+month.AddDate(0, -1, 0).Format("2006/01"))
		from := NewFinder(entryOf(t, "http://a.example/"+month.Format("2006/01")).URL, month)
		want := ""
		if i >= maxMonths {
			want = "a calendar under /"
		}
		if got := tr.Judge(&e, &from); got != want {
			t.Fatalf("%s: %q, want %q", e.URL, got, want)
		}
		month = month.AddDate(0, -1, 0)
	}
}

// An archive of many years is not an endless calendar if its pages link only within their own
// month.
func TestAnArchiveOfManyYearsIsNoCalendar(t *testing.T) {
	var tr Traps
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	for i := range 3 * maxMonths {
		month := "http://a.example/list/" + now.AddDate(0, -i, 0).Format("2006/01/")
		from := NewFinder(entryOf(t, month).URL, now)
		for _, message := range []string{"msg00001.html", "threads.html"} {
			if e := entryOf(t, month+message); tr.Judge(&e, &from) != "" {
				t.Fatalf("%s, found on %s", e.URL, month)
			}
		}
	}
}

// The memory of Traps is bounded for any number of paths and patterns.
func TestTrapsAreBounded(t *testing.T) {
	var tr Traps
	for i := range 3*maxSpaces + 1 {
		e := entryOf(t, fmt.Sprintf("http://a.example/%d?a=1", i))
		tr.Judge(&e, &Finder{})
		if len(tr.spaces) > maxSpaces {
			t.Fatalf("%d paths", len(tr.spaces))
		}
		tr.Note("http://a.example", fmt.Sprint(i))
	}
	all := tr.List()
	if len(all) != maxTraps+1 || all[0] != (Trap{"", "others", 3*maxSpaces + 1 - maxTraps}) {
		t.Errorf("%d rows, first %+v", len(all), all[0])
	}
	tr.Note("http://b.example", "x")
	if got := tr.List(); got[0].URLs != all[0].URLs+1 {
		t.Errorf("%+v", got[0])
	}
	tr.Note("http://a.example", "7")
	if got := tr.List(); got[1] != (Trap{"http://a.example", "7", 2}) {
		t.Errorf("%+v", got[1])
	}
}

func BenchmarkJudge(b *testing.B) {
	var tr Traps
	for _, raw := range []string{"http://a.example/1.html", "http://a.example/docs/2.4/mod/mod_proxy.html", "http://a.example/docs/index.php?title=x&action=view"} {
		b.Run(raw, func(b *testing.B) {
			u, err := frontier.ParseURL(raw)
			if err != nil {
				b.Fatal(err)
			}
			e := frontier.Entry{URL: u}
			b.ReportAllocs()
			for b.Loop() {
				tr.Judge(&e, &Finder{})
			}
		})
	}
}
