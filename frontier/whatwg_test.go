package frontier

import (
	"math/rand/v2"
	"strings"
	"testing"

	whatwg "github.com/nlnwa/whatwg-url/url"
)

// A parser that follows the WHATWG URL standard gives the same result as ParseURL for all URLs
// that ParseURL accepts, except for the differences declared here.
func TestURLsAreReadAsBrowsersReadThem(t *testing.T) {
	parts := []string{
		"http:", "https:", "ftp:", "//", "/", `\`, "a.example", "B.Example", "..", ".", "%2e", "%2E", "?", "#", "x", "y=1", "&",
		"%zz", "%41", "é", "ü.example", ":80", ":443", ":8080", "@", "user", " ", "\t", "[::1]", "127.0.0.1", "{", "}", "|",
		`"`, "<", "'", "`", "~", "%", "+", "http://c.example", "0x7f", ";", "!", "$",
	}
	const base = "http://base.example/dir/page?query"
	ours := mustParse(t, base)
	theirs, err := whatwg.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	compared := 0
	for range 100_000 {
		var raw strings.Builder
		if random.IntN(2) == 0 {
			raw.WriteString("http://a.example")
		}
		for range 1 + random.IntN(6) {
			raw.WriteString(parts[random.IntN(len(parts))])
		}
		got, err := ours.Resolve(raw.String())
		if err != nil {
			continue // ParseURL refuses more hosts, because DNS does not permit them
		}
		want, err := theirs.Parse(raw.String())
		if err != nil {
			t.Errorf("%q is no URL, ParseURL gives %q", raw.String(), got)
			continue
		}
		if strings.HasSuffix(want.Hostname(), ".") {
			continue // ParseURL removes a final dot
		}
		want.SetHash("")
		want.SetUsername("")
		want.SetPassword("")
		compared++
		if got.String() != want.Href(true) {
			t.Errorf("%q is %q, ParseURL gives %q", raw.String(), want.Href(true), got)
		}
	}
	if compared < 50_000 {
		t.Errorf("only %d URLs were compared", compared)
	}
}
