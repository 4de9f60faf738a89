package crawler

import (
	"fmt"
	"slices"
	"testing"

	"github.com/permesso-crawler/permesso/frontier"
)

// What repeats is found among any number of other bodies, in bounded memory.
func TestRepeatsAreBounded(t *testing.T) {
	var r repeats
	see := func(url, digest string) (Repeat, bool) {
		u, err := frontier.ParseURL(url)
		if err != nil {
			t.Fatal(err)
		}
		return r.see(u, digest)
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
			see(fmt.Sprintf("http://b%d.example/", i), "the same") // other sites are no repeat
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

// A crawl of many such spaces does not drown its log.
func TestRepeatsAreNotSaidTooOften(t *testing.T) {
	var r repeats
	warned := 0
	for h := range 3 * maxWarnings {
		for i := range manyRepeats {
			u, err := frontier.ParseURL(fmt.Sprintf("http://h%d.example/%d", h, i))
			if err != nil {
				t.Fatal(err)
			}
			if _, warn := r.see(u, "the same"); warn {
				warned++
			}
		}
	}
	if n := len(r.list()); warned != maxWarnings || n != 3*maxWarnings {
		t.Errorf("warned %d times of %d", warned, n)
	}
}

// A repeat that grows is said again, ten times later.
func TestRepeatsAreSaidAtEachPowerOfTen(t *testing.T) {
	var r repeats
	u, err := frontier.ParseURL("http://a.example/cycle")
	if err != nil {
		t.Fatal(err)
	}
	var warned []int
	for range 10 * manyRepeats {
		if one, warn := r.see(u, "the same"); warn {
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
