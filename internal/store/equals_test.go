package store

import (
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// The Records of a running crawl find entries by the settings and the robots.txt that were stored
// last, also if both were read before.
func TestEqualURLsAreThoseOfTheStoredSettings(t *testing.T) {
	db, err := Open(t.TempDir(), Options{Gather: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const site = frontier.Site("http://a.example")
	first := entry(t, "http://a.example/x?ref=1&utm_source=1")
	first.Same = entry(t, "http://a.example/x").URL
	other := entry(t, "http://a.example/z?ref=1&utm_source=1") // found on another site, which does not know the Clean-param line
	other.Same = entry(t, "http://a.example/z?ref=1").URL
	if err := db.Submit(frontier.Completion{Links: []frontier.Entry{first, other}}); err != nil {
		t.Fatal(err)
	}
	settle(t, db, 1)
	settings := func(same, clean string) {
		t.Helper()
		run := struct{ Settings map[string]string }{map[string]string{"same": same, "clean-param": clean, "dialect": "rfc9309"}}
		if err := db.Put(KeyRun, run); err != nil {
			t.Fatal(err)
		}
	}
	file := func(status int, body string, copied *robots.Snapshot) *robots.Snapshot {
		t.Helper()
		s := &robots.Snapshot{URL: "http://a.example/robots.txt", Fetched: time.Now(), Status: status, Body: []byte(body), Copy: copied}
		if err := db.PutSnapshot(site, s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	want := func(when string, want map[string]bool) {
		t.Helper()
		for target, want := range want {
			u := entry(t, string(site)+target).URL
			k, ok, err := db.Entry(u)
			fate, known, ferr := db.Fate(u)
			if ok != want || known != want || err != nil || ferr != nil || want && (k.URL != first.URL && k.URL != other.URL || fate != k.Fate) {
				t.Errorf("%s: %s is %v, %v, %s, %v, %v", when, target, ok, known, k.URL, err, ferr)
			}
		}
	}
	want("before a run", map[string]bool{"/x": true, "/x?utm_source=2": false, "/x?ref=1&utm_source=1": false})
	settings("tracking", "no")
	want("by one rule", map[string]bool{"/x": true, "/x?utm_source=2": true, "/x?ref=2": false, "/x?ref=1&utm_source=1": false})
	settings("tracking", "yes")
	want("without robots.txt", map[string]bool{"/x?utm_source=2": true, "/x?ref=2": false})
	good := file(200, "Clean-param: ref", nil)
	want("with Clean-param", map[string]bool{"/x?utm_source=2": true, "/x?ref=2": true, "/x?ref=1&utm_source=1": true, "/y?ref=2": false, "/z?ref=1&utm_source=2": true, "/z?ref=2": false})
	file(503, "", good)
	want("while robots.txt fails", map[string]bool{"/x?ref=2": true})
	file(200, "Clean-param: other", nil)
	want("with another Clean-param", map[string]bool{"/x?ref=2": false, "/x?other=2&utm_source=2": true})
	settings("a function", "no")
	want("with a function of the program", map[string]bool{"/x": true, "/x?utm_source=2": false})
	if known, err := db.Known(&first); !known || err != nil {
		t.Errorf("the entry is known: %v, %v", known, err)
	}
	apart := first
	apart.Same, apart.Apart = frontier.URL{}, true
	if known, err := db.Known(&apart); known || err != nil {
		t.Errorf("the target of a redirect, which has a key of its own, is known: %v, %v", known, err)
	}
}
