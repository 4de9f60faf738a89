package settings

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
)

// A file of places may have a byte order mark, blank lines and line ends of other systems.
// Earlier exclusions stay.
func TestPlacesAreReadFromAFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "places.txt")
	already := regexp.MustCompile(`\.pdf$|\.zip$`)
	for _, c := range []struct {
		text    string
		already *regexp.Regexp
		out, in string // a URL that is excluded, and one that is not; "" for an error
	}{
		{"\ufeffhttp://a.test/x\r\n\r\n# all\r\n", nil, "http://a.test/x/y", "http://a.test/"},
		{"  /x$  \n", nil, "http://a.test/x", "http://a.test/x/y"},
		{"a|b\nc", nil, "http://c.test/", "http://x.test/"},
		{"HTTPS://A.test:443/ü", nil, "https://a.test/%C3%BCx", "http://a.test/%C3%BCx"},
		{"ftp://a.test/x.y", nil, "ftp://a.test/x.yz", "ftp://a.test/x-y"},
		{"^http://b\\.", already, "http://a.test/b.pdf", "http://a.test/"},
		{"^http://b\\.", already, "http://b.test/", "http://a.test/pdf"},
		{"# nothing\n", already, "http://a.test/b.zip", "http://a.test/b"},
		{"http://\n", already, "", "places.txt:1: "},
		{"\n/x\n(\n[\n", nil, "", "places.txt:4: neither a URL nor a regular expression"},
		{strings.Repeat("(", 999) + "x" + strings.Repeat(")", 999) + "\ny\n", nil, "", "all lines together"},
	} {
		if err := os.WriteFile(name, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := excludeFrom(name, c.already)
		switch {
		case c.out == "":
			if exit.Code(err) != exit.Usage || !strings.Contains(err.Error(), c.in) {
				t.Errorf("%.40q: %v, want %q in it", c.text, err, c.in)
			}
		case err != nil:
			t.Errorf("%.40q: %v", c.text, err)
		case !got.MatchString(c.out) || got.MatchString(c.in):
			t.Errorf("%.40q: %s; %s is excluded: %v; %s: %v", c.text, got, c.out, got.MatchString(c.out), c.in, got.MatchString(c.in))
		}
	}
	if err := os.WriteFile(name, []byte("# nothing\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := excludeFrom(name, nil); got != nil || err != nil {
		t.Errorf("no place at all: %v, %v", got, err)
	}
}
