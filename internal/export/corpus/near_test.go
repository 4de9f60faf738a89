package corpus

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"
)

func words(r *rand.Rand, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("w%d", r.IntN(5000))
	}
	return all
}

// The expected distance of two SimHashes is 64 times the angle between the vectors of features,
// divided by pi (Charikar, 2002). Texts without common features are at a right angle: 32 bits.
func TestTheDistanceOfTextsIsTheAngleBetweenThem(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		changed   int // number of changed words in 1000; each word is in three features
		low, high float64
	}{
		{0, 0, 0},
		{1, 0.2, 2},     // the cosine is 997/1000, which gives 1.6 bits
		{100, 14, 16.5}, // 0.73 of the features are common, so the cosine is 0.73, which gives 15.3 bits
		{1000, 30, 34},
	} {
		sum := 0
		const rounds = 60
		for range rounds {
			text := words(r, 1000)
			a, n := shapeOf(strings.Join(text, " "))
			if n != 1000 {
				t.Fatalf("%d words", n)
			}
			for _, i := range r.Perm(1000)[:c.changed] {
				text[i] = fmt.Sprintf("x%d", r.Int())
			}
			b, _ := shapeOf(strings.Join(text, " "))
			sum += bits.OnesCount64(a ^ b)
		}
		if mean := float64(sum) / rounds; mean < c.low || mean > c.high {
			t.Errorf("%d of 1000 words changed: %.2f bits differ, want %v to %v", c.changed, mean, c.low, c.high)
		}
	}
}

func TestNearDuplicates(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	n := newNear()
	texts := map[string]string{}
	for i := range 200 {
		url := fmt.Sprintf("http://a.test/%d", i)
		texts[url] = strings.Join(words(r, 400), " ")
		shape, count := shapeOf(texts[url])
		if of := n.of(shape, count, url); of != "" {
			t.Errorf("%s is a near-duplicate of %s", url, of)
		}
	}
	for url, text := range texts {
		for _, other := range []string{strings.ToUpper(text), strings.ReplaceAll(text, " ", ",\n")} {
			shape, count := shapeOf(other)
			if of := n.of(shape, count, "http://b.test/"); of != url {
				t.Errorf("a copy of %s is a near-duplicate of %q", url, of)
			}
		}
	}
	for _, c := range []struct{ text, url, want string }{
		{"short", "1", ""}, {"Short", "2", "1"}, {"shorter", "3", ""}, {"", "4", ""}, {"", "5", ""},
		{"one two three four", "6", ""}, {"one two three five", "7", ""}, {"one two three four", "8", "6"},
	} {
		shape, count := shapeOf(c.text)
		if of := n.of(shape, count, c.url); of != c.want {
			t.Errorf("%q: %q, want %q", c.text, of, c.want)
		}
	}
}
