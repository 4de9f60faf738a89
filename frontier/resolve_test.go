package frontier

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
)

// comparePlain checks that resolvePlain gives the result of resolve, if it accepts ref.
func comparePlain(t *testing.T, u URL, ref string) (taken bool) {
	t.Helper()
	keep, rest, taken := resolvePlain(u, ref)
	if !taken {
		return false
	}
	got := URL{u.text[:keep] + rest, u.site}
	want, err := u.resolve(ref, nil, nil)
	if err != nil || got != want {
		t.Fatalf("%q at %q: plain %q, else %q, %v", ref, u, got, want, err)
	}
	return true
}

var resolveBases = []string{
	"http://a.example/", "http://a.example/dir/page?query=/x", "https://a.example:8080/a//b/", "http://[::1]/x.y", "ftp://127.0.0.1/%41/~b?",
}

func TestPlainReferencesAreReadLikeOthers(t *testing.T) {
	parts := []string{
		"http:", "https:", "ftp:", "HTTP:", "//", "/", "a.example", "a.example:8080", "[::1]", "127.0.0.1", ":80", ":", "?", "#", "..", ".", "...", "%2e", "%", "x", "y=1", "&",
		"é", "\\", " ", "\t", "\n", "\x00", "\"", "'", "{", "^", "@", "a", "index.html", ".well-known", "~", ";", ",", "\x7f", "+", "-", "1",
	}
	random := rand.New(rand.NewPCG(7, 8))
	taken := 0
	for range 200_000 {
		u := mustParse(t, resolveBases[random.IntN(len(resolveBases))])
		var ref strings.Builder
		if random.IntN(4) == 0 {
			ref.WriteString(string(u.Site()))
		}
		for range random.IntN(6) {
			ref.WriteString(parts[random.IntN(len(parts))])
		}
		if comparePlain(t, u, ref.String()) {
			taken++
		}
	}
	if taken < 30_000 {
		t.Errorf("only %d references were plain", taken)
	}
}

func TestPlainReferencesAreBounded(t *testing.T) {
	u := mustParse(t, "http://a.example/dir/page")
	room := maxURL - len("http://a.example/dir/")
	if v, err := u.Resolve(strings.Repeat("a", room)); err != nil || len(v.String()) != maxURL {
		t.Errorf("%d bytes, %v", len(v.String()), err)
	}
	if _, err := u.Resolve(strings.Repeat("a", room+1)); !errors.Is(err, errTooLong) {
		t.Errorf("one more: %v", err)
	}
}

// resolvePlain accepts the references that are usual in pages.
func TestMostReferencesArePlain(t *testing.T) {
	u := mustParse(t, "http://a.example/dir/page?q")
	for ref, want := range map[string]string{
		"":                           "/dir/page?q",
		"#top":                       "/dir/page?q",
		"x.html":                     "/dir/x.html",
		"x.html#part two":            "/dir/x.html",
		"x/":                         "/dir/x/",
		"/":                          "/",
		"/a/b.c?d=e&f=%41":           "/a/b.c?d=e&f=%41",
		"?y":                         "/dir/page?y",
		"?y:z":                       "/dir/page?y:z",
		"?../y:z//":                  "/dir/page?../y:z//",
		"http://a.example/z":         "/z",
		"http://a.example//z:1?http": "//z:1?http",
	} {
		if !comparePlain(t, u, ref) {
			t.Errorf("%q is not plain", ref)
		}
		if v, err := u.Resolve(ref); err != nil || v.Target() != want {
			t.Errorf("%q is %q, %v; want target %q", ref, v, err, want)
		}
	}
}

// A Resolver gives the results of ResolveQuery, with or without calls of Expect. Its results do
// not change later.
func TestAResolverResolvesAsItsDocumentDoes(t *testing.T) {
	parts := []string{"http:", "https://", "//", "/", "b.example", "..", "?", "#", "x", "é", "%41", " ", "page.html", strings.Repeat("long/", 300)}
	random := rand.New(rand.NewPCG(11, 12))
	upper := func(query string) string { return strings.ToUpper(query) }
	for range 300 {
		u := URL{}
		if random.IntN(20) > 0 {
			u = mustParse(t, resolveBases[random.IntN(len(resolveBases))])
		}
		r := u.Resolver()
		var refs []string
		for range random.IntN(60) {
			var ref strings.Builder
			for range random.IntN(5) {
				ref.WriteString(parts[random.IntN(len(parts))])
			}
			refs = append(refs, ref.String())
			if random.IntN(4) > 0 {
				r.Expect([]byte(ref.String()))
			}
		}
		var scratch []byte
		got := make([]URL, len(refs))
		errs := make([]error, len(refs))
		for i, ref := range refs {
			scratch = append(scratch[:0], ref...)
			got[i], errs[i] = r.Resolve(scratch, upper)
		}
		for i, ref := range refs {
			want, err := u.ResolveQuery(ref, upper)
			if got[i] != want || (err == nil) != (errs[i] == nil) || err != nil && errs[i].Error() != err.Error() {
				t.Fatalf("%q at %q is %q, %v; want %q, %v", ref, u, got[i], errs[i], want, err)
			}
		}
	}
}

func TestTheURLsOfAPageAreFewPiecesOfMemory(t *testing.T) {
	u := mustParse(t, "http://a.example/dir/page")
	refs := [][]byte{[]byte("/rooted"), []byte("relative?x"), []byte("http://a.example/own"), []byte("#top"), []byte("?query")}
	allocated := testing.AllocsPerRun(100, func() {
		r := u.Resolver()
		for range 20 {
			for _, ref := range refs {
				r.Expect(ref)
			}
		}
		for range 20 {
			for _, ref := range refs {
				if _, err := r.Resolve(ref, nil); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
	if allocated > 1 {
		t.Errorf("%v pieces for 100 URLs", allocated)
	}
}

// A kept URL of a page with very many links keeps only a few other links in memory.
func TestAURLKeepsFewOthersInMemory(t *testing.T) {
	r := mustParse(t, "http://a.example/").Resolver()
	ref := []byte("/" + strings.Repeat("x", 100))
	for range 1000 {
		r.Expect(ref)
	}
	for range 1000 {
		if _, err := r.Resolve(ref, nil); err != nil {
			t.Fatal(err)
		}
		if n := r.texts.piece.Cap(); n > maxPiece+maxPiece/4 {
			t.Fatalf("a piece of %d bytes", n)
		}
	}
	long := []byte(strings.Repeat("y", maxPiece/2))
	v, err := r.Resolve(long, nil)
	if piece := r.texts.piece.String(); err != nil || strings.Contains(piece, "yyy") || v.Target() != "/"+string(long) {
		t.Errorf("a long one is in a shared piece: %v, %v", v, err)
	}
}

func FuzzResolve(f *testing.F) {
	for _, base := range resolveBases {
		for _, ref := range []string{"x", "/x?y#z", "?:", "http://a.example/..", "//", ":", "a:b", "%2e"} {
			f.Add(base, ref)
		}
	}
	f.Fuzz(func(t *testing.T, base, ref string) {
		u, err := ParseURL(base)
		if err == nil {
			comparePlain(t, u, ref)
			comparePlain(t, u, u.String()+ref)
		}
	})
}

// removeDots gives the result of a simple implementation of RFC 3986, section 5.2.4.
func TestDotSegments(t *testing.T) {
	parts := []string{"/", "/", ".", "..", "%2e", "%2E.", "a", "%41"}
	random := rand.New(rand.NewPCG(9, 10))
	for range 50_000 {
		path := "/"
		for range random.IntN(8) {
			path += parts[random.IntN(len(parts))]
		}
		var want []string
		segments := strings.Split(path[1:], "/")
		for i, seg := range segments {
			switch strings.NewReplacer("%2e", ".", "%2E", ".").Replace(seg) {
			case "..":
				want = want[:max(0, len(want)-1)]
				fallthrough
			case ".":
				if i == len(segments)-1 {
					want = append(want, "")
				}
			default:
				want = append(want, seg)
			}
		}
		if got := removeDots(path); got != "/"+strings.Join(want, "/") {
			t.Fatalf("%q is %q, want %q", path, got, want)
		}
	}
}

func BenchmarkResolve(b *testing.B) {
	for _, bc := range []struct{ name, ref string }{
		{"path", "/section/12/page-34.html"},
		{"relative", "page-34.html"},
		{"query", "?page=34&sort=name"},
		{"own site", "http://a.example/section/12/page-34.html"},
		{"other site", "https://www.b.example/section/12/page-34.html?x=y"},
		{"other port", "http://a.example:8080/section/12/page-34.html"},
		{"dots", "../12/page-34.html"},
		{"escaped", "/sección/página 34.html"},
	} {
		b.Run(bc.name, func(b *testing.B) {
			u := mustParse(b, "http://a.example/dir/sub/page.html?query")
			b.ReportAllocs()
			for b.Loop() {
				if _, err := u.Resolve(bc.ref); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
