package crawler

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/zeebo/xxh3"
)

// A repeated body is found among any number of other bodies, with limited memory.
func TestRepeatsAreBounded(t *testing.T) {
	var r repeats
	see := func(url, digest string) (Repeat, bool) {
		u, err := frontier.ParseURL(url)
		if err != nil {
			t.Fatal(err)
		}
		one, warn := r.count(u, xxh3.HashString(digest))
		return one.Repeat, warn
	}
	warned := 0
	for i := range 3*maxBodies + 7 {
		see(fmt.Sprintf("http://a.example/book/%d", i), fmt.Sprint("one of its own ", i))
		if i%20 == 0 {
			if one, warn := see(fmt.Sprintf("http://a.example/cycle/%d?a=b", i), "the same"); warn {
				warned++
				if one.Pages != manyRepeats || one.Under != "http://a.example/cycle/" {
					t.Errorf("%+v", one)
				}
			}
			see(fmt.Sprintf("http://b%d.example/", i), "the same") // the same body on other sites counts separately
		}
		if n := len(r.young) + len(r.old); n > 2*maxBodies {
			t.Fatalf("%d bodies are remembered", n)
		}
	}
	all := r.list()
	if want := (3*maxBodies+7)/20 + 1; warned != 1 || len(all) != 1 || all[0].Pages != want {
		t.Errorf("warned %d times; %+v, want %d pages", warned, all, want)
	}
}

// A crawl with many endless spaces logs only a limited number of warnings.
func TestRepeatsAreNotLoggedTooOften(t *testing.T) {
	var r repeats
	warned := 0
	for h := range 3 * maxWarnings {
		for i := range manyRepeats {
			u, err := frontier.ParseURL(fmt.Sprintf("http://h%d.example/%d", h, i))
			if err != nil {
				t.Fatal(err)
			}
			if _, warn := r.count(u, xxh3.HashString("the same")); warn {
				warned++
			}
		}
	}
	if n := len(r.list()); warned != maxWarnings || n != 3*maxWarnings {
		t.Errorf("warned %d times of %d", warned, n)
	}
}

// A warning is logged again at ten times the number of pages.
func TestRepeatsAreLoggedAtEachPowerOfTen(t *testing.T) {
	var r repeats
	u, err := frontier.ParseURL("http://a.example/cycle")
	if err != nil {
		t.Fatal(err)
	}
	var warned []int
	for range 10 * manyRepeats {
		if one, warn := r.count(u, xxh3.HashString("the same")); warn {
			warned = append(warned, one.Pages)
		}
	}
	if !slices.Equal(warned, []int{100, 1000}) {
		t.Errorf("warned at %v", warned)
	}
}

func TestCommon(t *testing.T) {
	for _, c := range [][3]string{
		{"http://a.example/x?a=1&b=2", "http://a.example/x?a=1&c=2", "http://a.example/x?a=1&"},
		{"http://a.example/x?a=1", "http://a.example/x?a=2", "http://a.example/x?a="},
		{"http://a.example/x", "http://a.example/x?a=2", "http://a.example/x"},
		{"http://a.example/xa", "http://a.example/x", "http://a.example/"},
		{"http://a.example/x", "http://a.example/x", "http://a.example/x"},
		{"http://a.example/x", "http://a.example/", "http://a.example/"},
		{"x", "y", ""},
	} {
		if got := common(c[0], c[1]); got != c[2] {
			t.Errorf("common(%q, %q) = %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

// A repeated is a repeats that records when a warning is due.
type repeated struct {
	t *testing.T
	r repeats
}

func (r *repeated) see(n int, url, digest string) (last Repeat, warned []int) {
	r.t.Helper()
	u, err := frontier.ParseURL(url)
	if err != nil {
		r.t.Fatal(err)
	}
	for range n {
		one, warn := r.r.count(u, xxh3.HashString(digest))
		if last = one.Repeat; warn {
			warned = append(warned, one.Pages)
		}
	}
	return last, warned
}

// A body counts as a repeat from a hundred pages on. Repeats with the most pages are listed first,
// and those with equal numbers by name.
func TestWhatIsARepeat(t *testing.T) {
	r := repeated{t: t}
	if got := r.r.list(); got != nil {
		t.Errorf("before any page: %v", got)
	}
	for _, s := range []struct {
		url, digest string
		pages       int
	}{
		{"http://b.example/x", "1", 100}, {"http://a.example/x", "1", 100}, {"http://c.example/x", "1", 101}, {"http://d.example/x", "1", 99},
		{"http://a.example/y", "2", 102}, {"http://a.example/z", "3", 1},
	} {
		if last, _ := r.see(s.pages, s.url, s.digest); last != (Repeat{s.url, s.pages}) {
			t.Errorf("%+v", last)
		}
	}
	want := []Repeat{{"http://a.example/y", 102}, {"http://c.example/x", 101}, {"http://a.example/x", 100}, {"http://b.example/x", 100}}
	if got := r.r.list(); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if last, warned := r.see(1, "http://d.example/x", "1"); last.Pages != 100 || !slices.Equal(warned, []int{100}) {
		t.Errorf("%+v, warned at %v", last, warned)
	}
	if _, warned := r.see(10_000, "http://d.example/x", "1"); !slices.Equal(warned, []int{1000, 10_000}) {
		t.Errorf("warned at %v", warned)
	}
}

// Only the beginning of a long URL is compared and stored.
func TestRepeatsOfLongURLs(t *testing.T) {
	r := repeated{t: t}
	long := "http://a.example/" + strings.Repeat("x", 256-len("http://a.example/"))
	if last, _ := r.see(1, long+"1/", "1"); last.Under != long {
		t.Errorf("%d octets are kept", len(last.Under))
	}
	if last, _ := r.see(1, long+"2/", "1"); last.Under != long {
		t.Errorf("%q", last.Under)
	}
	if last, _ := r.see(1, long[:255], "1"); last.Under != "http://a.example/" {
		t.Errorf("%q", last.Under)
	}
}

// A generation has at most 4,096 bodies. Counts continue for bodies of the current and the previous
// generation, and begin again for older ones. Repeats are not forgotten, unless there are more than
// half a generation of them.
func TestGenerationsOfBodies(t *testing.T) {
	r := repeated{t: t}
	fill := func(from, n int) {
		for i := range n {
			r.see(1, "http://a.example/", fmt.Sprint("filler ", from+i))
		}
	}
	r.see(100, "http://a.example/repeat", "repeat")
	r.see(99, "http://a.example/none", "none") // one page less than a repeat needs
	fill(0, 4094)
	if n := len(r.r.young); n != 4096 || len(r.r.old) != 0 {
		t.Fatalf("%d and %d bodies", n, len(r.r.old))
	}
	r.see(1, "http://a.example/", "filler 4093") // this body is in the previous generation
	if n := len(r.r.young); n != 4096 {
		t.Fatalf("%d bodies", n)
	}
	fill(4094, 1)
	if n := len(r.r.young); n != 2 || len(r.r.old) != 4096 { // two bodies, because the repeat was moved to the new generation
		t.Fatalf("%d and %d bodies", n, len(r.r.old))
	}
	if last, _ := r.see(1, "http://a.example/none", "none"); last.Pages != 100 {
		t.Errorf("what the last generation has seen: %+v", last)
	}
	if last, _ := r.see(1, "http://a.example/", "filler 0"); last.Pages != 2 {
		t.Errorf("what the last generation has seen: %+v", last)
	}
	fill(10_000, 4096-4)
	fill(20_000, 1)
	if last, _ := r.see(1, "http://a.example/", "filler 1"); last.Pages != 1 {
		t.Errorf("what an older generation has seen: %+v", last)
	}
	for range 3 {
		fill(30_000, 5000)
		fill(40_000, 5000)
	}
	if got := r.r.list(); !slices.Equal(got, []Repeat{{"http://a.example/none", 100}, {"http://a.example/repeat", 100}}) {
		t.Errorf("%v", got)
	}
	many := repeated{t: t}
	for i := range 4096 {
		many.see(100, "http://a.example/", fmt.Sprint("repeat ", i))
	}
	many.see(1, "http://a.example/", "one more")
	if n := len(many.r.young); n != 2048+1 {
		t.Errorf("%d repeats and a body are taken over", n)
	}
	if n := len(many.r.list()); n != 4096 {
		t.Errorf("%d repeats are listed", n)
	}
}
