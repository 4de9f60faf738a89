package crawllog

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
)

// slowParse is a second implementation of Parse that uses only the standard library.
func slowParse(text string) (*Line, error) {
	f := strings.FieldsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f })
	if len(f) != 12 {
		return nil, fmt.Errorf("crawl.log: %d fields, want 12", len(f))
	}
	l := &Line{URL: f[3], Hops: dash(f[4]), Via: dash(f[5]), Type: f[6], Digest: dash(f[9]), Tag: dash(f[10]), Size: -1}
	if l.Type == "unknown" {
		l.Type = ""
	}
	var errs [5]error
	l.Time, errs[0] = time.Parse(timeForm, f[0])
	l.Status, errs[1] = strconv.Atoi(f[1])
	if f[2] != "-" {
		l.Size, errs[2] = strconv.ParseInt(f[2], 10, 64)
	}
	l.Worker, errs[3] = strconv.Atoi(strings.TrimPrefix(f[7], "#"))
	if f[8] != "-" {
		start, took, _ := strings.Cut(f[8], "+")
		if len(start) == 17 {
			start = start[:14] + "." + start[14:]
		}
		l.Start, errs[4] = time.Parse(startForm, start)
		ms, err := strconv.ParseInt(took, 10, 64)
		l.Duration, errs[4] = time.Duration(ms)*time.Millisecond, errors.Join(errs[4], err)
	}
	if f[11] != "-" {
		l.Annotations = strings.Split(f[11], ",")
	}
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("crawl.log: %w", err)
	}
	return l, nil
}

func slowSeconds(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text + "s")
	if err == nil && d < 0 {
		err = errors.New("negative duration")
	}
	return d, err
}

// sameAsSlow checks that Parse and its parts return the same as slowParse.
func sameAsSlow(t *testing.T, text string) {
	t.Helper()
	is, err := Parse(text)
	want, wantErr := slowParse(text)
	if !reflect.DeepEqual(want, is) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
		t.Fatalf("%q: %+v, %v, want %+v, %v", text, is, err, want, wantErr)
	}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r <= ' ' || r == ',' }) {
		_, value, _ := strings.Cut(word, ":")
		for _, s := range []string{word, value} {
			for _, form := range []string{timeForm, MicroForm} {
				is, err := parseTime(form, s)
				want, wantErr := time.Parse(form, s)
				if is != want || fmt.Sprint(err) != fmt.Sprint(wantErr) {
					t.Fatalf("%q as %s: %v, %v, want %v, %v", s, form, is, err, want, wantErr)
				}
			}
			is, err := parseSeconds(s)
			want, wantErr := slowSeconds(s)
			if is != want || fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Fatalf("%q seconds: %v, %v, want %v, %v", s, is, err, want, wantErr)
			}
		}
	}
}

// parsed has lines from which the test begins: lines of all forms, with dates that exist and
// dates that do not.
var parsed = []string{
	requested + "start:2026-05-04T10:00:00.123456Z,ttfb:0.250000,took:1.376544,asked:2.000000,clock:own,robots:2024-02-29T23:59:59.999999Z",
	"2025-02-29T10:00:01.500Z -9998 - http://a.test/x - - unknown #007 - - - rule:3,took:1.,asked:.5,ttfb:1.0000000001,took:999999999.999999999",
	"2026-05-04T10:00:01.500Z 200 1 u - - t #1 - - - a:2026-05-04T24:00:00.000000Z,b:2026-05-04T10:60:00.000000Z,c:2026-05-04T10:00:60.000000Z,d:2026-04-31T10:00:00.000Z,e:2026-13-01T10:00:00.000Z,f:2025-12-00T10:00:00.000Z",
	"2026-04-31T24:60:60.500Z   200 1 http://a.test/ L http://a.test/ text/html #001 20260431236000000+1500 - - -",
	"0000-00-00T00:00:00.000Z 200 1 u - - t 1 00000000000000000+0 d t a:1e3,b:+1,c:-0.5,d:1_0",
	"2026-05-04T10:00:01,500Z\t200 9223372036854775808 u \x7f- - t #1\x00x 20260504100000.000+x \xff d t -\n",
	"", " ", "- - - - - - - - - - - -", "a b c d e f g h i j k l m",
}

// Parse returns the same as the standard library for each line, also after a few bytes of the
// line were changed.
func TestLinesAreReadAsTheStandardLibraryReadsThem(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const bytes = "0123456789-:.,+TZ #%\t\x00\x7f\xff/abc"
	for _, text := range parsed {
		sameAsSlow(t, text)
		for range 1000 {
			b := []byte(text)
			for range 1 + rng.IntN(3) {
				if len(b) == 0 {
					break
				}
				switch at := rng.IntN(len(b)); rng.IntN(4) {
				case 0:
					b = append(b[:at], b[at+1:]...)
				case 1:
					b = append(b[:at], append([]byte{bytes[rng.IntN(len(bytes))]}, b[at:]...)...)
				default:
					b[at] = bytes[rng.IntN(len(bytes))]
				}
			}
			sameAsSlow(t, string(b))
		}
	}
}

func FuzzParseAsTheStandardLibrary(f *testing.F) {
	for _, text := range parsed {
		f.Add(text)
	}
	f.Fuzz(sameAsSlow)
}
