package state

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/statetest"
	"go.etcd.io/bbolt"
	"pgregory.net/rapid"
)

// fuzz passes random bytes to a decoder, which must not panic. If the decoder accepts the
// bytes, encoding and decoding the result again must give the same result.
func fuzz[T any](f *testing.F, read func(*decoder) T, write func([]byte, *T) []byte, seeds ...T) {
	for _, s := range seeds {
		f.Add(write(nil, &s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		d := decoder{b: raw}
		v := read(&d)
		if d.bad {
			if len(d.b) > 0 {
				t.Error("a bad decoder has bytes left")
			}
			return
		}
		again := decoder{b: write(nil, &v)}
		if w := read(&again); again.bad || len(again.b) > 0 || !reflect.DeepEqual(v, w) {
			t.Errorf("%+v\nbecomes\n%+v, %v, %d bytes left", v, w, again.bad, len(again.b))
		}
	})
}

var then = time.Unix(1893456000, 123456789)

func FuzzClocks(f *testing.F) {
	fuzz(f, (*decoder).clocks, appendClocks, frontier.Clocks{}, frontier.Clocks{Public: true}, frontier.Clocks{
		Due: then, By: frontier.RetryAfterClock, Ended: then, TTFB: 1, LastTTFB: 2, Good: 3, Gap: time.Second, GapBy: "a new one",
		Strikes: 4, Refusals: 5, Failures: 6, RetryAfter: then, Public: true,
	})
}

func FuzzFate(f *testing.F) {
	fuzz(f, (*decoder).fate, appendFate, frontier.Fate{}, frontier.Fate{Code: frontier.Waiting, Until: then, Time: then}, frontier.Fate{
		Code: frontier.Fetched, Status: 200, Detail: "x", Digest: "sha1:ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", Rules: then, Answer: frontier.Place{File: "x.warc.gz", Offset: 1 << 40},
	}, frontier.Fate{Code: frontier.Failed, Digest: "sha1:abcdefghijklmnopqrstuvwxyz234567"}, frontier.Fate{Code: frontier.Failed, Digest: "sha1:A======="})
}

func FuzzSpent(f *testing.F) {
	fuzz(f, (*decoder).spent, func(b []byte, s *frontier.Spent) []byte { return appendSpent(b, *s) }, frontier.Spent{Pages: 1, Bytes: 1 << 40, Time: time.Hour})
}

func FuzzEntry(f *testing.F) {
	const site = "http://a.example"
	for _, e := range []frontier.Entry{
		entry(f, site+"/"), {URL: entry(f, site+"/x?y").URL, Via: site + "/xy", Hops: "LLR", Tag: "t", Depth: 300, Tries: 2},
		{URL: entry(f, site+"/x/?b&a").URL, Same: entry(f, site+"/x/?a&b").URL, Tag: "t"}, {URL: entry(f, site+"/x").URL, Same: entry(f, site+"/x").URL, Apart: true},
		{URL: entry(f, site+"/head").URL, Head: true, Rank: 255, Tries: 200}, {URL: entry(f, site+"/").URL, Via: site + "/", Head: true, ByGet: true},
		{URL: entry(f, site+"/"+strings.Repeat("x", 7983)).URL, Via: "https://b.example/", Hops: strings.Repeat("L", 5000)},
	} {
		f.Add(appendEntry(nil, &e, e.Tries))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		d := decoder{b: raw}
		e, err := d.entry(site)
		skip := decoder{b: raw}
		if skip.skipEntry(); err == nil && (skip.bad || len(skip.b) != len(d.b)) {
			t.Errorf("skipEntry leaves %d bytes, entry %d", len(skip.b), len(d.b))
		}
		entryRank(raw)
		retried(nil, raw, 1, true)
		if err != nil || e.URL.Site() != site {
			return // a value of another site, to which no key refers
		}
		again := decoder{b: appendEntry(nil, &e, e.Tries)}
		if w, err := again.entry(site); err != nil || len(again.b) > 0 || !statetest.SameEntry(w, e) {
			t.Errorf("%+v\nbecomes\n%+v, %v", e, w, err)
		}
		if p := entryRank(appendEntry(nil, &e, 0)); p != e.Rank {
			t.Errorf("rank %d, want %d", p, e.Rank)
		}
		visits := &frontier.Visits{First: then, Seen: 3, Changes: 2, Last: frontier.Fate{Code: frontier.Fetched, Time: then, Answer: frontier.Place{File: "a.warc.gz", Offset: 9}}}
		raw, err = visited(nil, appendEntry(nil, &e, e.Tries), site, visits)
		want := e
		want.Tries, want.Visits = 0, visits
		more := decoder{b: raw}
		if w, err2 := more.entry(site); err != nil || err2 != nil || !statetest.SameEntry(w, want) {
			t.Errorf("visited: %+v, %v, %v, want %+v", w, err, err2, want)
		}
		for _, byGet := range []bool{false, true} {
			want := e
			want.Tries, want.ByGet = 7, e.ByGet || byGet
			more := decoder{b: retried(nil, appendEntry(nil, &e, e.Tries), 7, byGet)}
			if w, err := more.entry(site); err != nil || !statetest.SameEntry(w, want) {
				t.Errorf("retried: %+v, %v, want %+v", w, err, want)
			}
		}
	})
}

func FuzzSiteRecord(f *testing.F) {
	for _, r := range []siteRecord{{}, {Site: "http://a.example", Merged: 1 << 40, Entries: 3, Ready: 1, Waiting: 1, Head: 9, Clocks: frontier.Clocks{Due: then}}} {
		f.Add(r.append(nil))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		key := siteNum(1).key()
		value := append(make([]byte, checksumSize), raw...)
		binary.BigEndian.PutUint32(value, checksum(key, value))
		var r, again siteRecord
		if r.decode(key, value) != nil {
			return
		}
		value = r.value(make([]byte, checksumSize))
		binary.BigEndian.PutUint32(value, checksum(key, value))
		if err := again.decode(key, value); err != nil || !reflect.DeepEqual(r, again) {
			t.Errorf("%+v\nbecomes\n%+v, %v", r, again, err)
		}
		value[len(value)-1]++
		if err := again.decode(key, value); err == nil {
			t.Error("a record with another last byte is accepted")
		}
	})
}

func completions(t testing.TB) []frontier.Completion {
	e := entry(t, "http://a.example/x")
	e.ID = entryID(1, 2)
	late := e
	late.Due = time.UnixMilli(1893456000123)
	again := e
	again.Visits = &frontier.Visits{First: then, Seen: 3, Changes: 2}
	links := []frontier.Entry{entry(t, "http://a.example/y"), entry(t, "https://b.example/"), e.Found(e.URL, frontier.HopLink)}
	return []frontier.Completion{
		{}, {Links: links}, {Common: []frontier.CommonClock{{Name: "ip 192.0.2.1", Due: then}, {Name: ""}}},
		{Site: e.URL.Site(), Clocks: frontier.Clocks{Due: then}, Entry: e, Fate: frontier.Fate{Code: frontier.Fetched}, Links: links},
		{Site: e.URL.Site(), Entry: late, Fate: frontier.Fate{Code: frontier.Waiting, Until: then}, Given: frontier.Fate{Code: frontier.SiteDead}},
		{Site: e.URL.Site(), Entry: again, Fate: frontier.Fate{Code: frontier.Fetched, Until: then}},
		{Site: e.URL.Site(), Spent: frontier.Spent{Pages: 1}},
	}
}

// encodings returns encoded completions. Some of them make entries due earlier.
func encodings(t testing.TB, db *DB) (all []encoded) {
	forwards := func(sites ...frontier.Site) (all []forward) {
		for i, site := range sites {
			all = append(all, forward{named: named{fp: uint64(i + 1), num: 7}, site: site, from: 1893456000123, to: int64(i)})
		}
		return all
	}
	for _, c := range completions(t) {
		plain, forward := db.encodeCompletion(&c, new(draft)), db.encodeCompletion(&c, new(draft))
		forward.addForwards(forwards("http://a.example", "http://a.example", "http://b.example"))
		all = append(all, plain, forward)
	}
	return all
}

func FuzzRow(f *testing.F) {
	for _, size := range []int{1, 1 << 20} {
		db := &DB{cache: newKnownCache()}
		b := rowsBuilder{size: size}
		for _, e := range encodings(f, db) {
			b.add(&e)
		}
		for _, row := range b.rows {
			f.Add(row[checksumSize:])
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		key := rowKey(7)
		value := append(make([]byte, checksumSize), raw...)
		binary.BigEndian.PutUint32(value, checksum(key, value))
		all, err := decodeRow(key, value)
		if err != nil {
			return
		}
		for i, e := range all {
			if at := e.place.at; e.row != 7 || !bytes.HasPrefix(raw[at:], e.raw) {
				t.Errorf("completion %d does not stand at %d", i, at)
			}
			for _, l := range e.links {
				d := decoder{b: e.raw[l.at:]}
				if d.lengthed(); d.bad {
					t.Errorf("no entry is at %d", l.at)
				}
			}
			for _, g := range e.forwards {
				d := decoder{b: e.raw[g.at:]}
				if h := d.forward(); d.bad || h.fp != g.fp || h.from != g.from || h.to != g.to {
					t.Errorf("%+v is at %d, want %+v", h, g.at, g)
				}
			}
		}
	})
}

// decodeRow returns the completions from which the row was made.
func TestARowIsReadAsItWasWritten(t *testing.T) {
	db := &DB{cache: newKnownCache()}
	for _, size := range []int{1, 100, 1 << 20} {
		b := rowsBuilder{size: size}
		var want []encoded
		for _, e := range encodings(t, db) {
			b.add(&e)
			want = append(want, e)
		}
		var got []encoded
		for i, row := range b.rows {
			key := rowKey(uint64(i))
			binary.BigEndian.PutUint32(row, checksum(key, row))
			all, err := decodeRow(key, row)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, all...)
		}
		if n := len(b.rows); size == 1 && n != len(want) || size == 1<<20 && n != 1 {
			t.Errorf("%d rows of size %d", n, size)
		}
		for i := range want {
			want[i].num, want[i].entry.num, want[i].own, want[i].leaves = 0, 0, false, false // ignore the fields that are not in the row
			for k := range want[i].forwards {
				want[i].forwards[k].num = 0
			}
			if g, w := fmt.Sprintf("%+v", got[i]), fmt.Sprintf("%+v", want[i]); g != w {
				t.Errorf("completion %d:\n%s\nwant\n%s", i, g, w)
			}
			d := decoder{b: got[i].raw}
			j, c := d.completion(), completions(t)[i/2]
			if j.site != c.Site || j.fate.Code != c.Fate.Code || j.given.Code != c.Given.Code || j.spent != c.Spent || !j.clocks.Due.Equal(c.Clocks.Due) {
				t.Errorf("completion %d: %+v, want %+v", i, j, c)
			}
		}
	}
}

// The blocks of a site work like a map from fingerprints to numbers, at any size at which they
// split.
func TestBlocksAreAMap(t *testing.T) {
	b, err := bbolt.Open(filepath.Join(t.TempDir(), "blocks"), 0o600, &bbolt.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	rapid.Check(t, func(t *rapid.T) {
		tx, err := b.Begin(true)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		bucket, err := tx.CreateBucket(bucketEntries)
		if err != nil {
			t.Fatal(err)
		}
		most := rapid.IntRange(2, 9).Draw(t, "most")
		// A small range, so that some fingerprints are equal, and the largest values.
		fps := rapid.OneOf(rapid.Uint64Range(1, 200), rapid.Uint64Range(1<<64-3, 1<<64-1))
		want := map[siteNum]map[uint64]uint32{}
		var a arena
		next := uint32(0)
		for range rapid.IntRange(1, 12).Draw(t, "inserts") {
			n := siteNum(rapid.IntRange(1, 3).Draw(t, "site"))
			if want[n] == nil {
				want[n] = map[uint64]uint32{}
			}
			some := rapid.SliceOfNDistinct(fps, 0, 30, rapid.ID[uint64]).Draw(t, "fingerprints")
			slices.Sort(some)
			var order []finger
			for i, fp := range some {
				order = append(order, finger{fp, int32(i)})
			}
			var news []numbered
			if err := unseen(bucket.Cursor(), n, order, func(i int32) {
				next++
				news = append(news, numbered{some[i], next})
			}); err != nil {
				t.Fatal(err)
			}
			for _, fp := range some {
				_, known := want[n][fp]
				if fresh := slices.ContainsFunc(news, func(x numbered) bool { return x.fp == fp }); fresh == known {
					t.Fatalf("site %d: %d is new: %v, known: %v", n, fp, fresh, known)
				}
			}
			if err := insert(bucket, bucket.Cursor(), n, news, most, &a); err != nil {
				t.Fatal(err)
			}
			for _, x := range news {
				want[n][x.fp] = x.num
			}
		}
		got := map[siteNum]map[uint64]uint32{}
		each(bucket, func(key, value []byte) {
			raw, err := unseal(bucketEntries, key, value)
			if err != nil {
				t.Fatal(err)
			}
			n, b := keySite(key), block(raw)
			if got[n] == nil {
				got[n] = map[uint64]uint32{}
				if first := binary.BigEndian.Uint64(key[5:]); first != 0 {
					t.Fatalf("the first block of site %d is at %d", n, first)
				}
			}
			if b.len() == 0 || b.len() > most {
				t.Fatalf("a block of %d, at most %d fit", b.len(), most)
			}
			for i := range b.len() {
				got[n][b.finger(i)] = b.num(i)
			}
		})
		for n, m := range want {
			if !maps.Equal(got[n], m) {
				t.Fatalf("site %d: %v, want %v", n, got[n], m)
			}
			for _, fp := range []uint64{1, 100, 200, 1<<64 - 1} {
				num, ok, err := seenNum(bucket.Cursor(), n, fp)
				if w, known := m[fp]; err != nil || ok != known || num != w {
					t.Fatalf("site %d: %d is number %d, %v, %v; want %d", n, fp, num, ok, err, w)
				}
			}
		}
	})
}
