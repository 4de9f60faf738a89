package crawler

import (
	"math/rand/v2"
	"mime"
	"testing"
)

// What is not parsed has the type that parsing finds.
func TestMediaTypes(t *testing.T) {
	parts := []string{"text/html", "TEXT/html", "application/xhtml+xml", "text", "/", ";", "; charset=", "utf-8", "UTF-8", `"utf-8"`, " ", "=", "a", ",", "é", "; q=1", "; charset=x"}
	random := rand.New(rand.NewPCG(1, 1))
	for range 50_000 {
		field := ""
		for range random.IntN(5) {
			field += parts[random.IntN(len(parts))]
		}
		want, _, _ := mime.ParseMediaType(field)
		if got := mediaType(field); got != want {
			t.Fatalf("%q is %q, want %q", field, got, want)
		}
	}
}

func BenchmarkMediaType(b *testing.B) {
	for b.Loop() {
		if mediaType("text/html; charset=utf-8") != "text/html" {
			b.Fatal()
		}
	}
}
