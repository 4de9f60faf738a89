package state

import (
	"errors"
	"iter"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// filledFields returns values of a struct: for each field a value in which only that field is
// set, to a small value, and one value in which all are set. also may correct each value.
func filledFields[T any](t *testing.T, also func(*T)) []T {
	all := make([]T, reflect.TypeFor[T]().NumField()+1)
	whole := reflect.ValueOf(&all[len(all)-1]).Elem()
	for i := range all[:len(all)-1] {
		also(&all[i])
		one := reflect.ValueOf(&all[i]).Elem().Field(i)
		switch f := one.Addr().Interface().(type) {
		case *time.Time:
			*f = time.Unix(0, int64(i)+1)
		case *frontier.Place:
			*f = frontier.Place{File: "x.warc.gz", Offset: 1}
		case **frontier.Visits:
			*f = &frontier.Visits{First: time.Unix(0, 1), Seen: 1, Changes: 1, Body: frontier.Place{File: "a.warc.gz", Offset: 3}, Last: frontier.Fate{Code: frontier.Fetched, Time: time.Unix(0, 2)}}
		case *frontier.URL:
			*f = entry(t, "http://a.example/x/y").URL
		default:
			switch {
			case one.CanInt():
				one.SetInt(1)
			case one.CanUint():
				one.SetUint(1)
			case one.Kind() == reflect.Bool:
				one.SetBool(true)
			case one.Kind() == reflect.String:
				one.SetString("x")
			default:
				t.Fatalf("no value for the field %s", reflect.TypeFor[T]().Field(i).Name)
			}
		}
		whole.Field(i).Set(one)
	}
	return all
}

// roundTrips encodes each value and checks that read returns it, also if other bytes follow. No
// shorter prefix of the encoding may be accepted.
func roundTrips[T any](t *testing.T, all []T, add func([]byte, *T) []byte, read func(*decoder) T) {
	for i := range all {
		raw := add(nil, &all[i])
		d := decoder{b: append(raw[:len(raw):len(raw)], 7)}
		if got := read(&d); !reflect.DeepEqual(got, all[i]) || d.bad || len(d.b) != 1 {
			t.Errorf("got %+v, want %+v; %d bytes are left", got, all[i], len(d.b))
		}
		for n := range raw {
			d := decoder{b: raw[:n]}
			if read(&d); !d.bad {
				t.Errorf("%+v: %d of %d bytes do", all[i], n, len(raw))
			}
		}
	}
}

// Each field is stored even if it is the only one that is set, or if it is small.
func TestEachFieldIsKeptByItself(t *testing.T) {
	roundTrips(t, filledFields(t, func(*frontier.Clocks) {}), appendClocks, (*decoder).clocks)
	roundTrips(t, filledFields(t, func(*frontier.Spent) {}), func(b []byte, s *frontier.Spent) []byte { return appendSpent(b, *s) }, (*decoder).spent)
	fates := filledFields(t, func(f *frontier.Fate) { f.Code = frontier.Failed })
	roundTrips(t, append(fates,
		frontier.Fate{Code: frontier.Fetched, Digest: "sha1:ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"},
		frontier.Fate{Code: frontier.Fetched, Digest: "sha1:ABCDEFGHIJKLMNOPQRSTUVWXYZ23456"},
		frontier.Fate{Code: frontier.Fetched, Digest: "sha1:ABCDEFGHIJKLMNOPQRSTUVWXYZ23456!"},
		frontier.Fate{Code: frontier.Fetched, Digest: "md5:ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"},
	), appendFate, (*decoder).fate)
	entries := filledFields(t, func(e *frontier.Entry) { e.URL = entry(t, "http://a.example/x/y").URL })
	for _, via := range []string{"http://a.example/", "http://a.example/x", "http://a.example/x/y", "http://a.example/x/y/z", "http://a.example.org/x", "http://b.example/"} {
		e := entries[0]
		e.Via = via
		entries = append(entries, e)
	}
	for i := range entries {
		entries[i].Due, entries[i].ID = time.Time{}, 0 // these fields are in the keys of the entries
	}
	roundTrips(t, entries, func(b []byte, e *frontier.Entry) []byte { return appendEntry(b, e, e.Tries) }, func(d *decoder) frontier.Entry {
		skip := *d
		e, err := d.entry("http://a.example")
		if skip.skipEntry(); skip.bad != d.bad || len(skip.b) != len(d.b) {
			t.Errorf("skipEntry leaves %d bytes, entry %d", len(skip.b), len(d.b))
		}
		d.bad = d.bad || err != nil
		return e
	})
}

// The body of a loop may end it at any pair, also if some rows are committed and others are
// pending. The body may call other methods.
func TestALoopIsLeftAtAnyPair(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		l := Usual
		l.SmallPending, l.SomeMerge = 0, 0
		submit := func(db *DB, name string) {
			c := frontier.Completion{
				Site: entry(t, "http://"+name+".example/").URL.Site(), Clocks: frontier.Clocks{Good: 1},
				Common: []frontier.CommonClock{{Name: name, Due: time.Now()}},
			}
			if err := errors.Join(db.Submit(c), db.Put("list "+name, 1)); err != nil {
				t.Fatal(err)
			}
		}
		db := open(t, dir)
		submit(db, "a")
		submit(db, "b")
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		db, err := start(dir, Options{Limits: &l})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		submit(db, "c") // this site stays in the journal
		time.Sleep(25 * time.Millisecond)
		synctest.Wait()
		if len(db.book.pending.sites) != 1 || len(db.book.pending.common) != 1 {
			t.Fatalf("%d sites and %d clocks are pending", len(db.book.pending.sites), len(db.book.pending.common))
		}
		for name, list := range map[string]iter.Seq[error]{"Sites": errorsOf(db.Sites()), "Common": errorsOf(db.Common()), "Keys": errorsOf(db.Keys("list "))} {
			for most := range 4 {
				n := 0
				for err := range list {
					if err != nil {
						t.Errorf("%s: %v", name, err)
					}
					if _, err := db.State("http://a.example"); err != nil { // would block if the loop held a lock
						t.Errorf("%s: State: %v", name, err)
					}
					if n++; n > most {
						break
					}
				}
				if want := min(most+1, 3); n != want {
					t.Errorf("%s: %d pairs, want %d", name, n, want)
				}
			}
		}
	})
}

// errorsOf yields the error of each pair.
func errorsOf[T any](all iter.Seq2[T, error]) iter.Seq[error] {
	return func(yield func(error) bool) {
		for _, err := range all {
			if !yield(err) {
				return
			}
		}
	}
}
