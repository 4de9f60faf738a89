package fetch

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

func parsed(t *testing.T, raw string) frontier.URL {
	t.Helper()
	u, err := frontier.ParseURL(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// The licenses in memory are limited in number and in bytes. Forgotten licenses are read again.
func TestLicensesInMemoryHaveABound(t *testing.T) {
	store := newMemorySnapshots(math.MaxInt)
	l := newLicenses(store, robots.Policy{})
	for i := range maxLicenseCopies + 10 {
		if _, err := l.at(parsed(t, fmt.Sprintf("http://a.example/%d", i))); err != nil {
			t.Fatal(err)
		}
		if _, err := l.at(parsed(t, "http://a.example/0")); err != nil {
			t.Fatal(err)
		}
	}
	if l.used.Len() != maxLicenseCopies || len(l.known) != maxLicenseCopies {
		t.Errorf("%d and %d copies", l.used.Len(), len(l.known))
	}
	if _, ok := l.look("http://a.example/0"); !ok {
		t.Error("the one that is looked at most is forgotten")
	}
	const doc = `<rsl><content url="/"><license><prohibits>all</prohibits></license></content></rsl>`
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	body := []byte(doc + strings.Repeat(" ", robots.MaxRSLBytes-len(doc)))
	for i := range 20 {
		u := parsed(t, fmt.Sprintf("http://b.example/%d", i))
		if err := l.put(u, &robots.Snapshot{URL: u.String(), Status: 200, Fetched: now, Body: body}); err != nil {
			t.Fatal(err)
		}
		sum := 0
		for e := l.used.Front(); e != nil; e = e.Next() {
			sum += e.Value.(*license).size
		}
		if l.size != sum || sum > maxLicenseBytes {
			t.Fatalf("%d bytes, counted as %d", sum, l.size)
		}
	}
	if _, ok := l.look("http://b.example/0"); ok || l.used.Len() < 10 {
		t.Errorf("%d copies are left", l.used.Len())
	}
	one, err := l.at(parsed(t, "http://b.example/0"))
	if err != nil || one.terms == nil || !one.fetched.Equal(now) || !one.known {
		t.Errorf("%+v, %v", one, err)
	}
	if by, refused := (robots.Licenses{{Terms: one.terms}}).Signals("http://c.example/").Refuses(robots.PurposeAITrain); !refused {
		t.Error(by)
	}
}

// A hooked store calls the function between while a license is read.
type hooked struct {
	*memorySnapshots
	between     func()
	read, write error
}

func (h *hooked) License(u frontier.URL) (*robots.Snapshot, error) {
	s, err := h.memorySnapshots.License(u)
	if f := h.between; f != nil {
		h.between = nil
		f()
	}
	return s, errors.Join(err, h.read)
}

func (h *hooked) PutLicense(u frontier.URL, s *robots.Snapshot) error {
	return errors.Join(h.write, h.memorySnapshots.PutLicense(u, s))
}

// A visit that has looked up an old copy does not replace a newer copy that came meanwhile.
func TestAnOldLicenseDoesNotReplaceANewOne(t *testing.T) {
	u := parsed(t, "http://a.example/l")
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	store := &hooked{memorySnapshots: newMemorySnapshots(math.MaxInt)}
	l := newLicenses(store, robots.Policy{})
	store.between = func() {
		if err := l.put(u, &robots.Snapshot{URL: u.String(), Status: 404, Fetched: now}); err != nil {
			t.Error(err)
		}
	}
	for range 2 {
		if one, err := l.at(u); err != nil || !one.fetched.Equal(now) {
			t.Errorf("%+v, %v", one, err)
		}
	}
}

// If licenses cannot be stored, the visit ends with the error of the store.
func TestErrorsOfTheLicensesEndTheVisit(t *testing.T) {
	broken := errors.New("disk")
	for _, license := range []string{"/l", "http://b.example/l"} {
		for name, store := range map[string]*hooked{"read": {read: broken}, "write": {write: broken}} {
			synctest.Test(t, func(t *testing.T) {
				store := &hooked{memorySnapshots: newMemorySnapshots(math.MaxInt), read: store.read, write: store.write}
				w := &wire{serve: answers(func(r *request, n int) string {
					switch {
					case r.target == "/page":
						t.Errorf("%s: the page is requested", name)
					case r.target == "/robots.txt" && r.header.Get("Host") == "a.example":
						return page("License: " + license + "\n")
					}
					return status(404, "")
				})}
				v := newTour(t, Options{Network: w, Purpose: robots.PurposeArchive, Snapshots: store})
				front := frontOf(t, frontier.Options{}, "http://a.example/page")
				for range 20 {
					turn, err := front.Next(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					res, err := v.fetcher.Get(t.Context(), turn)
					if errors.Is(err, broken) {
						return
					}
					if err != nil {
						t.Fatal(err)
					}
					if _, err := turn.Finish(res.Outcome); err != nil {
						t.Fatal(err)
					}
				}
				t.Errorf("%s of %s: no error", name, license)
			})
		}
	}
}

// If a license was fetched while the visit waited for a turn of its site, it is not fetched again.
// A license on the opt-out list is not requested.
func TestALicenseIsNotAskedForWithoutNeed(t *testing.T) {
	const license = "http://b.example/l"
	for _, listed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var asked []string
			w := &wire{serve: answers(func(r *request, n int) string {
				asked = append(asked, r.header.Get("Host")+r.target)
				switch asked[len(asked)-1] {
				case "a.example/robots.txt":
					return page("License: " + license + "\n")
				case "a.example/page":
					return page("")
				}
				return status(404, "")
			})}
			var v *tour
			u := parsed(t, license)
			v = newTour(t, Options{Network: w, Purpose: robots.PurposeArchive, OptOut: func(at frontier.URL) (string, error) {
				switch {
				case at != u:
				case listed:
					return "listed", nil
				case len(asked) == 2: // after the robots.txt of b was requested, another site has fetched the license
					return "", v.fetcher.licenses.put(u, &robots.Snapshot{URL: license, Status: 404, Fetched: time.Now()})
				}
				return "", nil
			}})
			front := frontOf(t, frontier.Options{}, "http://a.example/page")
			for len(asked) < 10 {
				turn, err := front.Next(t.Context())
				if errors.Is(err, frontier.ErrEnd) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				res, err := v.fetcher.Get(t.Context(), turn)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := turn.Finish(res.Outcome); err != nil {
					t.Fatal(err)
				}
			}
			want := "a.example/robots.txt b.example/robots.txt a.example/page"
			if listed {
				want = "a.example/robots.txt a.example/page"
			}
			if got := strings.Join(asked, " "); got != want {
				t.Errorf("requested %s, want %s", got, want)
			}
		})
	}
}
